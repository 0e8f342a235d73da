// The list of runs.

import { runLink } from "../api.js";
import { card, empty, h, head, show, table } from "../dom.js";
import { count, short } from "../format.js";

export function render(main, runs) {
  const columns = [
    ["run", (one) => (one.error ? one.title : h("a", { href: runLink(one.key) }, one.title))],
    ["state", (one) => [h("i", { class: `dot ${one.state}` }), ` ${one.state}`]],
    ["programs", (one) => count(one.attempts), "num"],
    ["best score", (one) => short(one.best_score), "num"],
    ["begun", (one) => (one.created ? new Date(one.created * 1000).toLocaleString() : "–")],
    ["where", (one) => h("span", { class: "dim" }, one.error ? `${one.place}: ${one.error}` : one.place)],
  ];
  show(main, head("Runs", `${count(runs.length)} searches`),
    card("", runs.length ? table(columns, runs, "Runs") : empty("No run yet.")));
}
