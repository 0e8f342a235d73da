// A picture of programs that can be zoomed, dragged, pointed at, walked by keys, and kept as SVG.
//
// A scene: { bounds: [x0, x1, y0, y1], axes: {x, y, formatX, formatY} or null,
//   strokes: [{ paths, color, width, alpha }] below the nodes, above: the same over them, back(surface, x, y) or nothing,
//   nodes: { x, y, number, color, radius, alpha, ring } (columns), tell(at), label(at) or nothing }

import { csv, h, hideTip, saveAs, say, showTip } from "./dom.js";
import { CanvasSurface, SvgSurface } from "./surface.js";
import { short } from "./format.js";
import { themed } from "./colors.js";

const NEAR = 14; // pixels within which a node is pointed at
export const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export class Plot {
  constructor({ label, height, make, open, name }) {
    this.make = make;
    this.open = open;
    this.name = name;
    this.height = height;
    this.zoom = { x: 1, y: 1, left: 0, top: 0 };
    this.chosen = -1;
    this.canvas = h("canvas", { tabindex: "0", role: "application", "aria-label":
      `${label}. Arrow keys walk from program to program, Enter opens one, plus and minus zoom, 0 shows all.` });
    this.element = h("div", { class: "plot tall" }, this.canvas);
    this.listen();
    this.watcher = new ResizeObserver(() => this.draw());
    this.watcher.observe(this.element);
  }

  close() {
    this.watcher.disconnect();
    cancelAnimationFrame(this.frame);
    hideTip();
  }

  // Draws soon; several wishes are one picture.
  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.drawNow());
  }

  renew() {
    this.scene = null;
    this.draw();
  }

  drawNow() {
    const width = this.element.clientWidth;
    if (!width) return;
    this.scene ??= this.make();
    this.width = width;
    this.paint(new CanvasSurface(this.canvas, width, this.height));
    performance.clearMarks("drawn");
    performance.mark("drawn"); // for bench/web_ui.py
  }

  keep() {
    const surface = new SvgSurface(this.width, this.height);
    surface.rect(0, 0, this.width, this.height, themed("card"));
    this.paint(surface);
    saveAs(`${this.name}.svg`, surface.source, "image/svg+xml");
  }

  frameBox() {
    return this.scene.axes
      ? { left: this.scene.axes.left ?? 62, right: 22, top: 10, bottom: 38 }
      : { left: 14, right: 46, top: 16, bottom: 14 };
  }

  place() {
    const [x0, x1, y0, y1] = this.scene.bounds;
    const edge = this.frameBox(), zoom = this.zoom;
    const width = this.width - edge.left - edge.right, height = this.height - edge.top - edge.bottom;
    const wide = width * zoom.x / ((x1 - x0) || 1), high = height * zoom.y / ((y1 - y0) || 1);
    const x = (value) => edge.left + zoom.left + (value - x0) * wide;
    const y = (value) => edge.top + zoom.top + (y1 - value) * high;
    const backX = (pixel) => x0 + (pixel - edge.left - zoom.left) / wide;
    const backY = (pixel) => y1 - (pixel - edge.top - zoom.top) / high;
    return { x, y, backX, backY, edge, width, height };
  }

  paint(surface) {
    const { scene } = this;
    const at = this.place();
    if (scene.axes) this.paintAxes(surface, at);
    surface.clip(at.edge.left - 8, 0, at.width + (scene.axes ? 16 : 50), this.height - (scene.axes ? at.edge.bottom - 8 : 0));
    scene.back?.(surface, at.x, at.y);
    for (const stroke of scene.strokes) this.stroke(surface, at, stroke);
    this.paintNodes(surface, at);
    for (const stroke of scene.above ?? []) this.stroke(surface, at, stroke);
    surface.unclip();
  }

  stroke(surface, at, { paths, color, width = 1, alpha = 1 }) {
    const placed = paths.map((path) => path.map((value, i) => (i % 2 ? at.y(value) : at.x(value))));
    surface.lines(placed, color, width, alpha);
  }

  paintNodes(surface, at) {
    const { nodes, label } = this.scene;
    const ink = themed("ink"), dim = themed("dim");
    let shown = 0;
    const seen = [];
    for (let i = 0; i < nodes.x.length; i++) {
      const x = at.x(nodes.x[i]), y = at.y(nodes.y[i]);
      if (x < -20 || x > this.width + 20 || y < -20 || y > this.height + 20) continue;
      surface.dot(x, y, nodes.radius[i], nodes.color[i], nodes.alpha?.[i] ?? 1);
      if (nodes.ring?.[i]) surface.ring(x, y, nodes.radius[i] + 2.5, nodes.ring[i]);
      if (shown++ < 400) seen.push([i, x, y]);
    }
    if (label && shown < 90) {
      for (const [i, x, y] of seen) {
        const text = label(i);
        if (text) surface.text(text, x + nodes.radius[i] + (nodes.ring?.[i] ? 7 : 4), y - (this.scene.axes ? -4 : 5), dim);
      }
    }
    if (this.chosen >= 0 && this.chosen < nodes.x.length) {
      const i = this.chosen;
      surface.ring(at.x(nodes.x[i]), at.y(nodes.y[i]), nodes.radius[i] + 4, ink, 2);
    }
  }

  paintAxes(surface, at) {
    const { axes } = this.scene;
    const line = themed("line"), dim = themed("dim");
    const right = this.width - at.edge.right, bottom = this.height - at.edge.bottom;
    const ys = axes.valuesY ?? ticks(at.backY(bottom), at.backY(at.edge.top), 6);
    for (const value of ys) {
      if (at.y(value) < at.edge.top - 1 || at.y(value) > bottom + 1) continue;
      surface.lines([[at.edge.left, at.y(value), right, at.y(value)]], line);
      surface.text((axes.formatY ?? short)(value), at.edge.left - 8, at.y(value) + 4, dim, "right");
    }
    for (const value of ticks(at.backX(at.edge.left), at.backX(right), Math.max(3, this.width / 120))) {
      surface.text((axes.formatX ?? short)(value), at.x(value), bottom + 18, dim, "center");
    }
    surface.text(axes.x, (at.edge.left + right) / 2, this.height - 4, dim, "center");
    surface.text(axes.y, 12, (at.edge.top + bottom) / 2, dim, "center", true);
  }

  nearest(px, py, most = NEAR, direction = null) {
    if (!this.scene) return -1;
    const { nodes } = this.scene;
    const at = this.place();
    let found = -1, best = most * most;
    for (let i = 0; i < nodes.x.length; i++) {
      const dx = at.x(nodes.x[i]) - px, dy = at.y(nodes.y[i]) - py;
      let far = dx * dx + dy * dy;
      if (direction) {
        const along = dx * direction[0] + dy * direction[1];
        const aside = Math.abs(dx * direction[1]) + Math.abs(dy * direction[0]);
        if (along < 1 || i === this.chosen) continue;
        far = (along + 2.5 * aside) ** 2;
      }
      if (far < best) { best = far; found = i; }
    }
    return found;
  }

  choose(at, speak = true) {
    this.chosen = at;
    if (at >= 0 && speak) say(this.scene.tell(at));
    this.draw();
  }

  listen() {
    const { canvas } = this;
    let drag = null;
    canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.clientX, y: event.clientY, left: this.zoom.left, top: this.zoom.top, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!drag) return this.point(event);
      const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
      if (Math.abs(dx) + Math.abs(dy) > 4) drag.moved = true;
      if (!drag.moved) return undefined;
      canvas.classList.add("drag");
      this.zoom.left = drag.left + dx;
      this.zoom.top = drag.top + dy;
      hideTip();
      return this.draw();
    });
    canvas.addEventListener("pointerup", (event) => {
      canvas.classList.remove("drag");
      if (drag && !drag.moved) {
        const found = this.nearest(event.offsetX, event.offsetY);
        if (found >= 0) this.open(this.scene.nodes.number[found]);
      }
      drag = null;
    });
    canvas.addEventListener("pointerleave", () => { hideTip(); });
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.altKey && document.activeElement !== canvas) return;
      event.preventDefault();
      this.zoomBy(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
    }, { passive: false });
    canvas.addEventListener("dblclick", (event) => this.zoomBy(1.8, event.offsetX, event.offsetY));
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("blur", () => { hideTip(); });
  }

  point(event) {
    const found = this.nearest(event.offsetX, event.offsetY);
    if (found < 0) hideTip();
    else showTip(this.scene.tell(found), event.clientX, event.clientY);
    if (found !== this.chosen) this.choose(found, false);
  }

  key(event) {
    const step = KEYS[event.key];
    if (step) this.walk(step);
    else if (event.key === "Enter" && this.chosen >= 0) this.open(this.scene.nodes.number[this.chosen]);
    else if (event.key === "+" || event.key === "=") this.zoomBy(1.4, this.width / 2, this.height / 2);
    else if (event.key === "-") this.zoomBy(1 / 1.4, this.width / 2, this.height / 2);
    else if (event.key === "0") this.all();
    else return;
    event.preventDefault();
  }

  walk(step) {
    const { nodes } = this.scene;
    if (!nodes.x.length) return;
    const at = this.place();
    const from = this.chosen;
    const found = from < 0 ? 0 : this.nearest(at.x(nodes.x[from]), at.y(nodes.y[from]), 1e9, step);
    if (found < 0) return;
    const x = at.x(nodes.x[found]), y = at.y(nodes.y[found]);
    if (x < 0 || x > this.width) this.zoom.left += this.width / 2 - x;
    if (y < 0 || y > this.height) this.zoom.top += this.height / 2 - y;
    this.choose(found);
    const box = this.canvas.getBoundingClientRect();
    const now = this.place();
    showTip(this.scene.tell(found), box.left + now.x(nodes.x[found]), box.top + now.y(nodes.y[found]));
  }

  zoomBy(factor, px, py) {
    const { zoom } = this, edge = this.frameBox();
    const next = Math.max(0.5, Math.min(4000, zoom.x * factor)) / zoom.x;
    zoom.left = px - edge.left - (px - edge.left - zoom.left) * next;
    zoom.top = py - edge.top - (py - edge.top - zoom.top) * next;
    zoom.x *= next;
    zoom.y *= next;
    hideTip();
    this.draw();
  }

  all() {
    this.zoom = { x: 1, y: 1, left: 0, top: 0 };
    this.draw();
  }

  tools(rows) {
    return [
      h("button", { type: "button", onclick: () => this.zoomBy(1.6, this.width / 2, this.height / 2), "aria-label": "Zoom in" }, "+"),
      h("button", { type: "button", onclick: () => this.zoomBy(1 / 1.6, this.width / 2, this.height / 2), "aria-label": "Zoom out" }, "−"),
      h("button", { type: "button", onclick: () => this.all() }, "Show all"),
      h("button", { type: "button", onclick: () => this.keep() }, "SVG"),
      rows ? h("button", { type: "button", onclick: () => saveAs(`${this.name}.csv`, csv(rows()), "text/csv") }, "CSV") : null,
    ];
  }
}

export function ticks(low, high, wanted) {
  const span = high - low;
  if (!(span > 0) || !Number.isFinite(span)) return [low];
  const rough = span / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-9; at += step) found.push(Number(at.toPrecision(12)));
  return found;
}

// items: [color, text, what it is the color of: "dot" (else), "ring" or "line"]
export function legend(items) {
  return h("div", { class: "legend" }, items.map(([color, text, form]) => h("span", {}, swatch(color, form), text)));
}

function swatch(color, form) {
  const surface = new SvgSurface(form === "line" ? 18 : 12, 12);
  if (form === "ring") surface.ring(6, 6, 4.5, color, 2);
  else if (form === "line") surface.lines([[1, 6, 17, 6]], color, 2.5);
  else surface.dot(6, 6, 5, color);
  surface.root.setAttribute("aria-hidden", "true");
  return surface.root;
}
