// Charts: drawn when they come into view, again when the theme changes, all of them before the page is printed.

const drawn = [];
let printing = false;

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

// A place for a chart; `options` is asked anew each time it is drawn.
function chart(height, label, options, ready) {
  const element = part("div", { class: "chart", role: "img", "aria-label": label });
  element.style.height = height + "px";
  const one = { element, options, ready, instance: null };
  drawn.push(one);
  return element;
}

function show(one) {
  if (one.instance || !one.element.isConnected || !window.echarts) return;
  one.instance = echarts.init(one.element, null, { renderer: "canvas", devicePixelRatio: Math.max(2, window.devicePixelRatio || 1) });
  one.instance.setOption(one.options(one.instance));
  if (one.ready) one.ready(one.instance);
  one.element.dataset.drawn = "yes";
}

function hide(one) {
  if (one.instance) one.instance.dispose();
  one.instance = null;
}

const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    const one = drawn.find((each) => each.element === entry.target);
    if (one && entry.isIntersecting) show(one);
  }
}, { rootMargin: "300px" });

function watchCharts() {
  for (const one of drawn) watcher.observe(one.element);
}

function forgetCharts() {
  watcher.disconnect();
  drawn.splice(0).forEach(hide);
}

function redrawCharts(all) {
  for (const one of drawn) {
    const was = one.instance !== null;
    hide(one);
    if (was || all) show(one);
  }
}

let resizing = 0;
window.addEventListener("resize", () => {
  clearTimeout(resizing);
  resizing = setTimeout(() => drawn.forEach((one) => one.instance && one.instance.resize()), 120);
});

function font(size) {
  return { fontFamily: getComputedStyle(document.body).fontFamily, fontSize: size || 12, color: colour("soft") };
}

function axis(unit, more) {
  return Object.assign({
    type: "value", axisLine: { show: false }, axisTick: { show: false },
    splitLine: { lineStyle: { color: colour("line"), width: 1 } },
    axisLabel: Object.assign(font(11), { formatter: (value) => UNITS[unit].axis(value) }),
    splitNumber: 3,
  }, more);
}

function tooltip(more) {
  return Object.assign({
    backgroundColor: colour("sheet"), borderColor: colour("line"), borderWidth: 1, padding: [8, 12], confine: true,
    textStyle: Object.assign(font(12.5), { color: colour("ink") }), extraCssText: "box-shadow: 0 4px 16px rgba(0,0,0,.12); border-radius: 8px;",
    transitionDuration: 0,
  }, more);
}

// What a tooltip shows: a heading, and rows of colour, name and value.
function tip(heading, rows) {
  const mark = (hue) => {
    const dot = part("span", { class: "dot" });
    dot.style.background = hue;
    return dot;
  };
  const row = ([hue, name, value]) => part("tr", {}, part("td", {}, hue && mark(hue), name), part("td", {}, value));
  return part("div", { class: "tip" }, part("b", {}, heading), part("table", {}, rows.map(row)));
}

function legend(names, more) {
  return Object.assign({ data: names, icon: "roundRect", itemWidth: 12, itemHeight: 3, itemGap: 14, textStyle: font(12), inactiveColor: colour("line"), selectedMode: "multiple", type: "scroll" }, more);
}

// The edges of a logarithmic axis around all values, whole powers of ten apart where they are far.
function reach(values) {
  const some = values.filter((value) => known(value) && value > 0);
  if (some.length === 0) return {};
  const [least, most] = [Math.min(...some), Math.max(...some)];
  const [low, high] = [Math.floor(Math.log10(least) * 3) / 3, Math.ceil(Math.log10(most) * 3) / 3];
  return { min: Math.pow(10, low), max: Math.pow(10, Math.max(high, low + 1 / 3)) };
}

function mix(low, high, share) {
  const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const [a, b] = [rgb(low), rgb(high)];
  return "rgb(" + a.map((value, at) => Math.round(value + (b[at] - value) * share)).join(",") + ")";
}
