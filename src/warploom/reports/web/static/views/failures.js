// What failed, by kind.

import { ask, programLink, runLink, runPath } from "../api.js";
import { card, empty, h, head, saveAs, show } from "../dom.js";
import { count, plural, share } from "../format.js";
import { csv } from "../plot.js";

export async function render(main, here) {
  const body = h("div", {});
  let data = [];
  const draw = async () => {
    data = await ask(runPath(here.key, "/failures"));
    const most = Math.max(1, ...data.map((one) => one.count));
    const total = data.reduce((sum, one) => sum + one.count, 0);
    show(body, card(total ? `${plural(total, "attempt")} of ${count(here.model.total)} failed (${share(total / here.model.total)})` : "",
      data.length ? data.map((one) => line(one, most, here)) : empty("Nothing has failed.")));
  };
  const rows = () => [["kind", "count"], ...data.map((one) => [one.kind, one.count])];
  show(main, head("Failures", "Each failed attempt by the kind of its first error. What fails is never a parent.",
    h("button", { type: "button", onclick: () => saveAs("failures.csv", csv(rows()), "text/csv") }, "CSV")), body);
  await draw();
  return { update: draw };
}

function track(part) {
  const inside = h("div", { class: "fill" });
  inside.style.width = `${100 * part}%`;
  return h("div", { class: "track", "aria-hidden": "true" }, inside);
}

function line(one, most, here) {
  const words = new URLSearchParams({ failure: one.kind === "run" ? "" : one.kind, status: "failed" });
  return h("div", {},
    h("div", { class: "bar" },
      h("span", {}, h("a", { href: runLink(here.key, "programs", `/${encodeURIComponent(words)}`) }, one.kind)),
      track(one.count / most), h("b", {}, count(one.count))),
    h("div", { class: "chips small dim" }, "latest: ", one.numbers.slice(-10).map((number) => h("a", { href: programLink(here.key, number) }, number))));
}
