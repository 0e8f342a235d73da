// A run in one look.

import { programLink, runLink, runPath } from "../api.js";
import { card, empty, exports_, h, head, show, table } from "../dom.js";
import { count, dollars, duration, ms, plural, share, short, times } from "../format.js";
import { scoreLegend, scorePlot } from "./scores.js";

export function render(main, here) {
  const body = h("div", {});
  const plot = scorePlot(here, { height: 260, x: "at", y: "score", color: "island" });
  const keys = h("div", {});
  const chart = card("Scores", plot.element, keys, h("p", { class: "dim small" },
    "Each dot is a program; the line is the best so far. ", h("a", { href: runLink(here.key, "scores") }, "More axes and colors")));
  const draw = () => {
    show(keys, scoreLegend(here, { x: "at", y: "score", color: "island" }));
    const { overview: view, info, facts } = here.run;
    show(body,
      head(info.title, told(view, facts), h("a", { class: "button", href: runLink(here.key, "programs") }, "All programs"), plot.tools(() => bestRows(view)).slice(3), exports_(runPath(here.key), "run", null)),
      figures(view, here), view.attempts ? chart : card("", empty("No program has been judged yet. This page follows the run.")),
      h("div", { class: "grid" }, progress(view, here), facts_(view, facts)));
  };
  draw();
  show(main, body);
  plot.draw();
  return { update() { draw(); plot.renew(); }, close: () => plot.close() };
}

function bestRows(view) {
  return [["number", "attempt", "score", "time_ms", "seconds", "cost"], ...view.progress.map((one) => [one.number, one.at, one.score, one.time_ms, one.seconds, one.cost])];
}

function told(view, facts) {
  const source = view.time_source === "none" ? "" : `Times are ${view.time_source}${view.scored ? `, of ${view.scored}` : ""}. `;
  const ended = facts.stopped ? `It ended because ${facts.stopped}.` : "";
  return `${source}${ended}`;
}

function figures(view, here) {
  const best = view.champion ?? view.best;
  const one = (value, what, lead = false) => h("div", { class: `fact${lead ? " lead" : ""}` }, h("b", {}, value), h("span", {}, what));
  return h("div", { class: "facts" },
    view.speedup === null ? null : one(times(view.speedup), "as fast as the original", true),
    one(view.champion_ms === null ? short(view.best_score) : ms(view.champion_ms),
      best === null ? "no correct program yet" : ["best: ", h("a", { href: programLink(here.key, best) }, `program ${best}`), view.champion_ms === null ? "" : ", second judgment"], view.speedup === null),
    one(count(view.attempts), `programs, ${view.attempts ? share(view.correct / view.attempts) : "none"} correct`),
    one(count(view.islands), `${view.islands === 1 ? "island" : "islands"}, ${plural(view.migrations, "migration")}`),
    one(duration(view.seconds), "wall time"),
    one(dollars(view.cost), view.cost ? "for models" : "no model was paid"));
}

function progress(view, here) {
  const rows = [...view.progress].reverse().slice(0, 12);
  const columns = [
    ["program", (one) => h("a", { href: programLink(here.key, one.number) }, one.number), "num"],
    ["attempt", (one) => count(one.at), "num"],
    ["after", (one) => duration(one.seconds), "num"],
    ["time", (one) => ms(one.time_ms), "num"],
    ["score", (one) => short(one.score), "num"],
  ];
  return card("Each new best, the last one first", rows.length && view.champion_ms !== null ? h("p", { class: "dim small" }, "Times and scores of the first judgment, as everywhere for single programs. The champion was judged a second time, with inputs that the search had not seen, and so was the original: the figures above are from there.") : null, rows.length ? table(columns, rows, "New best programs") : empty("None yet."));
}

function facts_(view, facts) {
  const pairs = [
    ["workload", facts.workload], ["machine", facts.topology], ["seed", facts.seed],
    ["original, second judgment", view.baseline_ms === null ? null : ms(view.baseline_ms)],
    ["generations", count(view.generations)], ["turned away as known", count(view.rejections)],
    ["summaries", count(view.summaries)], ["run", facts.id],
  ].filter(([, value]) => value !== undefined && value !== null && value !== "");
  return card("About this run", h("dl", { class: "pairs" }, pairs.map(([key, value]) => [h("dt", {}, key), h("dd", {}, String(value))])));
}
