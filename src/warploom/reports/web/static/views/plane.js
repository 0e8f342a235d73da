// Programs in the plane in which their texts differ most.

import { ask, programLink, runPath } from "../api.js";
import { card, choose, empty, exports_, h, head, show } from "../dom.js";
import { share } from "../format.js";
import { kind, kinds, ranker, scale, themed } from "../colors.js";
import { legend, Plot } from "../plot.js";

export async function render(main, here) {
  let data = await ask(runPath(here.key, "/plane"));
  const options = { color: "score" };
  const plot = new Plot({ label: "Programs by likeness of their texts", height: 520, name: "embeddings",
    make: () => sceneOf(here, data, options), open: (number) => { location.hash = programLink(here.key, number); } });
  const keys = h("div", {});
  const about = () => show(keys, legend([...(options.color === "score" ? [[scale(0), "lowest score"], [scale(0.5), "middle rank"], [scale(1), "highest score"]]
    : [...kinds(options.color === "cluster" ? data.cluster : here.model[options.color])].slice(0, 12).map(([name, color]) => [color, `${options.color === "cluster" ? "group" : options.color} ${name}`])), [themed("bad"), "failed"], [themed("ink"), "the best", "ring"]]));
  const rows = () => [["number", "x", "y", "cluster"], ...data.number.map((number, i) => [number, data.x[i], data.y[i], data.cluster[i]])];
  show(main, head("Embeddings", `Near programs have like texts. The axes hold ${share(data.explained[0])} and ${share(data.explained[1])} of what they differ in.`,
    choose("Color", [["score", "score"], ["cluster", "group"], ["island", "island"], ["operator", "operator"]], options.color, (value) => { options.color = value; plot.renew(); about(); }),
    plot.tools(rows), exports_(runPath(here.key, "/plane"), "embeddings", null)), data.number.length ? card("", plot.element, keys) : card("", empty("No program has an embedding yet."), plot.element));
  about();
  plot.draw();
  return { close: () => plot.close(), async update() {
    data = await ask(runPath(here.key, "/plane"));
    plot.renew();
    about();
  } };
}

function sceneOf(here, data, options) {
  const { model } = here;
  const rank = ranker(model.score.filter((value, i) => model.correct[i] && value !== null));
  const groups = options.color === "cluster" || options.color === "score" ? new Map() : kinds(model[options.color]);
  const nodes = { x: [], y: [], number: [], color: [], radius: [], alpha: [], ring: [] };
  const places = [];
  const box = [Infinity, -Infinity, Infinity, -Infinity];
  data.number.forEach((number, at) => {
    const i = model.place.get(number);
    if (i === undefined) return;
    const good = model.correct[i] && model.score[i] !== null;
    nodes.x.push(data.x[at]);
    nodes.y.push(data.y[at]);
    nodes.number.push(number);
    nodes.color.push(!good ? themed("bad") : options.color === "score" ? scale(rank(model.score[i])) : options.color === "cluster" ? kind(data.cluster[at]) : groups.get(model[options.color][i]));
    nodes.radius.push(good ? 5 : 3);
    nodes.alpha.push(0.8);
    nodes.ring.push(number === model.leader ? themed("ink") : null);
    places.push(i);
    box[0] = Math.min(box[0], data.x[at]); box[1] = Math.max(box[1], data.x[at]);
    box[2] = Math.min(box[2], data.y[at]); box[3] = Math.max(box[3], data.y[at]);
  });
  const room = (low, high) => { const by = (high - low || 1) * 0.05; return [low - by, high + by]; };
  const bounds = places.length ? [...room(box[0], box[1]), ...room(box[2], box[3])] : [0, 1, 0, 1];
  return { bounds, axes: { x: "first component", y: "second component" }, strokes: [], nodes, tell: (at) => model.tell(places[at]) };
}
