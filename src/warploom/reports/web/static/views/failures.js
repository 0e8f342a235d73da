// What failed, by kind.

import { ask, programLink, runLink, runPath } from "../api.js";
import { bars } from "../bars.js";
import { card, empty, exports_, h, head, show } from "../dom.js";
import { count, plural, share } from "../format.js";

export async function render(main, here) {
  const body = h("div", {});
  let data = [];
  const draw = async () => {
    data = await ask(runPath(here.key, "/failures"));
    const total = data.reduce((sum, one) => sum + one.count, 0);
    show(body, card(total ? `${plural(total, "attempt")} of ${count(here.model.total)} failed (${share(total / here.model.total)})` : "",
      data.length ? [bars(data.slice(0, 30).map((one) => [one.kind, one.count, count(one.count)]), "Failures by kind", "bad"), h("h3", {}, "The latest of each"), data.map((one) => line(one, here))] : empty("Nothing has failed.")));
  };
  const rows = () => [["kind", "count"], ...data.map((one) => [one.kind, one.count])];
  show(main, head("Failures", "Each failed attempt by the kind of its first error. What fails is never a parent.",
    exports_(runPath(here.key, "/failures"), "failures", rows, () => body.querySelector("svg"))), body);
  await draw();
  return { update: draw };
}

function line(one, here) {
  const words = new URLSearchParams({ failure: one.kind === "run" ? "" : one.kind, status: "failed" });
  return h("div", {},
    h("div", { class: "chips small dim" }, h("a", { href: runLink(here.key, "programs", `/${encodeURIComponent(words)}`) }, one.kind), ": ", one.numbers.slice(-10).map((number) => h("a", { href: programLink(here.key, number) }, number))));
}
