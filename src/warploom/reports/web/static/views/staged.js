// A transform or a synthesis: its stages, attempts, what was compared, the roofline, its texts.

import { ask, stagedLink } from "../api.js";
import { bars } from "../bars.js";
import { codeBlock, diffBlock } from "../code.js";
import { card, choose, empty, exports_, h, head, say, show, table } from "../dom.js";
import { count, dollars, duration, plural, short } from "../format.js";

const EVERY = 1500; // milliseconds between two looks at a run that may go on
const ABOUT = {
  result: ["", "What came of it."],
  stages: ["Stages", "Each stage in order: how often it was tried, and what was said of it."],
  correctness: ["Correctness", "What was compared, how often, and what was found."],
  roofline: ["Roofline", "How near the kernel is to what the machine's memory allows, and where its arithmetic would be the limit."],
  texts: ["Programs and differences", "Everything that the folder keeps as text."],
};

export async function render(main, here, argument) {
  let run = await ask(`staged/${here.key}`);
  show(document.getElementById("crumb"), h("b", {}, run.title), ` ${run.place}`);
  const [title, about] = ABOUT[here.name];
  const part = { result, stages, correctness, roofline, texts }[here.name];
  const body = h("div", {});
  const tools = exports_(`staged/${here.key}`, here.name, rowsOf(() => run, here.name), here.name === "stages" || (here.name === "roofline" && run.roof) ? () => body.querySelector("svg.bars") : null);
  const key = here.key, name = here.name;
  show(main, head(title || run.title, about, tools), body);
  show(body, await part(run, here, argument));
  return run.unfinished ? following(key, () => run, async (next) => {
    const same = name === "texts" && String(next.texts) === String(run.texts);
    run = next;
    if (same) return; // who reads a text keeps it
    show(body, await part(run, here, argument));
    say(`${plural(run.stages.length, "stage")}, ${plural(run.attempts.length, "attempt")}`);
  }) : null;
}

// A synthesis writes its folder as it goes on: what is new there is shown, until it has ended.
function following(key, known, renew) {
  let told = JSON.stringify(known()), closed = false;
  const look = async () => {
    if (document.hidden) return;
    try {
      const next = await ask(`staged/${key}`), text = JSON.stringify(next);
      if (closed || text === told) return;
      told = text;
      await renew(next);
      if (!next.unfinished) clearInterval(timer);
    } catch (error) {
      if (!closed) say(error.message);
    }
  };
  const timer = setInterval(look, EVERY);
  return { close() { closed = true; clearInterval(timer); } };
}

function rowsOf(now, name) {
  if (name === "stages") return () => [["stage", "status", "attempts", "origin", "seconds", "cost", "problem"], ...now().stages.map((one) => [one.name, one.status, one.attempts, one.origin, one.seconds, one.cost, one.problem])];
  if (name === "correctness") return () => [["what", "name", "passed", "times", "detail"],
    ...now().checks.map((one) => ["check", one.name, one.passed, one.times, one.detail]),
    ...now().compared.map((one) => ["buffer", one.buffer, one.passed, one.compared, `${one.failed} of ${one.elements} elements off`])];
  return null;
}

const verdict = (good, yes = "passed", no = "failed") => h("span", { class: `chip ${good ? "good" : "bad"}` }, good ? yes : no);

function result(run, here) {
  const fact = (value, what, kind = "") => h("div", { class: "fact" }, h("b", { class: kind }, value), h("span", {}, what));
  const good = run.checks.filter((one) => one.passed).length;
  return [
    h("div", { class: "facts" },
      fact(run.verified ? "verified" : run.unfinished ? "unfinished" : "not verified", `a ${run.kind}`, run.verified ? "good" : "bad"),
      fact(`${run.stages.filter((one) => one.status !== "failed").length} of ${run.stages.length}`, "stages done"),
      run.checks.length ? fact(`${good} of ${run.checks.length}`, "checks passed") : null,
      run.compared.length ? fact(count(run.compared.reduce((sum, one) => sum + one.elements, 0)), "elements compared") : null,
      run.runs.length ? fact(count(run.runs.length), "runs of the verification") : null,
      run.roof ? fact(`${short(run.roof.time_us)} us`, `${run.roof.time_source} on ${run.roof.machine}`) : null),
    run.unfinished ? h("p", { class: "dim" }, "It goes on, or was broken off and can be resumed. This page follows it.") : run.error ? h("section", { class: "card oops" }, h("p", {}, run.error)) : null,
    h("div", { class: "grid" },
      card("About it", h("dl", { class: "pairs" }, Object.entries(run.facts).map(([key, value]) => [h("dt", {}, key), h("dd", {}, value)]))),
      card("Stages", stageTable(run))),
    run.attempts.length ? card("Attempts", attempts(run, here)) : null,
  ];
}

function stageTable(run) {
  return table([
    ["stage", (one) => one.name],
    ["how", (one) => verdict(!["failed", "skipped"].includes(one.status), one.status, one.status)],
    ["attempts", (one) => count(one.attempts), "num"],
    ["time", (one) => duration(one.seconds), "num"],
  ], run.stages, "Stages");
}

function stages(run, here) {
  return [card("", run.stages.length ? table([
    ["stage", (one) => one.name],
    ["how", (one) => verdict(!["failed", "skipped"].includes(one.status), one.status, one.status)],
    ["attempts", (one) => count(one.attempts), "num"],
    ["by", (one) => one.origin || "–"],
    ["time", (one) => duration(one.seconds), "num"],
    ["cost", (one) => (one.cost ? dollars(one.cost) : "–"), "num"],
    ["what was said", (one) => [one.notes.map((note) => h("div", {}, note)), one.problem ? h("div", { class: "bad" }, one.problem) : null]],
  ], run.stages, "Stages") : empty("No stage was begun.")),
  run.stages.length ? card("Where the time went", bars(run.stages.map((one) => [one.name, one.seconds, duration(one.seconds)]), "Time of each stage")) : null,
  card("Attempts", run.attempts.length ? attempts(run, here) : empty("The folder keeps no single attempts: each stage says how many there were."))];
}

function attempts(run, here) {
  return table([
    ["attempt", (one) => (one.text ? h("a", { href: stagedLink(here.key, "texts", one.text) }, one.number) : one.number), "num"],
    ["verdict", (one) => verdict(one.passed)],
    ["checks", (one) => count(one.checks), "num"],
    ["failed first", (one) => one.failed_check || "–"],
    ["why", (one) => one.detail || "–"],
  ], run.attempts, "Attempts");
}

function correctness(run) {
  return [
    run.proof ? h("p", { class: "dim" }, run.proof) : null,
    run.compared.length ? card("Outputs, compared with the original program's", table([
      ["buffer", (one) => one.buffer], ["type", (one) => one.dtype],
      ["verdict", (one) => verdict(one.passed)],
      ["copies compared", (one) => count(one.compared), "num"], ["elements", (one) => count(one.elements), "num"],
      ["off by too much", (one) => count(one.failed), "num"], ["largest error", (one) => short(one.max_error), "num"],
      ["relative, absolute tolerance", (one) => `${short(one.rtol)}, ${short(one.atol)}`, "num"],
    ], run.compared, "Compared outputs")) : null,
    run.checks.length ? card("Checks of acceptance", table([
      ["check", (one) => one.name], ["verdict", (one) => verdict(one.passed)], ["times", (one) => count(one.times), "num"],
      ["detail", (one) => one.detail || "–"],
    ], run.checks, "Checks")) : null,
    run.runs.length ? card("Runs", table([
      ["network", (one) => one.timing], ["seed", (one) => one.seed, "num"],
      ["verdict", (one) => verdict(one.verdict === "ok", one.verdict, one.verdict)], ["ended", (one) => one.state],
      ["time", (one) => duration(one.seconds), "num"],
    ], run.runs, "Runs of the verification")) : null,
    run.findings.length ? card("Findings", table([
      ["kind", (one) => h("span", { class: `chip ${one.severity === "error" ? "bad" : ""}` }, one.kind)],
      ["message", (one) => [one.message, one.hint ? h("div", { class: "dim small" }, one.hint) : null]],
      ["at", (one) => (one.line === null ? "–" : `${one.file}:${one.line}`)],
    ], run.findings, "Findings")) : null,
    run.compared.length || run.checks.length || run.runs.length ? null : card("", empty("Nothing was compared: it ended before that.")),
  ];
}

function roofline(run) {
  const { roof } = run;
  if (!roof) return card("", empty(run.kind === "transform" ? "A transform is verified, not timed: its evolve run, or warploom eval, has times." : "No kernel was timed."));
  const rows = [["this kernel", roof.time_us, `${short(roof.time_us)} us`], ["what moving the bytes takes", roof.floor_us, `${short(roof.floor_us)} us`]];
  if (roof.separate_us !== null) rows.push(["one kernel for each operation", roof.separate_us, `${short(roof.separate_us)} us`]);
  return [
    card("Time", bars(rows, "Times in microseconds"), h("p", { class: "dim" }, `All times are ${roof.time_source}, on ${roof.machine}${roof.note ? `: ${roof.note}` : ""}.`)),
    card("Bandwidth", bars([["reached", roof.reached_gbs, `${short(roof.reached_gbs)} GB/s`], ...(roof.most_gbs ? [["the machine's", roof.most_gbs, `${short(roof.most_gbs)} GB/s`]] : [])], "Bandwidth in GB/s"),
      h("p", { class: "dim" }, `${count(roof.bytes_moved)} bytes are moved; it is held back by ${roof.bottleneck}. The model counts bytes and no operations: how near the kernel is to the roof of arithmetic is not known.`),
      roof.balance === null ? null : h("p", { class: "dim" }, `That roof is ${short(roof.most_gflops)} GFLOP/s on this machine (32 bits, without tensor cores): it would be the lower one for kernels of more than ${short(roof.balance)} operations for each byte they move.`)),
  ];
}

async function texts(run, here, argument) {
  if (!run.texts.length) return card("", empty("The folder holds no text."));
  const first = run.texts.includes(argument) ? argument : run.texts.find((one) => one.endsWith(".diff")) ?? run.texts.find((one) => one === "kernel.cu") ?? run.texts[0];
  const body = h("div", {}), link = h("a", { class: "button", download: "" }, "This text");
  const draw = async (name) => {
    const address = `staged/${here.key}/text?name=${encodeURIComponent(name)}`;
    link.setAttribute("href", `/api/${address}`);
    const answer = await ask(address, "text");
    show(body, name.endsWith(".diff") ? diffBlock(answer) : codeBlock(answer));
  };
  await draw(first);
  return card("", h("div", { class: "tools" }, choose(plural(run.texts.length, "text"), run.texts.map((one) => [one, one]), first, draw), link), h("p", {}), body);
}
