// Where one is (the address), what is shown there, and news of a run that goes on.

import { ask, isStaged, runLink, runPath, stagedLink } from "./api.js";
import { empty, h, hideTip, say, show } from "./dom.js";
import { count } from "./format.js";
import { Model } from "./model.js";

const VIEWS = [
  ["The search", [["overview", "Overview"], ["scores", "Scores over time"], ["lineage", "Lineage"], ["programs", "Programs"]]],
  ["Why", [["islands", "Islands"], ["space", "Design space"], ["proposers", "Operators and models"], ["failures", "Failures"], ["findings", "Findings"]]],
  ["Likeness", [["plane", "Embeddings"], ["similarity", "Similarity"]]],
  ["Notes", [["summaries", "Summaries"]]],
];
const STAGED = [["The run", [["result", "Result"], ["stages", "Stages and attempts"], ["correctness", "Correctness"], ["roofline", "Roofline"], ["texts", "Programs"]]]];
const SLOWLY = 250; // milliseconds between two renewals of a view

const main = document.getElementById("main");
const here = { key: null, run: null, model: null, view: null, name: "", asked: 0 };
let entered = null; // what the server tells of the run that one is in: each of its views waits for it
let drawn = Promise.resolve(); // the view that was begun last, which may still draw on the page
let news = null;

async function route(event) {
  hideTip();
  if (event?.type === "hashchange") window.scrollTo(0, 0); // another view begins at its top
  here.view?.close?.();
  here.view = null;
  const asked = ++here.asked;
  try {
    const [, key, name = "overview", argument] = parts(location.hash);
    if (!key) await showRuns();
    else if (isStaged(key)) await showStaged(key, name === "overview" ? "result" : name, argument, asked);
    else await showView(key, name, argument, asked);
  } catch (error) {
    if (asked === here.asked) fail(error);
  }
}

function parts(hash) {
  try {
    return hash.split("/").map(decodeURIComponent);
  } catch {
    throw new Error("The address is damaged: it has a % that begins no character.");
  }
}

function fail(error) {
  main.setAttribute("aria-busy", "false");
  show(main, h("section", { class: "card oops" }, h("h1", {}, "This cannot be shown"), h("p", {}, error.message),
    h("p", {}, h("a", { href: "#/" }, "All runs"), here.run ? [", ", h("a", { href: runLink(here.key) }, `the overview of ${here.run.info.title}`)] : null)));
  say(error.message);
}

async function showRuns() {
  leaveRun();
  const { render } = await import("./views/runs.js");
  const runs = await ask("runs");
  if (runs.length === 1 && !runs[0].error) {
    location.replace(runLink(runs[0].key));
    return;
  }
  render(main, runs);
  document.title = "warploom: runs";
}

async function showView(key, name, argument, asked) {
  if (here.key !== key) enterRun(key);
  await entered;
  if (asked !== here.asked) return;
  here.name = name;
  drawNav(name);
  main.setAttribute("aria-busy", "true");
  const known = ["program", "finding"].includes(name) || VIEWS.some(([, views]) => views.some(([word]) => word === name));
  if (!known) throw new Error(`There is no view ${name}.`);
  const { render } = await import(`./views/${name}.js`);
  const view = await draw(render, argument, asked);
  if (asked !== here.asked) { view?.close?.(); return; }
  here.view = view;
  main.setAttribute("aria-busy", "false");
  const title = main.querySelector("h1")?.textContent ?? name;
  document.title = `${title} – ${here.run.info.title} – warploom`;
}

// One view draws at a time: who was asked for in between is not drawn at all.
async function draw(render, argument, asked) {
  await drawn;
  if (asked !== here.asked) return null;
  const drawing = Promise.resolve(render(main, here, argument));
  drawn = drawing.catch(() => {});
  return drawing;
}

async function showStaged(key, name, argument, asked) {
  leaveRun();
  Object.assign(here, { key, name });
  if (!STAGED[0][1].some(([word]) => word === name)) throw new Error(`There is no view ${name}.`);
  drawMenu(STAGED, name, (view) => stagedLink(key, view));
  main.setAttribute("aria-busy", "true");
  const { render } = await import("./views/staged.js");
  const view = await draw(render, argument, asked);
  if (asked !== here.asked) { view?.close?.(); return; }
  here.view = view;
  main.setAttribute("aria-busy", "false");
  document.title = `${main.querySelector("h1")?.textContent ?? name} – ${key} – warploom`;
}

function enterRun(key) {
  leaveRun();
  const model = new Model(key);
  Object.assign(here, { key, model });
  entered = readRun(key, model);
}

async function readRun(key, model) {
  try {
    const [run] = await Promise.all([ask(runPath(key)), model.refresh()]);
    if (here.model !== model) return; // left in between
    here.run = run;
    drawStatus();
    listen(key);
  } catch (error) {
    if (here.model === model) leaveRun(); // the next view of it asks once more
    throw error;
  }
}

function leaveRun() {
  news?.close();
  news = null;
  Object.assign(here, { key: null, run: null, model: null });
  show(document.getElementById("nav"));
  show(document.getElementById("crumb"));
  show(document.getElementById("status"));
}

// The stream tells that something is new; what it is, is asked for. So nothing can be lost.
function listen(key) {
  let known = "", busy = false, again = false;
  news = new EventSource(`/api/${runPath(key, "/news")}`);
  news.addEventListener("grown", async (event) => {
    if (event.data === known) return;
    const first = known === "" && JSON.parse(event.data).attempts === here.model?.last;
    known = event.data;
    if (first) return;
    if (busy) { again = true; return; }
    busy = true;
    do {
      again = false;
      await renew(key);
      await new Promise((done) => setTimeout(done, SLOWLY));
    } while (again);
    busy = false;
  });
  news.addEventListener("error", () => drawStatus("no connection to the server"));
  news.addEventListener("open", () => { if (here.run) drawStatus(); });
}

// A browser keeps few connections to one server: pages that nobody looks at give theirs back.
document.addEventListener("visibilitychange", () => {
  if (!news) return;
  if (document.hidden) news.close();
  else if (news.readyState === EventSource.CLOSED && here.key) listen(here.key);
});

async function renew(key) {
  if (here.key !== key) return;
  try {
    const before = here.model.last;
    const [run] = await Promise.all([ask(runPath(key)), here.model.refresh()]);
    if (here.key !== key) return;
    here.run = run;
    drawStatus();
    await here.view?.update?.();
    if (here.model.last > before) say(`${count(here.model.total)} programs`);
  } catch (error) {
    drawStatus(error.message);
  }
}

function drawNav(current) {
  drawMenu(VIEWS, { program: "programs", finding: "findings" }[current] ?? current, (name) => runLink(here.key, name));
  show(document.getElementById("crumb"), h("b", {}, here.run.info.title), ` ${here.run.info.place === here.run.info.title ? "" : here.run.info.place}`);
}

function drawMenu(menu, active, link) {
  const nav = document.getElementById("nav"), inside = nav.contains(document.activeElement);
  show(nav, menu.map(([title, views]) => [
    h("h2", {}, title),
    views.map(([name, text]) => h("a", { href: link(name), "aria-current": name === active ? "page" : null }, text)),
  ]));
  if (inside) nav.querySelector("[aria-current]")?.focus(); // who walks by keys goes on from there
}

function drawStatus(problem) {
  const { state } = here.run.info;
  show(document.getElementById("status"), problem
    ? [h("i", { class: "dot unreadable" }), problem]
    : [h("i", { class: `dot ${state}` }), `${state}, ${count(here.model.total ?? 0)} programs`]);
}

// --- light and dark ---

const dark = window.matchMedia("(prefers-color-scheme: dark)");

function paintTheme() {
  const chosen = localStorage.getItem("theme") ?? (dark.matches ? "dark" : "light");
  document.documentElement.dataset.theme = chosen;
  document.getElementById("theme").textContent = chosen === "dark" ? "Light" : "Dark";
}

document.getElementById("theme").addEventListener("click", () => {
  localStorage.setItem("theme", document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  paintTheme();
  route();
});
dark.addEventListener("change", () => { paintTheme(); route(); });
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
paintTheme();
show(main, empty("Reading the run …"));
window.addEventListener("hashchange", route);
route();
