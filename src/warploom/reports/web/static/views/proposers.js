// Who proposed what, how it went, and what it cost.

import { ask, programLink, runPath } from "../api.js";
import { bars } from "../bars.js";
import { card, empty, exports_, h, head, show, table } from "../dom.js";
import { count, dollars, duration, share, short, times } from "../format.js";

export async function render(main, here) {
  const body = h("div", {});
  let data;
  const draw = async () => {
    data = await ask(runPath(here.key, "/proposers"));
    const paid = data.models.filter((one) => one.cost).map((one) => [one.name, one.cost, dollars(one.cost)]);
    show(body,
      card("Operators", data.operators.length ? [bars(data.operators.map((one) => [one.name, one.correct, `${count(one.correct)} of ${count(one.attempts)}`]), "Correct programs by operator"), h("p", { class: "dim small" }, "Correct programs of all attempts."), table(columns("operator", here, data.operators), data.operators, "Operators")] : empty("None yet.")),
      card("Models", data.models.length ? table([...columns("model", here, data.models), ["bandit’s index", (one) => short(data.weights[one.name]), "num"]], data.models, "Models") : empty("No language model was asked: the rules proposed everything.")),
      paid.length ? card("What each model cost", bars(paid, "US dollars by model")) : null,
      card("Proposers", data.proposers.length ? table(columns("proposer", here, data.proposers), data.proposers, "Proposers") : empty("None yet.")));
  };
  const rows = () => [["kind", "name", "attempts", "judged", "correct", "better", "best_gain", "best_score", "cost", "seconds"],
    ...["operators", "models", "proposers"].flatMap((kind) => data[kind].map((one) => [kind, one.name, one.attempts, one.judged, one.correct, one.better, one.best_gain, one.best_score, one.cost, one.seconds]))];
  show(main, head("Operators and models", "What each came to: how many of its programs were correct, and better than their parents.",
    exports_(runPath(here.key, "/proposers"), "proposers", rows, () => body.querySelector("svg"))), body);
  await draw();
  return { update: draw };
}

function columns(word, here, all) {
  const total = all.reduce((sum, one) => sum + one.attempts, 0);
  return [
    [word, (one) => one.name || "–"],
    ["attempts", (one) => count(one.attempts), "num"],
    ["of all", (one) => share(one.attempts / total), "num"],
    ["correct", (one) => `${count(one.correct)} (${share(one.attempts ? one.correct / one.attempts : 0)})`, "num"],
    ["better than parent", (one) => count(one.better), "num"],
    ["largest gain", (one) => times(one.best_gain), "num"],
    ["best score", (one) => short(one.best_score), "num"],
    ["best", (one) => (one.best_number === null ? "–" : h("a", { href: programLink(here.key, one.best_number) }, one.best_number)), "num"],
    ["judging", (one) => duration(one.seconds), "num"],
    ["cost", (one) => dollars(one.cost), "num"],
    ["cost of a correct one", (one) => (one.cost && one.correct ? dollars(one.cost / one.correct) : "–"), "num"],
  ];
}
