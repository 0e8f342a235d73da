// Horizontal bars with their values, as a picture that can be kept.

import { h, svg } from "./dom.js";

const ROW = 30, LABEL = 220, VALUE = 110, WIDTH = 760;

// rows: [name, value, text of the value]
export function bars(rows, label, colour = "accent") {
  const most = Math.max(...rows.map(([, value]) => value), 1e-12);
  const room = WIDTH - LABEL - VALUE;
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${ROW * rows.length + 8}`, class: "bars", role: "img", "font-family": "system-ui, sans-serif", "font-size": "13",
    "aria-label": `${label}: ${rows.map(([name, , text]) => `${name} ${text}`).join("; ")}` });
  rows.forEach(([name, value, text], at) => {
    const y = 4 + ROW * at, long = Math.max(1.5, (room * value) / most);
    picture.append(
      svg("text", { x: LABEL - 10, y: y + 19, "text-anchor": "end", class: "bar-name" }, name.length > 32 ? `${name.slice(0, 31)}…` : name),
      svg("rect", { x: LABEL, y: y + 5, width: long, height: ROW - 10, rx: 3, class: `bar-${colour}` }),
      svg("text", { x: LABEL + long + 8, y: y + 19, class: "bar-value" }, text));
  });
  return h("div", { class: "scroll" }, picture);
}
