// Sweeps: a curve over one parameter with its knee, a map and a surface over two, a table over more.

const METRICS = [["rate", "Operations per second", "1/s"], ["bytes", "Bandwidth", "bytes/s"], ["mean", "Mean latency", "ns"], ["p99", "99th percentile", "ns"]];

function sweepSections(runs) {
  const names = [...new Set(runs.flatMap((run) => run.curves.map((curve) => curve.name)))];
  const sections = names.map((name) => {
    const same = runs.map((run) => ({ run, curve: run.curves.find((curve) => curve.name === name) })).filter((each) => each.curve);
    const first = same[0].curve;
    const body = first.parameters.length === 1 ? curveOf(same) : first.parameters.length === 2 ? same.map((each) => surfaceOf(each, same.length > 1)) : sweepTable(same[0]);
    return [part("h3", {}, name + " over " + first.parameters.join(" × ")), part("p", { class: "soft small" }, first.shape), body];
  });
  return sections.length === 0 ? null : part("section", { id: "sweeps" }, part("h2", {}, "Load and shape"), sections);
}

function curveOf(same) {
  const several = same.length > 1;
  const places = same[0].curve.points.map((point) => point.at[0]);
  const timed = same.some((each) => each.curve.points.some((point) => known(point.p99) || known(point.mean)));
  const hue = (run) => (several ? "run-" + run.index % 6 : "read");
  const name = (run, text) => (several ? letter(run.index) + ": " : "") + text;
  const series = () => same.flatMap(({ run, curve }) => [
    { type: "line", name: name(run, "operations per second"), data: curve.points.map((point) => point.rate), symbol: "circle", symbolSize: 6, animation: false, emphasis: { disabled: true }, itemStyle: { color: colour(hue(run)) }, lineStyle: { width: 1.8, color: colour(hue(run)) }, markPoint: knee(curve) },
    { type: "line", name: name(run, "latency, 99 %"), yAxisIndex: 1, data: curve.points.map((point) => (known(point.p99) ? point.p99 : point.mean)), symbol: "emptyCircle", symbolSize: 5, animation: false, emphasis: { disabled: true }, itemStyle: { color: colour(several ? hue(run) : "write") }, lineStyle: { width: 1.2, type: [4, 3], color: colour(several ? hue(run) : "write") } },
  ]).filter((line) => timed || line.yAxisIndex !== 1);
  const drawn = chart(280, "operations per second and latency over " + same[0].curve.parameters[0], () => ({
    animation: false, grid: { left: 62, right: timed ? 66 : 14, top: 40, bottom: 44 }, legend: legend(series().map((line) => line.name), { top: 0, left: 0 }),
    xAxis: { type: "category", data: places, name: same[0].curve.parameters[0], nameLocation: "middle", nameGap: 28, nameTextStyle: font(12), boundaryGap: false, axisTick: { show: false }, axisLine: { lineStyle: { color: colour("line") } }, axisLabel: font(11) },
    yAxis: [axis("1/s", { min: 0 }), axis("ns", Object.assign({ show: timed, splitLine: { show: false } }, logarithmic(series().filter((line) => line.yAxisIndex === 1).flatMap((line) => line.data))))],
    tooltip: tooltip({ trigger: "axis", formatter: (hits) => hits.length === 0 ? "" : tip(same[0].curve.parameters[0] + " " + hits[0].axisValue, hits.map((hit) => [hit.color, hit.seriesName, UNITS[hit.seriesIndex % 2 === 1 && timed ? "ns" : "1/s"].text(hit.value)])) }),
    series: series(),
  }));
  const sentences = same.filter((each) => each.curve.sentence).map(({ run, curve }) => part("p", { class: "small soft" }, name(run, curve.sentence)));
  return [drawn, sentences];
}

function knee(curve) {
  if (!known(curve.knee)) return undefined;
  const point = curve.points[curve.knee];
  return { symbol: "circle", symbolSize: 14, itemStyle: { color: "transparent", borderColor: colour("ink"), borderWidth: 1.4 }, label: Object.assign(font(12), { show: true, position: "top", formatter: "knee", color: colour("ink") }), data: [{ coord: [curve.knee, point.rate] }] };
}

function surfaceOf({ run, curve }, several) {
  const [rows, columns] = [0, 1].map((at) => [...new Set(curve.points.map((point) => point.at[at]))]);
  const metrics = METRICS.filter(([field]) => curve.points.some((point) => known(point[field])));
  let chosen = metrics.find(([field]) => field === curve.first) || metrics[0];
  const options = () => surfaceOptions(curve, rows, columns, chosen);
  const drawn_ = chart(Math.max(180, rows.length * 34 + 90), "surface", options);
  const relief = reliefOf(curve, rows, columns, () => chosen);
  const redraw = () => {
    const one = drawn.find((each) => each.element === drawn_);
    if (one && one.instance) one.instance.setOption(options(), true);
    if (relief) relief.redraw();
    [...choice.children].forEach((button, at) => button.setAttribute("aria-pressed", String(metrics[at] === chosen)));
  };
  const choice = part("div", { class: "tools", style: "margin:8px 0 4px;flex-wrap:wrap" }, metrics.map((metric) => part("button", { "aria-pressed": String(metric === chosen), onclick: () => { chosen = metric; redraw(); } }, metric[1])));
  return part("div", {}, several && part("p", {}, letter(run.index) + ": " + run.title), choice, drawn_, relief && relief.element);
}

function surfaceOptions(curve, rows, columns, [field, title, unit]) {
  const cells = curve.points.filter((point) => known(point[field])).map((point) => [columns.indexOf(point.at[1]), rows.indexOf(point.at[0]), point[field]]);
  const values = cells.map((cell) => cell[2]).filter((value) => value > 0);
  const [least, most] = [Math.log(Math.min(...values)), Math.log(Math.max(...values))];
  const share = (value) => (most > least && value > 0 ? (Math.log(value) - least) / (most - least) : 0.5);
  const [low, high] = [colour("heat-low"), colour("heat-high")];
  const dark = document.documentElement.dataset.theme === "dark";
  const ink = (value) => (share(value) > 0.52) !== dark ? "#ffffff" : dark ? "#e4e7ea" : "#1d2125";
  const scale = (names, name, gap) => ({ type: "category", data: names, name, nameLocation: "middle", nameGap: gap, nameTextStyle: font(12), axisTick: { show: false }, axisLine: { show: false }, axisLabel: font(11), splitArea: { show: false } });
  return {
    animation: false, grid: { left: 84, right: 10, top: 8, bottom: 48 },
    xAxis: scale(columns, curve.parameters[1], 30), yAxis: scale(rows, curve.parameters[0], 64),
    tooltip: tooltip({ formatter: (hit) => tip(curve.parameters[0] + " " + rows[hit.value[1]] + ", " + curve.parameters[1] + " " + columns[hit.value[0]], [[null, title, UNITS[unit].text(hit.value[2])]]) }),
    series: [{ type: "heatmap", animation: false, data: cells.map((cell) => ({ value: cell, itemStyle: { color: mix(low, high, share(cell[2])), borderColor: colour("paper"), borderWidth: 2 }, label: { color: dark && share(cell[2]) > 0.52 ? "#14171a" : ink(cell[2]) } })), label: Object.assign(font(11), { show: columns.length <= 12, formatter: (hit) => UNITS[unit].axis(hit.value[2]) }), emphasis: { disabled: true } }],
    visualMap: { show: false, min: 0, max: 1, dimension: 2, inRange: {}, seriesIndex: [] },
  };
}

function sweepTable({ curve }) {
  const metrics = METRICS.filter(([field]) => curve.points.some((point) => known(point[field])));
  return table([...curve.parameters, ...metrics.map((metric) => metric[1])], curve.points.map((point) => [...point.at, ...metrics.map(([field, , unit]) => UNITS[unit].text(point[field]))]));
}
