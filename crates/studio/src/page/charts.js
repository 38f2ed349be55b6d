// Gauges and charts, drawn as SVG; each says in words what it shows.

import { el, fill, svg } from "./parts.js";

// The next of 1, 2, 5 times a power of ten.
function nice(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value * 0.999);
}

const ARC = { radius: 42, length: Math.PI * 42 };

// A gauge like IOMeter's: its end grows with what it has seen.
export class Gauge {
  constructor(title, format, most) {
    this.format = format;
    this.fixed = most;
    this.most = most || 0;
    this.value = el("div", { class: "gauge-value" }, "–");
    this.sub = el("div", { class: "gauge-sub" }, " ");
    this.end = svg("text", { x: 94, y: 62, class: "gauge-end", "text-anchor": "end" });
    this.arc = svg("path", { d: "M8 50a42 42 0 0 1 84 0", class: "gauge-arc", "stroke-dasharray": "0 200" });
    const picture = svg("svg", { viewBox: "0 0 100 64", "aria-hidden": "true" },
      svg("path", { d: "M8 50a42 42 0 0 1 84 0", class: "gauge-track" }), this.arc, svg("text", { x: 6, y: 62, class: "gauge-end" }), this.end);
    picture.children[2].textContent = "0";
    this.element = el("div", { class: "gauge" }, el("div", { class: "gauge-title" }, title), el("div", { class: "gauge-picture" }, picture, this.value), this.sub);
  }

  set(value, sub) {
    this.sub.textContent = sub || " ";
    if (value === null || value === undefined) {
      this.value.textContent = "–";
      this.arc.setAttribute("stroke-dasharray", "0 200");
      return;
    }
    if (!this.fixed) this.most = Math.max(this.most, nice(value));
    this.value.textContent = this.format(value);
    this.end.textContent = this.most ? this.format(this.most) : "";
    const share = Math.max(0, Math.min(1, value / (this.most || 1)));
    this.arc.setAttribute("stroke-dasharray", share * ARC.length + " 200");
  }
}

// A chart of lines over seconds: `lines` are { name, colour, points: [[x, y]] }; a null y is a gap.
export class Chart {
  constructor(title, format) {
    this.title = title;
    this.format = format;
    this.legend = el("div", { class: "legend" });
    this.place = el("div", { class: "plot" });
    this.element = el("figure", { class: "chart" }, el("figcaption", {}, el("span", {}, title), this.legend), this.place);
    this.lines = [];
    this.marks = [];
    new ResizeObserver(() => this.draw()).observe(this.place);
  }

  set(lines, marks) {
    this.lines = lines.filter((line) => line.points.some(([, y]) => y !== null && y !== undefined));
    this.marks = marks || [];
    fill(this.legend, this.lines.map((line) => el("span", {}, el("i", { class: "key " + line.colour, "aria-hidden": "true" }), line.name)));
    this.draw();
  }

  draw() {
    const box = this.place.getBoundingClientRect();
    if (!box.width || !box.height) return;
    const [width, height] = [box.width, box.height];
    const unit = parseFloat(getComputedStyle(this.place).fontSize);
    const pad = { left: unit * 6, right: unit * 1.6, top: unit * 0.6, bottom: unit * 1.7 };
    const points = this.lines.flatMap((line) => line.points.filter(([, y]) => y !== null && y !== undefined));
    if (!points.length) {
      fill(this.place, el("p", { class: "empty-plot" }, "no figures yet"));
      return;
    }
    const [first, last] = [Math.min(...points.map(([x]) => x)), Math.max(...points.map(([x]) => x))];
    const most = nice(Math.max(...points.map(([, y]) => y)) || 1);
    const x = (at) => pad.left + ((at - first) / Math.max(1e-9, last - first)) * (width - pad.left - pad.right);
    const y = (value) => height - pad.bottom - (value / most) * (height - pad.top - pad.bottom);
    const parts = [];
    for (const share of [0, 0.5, 1]) {
      const at = y(most * share);
      parts.push(svg("line", { x1: pad.left, x2: width - pad.right, y1: at, y2: at, class: "grid" }));
      parts.push(text(pad.left - unit * 0.4, at + unit * 0.3, this.format(most * share), "end"));
    }
    const ticks = Math.max(2, Math.min(7, Math.floor(width / (unit * 7))));
    const step = Math.max(1, nice((last - first) / ticks));
    for (let at = Math.ceil(first / step) * step; at <= last; at += step) {
      parts.push(text(x(at), height - unit * 0.35, Math.round(at) + " s", "middle"));
    }
    for (const mark of this.marks.filter((mark) => mark.at >= first && mark.at <= last)) {
      parts.push(svg("line", { x1: x(mark.at), x2: x(mark.at), y1: pad.top, y2: height - pad.bottom, class: "mark" }));
      if (mark.name) parts.push(text(x(mark.at) + 4, pad.top + unit, mark.name, "start"));
    }
    for (const line of this.lines) parts.push(...drawn(line, x, y));
    const told = this.lines.map((line) => {
      const own = line.points.filter(([, value]) => value !== null && value !== undefined);
      const values = own.map(([, value]) => value);
      return own.length ? line.name + ": last " + this.format(values.at(-1)) + ", between " + this.format(Math.min(...values)) + " and " + this.format(Math.max(...values)) : "";
    });
    fill(this.place, svg("svg", { viewBox: "0 0 " + width + " " + height, role: "img", "aria-label": this.title + " over " + Math.round(last - first) + " s. " + told.join(". ") }, parts));
  }
}

function text(x, y, words, anchor) {
  const element = svg("text", { x, y, "text-anchor": anchor, class: "tick" });
  element.textContent = words;
  return element;
}

function drawn(line, x, y) {
  const runs = [[]];
  for (const [at, value] of line.points) {
    if (value === null || value === undefined) runs.push([]);
    else runs.at(-1).push([x(at), y(value)]);
  }
  return runs.filter((run) => run.length).map((run) => {
    if (run.length === 1) return svg("circle", { cx: run[0][0], cy: run[0][1], r: 2.5, class: "dot " + line.colour });
    return svg("polyline", { points: run.map(([a, b]) => a.toFixed(1) + "," + b.toFixed(1)).join(" "), class: "line " + line.colour });
  });
}

// An interval on an axis around zero, in percent.
export function interval(low, high, middle, reach) {
  const at = (value) => 50 + (Math.max(-reach, Math.min(reach, value)) / reach) * 48;
  const side = low > 0 ? "up" : high < 0 ? "down" : "open";
  return svg("svg", { viewBox: "0 0 100 12", class: "interval " + side, preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("line", { x1: 50, x2: 50, y1: 0, y2: 12, class: "zero" }),
    svg("rect", { x: at(low), width: Math.max(0.8, at(high) - at(low)), y: 4, height: 4, rx: 1 }),
    svg("rect", { x: at(middle) - 0.5, width: 1, y: 1, height: 10, class: "middle" }));
}
