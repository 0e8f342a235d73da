// Code with highlighting, differences, findings at their lines. Long texts are shown in parts.

import { h } from "./dom.js";
import { count, plural } from "./format.js";

const WORDS = new Set(("alignas alignof auto bool break case catch char class const constexpr const_cast continue decltype default delete do double dynamic_cast else enum explicit extern false float for friend goto if inline int long mutable namespace new noexcept nullptr operator private protected public register reinterpret_cast return short signed sizeof static static_assert static_cast struct switch template this throw true try typedef typename union unsigned using virtual void volatile while " +
  "__global__ __device__ __host__ __shared__ __constant__ __restrict__ __launch_bounds__ __syncthreads def import from as in is not and or None True False lambda with yield").split(" "));
const PARTS = /(\/\/.*$)|("(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?)|(\b(?:0[xX][0-9a-fA-F']+|\d[\d']*(?:\.\d*)?(?:[eE][+-]?\d+)?)[uUlLfF]*\b)|([A-Za-z_]\w*)|(\/\*)|([^\w"'/]+|.)/g;
const CHUNK = 1500; // lines that are shown at once
const LONGEST = 2000; // characters of a line

// Returns [spans, whether a comment is open at the end].
function painted(line, inside) {
  const found = [];
  let from = 0;
  if (inside) {
    const end = line.indexOf("*/");
    if (end < 0) return [[h("span", { class: "c" }, line)], true];
    found.push(h("span", { class: "c" }, line.slice(0, end + 2)));
    from = end + 2;
  } else if (/^\s*#\s*\w/.test(line)) {
    return [[h("span", { class: "m" }, line)], false];
  }
  PARTS.lastIndex = from;
  let match;
  while ((match = PARTS.exec(line)) !== null) {
    const [text, comment, string, number, word, block] = match;
    if (block) {
      const end = line.indexOf("*/", match.index + 2);
      found.push(h("span", { class: "c" }, end < 0 ? line.slice(match.index) : line.slice(match.index, end + 2)));
      if (end < 0) return [found, true];
      PARTS.lastIndex = end + 2;
      continue;
    }
    const kind = comment ? "c" : string ? "s" : number ? "n" : word && WORDS.has(word) ? "k" : null;
    if (kind) found.push(h("span", { class: kind }, text));
    else found.push(text);
  }
  return [found, false];
}

const cut = (line) => (line.length > LONGEST ? `${line.slice(0, LONGEST)} …` : line);

// findings: [{ line, here, severity, kind, message, hint }]
// `first` is the number of the first line, `marked` one to be shown as hit.
export function codeBlock(code, findings = [], first = 1, marked = 0) {
  const lines = code.split("\n");
  const notes = new Map();
  for (const one of findings) if (one.here) notes.set(one.line, [...(notes.get(one.line) ?? []), one]);
  let inside = false;
  const make = (at) => {
    const [spans, open] = painted(cut(lines[at]), inside);
    inside = open;
    const number = first + at, about = notes.get(number) ?? [];
    const hit = about.length ? ` hit ${about[0].severity}` : number === marked ? " hit" : "";
    return [
      h("div", { class: `line${hit}`, id: `L${number}` }, h("i", {}, number), h("span", {}, spans)),
      about.map((one) => h("div", { class: `note ${one.severity}` }, h("b", {}, one.kind), ` ${one.message}`, one.hint ? `\n${one.hint}` : "")),
    ];
  };
  return inParts(lines.length, make, "Code", Math.max(0, ...notes.keys()) - first);
}

export function diffBlock(diff) {
  const lines = diff.split("\n");
  if (lines.at(-1) === "") lines.pop();
  let old = NaN, fresh = NaN; // a part of a difference has no numbers
  return inParts(lines.length, (at) => {
    const line = lines[at];
    const hunk = /^@@ -(\d+)\S* \+(\d+)/.exec(line);
    if (hunk) { old = Number(hunk[1]); fresh = Number(hunk[2]); }
    if (hunk || line.startsWith("+++") || line.startsWith("---")) {
      return h("div", { class: "line hunk" }, h("i", {}), h("span", {}, line));
    }
    const sign = line[0];
    const number = sign === "-" ? old : fresh;
    if (sign !== "+") old++;
    if (sign !== "-") fresh++;
    const kind = sign === "+" ? " add" : sign === "-" ? " del" : "";
    return h("div", { class: `line${kind}` }, h("i", {}, Number.isNaN(number) ? "" : number),
      h("span", {}, `${sign ?? ""} `, painted(cut(line.slice(1)), false)[0]));
  }, "Difference");
}

function inParts(length, make, label, least = 0) {
  const body = h("div", {});
  const more = h("button", { type: "button" });
  let shown = 0;
  const go = () => {
    const until = Math.min(length, Math.max(shown + CHUNK, least + 50));
    for (; shown < until; shown++) body.append(...[make(shown)].flat(3));
    const rest = length - shown;
    more.textContent = rest > CHUNK ? `Show ${count(CHUNK)} of ${count(rest)} more lines` : `Show ${plural(rest, "more line")}`;
    more.hidden = shown >= length;
  };
  more.addEventListener("click", go);
  go();
  return h("div", {}, h("div", { class: "code", tabindex: "0", role: "region", "aria-label": label }, body), more);
}
