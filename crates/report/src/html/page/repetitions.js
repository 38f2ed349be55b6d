// Bandwidth by phase and repetition: bars side by side, and the figures in a table.

function repetitionsSection(runs) {
  const repeated = runs.filter((run) => run.repetitions);
  if (repeated.length === 0) return null;
  const several = runs.length > 1;
  const phases = repeated.flatMap((run) => run.repetitions.phases.map((phase) => ({ run, phase, name: (several ? letter(run.index) + ": " : "") + phase.name })));
  const count = Math.max(...repeated.map((run) => run.repetitions.count));
  const numbers = Array.from({ length: count }, (_, at) => String(at + 1));
  const hues = phases.map(({ run, phase }) => (several ? "run-" + run.index % 6 : phase.kind));
  // Phases of one colour are told apart by how strong it is.
  const strength = (at) => 1 / (1 + 0.6 * hues.slice(0, at).filter((hue) => hue === hues[at]).length);
  const series = () => phases.map(({ phase, name }, at) => ({ type: "bar", name, data: phase.values.map((value) => (known(value) ? value / 2 ** 20 : null)), animation: false, barMaxWidth: 46, emphasis: { disabled: true }, itemStyle: { color: colour(hues[at]), opacity: strength(at) } }));
  const drawn = chart(260, "MiB/s of each phase by repetition", () => ({
    animation: false, grid: { left: 66, right: 14, top: 40, bottom: 44 }, legend: legend(phases.map((each) => each.name), { top: 0, left: 0 }),
    xAxis: { type: "category", data: numbers, name: "repetition", nameLocation: "middle", nameGap: 28, nameTextStyle: font(12), axisTick: { show: false }, axisLine: { lineStyle: { color: colour("line") } }, axisLabel: font(11) },
    yAxis: axis("MiB/s", { min: 0 }),
    tooltip: tooltip({ trigger: "axis", axisPointer: { type: "shadow" }, formatter: (hits) => hits.length === 0 ? "" : tip("repetition " + hits[0].axisValue, hits.map((hit) => [hit.color, hit.seriesName, UNITS["MiB/s"].text(hit.value)])) }),
    series: series(),
  }));
  // Of many repetitions the chart tells each, the table what they come to.
  const most = 12;
  const cells = (texts) => (count <= most ? texts : texts.slice(-3));
  const rows = phases.map(({ phase, name, run }) => {
    const each = phase.texts.slice(0, -3).concat(Array(count - run.repetitions.count).fill(NONE));
    return [name, ...cells(each.concat(phase.texts.slice(-3)))];
  });
  return part("section", { id: "repetitions" }, part("h2", {}, "MiB/s by phase and repetition"), drawn, table(["MiB/s", ...cells([...numbers, "most", "least", "mean"])], rows));
}
