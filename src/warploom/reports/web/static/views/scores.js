// Scores over attempts, time or cost; colors by island, operator or model.

import { programLink, runPath } from "../api.js";
import { card, choose, exports_, h, head, show } from "../dom.js";
import { duration, dollars } from "../format.js";
import { kinds, themed } from "../colors.js";
import { legend, Plot } from "../plot.js";

const X = { at: "attempts", seconds: "wall time", cost: "cost" };
const Y = { score: "score", time_ms: "milliseconds" };
const FORMATS = { at: (value) => String(value), seconds: duration, cost: dollars };

// What lies along the x axis for each program.
function along(model, x) {
  if (x === "at") return model.at;
  let sum = 0;
  if (x === "cost") return model.cost.map((value) => (sum += value));
  return model.created.map((value) => Math.max(0, value - model.created[0]));
}

function sceneOf(here, { x, y, color }) {
  const { model } = here;
  const xs = along(model, x), groups = kinds(model[color]);
  const nodes = { x: [], y: [], number: [], color: [], radius: [], alpha: [], ring: [] };
  const places = [], many = model.length > 3000;
  const values = model[y].filter((value, i) => value !== null && model.correct[i]);
  let [low, high] = limits(values);
  const room = (high - low || Math.abs(high) || 1) * 0.06;
  low -= room; high += room;
  const steps = [];
  let best = null;
  const better = (value) => best === null || (y === "score" ? value > best : value < best);
  for (let i = 0; i < model.length; i++) {
    const good = model.correct[i] && model[y][i] !== null;
    nodes.x.push(xs[i]);
    nodes.y.push(good ? model[y][i] : (y === "score" ? low : high));
    nodes.number.push(model.number[i]);
    nodes.color.push(good ? groups.get(model[color][i]) : themed("bad"));
    nodes.radius.push(good ? (many ? 2 : 4) : many ? 1.5 : 2.5);
    nodes.alpha.push(good ? (many ? 0.5 : 0.75) : 0.6);
    nodes.ring.push(model.number[i] === model.champion ? themed("ink") : null);
    places.push(i);
    if (good && better(model[y][i])) {
      if (best !== null) steps.push(xs[i], best);
      best = model[y][i];
      steps.push(xs[i], best);
    }
  }
  const end = xs.length ? xs[xs.length - 1] : 1;
  if (best !== null) steps.push(end, best);
  const start = x === "at" ? 1 : 0;
  return {
    bounds: [start, Math.max(end, start + (x === "cost" ? 1e-6 : 1)), low, high],
    axes: { x: X[x], y: Y[y], formatX: FORMATS[x] },
    strokes: [],
    above: steps.length ? [{ paths: [steps], color: themed("accent"), width: 2 }] : [],
    nodes,
    tell: (at) => model.tell(places[at]),
    groups,
  };
}

// Without the far outliers: the few worst programs would press all others into a line.
function limits(values) {
  if (!values.length) return [0, 1];
  const sorted = [...values].sort((a, b) => a - b);
  return [sorted[0], sorted[sorted.length - 1]];
}

export function scorePlot(here, options) {
  return new Plot({
    label: "Scores of programs", height: options.height, name: "scores",
    make: () => sceneOf(here, options),
    open: (number) => { location.hash = programLink(here.key, number); },
  });
}

export function scoreLegend(here, { color }) {
  const groups = [...kinds(here.model[color])];
  const name = (one) => (color === "island" ? `island ${one}` : one || "none");
  const rest = groups.length > 12 ? [[themed("dim"), `and ${groups.length - 12} more`]] : [];
  return legend([...groups.slice(0, 12).map(([one, at]) => [at, name(one)]), ...rest,
    [themed("bad"), "failed (at the edge)"], [themed("accent"), "the best so far", "line"], [themed("ink"), "the champion", "ring"]]);
}

export function render(main, here) {
  const options = { height: 480, x: "at", y: "score", color: "island" };
  const plot = scorePlot(here, options);
  const keys = h("div", {});
  const legendNow = () => show(keys, scoreLegend(here, options));
  const set = (name) => (value) => { options[name] = value; plot.renew(); legendNow(); };
  const rows = () => [["number", "at", "score", "time_ms", "correct", "island", "operator", "model", "cost", "created"],
    ...here.model.number.map((number, i) => [number, here.model.at[i], here.model.score[i], here.model.time_ms[i], here.model.correct[i], here.model.island[i], here.model.operator[i], here.model.model[i], here.model.cost[i], here.model.created[i]])];
  show(main,
    head("Scores over time", "Each dot is a program, the line the best so far.",
      choose("Along", Object.entries(X), options.x, set("x")),
      choose("Up", Object.entries(Y), options.y, set("y")),
      choose("Color", [["island", "island"], ["operator", "operator"], ["proposer", "proposer"], ["model", "model"]], options.color, set("color")),
      plot.tools(rows), exports_(runPath(here.key, "/graph"), "programs", null)),
    card("", plot.element, keys));
  legendNow();
  plot.draw();
  return { update() { plot.renew(); legendNow(); }, close: () => plot.close() };
}
