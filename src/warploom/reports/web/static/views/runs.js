// The list of runs.

import { runLink } from "../api.js";
import { card, empty, exports_, h, head, show, table } from "../dom.js";
import { count, plural, short } from "../format.js";

export function render(main, runs) {
  const columns = [
    ["run", (one) => (one.error ? one.title : h("a", { href: runLink(one.key) }, one.title))],
    ["kind", (one) => one.kind],
    ["state", (one) => [h("i", { class: `dot ${one.state}` }), ` ${one.state}`]],
    ["attempts", (one) => count(one.attempts), "num"],
    ["best score", (one) => short(one.best_score), "num"],
    ["begun", (one) => (one.created ? new Date(one.created * 1000).toLocaleString() : "–")],
    ["where", (one) => h("span", { class: "dim" }, one.error ? `${one.place}: ${one.error}` : one.place)],
  ];
  const rows = () => [["run", "kind", "state", "attempts", "best_score", "place", "error"], ...runs.map((one) => [one.title, one.kind, one.state, one.attempts, one.best_score, one.place, one.error])];
  show(main, head("Runs", plural(runs.length, "run"), exports_("runs", "runs", rows)),
    card("", runs.length ? table(columns, runs, "Runs") : empty("No run yet.")));
}
