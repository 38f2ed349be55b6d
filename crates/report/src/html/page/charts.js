// Charts: drawn when they come into view, again when the theme changes, all of them before the page is printed.

const drawn = [];

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

// What can be seen is drawn at once, so that a page that is built anew does not flicker.
function watchCharts() {
  for (const one of drawn) {
    const place = one.element.getBoundingClientRect();
    if (place.top < window.innerHeight + 300 && place.bottom > -300) show(one);
    watcher.observe(one.element);
  }
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
  const marks = more && more.marks;
  return Object.assign({
    type: "value", axisLine: { show: false }, axisTick: { show: false, customValues: marks },
    splitLine: { lineStyle: { color: colour("line"), width: 1 } },
    axisLabel: Object.assign(font(11), { formatter: (value) => UNITS[unit].axis(value), customValues: marks }),
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

// A logarithmic axis around all values, with lines at powers of ten; at 2 and 5 times them, too, where it is short.
function logarithmic(values) {
  const some = values.filter((value) => known(value) && value > 0);
  if (some.length === 0) return { type: "log" };
  const least = some.reduce((a, b) => Math.min(a, b));
  const most = some.reduce((a, b) => Math.max(a, b));
  const steps = Math.log10(most / least) > 2.5 ? 1 : 3;
  const low = Math.floor(Math.log10(least) * steps) / steps;
  const high = Math.max(Math.ceil(Math.log10(most) * steps) / steps, low + 1 / 3);
  const every = Math.max(1, Math.ceil((high - low) / 6));
  const parts = high - low < 2 ? [1, 2, 5] : [1];
  const marks = [];
  for (let power = Math.floor(low); power <= high; power += every) {
    for (const part_ of parts) marks.push(part_ * Math.pow(10, power));
  }
  const [min, max] = [Math.pow(10, low), Math.pow(10, high)];
  return { type: "log", min, max, marks: marks.filter((mark) => mark >= min * 0.999 && mark <= max * 1.001) };
}

// An axis from zero; of shares to 100 %, of bytes in steps that are round in bytes.
function linear(unit, values) {
  const most = values.filter(known).reduce((a, b) => Math.max(a, b), 0);
  if (unit === "%") return most <= 103 ? { min: 0, max: 100, interval: 50 } : { min: 0 };
  if (unit !== "bytes" || most < 4) return { min: 0 };
  const interval = Math.pow(2, Math.floor(Math.log2(most / 2)));
  return { min: 0, interval, max: Math.ceil(most / interval) * interval };
}

function mix(low, high, share) {
  const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const [a, b] = [rgb(low), rgb(high)];
  return "rgb(" + a.map((value, at) => Math.round(value + (b[at] - value) * share)).join(",") + ")";
}
