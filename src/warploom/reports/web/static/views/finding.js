// One finding: its two places, what would have ordered them, and what each rank did before it.

import { ask, programLink, runLink, runPath } from "../api.js";
import { codeBlock } from "../code.js";
import { themed } from "../colors.js";
import { card, empty, exports_, h, head, show, table } from "../dom.js";
import { count } from "../format.js";
import { prose } from "../prose.js";
import { legend, Plot } from "../plot.js";

const AROUND = 6; // lines of code above and below a place

export async function render(main, here, argument) {
  const [number, at] = String(argument).split("-").map(Number);
  if (!Number.isInteger(number) || !Number.isInteger(at)) throw new Error(`A finding is PROGRAM-NUMBER, got ${argument}.`);
  const path = runPath(here.key, `/programs/${number}/findings/${at}`);
  const [page, program] = await Promise.all([ask(path), ask(runPath(here.key, `/programs/${number}`))]);
  const { finding } = page;
  const plot = page.events.length ? ranks(page) : null;
  const rows = () => [["seq", "rank", "who", "what", "line", "place"], ...page.events.map((one) => [one.seq, one.rank, one.who, one.text, one.line, one.place])];
  const go = (to, text, label) => (to < 1 || to > page.of ? null : h("a", { class: "button", href: runLink(here.key, "finding", `/${number}-${to}`), "aria-label": label }, text));
  show(main,
    head(`${finding.kind}, program ${number}`, ["Finding ", `${at} of ${page.of} of `, h("a", { href: programLink(here.key, number) }, `program ${number}`), "."],
      go(at - 1, "← before", "The finding before"), go(at + 1, "after →", "The finding after"),
      plot ? plot.tools() : null, exports_(path, `finding-${number}-${at}`, page.events.length ? rows : null)),
    h("section", { class: `card ${finding.severity === "error" ? "oops" : ""}` },
      h("p", {}, h("span", { class: `chip ${finding.severity === "error" ? "bad" : ""}` }, finding.severity), " ", finding.message),
      h("p", { class: "dim" }, who(finding)),
      finding.hint || page.cure ? h("p", {}, h("b", {}, "What would have ordered or mended it: "), finding.hint || "see the cure below") : null),
    h("div", { class: "grid two" }, finding.of_original
      ? card("In the original program", h("p", {}, `${finding.file}:${finding.line}`), h("p", { class: "dim" }, "The original reads the result there. This program has no such place."))
      : place("Here", finding.line, finding.here, `${finding.file}:${finding.line}`, program, [finding]),
      finding.other ? place("The other side", finding.other_line, finding.other_line !== null, finding.other, program, []) : null),
    replayed(page, plot, number, at),
    page.meaning || page.cure ? card(page.meaning ? `What a ${finding.kind} is` : `About a ${finding.kind}`, prose(page.meaning), page.cure ? [h("h3", {}, "Cure"), prose(page.cure)] : null) : null);
  plot?.draw();
  return { close: () => plot?.close() };
}

function who(finding) {
  return [finding.rank === null ? "" : `rank ${finding.rank}`, finding.kernel && `kernel ${finding.kernel}`,
    finding.replay && `first seen with --replay ${finding.replay}`].filter(Boolean).join(", ") || "Of no rank or kernel in particular.";
}

function place(title, line, here, name, program, findings) {
  if (line === null) return card(title, h("p", { class: "dim" }, name.endsWith(":null") ? "It has no line." : `${name}: a file of its own`));
  if (!here) return card(title, h("p", { class: "dim" }, `${name}: not in the program's own text`));
  const lines = program.code.split("\n"), first = Math.max(1, line - AROUND);
  const part = lines.slice(first - 1, line + AROUND).join("\n");
  return card(`${title}: ${name}`, codeBlock(part, findings, first, line));
}

function replayed(page, plot, number, at) {
  if (plot) {
    return card("What each rank did before it", plot.element,
      legend([[themed("accent"), "event"], [themed("warn"), "at the line of the other access"], [themed("bad"), "at the finding's own line"]]),
      h("details", {}, h("summary", {}, `All ${count(page.events.length)} events`), table([
        ["#", (one) => one.seq, "num"], ["rank", (one) => one.rank, "num"], ["who", (one) => one.who], ["what", (one) => one.text],
        ["line", (one) => one.line ?? "–", "num"], ["", (one) => ({ own: "this finding", other: "the other access" })[one.place] ?? ""],
      ], page.events, "Events before the finding")));
  }
  if (!page.finding.replay) return card("What each rank did before it", empty("No run showed it: it was found in the text, or by comparing results."));
  if (page.replayed) return card("What each rank did before it", empty("A replay is kept, and did not record what led to it."));
  return card("What each rank did before it", empty(["No replay is kept. Make one, then load this page again: ", h("code", {}, `warploom plot replay RUN --program ${number} --finding ${at}`)]));
}

function ranks(page) {
  const key = (one) => `${one.rank}/${one.lane}`;
  const lanes = [...new Set(page.events.map(key))].sort((a, b) => {
    const [r, l] = a.split("/"), [s, m] = b.split("/");
    return Number(r) - Number(s) || (l === "host" ? -1 : m === "host" ? 1 : l.localeCompare(m));
  });
  const row = new Map(lanes.map((lane, at) => [lane, lanes.length - at]));
  const color = (one) => themed(one.place === "own" ? "bad" : one.place === "other" ? "warn" : "accent");
  const name = (lane) => { const [rank, ...rest] = lane.split("/"); return `${rank} ${rest.join("/")}`.slice(0, 22); };
  return new Plot({
    label: "What each rank did before the finding", height: 70 + 30 * lanes.length, name: "replay", open: () => {},
    make: () => ({
      bounds: [0.5, page.events.length + 0.5, 0.4, lanes.length + 0.6],
      axes: { left: 160, x: "events in their order", y: "rank, host or kernel", valuesY: lanes.map((_, i) => i + 1), formatY: (value) => (lanes[lanes.length - value] ? name(lanes[lanes.length - value]) : "") },
      strokes: [],
      nodes: { x: page.events.map((_, i) => i + 1), y: page.events.map((one) => row.get(key(one))), number: page.events.map((one) => one.seq),
        color: page.events.map(color), radius: page.events.map((one) => (one.place ? 6 : 4)), alpha: page.events.map(() => 0.9) },
      tell: (i) => { const one = page.events[i]; return `${one.seq}: rank ${one.rank}, ${one.who}\n${one.text}${one.line === null ? "" : `\nline ${one.line}`}`; },
    }),
  });
}
