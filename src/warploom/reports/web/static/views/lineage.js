// Which program was made of which. Colors by score, rings for what stands out, the path to the best.

import { programLink, runPath } from "../api.js";
import { card, choose, empty, exports_, h, head, show } from "../dom.js";
import { count, short } from "../format.js";
import { kinds, ranker, scale, themed } from "../colors.js";
import { legend, Plot } from "../plot.js";
import { placed } from "../tree.js";

function colorOf(model, by) {
  if (by === "score") {
    const rank = ranker(model.score.filter((value, i) => model.correct[i] && value !== null));
    return (i) => scale(rank(model.score[i]));
  }
  const colors = kinds(model[by]);
  return (i) => colors.get(model[by][i]);
}

function edge(x0, y0, x1, y1) {
  const middle = x0 + (x1 - x0) * 0.5;
  return [x0, y0, middle, y0, middle, y1, x1, y1];
}

function sceneOf(here, options) {
  const { model } = here;
  const at = placed(model);
  const across = options.x === "depth" ? at.x : model[options.x];
  const color = colorOf(model, options.color);
  const nodes = { x: [], y: [], number: [], color: [], radius: [], alpha: [], ring: [] };
  const plain = [], path = [], crossed = [];
  const small = model.length > 3000;
  for (let i = 0; i < model.length; i++) {
    const good = model.correct[i] && model.score[i] !== null;
    nodes.x.push(across[i]);
    nodes.y.push(-at.y[i]);
    nodes.number.push(model.number[i]);
    nodes.color.push(good ? color(i) : themed("bad"));
    nodes.radius.push(model.path.has(model.number[i]) ? 6 : good ? (small ? 3 : 4.5) : small ? 2 : 3);
    nodes.alpha.push(good ? 1 : 0.55);
    nodes.ring.push(model.number[i] === model.leader ? themed("accent") : model.migrated.has(model.number[i]) ? themed("warn") : null);
    const parent = model.place.get(model.parent[i]);
    if (parent !== undefined) {
      const line = edge(across[parent], -at.y[parent], across[i], -at.y[i]);
      (model.path.has(model.number[i]) ? path : plain).push(line);
    }
    const partner = model.place.get(model.partner[i]);
    if (partner !== undefined && options.partners) crossed.push([across[partner], -at.y[partner], across[i], -at.y[i]]);
  }
  const most = across.reduce((a, b) => Math.max(a, b), 1);
  const least = across.reduce((a, b) => Math.min(a, b), options.x === "depth" ? 0 : most);
  return {
    bounds: [least, Math.max(most, least + 1), -Math.max(at.rows - 1, 1), 0],
    axes: null,
    strokes: [
      { paths: crossed, color: themed("warn"), alpha: 0.45 },
      { paths: plain, color: themed("dim"), alpha: small ? 0.3 : 0.5 },
      { paths: path, color: themed("accent"), width: 2.5 },
    ],
    nodes,
    tell: (i) => model.tell(i),
    label: (i) => String(model.number[i]),
  };
}

export function render(main, here) {
  const options = { x: "depth", color: "score", partners: false };
  const plot = new Plot({ label: "Lineage of programs", height: Math.max(420, window.innerHeight - 250), name: "lineage",
    make: () => sceneOf(here, options), open: (number) => { location.hash = programLink(here.key, number); } });
  const keys = h("div", {}), note = h("p", { class: "dim small" });
  const about = () => {
    const { model } = here;
    const scores = model.score.filter((value, i) => model.correct[i] && value !== null);
    const groups = options.color === "score"
      ? (scores.length ? [[scale(0), `score ${short(Math.min(...limits(scores)))}`], [scale(0.5), "middle rank"], [scale(1), `score ${short(Math.max(...limits(scores)))}`]] : [])
      : [...kinds(model[options.color])].slice(0, 12).map(([name, color]) => [color, `${options.color} ${name}`]);
    show(keys, legend([...groups, [themed("bad"), "failed"], [themed("accent"), "the path to the best", "line"], [themed("accent"), "the best", "ring"], [themed("warn"), "migrated", "ring"],
      options.partners ? [themed("warn"), "the other parent of a crossover", "line"] : null].filter(Boolean)));
    note.textContent = model.leftOut ? `${count(model.leftOut)} of ${count(model.total)} programs are not drawn: the best, the newest and an even sample are. The table has all.` : "";
  };
  const set = (name) => (value) => { options[name] = value; plot.renew(); about(); };
  const rows = () => [["number", "parent", "partner", "island", "generation", "score", "correct", "operator"],
    ...here.model.number.map((number, i) => [number, here.model.parent[i], here.model.partner[i], here.model.island[i], here.model.generation[i], here.model.score[i], here.model.correct[i], here.model.operator[i]])];
  const partners = h("button", { type: "button", "aria-pressed": "false", onclick: (event) => {
    options.partners = !options.partners;
    event.currentTarget.setAttribute("aria-pressed", String(options.partners));
    plot.renew();
    about();
  } }, "Crossovers");
  show(main,
    head("Lineage", "Which program was made of which, the seeds on the left. Drag to move, double-click or + to zoom.",
      choose("Along", [["depth", "steps from the seed"], ["generation", "generation"], ["at", "attempt"]], options.x, set("x")),
      choose("Color", [["score", "score"], ["island", "island"], ["operator", "operator"]], options.color, set("color")),
      partners, plot.tools(rows), exports_(runPath(here.key, "/graph"), "programs", null)),
    here.model.length ? card("", plot.element, keys, note) : card("", empty("No program yet."), plot.element, keys, note));
  about();
  plot.draw();
  return { update() { plot.renew(); about(); }, close: () => plot.close() };
}

function limits(values) {
  return values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
}
