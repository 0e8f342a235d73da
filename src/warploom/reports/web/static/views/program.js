// One program: where it comes from, what was said of it, its code and how that differs.

import { ask, programLink, runLink, runPath } from "../api.js";
import { card, choose, empty, h, head, saveAs, show, table } from "../dom.js";
import { codeBlock, diffBlock } from "../code.js";
import { dollars, duration, ms, plural, short } from "../format.js";
import { timelineView } from "../timeline.js";

const LEVELS = ["legality", "build", "verify", "benchmark", "score"];

export async function render(main, here, argument) {
  const number = Number(argument);
  if (!Number.isInteger(number)) throw new Error(`A program has a number, got ${argument}.`);
  const one = await ask(runPath(here.key, `/programs/${number}`));
  const link = (at) => h("a", { href: programLink(here.key, at) }, at);
  show(main,
    head(`Program ${number}`, about(one, here, link), around(number, here),
      h("a", { href: `/api/${runPath(here.key, `/programs/${number}/code`)}`, class: "button" }, "Code"),
      h("a", { href: `/api/${runPath(here.key, `/programs/${number}`)}`, class: "button", download: `program-${number}.json` }, "JSON")),
    figures(one, here), steps(one), tabs(one, here, link));
  return null;
}

function about(one, here, link) {
  const leader = one.number === here.model.champion ? "The champion. " : one.number === here.model.best ? "The best so far. " : "";
  const by = one.model ? `${one.operator} by ${one.model}` : `${one.operator}, ${one.proposer}`;
  if (one.parent === null) return `${leader}A seed: ${one.changes[0] ?? one.operator}.`;
  return [leader, `Made by ${by} from `, link(one.parent), one.partner === null ? "" : [" and ", link(one.partner)], "."];
}

function around(number, here) {
  const order = here.model.number, at = here.model.place.get(number);
  const go = (to, text, label) => (to === undefined ? null : h("a", { class: "button", href: programLink(here.key, to), "aria-label": label }, text));
  return at === undefined ? null : [go(order[at - 1], "← before", "The program before"), go(order[at + 1], "after →", "The program after")];
}

function figures(one, here) {
  const parent = here.model.place.get(one.parent);
  const before = parent === undefined ? null : here.model.time_ms[parent];
  const again = one.number === here.model.champion ? here.run.overview.champion_ms : null;
  const gain = one.time_ms && before ? before / one.time_ms : null;
  const fact = (value, what, kind = "") => h("div", { class: "fact" }, h("b", { class: kind }, value), h("span", {}, what));
  return h("div", { class: "facts" },
    fact(one.correct ? "correct" : one.failure || "failed", `level ${one.level}: ${LEVELS[one.level] ?? ""}`, one.correct ? "good" : "bad"),
    one.time_ms === null ? null : fact(ms(one.time_ms), again === null ? one.time_source : `${one.time_source}, first judgment; ${ms(again)} in the second one`),
    one.score === null ? null : fact(short(one.score), "score"),
    gain === null ? null : fact(`${short(gain)}×`, "as fast as its parent", gain > 1 ? "good" : gain < 1 ? "bad" : ""),
    fact(`${one.generation} / ${one.island}`, "generation / island"),
    fact(duration(one.seconds), "to judge it"),
    one.cost ? fact(dollars(one.cost), "for models") : null);
}

function steps(one) {
  if (one.parent === null || !one.changes.length) return null;
  return card("What was changed", h("div", { class: "chips" }, one.changes.map((text) => h("span", { class: "chip", title: text }, text))));
}

function tabs(one, here, link) {
  const pages = [
    ["difference", "Difference", () => difference(one, here)],
    ["code", `Code${one.findings.length ? ` and findings (${one.findings.length})` : ""}`, () => code(one, here)],
    ["numbers", "Metrics and directives", () => numbers(one)],
    ["lineage", "Relatives", () => relatives(one, here, link)],
    ["calls", "Prompt and reply", () => calls(one, here)],
    ["timeline", "Timeline", () => timelines(one, here)],
  ];
  if (one.parent === null || (!one.correct && one.findings.length)) pages.unshift(...pages.splice(1, 1));
  const body = h("div", { role: "tabpanel", tabindex: "0", "aria-live": "off" });
  const bar = h("div", { class: "tabs", role: "tablist", "aria-label": "About this program" });
  const open = async (at, focus = false) => {
    buttons.forEach((button, i) => {
      button.setAttribute("aria-selected", String(i === at));
      button.tabIndex = i === at ? 0 : -1;
    });
    body.setAttribute("aria-label", pages[at][1]);
    if (focus) buttons[at].focus();
    try {
      show(body, await pages[at][2]());
    } catch (error) {
      show(body, h("p", { class: "bad" }, error.message));
    }
  };
  const buttons = pages.map(([name, text], at) => h("button", { type: "button", role: "tab", "data-tab": name, onclick: () => open(at),
    onkeydown: (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) open((at + step + pages.length) % pages.length, true);
    } }, text));
  bar.append(...buttons);
  open(0);
  return h("section", { class: "card" }, bar, body);
}

async function difference(one, here) {
  if (one.parent === null) return empty("A seed differs from nothing that was judged before.");
  const options = [[String(one.parent), `parent, ${one.parent}`]];
  if (one.seed !== one.parent) options.push([String(one.seed), `seed, ${one.seed}`]);
  if (here.model.leader !== null && here.model.leader !== one.number && here.model.leader !== one.parent) options.push([String(here.model.leader), `best, ${here.model.leader}`]);
  const body = h("div", {});
  const draw = async (to) => {
    const found = await ask(runPath(here.key, `/programs/${one.number}/diff?to=${to}`));
    show(body, found.diff ? [h("p", {}, h("button", { type: "button", onclick: () => saveAs(`program-${one.number}-from-${to}.diff`, found.diff, "text/x-diff") }, "Difference as a file")), diffBlock(found.diff)] : empty("The texts are the same."));
  };
  await draw(one.parent);
  return [h("div", { class: "tools" }, choose("Against", options, String(one.parent), draw)), h("p", {}), body];
}

function code(one, here) {
  const cut = one.code_length > one.code.length
    ? h("p", { class: "warn" }, `Only the first ${one.code.length} of ${one.code_length} characters are shown; `, h("a", { href: `/api/${runPath(here.key, `/programs/${one.number}/code`)}` }, "the whole text"), ".") : null;
  const list = one.findings.length ? table([
    ["kind", (item) => h("span", { class: `chip ${item.severity === "error" ? "bad" : ""}` }, item.kind)],
    ["line", (item) => (item.line === null ? "–" : item.here ? h("button", { type: "button", class: "quiet", onclick: () => document.getElementById(`L${item.line}`)?.scrollIntoView({ block: "center" }) }, `${item.file}:${item.line}`) : `${item.file}:${item.line}${item.of_original ? " of the original" : ""}`)],
    ["who", (item) => [item.rank === null ? "" : `rank ${item.rank} `, item.kernel]],
    ["message", (item) => [item.message, item.hint ? h("div", { class: "dim small" }, item.hint) : null, item.other ? h("div", { class: "dim small" }, `other side: ${item.other}`) : null,
      h("div", { class: "small" }, h("a", { href: runLink(here.key, "finding", `/${one.number}-${one.findings.indexOf(item) + 1}`) }, "both places, the cure, and what each rank did"))]],
  ], one.findings, "Findings") : null;
  const said = one.feedback ? h("details", {}, h("summary", {}, "What the judge said"), h("pre", { class: "text" }, one.feedback)) : null;
  return [list, said, h("p", {}), cut, one.code ? codeBlock(one.code, one.findings) : empty("There is no text: nothing that could be judged came of this attempt.")];
}

function numbers(one) {
  const pairs = (value) => Object.entries(value).sort(([a], [b]) => (a > b ? 1 : -1));
  const list = (value, format) => h("dl", { class: "pairs" }, pairs(value).map(([key, item]) => [h("dt", {}, key), h("dd", {}, format(item))]));
  const part = (title, value, format = short) => (Object.keys(value).length ? h("div", {}, h("h3", {}, title), list(value, format)) : null);
  return h("div", { class: "grid" }, part("Metrics", one.metrics), part("Metrics that proposers do not see", one.private_metrics),
    part("Directives", one.directives, String),
    part("Size", { "lines of code": one.nloc, functions: one.functions, "cyclomatic complexity": one.cyclomatic, characters: one.code_length }, String));
}

function relatives(one, here, link) {
  const list = (title, numbers) => (numbers.length ? [h("h3", {}, title), h("div", { class: "chips" }, numbers.slice(0, 200).map((at) => h("span", { class: "chip" }, link(at))))] : null);
  const path = [];
  for (let at = one.number; at !== null && at !== undefined && path.length < 10000;) {
    path.unshift(at);
    const place = here.model.place.get(at);
    at = place === undefined ? null : here.model.parent[place];
  }
  return [list("From the seed to here", path), list(plural(one.children.length, "child").replace("childs", "children"), one.children),
    list("Shown to its proposer, from the archive", one.archive), list("Shown to its proposer, of the best", one.top_k),
    one.migrations.length ? [h("h3", {}, "Migrations"), one.migrations.map(([at, from, to]) => h("p", {}, `after attempt ${at}: island ${from} → ${to}`))] : null];
}

async function calls(one, here) {
  const found = await ask(runPath(here.key, `/programs/${one.number}/calls`));
  if (!found.length) return empty(one.model ? "The run's folder holds no call for this program." : "No model was asked for this program.");
  return found.map((call) => h("article", {}, h("h3", {}, `${call.purpose}, ${call.model}`),
    h("p", { class: "dim" }, [call.cost === null ? "no known price" : dollars(call.cost), call.latency_s === null ? "" : `, ${duration(call.latency_s)}`]),
    h("details", { open: true }, h("summary", {}, "Reply"), h("pre", { class: "text", tabindex: "0" }, call.reply)),
    h("details", {}, h("summary", {}, "Prompt"), h("pre", { class: "text", tabindex: "0" }, call.prompt))));
}

async function timelines(one, here) {
  const get = async (number) => (number === null ? null : ask(runPath(here.key, `/programs/${number}/timeline`)));
  const [now, before] = await Promise.all([get(one.number), get(one.parent)]);
  if (!now) return empty(`No timeline is kept for it. Make one: warploom plot timeline RUN --program ${one.number}`);
  return [before ? [h("h3", {}, `Before: program ${one.parent}`), timelineView(before, now)] : null, h("h3", {}, `Program ${one.number}`), timelineView(now, before)];
}
