// Latency: how often which, up to which percentile, and the figures as a table; and how far the workers lie apart.

// Each distribution of a job in the runs that are shown, with its name and hue.
function distributions(track, runs) {
  const several = runs.length > 1;
  return runs.flatMap((run) => {
    const job = track.jobs[run.index];
    const lines = job ? job.lines : [];
    return lines.flatMap((line, at) => {
      const name = (several ? letter(run.index) + ": " : "") + line.label;
      const hue = several ? "run-" + run.index % 6 : line.kind === "other" ? ["other", "trim", "write", "read"][at % 4] : line.kind;
      const dashed = several && line.kind !== "read";
      const own = line.latency ? [{ name, hue, dashed, latency: line.latency }] : [];
      const service = line.service ? [{ name: name + ", without waiting for its turn", hue, dashed: true, latency: line.service }] : [];
      return own.concat(service);
    });
  });
}

function latencySection(track, runs) {
  const all = distributions(track, runs);
  if (all.length === 0) return null;
  const names = all[0].latency.figures.map(([name]) => name);
  const rows = all.map((each) => [part("span", { class: "run", dot: each.hue }, each.name), ...names.map((name) => (each.latency.figures.find((figure) => figure[0] === name) || [])[1] || NONE)]);
  return part("section", { id: "latency" }, part("h2", {}, "Latency"),
    part("div", { class: "pair" },
      part("div", {}, part("h3", {}, "How often which"), chart(260, "distribution of latencies", () => histogramOptions(all))),
      part("div", {}, part("h3", {}, "Up to which percentile"), chart(260, "latency by percentile", () => curveOptions(all)))),
    table(["", ...names], rows),
    part("p", { class: "soft small", style: "margin-top:8px" }, "A percentile with fewer than ten samples beyond it is not told."));
}

function histogramOptions(all) {
  const edges = all.flatMap((each) => each.latency.bars.filter((_, at) => at % 3 < 2));
  const shares = (bars) => {
    let count = 0;
    for (let at = 2; at < bars.length; at += 3) count += bars[at];
    const points = [[Math.max(1, bars[0]), 0]];
    for (let at = 0; at < bars.length; at += 3) {
      if (at > 0 && bars[at] > bars[at - 2]) points.push([bars[at - 2], 0]);
      points.push([Math.max(1, bars[at]), bars[at + 2] / count * 100]);
    }
    points.push([bars[bars.length - 2], 0]);
    return points;
  };
  return {
    animation: false, grid: { left: 52, right: 14, top: all.length > 1 ? 34 : 14, bottom: 28 },
    legend: all.length > 1 ? legend(all.map((each) => each.name), { top: 0, left: 0 }) : undefined,
    xAxis: axis("ns", Object.assign({ splitLine: { show: false }, axisLine: { show: true, lineStyle: { color: colour("line") } } }, logarithmic(edges))),
    yAxis: axis("%", { min: 0, splitNumber: 4 }),
    tooltip: tooltip({ trigger: "axis", formatter: (hits) => hits.length === 0 ? "" : tip("about " + UNITS.ns.text(hits[0].value[0]), hits.map((hit) => [hit.color, hit.seriesName, significant(hit.value[1]) + " %"])) }),
    series: all.map((each) => ({ type: "line", step: "end", name: each.name, data: shares(each.latency.bars), showSymbol: false, animation: false, emphasis: { disabled: true }, itemStyle: { color: colour(each.hue) }, lineStyle: { width: 1.2, color: colour(each.hue), type: each.dashed ? [4, 3] : "solid" }, areaStyle: { color: colour(each.hue), opacity: 0.16 } })),
  };
}

function curveOptions(all) {
  const curve = (flat) => flat.reduce((points, value, at) => (at % 2 === 0 ? points.concat([[value, flat[at + 1]]]) : points), []);
  const most = Math.max(...all.map((each) => each.latency.curve[each.latency.curve.length - 2]));
  return {
    animation: false, grid: { left: 62, right: 18, top: all.length > 1 ? 34 : 14, bottom: 28 },
    legend: all.length > 1 ? legend(all.map((each) => each.name), { top: 0, left: 0 }) : undefined,
    xAxis: axis("", { min: 0, max: Math.ceil(most * 2) / 2, interval: 1, splitLine: { show: false }, axisLine: { show: true, lineStyle: { color: colour("line") } }, axisLabel: Object.assign(font(11), { formatter: nines, hideOverlap: true }) }),
    yAxis: axis("ns", logarithmic(all.flatMap((each) => curve(each.latency.curve).map((point) => point[1])))),
    tooltip: tooltip({ trigger: "axis", axisPointer: { snap: true }, formatter: (hits) => hits.length === 0 ? "" : tip(nines(hits[0].value[0]) + " took at most", hits.map((hit) => [hit.color, hit.seriesName, UNITS.ns.text(hit.value[1])])) }),
    series: all.map((each) => Object.assign({}, LINE, { name: each.name, data: curve(each.latency.curve), itemStyle: { color: colour(each.hue) }, lineStyle: { width: 1.6, color: colour(each.hue), type: each.dashed ? [4, 3] : "solid" } })),
  };
}

function workersSection(track, runs) {
  const shown = runs.filter((run) => track.jobs[run.index] && track.jobs[run.index].workers.length > 1);
  if (shown.length === 0) return null;
  const workers = (run) => track.jobs[run.index].workers;
  const most = Math.max(...shown.map((run) => workers(run).length));
  const spread = shown.map((run) => {
    const rates = workers(run).map((worker) => worker.rate).filter(known).sort((a, b) => a - b);
    const middle = rates[Math.floor(rates.length / 2)];
    return (shown.length > 1 ? letter(run.index) + ": " : "") + "slowest " + significant(rates[0]) + ", median " + significant(middle) + ", fastest " + significant(rates[rates.length - 1]) + " operations per second";
  });
  return part("section", { id: "workers" }, part("h2", {}, "Workers"), part("p", { class: "soft small" }, spread.join(" · ")),
    chart(200, "operations per second of each worker", () => ({
      animation: false, grid: { left: 62, right: 14, top: 14, bottom: 28 },
      xAxis: { type: "category", data: Array.from({ length: most }, (_, at) => String(workers(shown[0])[at] ? workers(shown[0])[at].index : at)), axisTick: { show: false }, axisLine: { lineStyle: { color: colour("line") } }, axisLabel: Object.assign(font(11), { hideOverlap: true }) },
      yAxis: axis("1/s", { min: 0 }),
      tooltip: tooltip({ trigger: "axis", axisPointer: { type: "shadow" }, formatter: (hits) => workerTip(hits, shown, workers) }),
      series: shown.map((run) => ({ type: "bar", name: letter(run.index), barMaxWidth: 26, barCategoryGap: most > 40 ? "10%" : "40%", data: workers(run).map((worker) => worker.rate), itemStyle: { color: colour(shown.length > 1 ? "run-" + run.index % 6 : "read"), opacity: 0.85 }, emphasis: { disabled: true } })),
    })));
}

function workerTip(hits, shown, workers) {
  if (hits.length === 0) return "";
  const at = hits[0].dataIndex;
  const rows = shown.flatMap((run) => {
    const worker = workers(run)[at];
    if (!worker) return [];
    const name = shown.length > 1 ? letter(run.index) + " " : "";
    return [[null, name + "operations", significant(worker.rate) + "/s"], worker.bytes > 0 && [null, name + "bytes", UNITS["bytes/s"].text(worker.bytes)],
      [null, name + "from, to", clock(worker.span[0]) + ", " + clock(worker.span[1])], [null, name + "user, kernel", significant(worker.cpu[0]) + " %, " + significant(worker.cpu[1]) + " %"]].filter(Boolean);
  });
  const worker = workers(shown[0])[at];
  return tip("worker " + (worker ? worker.index + (worker.rank > 0 ? ", rank " + worker.rank : "") : at), rows);
}
