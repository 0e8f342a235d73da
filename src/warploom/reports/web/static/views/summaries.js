// What the search said of itself, over generations.

import { ask, runPath } from "../api.js";
import { card, empty, h, head, show } from "../dom.js";
import { count, dollars } from "../format.js";

export async function render(main, here) {
  const body = h("div", {});
  const draw = async () => {
    const data = await ask(runPath(here.key, "/summaries"));
    show(body, data.length ? [...data].reverse().map((one, at) => card(`After ${count(one.at)} attempts${at === 0 ? ", the last one" : ""}`,
      h("p", { class: "dim small" }, one.model ? `by ${one.model}, ${dollars(one.cost)}` : "by counting"),
      h("p", {}, one.summary),
      one.scratchpad ? h("details", { open: at === 0 }, h("summary", {}, "Scratchpad"), h("pre", { class: "text", tabindex: "0" }, one.scratchpad)) : null,
      one.recommendations.length ? [h("h3", {}, "To try next"), h("ul", {}, one.recommendations.map((idea) => h("li", {}, idea)))] : null))
      : card("", empty("The search has not been summed up yet.")));
  };
  show(main, head("Summaries", "Every few generations the search sums up what it has learned; later prompts show the last one.",
    h("a", { class: "button", href: `/api/${runPath(here.key, "/summaries")}`, download: "summaries.json" }, "JSON")), body);
  await draw();
  return { update: draw };
}
