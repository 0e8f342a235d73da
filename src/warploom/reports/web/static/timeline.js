// When what ran on each rank and stream.

import { h } from "./dom.js";
import { kind, themed } from "./colors.js";
import { Plot, legend } from "./plot.js";
import { short } from "./format.js";

const PARTS = [["compute", 0, "computing"], ["communication", 1, "moving data"], ["waiting", 7, "waiting for others"]];

// `other` shares the scale, so that before and after can be compared.
export function timelineView(timeline, other) {
  const lanes = [...new Set(timeline.spans.map((one) => `${one.rank}/${one.lane}`))].sort((a, b) => {
    const [r, l] = a.split("/").map(Number), [s, m] = b.split("/").map(Number);
    return r - s || l - m;
  });
  const end = Math.max(...[timeline, other].filter(Boolean).flatMap((one) => one.spans.map((span) => span.start + span.length)), 1);
  const place = new Map(lanes.map((lane, at) => [lane, lanes.length - at]));
  const y = (one) => place.get(`${one.rank}/${one.lane}`);
  const plot = new Plot({
    label: "Timeline", height: 60 + 26 * lanes.length, name: "timeline", open: () => {},
    make: () => ({
      bounds: [0, end, 0.3, lanes.length + 0.7],
      axes: { left: 130, x: "microseconds", y: "rank and stream", valuesY: lanes.map((_, i) => i + 1), formatY: (value) => { const lane = lanes[lanes.length - value]; return lane ? `${lane.split("/")[0]} ${timeline.lanes[lane] ?? ""}`.slice(0, 17) : ""; } },
      strokes: [],
      back(surface, px, py) {
        const high = Math.max(4, (py(0) - py(1)) * 0.62);
        for (const one of timeline.spans) {
          let at = one.start;
          const top = py(y(one)) - high / 2;
          const draw = (length, color) => { if (length > 0) surface.rect(px(at), top, Math.max(0.8, px(at + length) - px(at)), high, color); at += length; };
          if (one.kind === "host") draw(one.length, themed("line"));
          else for (const [part, color] of PARTS) draw(one[part], kind(color));
        }
      },
      nodes: { x: timeline.spans.map((one) => one.start + one.length / 2), y: timeline.spans.map(y), number: timeline.spans.map(() => 0), color: timeline.spans.map(() => "transparent"), radius: timeline.spans.map(() => 1) },
      tell: (at) => { const one = timeline.spans[at]; return `${one.name}\nrank ${one.rank}, ${timeline.lanes[`${one.rank}/${one.lane}`] ?? ""}\n${short(one.start)} to ${short(one.start + one.length)} us\ncomputing ${short(one.compute)}, moving ${short(one.communication)}, waiting ${short(one.waiting)} us`; },
    }),
  });
  plot.draw();
  return h("div", {}, h("div", { class: "tools" }, plot.tools(() => [["rank", "lane", "name", "kind", "start_us", "length_us"], ...timeline.spans.map((one) => [one.rank, one.lane, one.name, one.kind, one.start, one.length])])),
    plot.element, legend([...PARTS.map(([, color, text]) => [kind(color), text]), [themed("line"), "host"]]));
}
