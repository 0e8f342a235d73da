"use strict";
const steps = JSON.parse(document.getElementById("data").textContent);
const get = (id) => document.getElementById(id);
let at = 0, timer = null;
function show(next) {
  at = Math.max(0, Math.min(steps.length - 1, next));
  const step = steps[at];
  get("title").textContent = `${at + 1} of ${steps.length}. ${step.title}`;
  get("about").textContent = step.about;
  get("at").value = at;
  const all = step.text.split("\n"), most = 4000;
  const lines = all.slice(0, most).map((line) => {
    const one = document.createElement("span");
    one.textContent = line;
    if (step.kind === "diff") one.className = /^(@@|---|\+\+\+)/.test(line) ? "hunk" : line[0] === "+" ? "add" : line[0] === "-" ? "del" : "";
    return one;
  });
  if (all.length > most) {
    const rest = document.createElement("span");
    rest.className = "hunk";
    rest.textContent = `... ${all.length - most} more lines`;
    lines.push(rest);
  }
  get("code").replaceChildren(...lines);
  const first = get("code").querySelector(".add, .del");
  get("code").scrollTop = first ? Math.max(0, first.offsetTop - get("code").offsetTop - 120) : 0;
}
function stop() { clearInterval(timer); timer = null; get("play").textContent = "Play"; }
get("play").addEventListener("click", () => {
  if (timer) { stop(); return; }
  if (at === steps.length - 1) show(0);
  get("play").textContent = "Stop";
  timer = setInterval(() => { if (at === steps.length - 1) stop(); else show(at + 1); }, 1800);
});
get("back").addEventListener("click", () => { stop(); show(at - 1); });
get("on").addEventListener("click", () => { stop(); show(at + 1); });
document.addEventListener("keydown", (event) => {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (step && event.target.id !== "at") { stop(); show(at + step); }
});
get("at").addEventListener("input", (event) => { stop(); show(Number(event.target.value)); });
show(0);
