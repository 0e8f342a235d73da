// How like each other the best programs are: a table of colors.

import { ask, programLink, runPath } from "../api.js";
import { card, csv, empty, exports_, h, head, hideTip, saveAs, say, show, showTip } from "../dom.js";
import { scale, themed } from "../colors.js";
import { KEYS, legend } from "../plot.js";
import { CanvasSurface, SvgSurface } from "../surface.js";

const EDGE = 46;

export async function render(main, here) {
  let data = await ask(runPath(here.key, "/similarity?count=40"));
  const canvas = h("canvas", { tabindex: "0", role: "application",
    "aria-label": "Similarity of the best programs. Arrow keys walk from pair to pair, Enter opens the program of the row." });
  let chosen = null; // [column, row]
  const body = h("div", { class: "plot" }, canvas);
  const size = () => { const width = Math.min(body.clientWidth, 760); return [width, (width - EDGE) / Math.max(1, data.number.length)]; };
  const draw = () => {
    const [width, cell] = size();
    if (!width) return;
    canvas.style.width = `${width}px`;
    const surface = new CanvasSurface(canvas, width, width);
    paint(surface, data, cell);
    if (chosen) frame(surface, chosen, cell);
  };
  const told = ([x, y]) => `${data.number[y]} and ${data.number[x]}: ${data.similarity[y][x]}`;
  const walk = ([across, down]) => {
    const last = data.number.length - 1, at = (value, step) => Math.max(0, Math.min(last, value + step));
    if (last < 0) return;
    chosen = chosen ? [at(chosen[0], across), at(chosen[1], down)] : [0, 0];
    draw();
    const [, cell] = size(), box = canvas.getBoundingClientRect();
    showTip(told(chosen), box.left + EDGE + (chosen[0] + 0.5) * cell, box.top + EDGE + (chosen[1] + 0.5) * cell);
    say(`Programs ${told(chosen)}`);
  };
  canvas.addEventListener("keydown", (event) => {
    if (KEYS[event.key]) walk(KEYS[event.key]);
    else if (event.key === "Enter" && chosen) location.hash = programLink(here.key, data.number[chosen[1]]);
    else return;
    event.preventDefault();
  });
  canvas.addEventListener("blur", () => { chosen = null; hideTip(); draw(); });
  const pair = (event) => { const [, cell] = size(); return [Math.floor((event.offsetX - EDGE) / cell), Math.floor((event.offsetY - EDGE) / cell)]; };
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = pair(event);
    if (data.similarity[y]?.[x] === undefined) hideTip();
    else showTip(told([x, y]), event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("click", (event) => {
    const number = data.number[pair(event)[1]];
    if (number !== undefined) location.hash = programLink(here.key, number);
  });
  const rows = () => [["number", ...data.number], ...data.similarity.map((row, at) => [data.number[at], ...row])];
  const keep = () => { const [width, cell] = size(); const surface = new SvgSurface(width, width); surface.rect(0, 0, width, width, themed("card")); paint(surface, data, cell); saveAs("similarity.svg", surface.source, "image/svg+xml"); };
  const watcher = new ResizeObserver(draw);
  const near = h("div", {});
  const about = () => { const [low] = lowest(data); show(near, legend([[scale(0), `cosine ${low.toFixed(4)}`], [scale(1), "1, the same"]]), pairs(data, here)); };
  show(main, head("Similarity", "Cosine similarity of the best programs' texts; like ones stand together.",
    h("button", { type: "button", onclick: keep }, "SVG"), h("button", { type: "button", onclick: () => saveAs("similarity.csv", csv(rows()), "text/csv") }, "CSV"), exports_(runPath(here.key, "/similarity?count=40"), "similarity", null)),
    data.number.length ? card("", body, near) : card("", empty("No program has an embedding yet.")));
  watcher.observe(body);
  about();
  return { close() { watcher.disconnect(); hideTip(); }, async update() {
    data = await ask(runPath(here.key, "/similarity?count=40"));
    chosen = null; // the pairs may stand elsewhere now
    draw();
    about();
  } };
}

function frame(surface, [x, y], cell) {
  const left = EDGE + x * cell, top = EDGE + y * cell, right = left + cell, bottom = top + cell;
  for (const [color, width] of [["#fff", 5], ["#000", 2]]) surface.lines([[left, top, right, top, right, bottom, left, bottom, left, top]], color, width);
}

function lowest(data) {
  let low = 1;
  for (const row of data.similarity) for (const value of row) low = Math.min(low, value);
  return [low, 1 - low || 1];
}

function paint(surface, data, cell) {
  const [low, span] = lowest(data);
  const every = Math.ceil(16 / cell);
  data.similarity.forEach((row, y) => row.forEach((value, x) =>
    surface.rect(Math.floor(EDGE + x * cell), Math.floor(EDGE + y * cell), Math.ceil(cell) + 1, Math.ceil(cell) + 1, scale((value - low) / span))));
  data.number.forEach((number, at) => {
    if (at % every) return;
    surface.text(String(number), EDGE - 6, EDGE + (at + 0.5) * cell + 4, themed("dim"), "right");
    surface.text(String(number), EDGE + (at + 0.5) * cell, EDGE - 8, themed("dim"), "center");
  });
}

function pairs(data, here) {
  const found = [];
  data.similarity.forEach((row, y) => row.forEach((value, x) => { if (x > y) found.push([value, data.number[y], data.number[x]]); }));
  found.sort((a, b) => b[0] - a[0]);
  const link = (number) => h("a", { href: programLink(here.key, number) }, number);
  const item = ([value, a, b]) => h("li", {}, link(a), " and ", link(b), `: ${value}`);
  return found.length ? h("div", { class: "grid" }, h("div", {}, h("h3", {}, "Most alike"), h("ol", {}, found.slice(0, 8).map(item))),
    h("div", {}, h("h3", {}, "Least alike"), h("ol", {}, found.slice(-8).reverse().map(item)))) : null;
}
