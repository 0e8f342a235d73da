// Findings of all programs, warnings too, by kind.

import { ask, programLink, runPath } from "../api.js";
import { card, empty, h, head, show, table } from "../dom.js";
import { count } from "../format.js";

export async function render(main, here) {
  const body = h("div", {});
  const draw = async () => {
    const data = await ask(runPath(here.key, "/findings"));
    const columns = [
      ["kind", (one) => h("span", { class: `chip ${one.severity === "error" ? "bad" : ""}` }, one.kind)],
      ["severity", (one) => one.severity],
      ["findings", (one) => count(one.findings), "num"],
      ["such as", (one) => [one.example.message, one.example.hint ? h("div", { class: "dim small" }, one.example.hint) : null]],
      ["at", (one) => (one.example.line === null ? "–" : `${one.example.file}:${one.example.line}`)],
      ["programs", (one) => h("div", { class: "chips" }, one.programs.slice(0, 12).map((number) => h("a", { href: programLink(here.key, number) }, number)), one.programs.length > 12 ? "…" : "")],
    ];
    show(body, card("", data.length ? table(columns, data, "Findings by kind") : empty("No program has a finding.")));
  };
  show(main, head("Findings", "What the emulator saw in the programs of this run. A program's page shows each at its line.",
    h("a", { class: "button", href: `/api/${runPath(here.key, "/findings")}`, download: "findings.json" }, "JSON")), body);
  await draw();
  return { update: draw };
}
