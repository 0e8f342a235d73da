// Findings of all programs, warnings too, by kind.

import { ask, programLink, runLink, runPath } from "../api.js";
import { bars } from "../bars.js";
import { card, empty, exports_, h, head, show, table } from "../dom.js";
import { count } from "../format.js";

export async function render(main, here) {
  const body = h("div", {});
  let data = [];
  const draw = async () => {
    data = await ask(runPath(here.key, "/findings"));
    const columns = [
      ["kind", (one) => h("span", { class: `chip ${one.severity === "error" ? "bad" : ""}` }, one.kind)],
      ["severity", (one) => one.severity],
      ["findings", (one) => count(one.findings), "num"],
      ["such as", (one) => [one.example.message, one.example.hint ? h("div", { class: "dim small" }, one.example.hint) : null]],
      ["at", (one) => (one.example.line === null ? "–" : `${one.example.file}:${one.example.line}`)],
      ["look", (one) => h("a", { href: runLink(here.key, "finding", `/${one.example_program}-${one.example_at}`) }, `at it, in program ${one.example_program}`)],
      ["programs", (one) => h("div", { class: "chips" }, one.programs.slice(0, 12).map((number) => h("a", { href: programLink(here.key, number) }, number)), one.programs.length > 12 ? "…" : "")],
    ];
    const most = data.slice(0, 20).map((one) => [one.kind, one.programs_total, count(one.programs_total)]);
    show(body, data.length ? card("Programs that have it", bars(most, "Programs by kind of finding", "bad")) : null, card("", data.length ? table(columns, data, "Findings by kind") : empty("No program has a finding.")));
  };
  const rows = () => [["kind", "severity", "findings", "programs", "example_program", "message", "file", "line"],
    ...data.map((one) => [one.kind, one.severity, one.findings, one.programs_total, one.example_program, one.example.message, one.example.file, one.example.line])];
  show(main, head("Findings", "What the emulator saw in the programs of this run. A program's page shows each at its line.",
    exports_(runPath(here.key, "/findings"), "findings", rows, () => body.querySelector("svg"))), body);
  await draw();
  return { update: draw };
}
