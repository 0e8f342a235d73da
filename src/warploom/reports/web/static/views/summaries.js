// What the search said of itself, over generations.

import { ask, runPath } from "../api.js";
import { card, empty, exports_, h, head, show } from "../dom.js";
import { count, dollars } from "../format.js";

export async function render(main, here) {
  const body = h("div", {});
  let data = [];
  const rows = () => [["at", "by", "cost", "summary", "scratchpad", "recommendations"], ...data.map((one) => [one.at, one.model || "counting", one.cost, one.summary, one.scratchpad, one.recommendations.join("; ")])];
  const draw = async () => {
    data = await ask(runPath(here.key, "/summaries"));
    show(body, data.length ? [...data].reverse().map((one, at) => card(`After ${count(one.at)} attempts${at === 0 ? ", the last one" : ""}`,
      h("p", { class: "dim small" }, one.model ? `by ${one.model}, ${dollars(one.cost)}` : "by counting"),
      h("p", {}, one.summary),
      one.scratchpad ? h("details", { open: at === 0 }, h("summary", {}, "Scratchpad"), h("pre", { class: "text", tabindex: "0" }, one.scratchpad)) : null,
      one.recommendations.length ? [h("h3", {}, "To try next"), h("ul", {}, one.recommendations.map((idea) => h("li", {}, idea)))] : null))
      : card("", empty("The search has not been summed up yet.")));
  };
  show(main, head("Summaries", "Every few generations the search sums up what it has learned; later prompts show the last one.",
    exports_(runPath(here.key, "/summaries"), "summaries", rows)), body);
  await draw();
  return { update: draw };
}
