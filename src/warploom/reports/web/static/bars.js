// Horizontal bars with their values, as a picture that can be kept.

import { h, hideTip, say, showTip, svg } from "./dom.js";

const ROW = 30, LABEL = 220, VALUE = 110, WIDTH = 760;

// rows: [name, value, text of the value]. Arrow keys walk from bar to bar: each is said, its whole name is shown.
export function bars(rows, label, color = "accent") {
  const most = Math.max(...rows.map(([, value]) => value), 1e-12);
  const room = WIDTH - LABEL - VALUE;
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${ROW * rows.length + 8}`, class: "bars", tabindex: "0", role: "application", "font-family": "system-ui, sans-serif", "font-size": "13",
    "aria-label": `${label}: ${rows.map(([name, , text]) => `${name} ${text}`).join("; ")}. Arrow keys walk from bar to bar.` });
  const drawn = rows.map(([name, value, text], at) => {
    const y = 4 + ROW * at, long = Math.max(1.5, (room * value) / most);
    const row = svg("g", {},
      svg("text", { x: LABEL - 10, y: y + 19, "text-anchor": "end", class: "bar-name" }, name.length > 32 ? `${name.slice(0, 31)}…` : name),
      svg("rect", { x: LABEL, y: y + 5, width: long, height: ROW - 10, rx: 3, class: `bar-${color}` }),
      svg("text", { x: LABEL + long + 8, y: y + 19, class: "bar-value" }, text));
    picture.append(row);
    return row;
  });
  walked(picture, drawn, rows);
  return h("div", { class: "scroll" }, picture);
}

function walked(picture, drawn, rows) {
  let at = -1;
  const choose = (next) => {
    drawn[at]?.removeAttribute("class");
    at = next;
    if (at < 0) return hideTip();
    drawn[at].setAttribute("class", "chosen");
    const told = `${rows[at][0]}: ${rows[at][2]}`, box = drawn[at].getBoundingClientRect();
    showTip(told, box.left, box.bottom - 12);
    return say(told);
  };
  const steps = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };
  picture.addEventListener("keydown", (event) => {
    const step = steps[event.key];
    if (!step || !rows.length) return;
    event.preventDefault();
    choose(Math.max(0, Math.min(rows.length - 1, at + step)));
  });
  picture.addEventListener("blur", () => choose(-1));
}
