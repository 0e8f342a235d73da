// Two things to draw on, with the same calls: a canvas to look at, and an SVG to keep.

import { svg } from "./dom.js";

const FONT = "12px system-ui, sans-serif";

export class CanvasSurface {
  constructor(canvas, width, height) {
    const density = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * density);
    canvas.height = Math.round(height * density);
    canvas.style.height = `${height}px`;
    this.pen = canvas.getContext("2d");
    this.pen.setTransform(density, 0, 0, density, 0, 0);
    this.pen.font = FONT;
  }

  clip(x, y, width, height) {
    this.pen.save();
    this.pen.beginPath();
    this.pen.rect(x, y, width, height);
    this.pen.clip();
  }

  unclip() { this.pen.restore(); }

  rect(x, y, width, height, fill) {
    this.pen.fillStyle = fill;
    this.pen.fillRect(x, y, width, height);
  }

  // paths: arrays of [x, y, x, y, ...], all in one stroke
  lines(paths, stroke, width = 1, alpha = 1) {
    const pen = this.pen;
    pen.strokeStyle = stroke;
    pen.lineWidth = width;
    pen.globalAlpha = alpha;
    pen.beginPath();
    for (const path of paths) {
      pen.moveTo(path[0], path[1]);
      for (let at = 2; at < path.length; at += 2) pen.lineTo(path[at], path[at + 1]);
    }
    pen.stroke();
    pen.globalAlpha = 1;
  }

  dot(x, y, radius, fill, alpha = 1) {
    const pen = this.pen;
    pen.globalAlpha = alpha;
    pen.fillStyle = fill;
    pen.beginPath();
    pen.arc(x, y, radius, 0, 7);
    pen.fill();
    pen.globalAlpha = 1;
  }

  ring(x, y, radius, stroke, width = 1.5) {
    const pen = this.pen;
    pen.strokeStyle = stroke;
    pen.lineWidth = width;
    pen.beginPath();
    pen.arc(x, y, radius, 0, 7);
    pen.stroke();
  }

  text(text, x, y, fill, align = "left", turned = false) {
    const pen = this.pen;
    pen.fillStyle = fill;
    pen.textAlign = align;
    if (!turned) return pen.fillText(text, x, y);
    pen.save();
    pen.translate(x, y);
    pen.rotate(-Math.PI / 2);
    pen.fillText(text, 0, 0);
    return pen.restore();
  }
}

const ANCHORS = { left: "start", center: "middle", right: "end" };

export class SvgSurface {
  constructor(width, height) {
    this.root = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "font-family": "system-ui, sans-serif", "font-size": "12" });
    this.at = this.root;
    this.clips = 0;
  }

  get source() {
    return new XMLSerializer().serializeToString(this.root);
  }

  clip(x, y, width, height) {
    const id = `clip${this.clips++}`;
    this.root.append(svg("clipPath", { id }, box(x, y, width, height)));
    this.at = svg("g", { "clip-path": `url(#${id})` });
    this.root.append(this.at);
  }

  unclip() { this.at = this.root; }

  rect(x, y, width, height, fill) {
    const one = box(x, y, width, height);
    one.setAttribute("fill", fill);
    this.at.append(one);
  }

  lines(paths, stroke, width = 1, alpha = 1) {
    const d = paths.map((path) => {
      let text = `M${fixed(path[0])} ${fixed(path[1])}`;
      for (let at = 2; at < path.length; at += 2) text += `L${fixed(path[at])} ${fixed(path[at + 1])}`;
      return text;
    }).join("");
    this.at.append(svg("path", { d, stroke, fill: "none", "stroke-width": String(width), opacity: String(alpha) }));
  }

  dot(x, y, r, fill, alpha = 1) {
    this.at.append(svg("circle", { cx: fixed(x), cy: fixed(y), r: String(r), fill, opacity: String(alpha) }));
  }

  ring(x, y, r, stroke, width = 1.5) {
    this.at.append(svg("circle", { cx: fixed(x), cy: fixed(y), r: String(r), stroke, fill: "none", "stroke-width": String(width) }));
  }

  text(text, x, y, fill, align = "left", turned = false) {
    const one = svg("text", { x: fixed(x), y: fixed(y), fill, "text-anchor": ANCHORS[align] }, String(text));
    if (turned) one.setAttribute("transform", `rotate(-90 ${fixed(x)} ${fixed(y)})`);
    this.at.append(one);
  }
}

const fixed = (value) => String(Math.round(value * 100) / 100);

function box(x, y, width, height) {
  return svg("rect", { x: fixed(x), y: fixed(y), width: fixed(width), height: fixed(height) });
}
