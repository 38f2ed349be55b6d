// Elements. What comes from a run is only ever put in as text, never as markup.

function part(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "dot") element.style.setProperty("--dot", "var(--" + value + ")");
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  const known = children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false && child !== "");
  element.append(...known.map((child) => (child instanceof Node ? child : String(child))));
  return element;
}

function svg(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function table(headings, rows) {
  const row = (cells, tag) => part("tr", {}, cells.map((cell) => part(tag, {}, cell)));
  return part("div", { class: "scroll" }, part("table", {}, part("thead", {}, row(headings, "th")), part("tbody", {}, rows.map((cells) => row(cells, "td")))));
}

function fold(title, open, ...children) {
  return part("details", { class: "fold", open }, part("summary", {}, title), children);
}

// A line without axes: how it went, at one glance.
function spark(values, colour) {
  const most = Math.max(...values.filter(known), 0);
  if (values.length < 3 || most <= 0) return null;
  const step = Math.max(1, Math.ceil(values.length / 160));
  const points = [];
  for (let at = 0; at < values.length; at += step) {
    const some = values.slice(at, at + step).filter(known);
    if (some.length === 0) continue;
    const mean = some.reduce((sum, value) => sum + value, 0) / Math.max(1, some.length);
    points.push([at / Math.max(1, values.length - step) * 300, 29 - mean / most * 27]);
  }
  const text = points.map(([x, y]) => x.toFixed(1) + "," + y.toFixed(1)).join(" ");
  return svg("svg", { class: "spark", viewBox: "0 0 300 30", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("polyline", { points: text, fill: "none", stroke: "var(--" + colour + ")", "stroke-width": 1.2, "vector-effect": "non-scaling-stroke" }));
}

function letter(index) {
  return String.fromCharCode(65 + index % 26);
}
