// Islands: their programs over time, and what went from one to another.

import { ask, programLink, runPath } from "../api.js";
import { card, empty, exports_, h, head, show, table } from "../dom.js";
import { count, short } from "../format.js";
import { kind, themed } from "../colors.js";
import { legend, Plot } from "../plot.js";

export async function render(main, here) {
  let data = await ask(runPath(here.key, "/islands"));
  const names = () => [...new Set([...Object.keys(data.members).map(Number), ...here.model.island])].sort((a, b) => a - b);
  const plot = new Plot({ label: "Islands and migrations", height: 320, name: "islands",
    make: () => sceneOf(here, data, names()), open: (number) => { location.hash = programLink(here.key, number); } });
  const body = h("div", {});
  const draw = () => show(body, legend([...names().map((name) => [kind(name), `island ${name}`]), [themed("bad"), "failed"], [themed("warn"), "a copy to another island", "line"], [themed("ink"), "the best", "ring"]]), groups(data, here), moves(data, here));
  const rows = () => [["at", "kind", "program", "from", "to"], ...data.migrations.map((one) => [one.at, one.kind, one.number, one.source, one.target])];
  show(main, head("Islands and migrations", "Each row is an island, each dot a program when it was judged. Lines are copies that went to another island.", plot.tools(),
    exports_(runPath(here.key, "/islands"), "migrations", rows)),
    card("", plot.element), body);
  draw();
  plot.draw();
  return { close: () => plot.close(), async update() {
    data = await ask(runPath(here.key, "/islands"));
    draw();
    plot.renew();
  } };
}

function sceneOf(here, data, names) {
  const { model } = here;
  const row = new Map(names.map((name, at) => [name, names.length - at]));
  const nodes = { x: [], y: [], number: [], color: [], radius: [], alpha: [], ring: [] };
  let low = Infinity, high = -Infinity;
  for (let i = 0; i < model.length; i++) if (model.correct[i] && model.score[i] !== null) { low = Math.min(low, model.score[i]); high = Math.max(high, model.score[i]); }
  for (let i = 0; i < model.length; i++) {
    const good = model.correct[i] && model.score[i] !== null;
    const up = good && high > low ? (model.score[i] - low) / (high - low) : 0;
    nodes.x.push(model.at[i]);
    nodes.y.push(row.get(model.island[i]) - 0.3 + 0.6 * up);
    nodes.number.push(model.number[i]);
    nodes.color.push(good ? kind(model.island[i]) : themed("bad"));
    nodes.radius.push(good ? 4 : 2.5);
    nodes.alpha.push(0.8);
    nodes.ring.push(model.number[i] === model.leader ? themed("ink") : null);
  }
  const paths = data.migrations.filter((one) => row.has(one.source) && row.has(one.target))
    .map((one) => [one.at - 0.4, row.get(one.source), one.at + 0.4, row.get(one.target)]);
  return {
    bounds: [0, Math.max(model.total ?? 1, 2), 0.4, names.length + 0.6],
    axes: { left: 84, valuesY: names.map((_, i) => i + 1), x: "attempts", y: "island, higher is better", formatY: (value) => (Number.isInteger(value) && names[names.length - value] !== undefined ? `island ${names[names.length - value]}` : "") },
    strokes: [{ paths, color: themed("warn"), width: 2, alpha: 0.9 }],
    nodes, tell: (i) => model.tell(i),
  };
}

function groups(data, here) {
  const columns = [
    ["island", (one) => one.name, "num"], ["attempts", (one) => count(one.attempts), "num"],
    ["correct", (one) => count(one.correct), "num"], ["members, copies included", (one) => count((data.members[one.name] ?? []).length), "num"],
    ["better than their parent", (one) => count(one.better), "num"], ["best score", (one) => short(one.best_score), "num"],
    ["best", (one) => (one.best_number === null ? "–" : h("a", { href: programLink(here.key, one.best_number) }, one.best_number)), "num"],
  ];
  const sorted = [...data.groups].sort((a, b) => Number(a.name) - Number(b.name));
  return card("Islands", sorted.length ? table(columns, sorted, "Islands") : empty("None yet."));
}

function moves(data, here) {
  const columns = [
    ["after attempt", (one) => count(one.at), "num"], ["what", (one) => (one.kind === "island" ? "a new island" : one.kind)],
    ["program", (one) => h("a", { href: programLink(here.key, one.number) }, one.number), "num"],
    ["from island", (one) => one.source, "num"], ["to island", (one) => one.target, "num"],
  ];
  return card("Copies", data.migrations.length ? table(columns, data.migrations.slice(-300).reverse(), "Copies between islands") : empty("Nothing has migrated yet."));
}
