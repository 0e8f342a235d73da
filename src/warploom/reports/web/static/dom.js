// Makes elements. Text goes in as text, always: nothing here, or anywhere in these pages, parses HTML.

const SVG = "http://www.w3.org/2000/svg";

export function h(name, attributes, ...children) {
  return filled(document.createElement(name), attributes, children);
}

export function svg(name, attributes, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "class") element.setAttribute("class", value);
    else if (element instanceof HTMLElement && key in element && typeof value !== "string") element[key] = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((one) => one !== null && one !== undefined));
  return element;
}

export function show(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((one) => one !== null && one !== undefined));
}

// Tells screen readers.
export function say(text) {
  document.getElementById("said").textContent = text;
}

const tip = () => document.getElementById("tip");

export function showTip(text, x, y) {
  const box = tip();
  box.textContent = text;
  box.hidden = false;
  const width = box.offsetWidth, height = box.offsetHeight;
  box.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - width - 8))}px`;
  box.style.top = `${y + height + 22 > innerHeight ? y - height - 10 : y + 16}px`;
}

export function hideTip() {
  tip().hidden = true;
}

export function saveAs(name, text, type) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

export function head(title, about, ...tools) {
  return h("div", { class: "head" },
    h("div", {}, h("h1", {}, title), about ? h("div", { class: "dim" }, about) : null),
    h("div", { class: "tools" }, tools));
}

export function card(title, ...children) {
  return h("section", { class: "card" }, title ? h("h2", {}, title) : null, children);
}

export function empty(text) {
  return h("div", { class: "empty" }, text);
}

export function choose(label, options, value, onchange) {
  const select = h("select", { onchange: (event) => onchange(event.target.value) },
    options.map(([key, text]) => h("option", { value: key, selected: key === value }, text)));
  return h("label", {}, label, select);
}

// columns: [name, row => cell, "num"?]
export function table(columns, rows, label) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    h("table", {},
      h("thead", {}, h("tr", {}, columns.map(([name, , kind]) =>
        h("th", { scope: "col", class: kind }, name)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, columns.map(([, cell, kind]) =>
        h("td", { class: kind }, cell(row))))))));
}

// rows: arrays of plain values, the first one the names
export function csv(rows) {
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return rows.map((row) => row.map(cell).join(",")).join("\n") + "\n";
}

// What a view can be taken home as: its table, what the server knows, its picture.
export function exports_(path, name, rows, picture) {
  const button = (text, onclick) => h("button", { type: "button", onclick }, text);
  return [
    picture ? button("SVG", () => { const found = picture(); if (found) saveAs(`${name}.svg`, pictured(found), "image/svg+xml"); }) : null,
    rows ? button("CSV", () => saveAs(`${name}.csv`, csv(rows()), "text/csv")) : null,
    path ? h("a", { class: "button", href: `/api/${path}`, download: `${name}.json` }, "JSON") : null,
  ];
}

// A picture of the page with the colors that the page gives it.
function pictured(element) {
  const copy = element.cloneNode(true);
  const of = [...element.querySelectorAll("*")];
  [...copy.querySelectorAll("*")].forEach((one, at) => one.setAttribute("fill", getComputedStyle(of[at]).fill));
  copy.setAttribute("xmlns", SVG);
  return new XMLSerializer().serializeToString(copy);
}
