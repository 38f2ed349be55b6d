// The page of a trace: what it holds at a glance, everything over time, distributions, and tables.

function build() {
  forgetCharts();
  const parts = [traceHead(), factCards(), timeChart(tracePanels(), "Seconds after the trace's first record."), data.distributions.length > 0 && distributions(), traceTables(), remarks(), foot()];
  page.replaceChildren(...parts.flat(Infinity).filter(Boolean));
  page.firstChild.after(...contents());
  watchCharts();
}

function traceHead() {
  return part("div", { class: "head" }, part("div", {}, part("div", { class: "brand" }, "iodyno trace"), part("h1", {}, data.title), part("p", { class: "soft small" }, data.about)), tools());
}

function factCards() {
  const figure = ([label, value, unit, dot]) => part("div", { class: "figure" }, part("div", { class: "label", dot: dot || undefined }, label), part("div", { class: "big" }, value, part("small", {}, unit)));
  const card = ([name, figures]) => part("div", { class: "card" }, part("header", {}, part("span", { class: "name" }, name)), figures.map(figure));
  return part("section", { id: "results" }, part("div", { class: "cards" }, data.cards.map(card)));
}

function tracePanels() {
  const line = (one) => ({ name: one.name, points: points(one.values, data.every), hue: colour(one.hue), fill: one.fill });
  const panels = data.panels.map((panel) => ({ title: panel.title, unit: panel.unit, height: panel.height, log: panel.log, lines: panel.lines.map(line) }));
  const heats = data.heats.map((heat) => ({ title: heat.title, unit: heat.unit, height: 220, heat: Object.assign({ least: 0 }, heat), lines: [] }));
  return [...panels.filter((panel) => panel.lines.some((each) => each.points.filter((point) => known(point[1])).length > 1)), ...heats];
}

function distributions() {
  const one = (each) => part("div", {}, part("h3", {}, each.title), part("p", { class: "soft small" }, each.about), chart(280, each.title, () => (each.names.length > 0 ? barOptions(each) : curveOptions(each))));
  return part("section", { id: "distributions" }, part("h2", {}, "Distributions"), part("div", { class: "pair" }, data.distributions.map(one)));
}

const ROOM = { left: 64, right: 20, top: 34, bottom: 44 };

function axisTitle(text) {
  return { name: text, nameLocation: "middle", nameGap: 28, nameTextStyle: font(11) };
}

function barOptions(each) {
  const unit = UNITS[each.unit];
  const values = each.lines.flatMap((line) => line.values);
  return {
    animation: false, grid: ROOM, legend: each.lines.length > 1 ? legend(each.lines.map((line) => line.name), { right: 16, top: 4 }) : undefined,
    xAxis: Object.assign({ type: "category", data: each.names, axisTick: { show: false }, axisLine: { lineStyle: { color: colour("line") } }, axisLabel: Object.assign(font(11), { hideOverlap: true }) }, axisTitle(each.across)),
    yAxis: axis(each.unit, Math.max(...values) > 50 && each.unit === "%" ? linear("%", values) : { min: 0 }),
    tooltip: tooltip({ trigger: "axis", axisPointer: { type: "shadow" }, formatter: (hits) => tip(hits[0].name, hits.map((hit) => [hit.color, hit.seriesName, unit.text(hit.value)])) }),
    series: each.lines.map((line) => ({ type: "bar", name: line.name, data: line.values, itemStyle: { color: colour(line.hue) }, barMaxWidth: 26, barGap: "10%" })),
  };
}

// A logarithmic axis of bytes, with marks at every few powers of two.
function powers(values) {
  const [low, high] = [Math.floor(Math.log2(Math.min(...values))), Math.ceil(Math.log2(Math.max(...values)))];
  const every = Math.max(1, Math.ceil((high - low) / 6));
  const marks = [];
  for (let power = low; power <= high; power += every) marks.push(2 ** power);
  return { type: "log", logBase: 2, min: 2 ** low, max: 2 ** Math.max(high, low + 1), marks };
}

function curveOptions(each) {
  const across = each.lines.flatMap((line) => line.points.map((point) => point[0]));
  const series = each.lines.flatMap((line) => {
    const style = { color: colour(line.hue), width: 1.6, type: line.dashed ? [4, 3] : "solid" };
    const drawn_ = Object.assign({}, LINE, { name: line.name, data: line.points.map(([x, y]) => [x, y]), itemStyle: { color: colour(line.hue) }, lineStyle: style, sampling: undefined });
    return [drawn_, ...band(line)];
  });
  const rows = (hits) => hits.filter((hit) => !hit.seriesName.startsWith("±")).map((hit) => [hit.color, hit.seriesName, UNITS["%"].text(hit.value[1]) + deviation(each, hit)]);
  return {
    animation: false, grid: ROOM, legend: each.lines.length > 1 ? legend(each.lines.map((line) => line.name), { right: 16, top: 4 }) : undefined,
    xAxis: axis(each.unit, Object.assign({ splitLine: { show: false }, axisLine: { show: true, lineStyle: { color: colour("line") } } }, each.unit === "bytes" ? powers(across) : logarithmic(across), axisTitle(each.across))),
    yAxis: axis("%", { min: 0, max: 100, interval: 25 }),
    tooltip: tooltip({ trigger: "axis", axisPointer: { type: "line" }, formatter: (hits) => tip(UNITS[each.unit].text(hits[0].value[0]), rows(hits)) }),
    series,
  };
}

// The interval around a line, as one shape.
function band(line) {
  if (!line.points.some((point) => point[2] > 0)) return [];
  const edge = (sign) => line.points.map((point) => [point[0], Math.min(100, Math.max(0, point[1] + sign * point[2]))]);
  const outline = [...edge(1), ...edge(-1).reverse()];
  const hue = colour(line.hue);
  const renderItem = (parameters, api) => ({ type: "polygon", shape: { points: outline.map((point) => api.coord(point)) }, style: { fill: hue, opacity: 0.18 } });
  return [{ type: "custom", name: "± " + line.name, data: [outline[0]], renderItem, silent: true, animation: false, clip: true }];
}

function deviation(each, hit) {
  const line = each.lines.find((one) => one.name === hit.seriesName);
  const point = line && line.points[hit.dataIndex];
  return point && point[2] > 0 ? " ± " + UNITS["%"].text(point[2]) : "";
}

function traceTables() {
  return data.tables.map((one, at) => part("section", { id: "table-" + at }, part("h2", {}, one.title), table(one.headings, one.rows)));
}

function remarks() {
  if (data.remarks.length === 0) return null;
  return part("section", { id: "remarks" }, part("h2", {}, "Remarks"), data.remarks.map((remark) => part("p", { class: "small" }, remark)));
}

begin(build);
