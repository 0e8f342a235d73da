// The table of programs: the server filters, sorts and pages.

import { ask, programLink, runPath } from "../api.js";
import { card, choose, empty, h, head, say, show } from "../dom.js";
import { count, dollars, plural, short } from "../format.js";

const PAGE = 50;
const COLUMNS = [
  ["number", "program", "num"], ["score", "score", "num"], ["time_ms", "ms", "num"], ["operator", "by", ""],
  [null, "what was changed", ""], ["failure", "failure", ""], ["parent", "parent", "num"], ["island", "island", "num"],
  ["generation", "generation", "num"], ["nloc", "lines", "num"], ["cost", "cost", "num"],
];

export async function render(main, here, argument) {
  const state = { sort: "score", descending: true, status: "all", island: "", operator: "", model: "", failure: "", search: "", offset: 0 };
  for (const [key, value] of new URLSearchParams(argument ?? "")) if (key in state) state[key] = value;
  const body = h("div", {});
  const csv = h("a", { href: "#", class: "button", download: "programs.csv" }, "CSV");
  const json = h("a", { href: "#", class: "button", download: "programs.json" }, "This page as JSON");
  const query = () => {
    const found = new URLSearchParams();
    for (const [key, value] of Object.entries(state)) if (value !== "") found.set(key, value);
    return found;
  };
  let asked = 0;
  const draw = async () => {
    const mine = ++asked;
    const words = query();
    csv.setAttribute("href", `/api/${runPath(here.key, "/programs.csv")}?${words}`);
    words.set("limit", PAGE);
    json.setAttribute("href", `/api/${runPath(here.key, "/programs")}?${words}`);
    const page = await ask(runPath(here.key, `/programs?${words}`));
    if (mine !== asked) return;
    show(body, page.total ? lines(page, state, here, draw) : empty("No program matches."), pages(page, state, draw));
  };
  const set = (name) => (value) => { state[name] = value; state.offset = 0; draw(); };
  let typed;
  const search = h("input", { type: "search", placeholder: "number, step, directive, failure …", "aria-label": "Search programs", value: state.search,
    oninput: (event) => { clearTimeout(typed); typed = setTimeout(() => set("search")(event.target.value), 150); } });
  const { model } = here;
  const values = (column) => [["", "any"], ...[...new Set(model[column])].filter((one) => one !== "").sort().map((one) => [String(one), String(one)])];
  show(main,
    head("Programs", "Every program that was judged.", search,
      choose("Show", [["all", "all"], ["correct", "correct"], ["failed", "failed"]], state.status, set("status")),
      choose("Island", values("island"), state.island, set("island")),
      choose("By", values("operator"), state.operator, set("operator")),
      values("model").length > 1 ? choose("Model", values("model"), state.model, set("model")) : null,
      values("failure").length > 1 ? choose("Failure", values("failure"), state.failure, set("failure")) : null, csv, json),
    card("", body));
  await draw();
  return { update: draw, close: () => clearTimeout(typed) };
}

function lines(page, state, here, draw) {
  const sorts = (key) => {
    state.descending = state.sort === key ? !state.descending : ["score", "cost"].includes(key);
    state.sort = key;
    state.offset = 0;
    say(`Sorted by ${key}`);
    draw().then(() => document.querySelector(`[data-sort="${key}"]`)?.focus());
  };
  const heads = COLUMNS.map(([key, name, type]) => {
    const sorted = key !== null && state.sort === key;
    const arrow = sorted ? (state.descending ? " ↓" : " ↑") : "";
    return h("th", { scope: "col", class: type, "aria-sort": sorted ? (state.descending ? "descending" : "ascending") : null },
      key ? h("button", { type: "button", "data-sort": key, onclick: () => sorts(key) }, name + arrow) : name);
  });
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Programs" },
    h("table", {}, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, page.rows.map((row) => line(row, here)))));
}

function line(row, here) {
  const leader = row.number === here.model.leader;
  const go = programLink(here.key, row.number);
  const cell = (content, type) => h("td", { class: type }, content);
  return h("tr", { class: `link${leader ? " leader" : ""}`, onclick: (event) => { if (!event.target.closest("a")) location.hash = go; } },
    cell(h("a", { href: go }, leader ? `★ ${row.number}` : row.number), "num"),
    cell(short(row.score), "num"), cell(short(row.time_ms), "num"),
    cell(row.model ? `${row.operator} · ${row.model}` : row.operator),
    cell(h("div", { class: "clip", title: row.changes.join("; ") }, row.changes.join("; ") || "–")),
    cell(row.correct ? "" : h("span", { class: "chip bad" }, row.failure || "run")),
    cell(row.parent === null ? "–" : h("a", { href: programLink(here.key, row.parent) }, row.parent), "num"),
    cell(row.island, "num"), cell(row.generation, "num"), cell(count(row.nloc), "num"),
    cell(row.cost ? dollars(row.cost) : "–", "num"));
}

function pages(page, state, draw) {
  const turn = (by) => { state.offset = Math.max(0, state.offset + by); draw(); };
  const last = Math.min(page.total, page.offset + page.rows.length);
  return h("div", { class: "pages" },
    h("span", { class: "dim" }, page.total ? `${count(page.offset + 1)}–${count(last)} of ${plural(page.total, "program")}` : ""),
    h("button", { type: "button", disabled: page.offset === 0, onclick: () => turn(-PAGE) }, "Back"),
    h("button", { type: "button", disabled: last >= page.total, onclick: () => turn(PAGE) }, "On"));
}
