// The design space: which directives were tried, and how they scored.

import { ask, programLink, runPath } from "../api.js";
import { card, empty, exports_, h, head, show } from "../dom.js";
import { plural, share, short } from "../format.js";
import { themed } from "../colors.js";
import { legend } from "../plot.js";

export async function render(main, here) {
  const body = h("div", {});
  let levers = [];
  const draw = async () => {
    levers = await ask(runPath(here.key, "/space"));
    const tried = levers.filter((one) => one.choices.length > 1 || one.choices.some((choice) => choice.steps));
    const rest = levers.filter((one) => !tried.includes(one));
    show(body,
      tried.length ? card("Levers that were moved", tried.map((one) => lever(one, here))) : card("", empty("No directive was changed yet.")),
      tried.length ? legend([[themed("good"), "a step to it was a gain on average"], [themed("bad"), "a loss"], [themed("accent"), "framed: the best program has it"]]) : null,
      rest.length ? card("Levers that nobody has moved", h("div", { class: "chips" }, rest.map((one) => h("span", { class: "chip" }, `${one.name}=${one.choices[0]?.value ?? ""}`)))) : null);
  };
  const rows = () => [["lever", "value", "programs", "correct", "steps", "mean_gain", "best_score", "best"],
    ...levers.flatMap((one) => one.choices.map((choice) => [one.name, choice.value, choice.programs, choice.correct, choice.steps, choice.mean_gain, choice.best_score, choice.best]))];
  show(main, head("Design space", "Each value of each lever: in how many programs, how many of them correct, and what a step to it gained on average. The best program's choices are framed.",
    exports_(runPath(here.key, "/space"), "space", rows)), body);
  await draw();
  return { update: draw };
}

function lever(one, here) {
  return h("div", { class: "lever" }, h("h3", {}, one.name), h("div", { class: "chips" }, one.choices.map((choice) => {
    const gain = choice.mean_gain === null ? "" : `, ${short(choice.mean_gain)}×`;
    const way = choice.mean_gain === null ? "" : choice.mean_gain > 1.005 ? " up" : choice.mean_gain < 0.995 ? " down" : "";
    const body = [h("b", {}, choice.value || "(empty)"),
      h("small", {}, `${plural(choice.programs, "program")}, ${choice.programs ? share(choice.correct / choice.programs) : "0 %"} correct`),
      h("small", {}, choice.steps ? `${plural(choice.steps, "step")}${gain}` : "no step to it")];
    const kind = `choice${choice.in_leader ? " chosen" : ""}${way}`;
    return choice.best === null ? h("div", { class: kind }, body)
      : h("a", { class: kind, href: programLink(here.key, choice.best), title: `best: program ${choice.best}, score ${short(choice.best_score)}` }, body);
  })));
}
