// Everything over time, on one axis: what the job did, how long it took, and what the witnesses saw meanwhile.

const LINE = { type: "line", showSymbol: false, symbolSize: 4, lineStyle: { width: 1.4 }, sampling: "lttb", emphasis: { disabled: true }, animation: false };

// The middles of rows of equal length, with their values.
function points(values, every) {
  return values.map((value, at) => [(at + 0.5) * every, value]);
}

function latencyHues() {
  const shade = (share) => mix(colour("heat-low"), colour("heat-high"), share);
  return { "p50": shade(0.42), "p99": shade(0.68), "p99.9": shade(1), "mean": colour("other"), "max": colour("faint") };
}

// The panels about one job of the runs that are shown, top to bottom.
function panels(track, runs) {
  const several = runs.length > 1;
  const overs = runs.map((run) => ({ run, over: track.jobs[run.index] && track.jobs[run.index].over })).filter((each) => each.over);
  const title = (run, text) => (several ? letter(run.index) + ": " : "") + text;
  const lines = (field) => overs.flatMap(({ run, over }) => over[field].map((column) => ({
    name: title(run, column.name), points: points(column.values, over.every),
    hue: colour(several ? "run-" + run.index % 6 : column.name), dashed: several && column.name !== "read",
  })));
  const all = [
    { title: "Bandwidth", unit: "bytes/s", lines: lines("bytes"), height: 130 },
    { title: "Operations per second", unit: "1/s", lines: lines("operations"), height: 130 },
    { title: "Latency", unit: "ns", log: true, lines: latencyLines(overs, several, title), height: 160 },
  ];
  for (const { run, over } of overs.slice(0, 3)) {
    // A logarithmic axis has no 0.
    if (over.heat) all.push({ title: title(run, "Latency of every operation"), unit: "ns", log: true, heat: Object.assign({ least: 1 }, over.heat), lines: [], height: 190 });
  }
  if (runs.length > 0) all.push(...watched(runs[0], track, title));
  return all.filter((panel) => panel.heat || panel.lines.some((line) => line.points.filter((point) => known(point[1])).length > 1));
}

function latencyLines(overs, several, title) {
  const hues = latencyHues();
  const wanted = (column) => !several || column.name === "p99" || column.name === "p50" || (column.name === "mean");
  return overs.flatMap(({ run, over }) => {
    const timed = over.latency.some((column) => column.name === "p99");
    return over.latency.filter((column) => wanted(column) && !(several && timed && column.name === "mean")).map((column) => ({
      name: title(run, column.name), points: points(column.values, over.every), hue: several ? colour("run-" + run.index % 6) : hues[column.name],
      dashed: several && column.name === "p50", thin: column.name === "max" || column.name === "mean",
    }));
  });
}

// Lines of witnesses that are no direction have hues of their own, in order.
function watched(run, track, title) {
  const job = track.jobs[run.index];
  const phase = job && run.phases[job.index];
  const spare = ["other", "write", "trim", "read", "extra"];
  return (phase ? phase.watch : []).map((watch) => ({
    title: title(run, watch.title), unit: watch.unit, height: 84,
    lines: watch.lines.map((line, at) => ({
      name: line.name, points: watch.at.map((x, row) => [x, line.values[row]]),
      hue: colour(["read", "write"].includes(line.name) ? line.name : spare[at % spare.length]), fill: watch.lines.length === 1,
    })),
  }));
}

function timeHeight(all, narrow) {
  return all.reduce((sum, panel) => sum + panel.height + (narrow ? 66 : 46) + (panel.heat ? 22 : 0), 0) + 64;
}

function timeOptions(all, element, state) {
  const narrow = element.clientWidth < 560;
  const [left, right] = [narrow ? 58 : 72, narrow ? 8 : 16];
  const longest = Math.max(...all.map(panelEnd));
  const option = { animation: false, title: [], legend: [], grid: [], xAxis: [], yAxis: [], series: [], axisPointer: { link: [{ xAxisIndex: "all" }], lineStyle: { color: colour("faint") } } };
  // A title at the very top of the canvas would lose its upper edge.
  let top = 8;
  all.forEach((panel, index) => {
    const head = narrow ? 48 : 28;
    option.title.push({ text: panel.title, left: 0, top, padding: 0, textStyle: Object.assign(font(13), { color: colour("ink"), fontWeight: 600 }) });
    if (panel.lines.length > 1) option.legend.push(legend(panel.lines.map((line) => line.name), narrow ? { left: 0, top: top + 20, width: element.clientWidth - 10, padding: 0 } : { right: right, top, padding: 0, width: "60%", align: "left" }));
    option.grid.push({ left, right, top: top + head, height: panel.height });
    option.xAxis.push(axis("", { gridIndex: index, min: 0, max: longest, axisLabel: Object.assign(font(11), { show: index === all.length - 1 || panel.heat !== undefined, formatter: clock, hideOverlap: true, showMaxLabel: false }), splitLine: { show: false }, axisLine: { show: true, lineStyle: { color: colour("line") } }, splitNumber: narrow ? 4 : 8 }));
    const values = panel.heat ? panel.heat.edges : panel.lines.flatMap((line) => line.points.map((point) => point[1]));
    option.yAxis.push(axis(panel.unit, Object.assign({ gridIndex: index }, panel.log ? logarithmic(values) : linear(panel.unit, values))));
    option.series.push(...(panel.heat ? [heatSeries(panel.heat, index)] : panel.lines.map((line) => lineSeries(line, index))));
    top += panel.height + head + (panel.heat ? 40 : 18);
  });
  option.dataZoom = zooms(all.map((_, index) => index), left, right, top);
  option.toolbox = { show: true, showTitle: false, itemSize: 0, feature: { dataZoom: { yAxisIndex: "none", brushStyle: { color: colour("line"), opacity: 0.5 } } } };
  option.tooltip = tooltip({ trigger: "axis", axisPointer: { type: "line" }, formatter: (hits) => timeTip(all, hits, state) });
  return option;
}

function panelEnd(panel) {
  if (panel.heat) return panel.heat.every * (Math.max(0, ...panel.heat.cells.filter((_, at) => at % 3 === 0)) + 1);
  return Math.max(0, ...panel.lines.map((line) => line.points.length ? line.points[line.points.length - 1][0] : 0));
}

function zooms(axes, left, right, top) {
  const slider = { type: "slider", xAxisIndex: axes, left, right, top: top + 6, height: 16, showDetail: false, brushSelect: false, filterMode: "none", borderColor: colour("line"), fillerColor: "rgba(128,128,128,.12)", backgroundColor: "transparent", dataBackground: { lineStyle: { opacity: 0 }, areaStyle: { opacity: 0 } }, selectedDataBackground: { lineStyle: { opacity: 0 }, areaStyle: { opacity: 0 } }, handleStyle: { color: colour("sheet"), borderColor: colour("faint") }, moveHandleSize: 0 };
  return [slider, { type: "inside", xAxisIndex: axes, filterMode: "none", zoomOnMouseWheel: "ctrl", moveOnMouseMove: "shift", moveOnMouseWheel: false, preventDefaultMouseMove: false }];
}

function lineSeries(line, index) {
  const style = { color: line.hue, width: line.thin ? 0.9 : 1.4, type: line.dashed ? [4, 3] : "solid" };
  return Object.assign({}, LINE, { name: line.name, xAxisIndex: index, yAxisIndex: index, data: line.points, itemStyle: { color: line.hue }, lineStyle: style, areaStyle: line.fill ? { color: line.hue, opacity: 0.12 } : undefined });
}

function heatSeries(heat, index) {
  const cells = [];
  let most = 1;
  for (let at = 0; at < heat.cells.length; at += 3) most = Math.max(most, heat.cells[at + 2]);
  const shades = Array.from({ length: 33 }, (_, at) => mix(colour("heat-low"), colour("heat-high"), at / 32));
  for (let at = 0; at < heat.cells.length; at += 3) {
    const [column, line, count] = heat.cells.slice(at, at + 3);
    const share = most > 1 ? Math.log(count) / Math.log(most) : 1;
    cells.push([column * heat.every, (column + 1) * heat.every, Math.max(heat.least, heat.edges[line]), heat.edges[line + 1], Math.round(share * 32)]);
  }
  return {
    type: "custom", name: "heat", xAxisIndex: index, yAxisIndex: index, data: cells, encode: { x: [0, 1], y: [2, 3] }, silent: true, animation: false, clip: true, progressive: 0,
    renderItem: (params, api) => {
      const [low, high] = [api.coord([api.value(0), api.value(2)]), api.coord([api.value(1), api.value(3)])];
      const place = params.coordSys;
      const shape = echarts.graphic.clipRectByRect({ x: low[0], y: high[1], width: Math.max(1, high[0] - low[0] + 0.4), height: low[1] - high[1] + 0.4 }, { x: place.x, y: place.y, width: place.width, height: place.height });
      return shape && { type: "rect", shape, style: { fill: shades[api.value(4)] } };
    },
  };
}

// Only the panel under the pointer is told: all of them at once are more than anybody reads.
function timeTip(all, hits, state) {
  const panel = all[state.hovered] || all[0];
  const at = hits.length > 0 ? hits[0].axisValue : 0;
  if (panel.heat) return heatTip(panel.heat, at, panel.unit);
  const rows = panel.lines.map((line) => {
    const hit = hits.find((each) => each.axisIndex === all.indexOf(panel) && each.seriesName === line.name);
    return hit && known(hit.value[1]) ? [line.hue, line.name, UNITS[panel.unit].text(hit.value[1])] : null;
  });
  return tip(clock(at), rows.filter(Boolean));
}

function heatTip(heat, at, unit) {
  const column = Math.floor(at / heat.every);
  const cells = [];
  for (let place = 0; place < heat.cells.length; place += 3) {
    if (heat.cells[place] === column) cells.push([heat.cells[place + 1], heat.cells[place + 2]]);
  }
  const all = cells.reduce((sum, cell) => sum + cell[1], 0);
  const most = cells.sort((a, b) => b[1] - a[1]).slice(0, 6).sort((a, b) => b[0] - a[0]);
  const row = ([line, count]) => [null, UNITS[unit].text(heat.edges[line]) + " to " + UNITS[unit].text(heat.edges[line + 1]), significant(count / all * 100) + " %"];
  return tip(clock(column * heat.every) + " to " + clock((column + 1) * heat.every), [[null, "operations", significant(all)], ...most.map(row)]);
}

// Whether somebody has drawn a part of the time near: then nothing is moved under his eyes.
let lookingCloser = false;

function timeSection(track, runs) {
  return timeChart(panels(track, runs), "Seconds after the start line.");
}

// Panels over each other on one axis of time.
function timeChart(all, since) {
  if (all.length === 0) return null;
  const state = { hovered: 0 };
  lookingCloser = false;
  const narrow = Math.min(window.innerWidth, 1120) < 600;
  const element = chart(timeHeight(all, narrow), "over time", (instance) => timeOptions(all, instance.getDom(), state), (instance) => {
    const surface = instance.getZr();
    surface.on("mousemove", (event) => {
      const at = all.findIndex((_, index) => instance.containPixel({ gridIndex: index }, [event.offsetX, event.offsetY]));
      if (at >= 0) state.hovered = at;
    });
    instance.on("datazoom", () => {
      const zoom = instance.getOption().dataZoom[0];
      lookingCloser = zoom.end - zoom.start < 99.9;
    });
    surface.on("dblclick", () => instance.dispatchAction({ type: "dataZoom", start: 0, end: 100 }));
    const select = { type: "takeGlobalCursor", key: "dataZoomSelect", dataZoomSelectActive: true };
    if (matchMedia("(pointer: fine)").matches) instance.dispatchAction(select);
  });
  const hint = part("p", { class: "soft small" }, since + " Drag to look closer, double-click to see all of it.");
  return part("section", { id: "time" }, part("h2", {}, "Over time"), hint, part("div", { style: "height:16px" }), element);
}
