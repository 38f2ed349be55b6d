// The page of a command that judges several runs: its facts, and a section for each table with its charts.

const LINE_HUES = ["run-0", "run-1", "run-2", "run-3", "run-4", "run-5"];

function build() {
  forgetCharts();
  page.replaceChildren(...[experimentHead(), data.sections.map(experimentSection), experimentRemarks(), foot()].flat(Infinity).filter(Boolean));
  page.firstChild.after(...contents());
  watchCharts();
}

function experimentHead() {
  const facts = data.facts.filter(([, value]) => value !== "");
  return [part("div", { class: "head" }, part("div", {}, part("div", { class: "brand" }, "iodyno"), part("h1", {}, data.title)), tools()), table(["", ""], facts)];
}

function experimentSection(one, at) {
  const charts = one.charts.map((each) => part("div", {}, part("h3", {}, each.title), chart(280, each.title, () => experimentOptions(each))));
  const said = one.sentences.map((sentence) => part("p", {}, sentence));
  return part("section", { id: "section-" + at }, part("h2", {}, one.title), part("p", { class: "soft small" }, one.about), said, charts.length > 1 ? part("div", { class: "pair" }, charts) : charts, one.headings.length > 0 && table(one.headings, one.rows), one.pictures.map(picture));
}

function picture(one) {
  const frame = part("div", {}, part("p", { class: "soft small" }, one.about));
  frame.insertAdjacentHTML("beforeend", one.svg);
  return frame;
}

function hue(at) {
  return colour(LINE_HUES[at % LINE_HUES.length]);
}

function experimentOptions(each) {
  const bars = each.names.length > 0;
  const values = each.lines.flatMap(([, points]) => points.map((point) => point[1]));
  const upwards = each.logarithmic ? logarithmic(values) : linear(each.unit, values);
  const title = { name: each.across, nameLocation: "middle", nameGap: 28, nameTextStyle: font(11) };
  const across = bars
    ? Object.assign({ type: "category", data: each.names, axisTick: { show: false }, axisLabel: font(11) }, title)
    : axis(each.across_unit, Object.assign({ splitLine: { show: false }, axisLine: { show: true, lineStyle: { color: colour("line") } } }, title));
  const text = (hit) => UNITS[each.unit].text(bars ? hit.value : hit.value[1]);
  const heading = (hit) => (bars ? hit.name : UNITS[each.across_unit].text(hit.value[0]));
  const series = each.lines.map(([name, points], at) => bars
    ? { type: "bar", name, data: points.map((point) => point[1]), itemStyle: { color: hue(at) }, barMaxWidth: 26 }
    : { type: "line", name, data: points, symbolSize: 6, itemStyle: { color: hue(at) }, lineStyle: { color: hue(at), width: 1.6 } });
  return {
    animation: false, grid: { left: 64, right: 20, top: 34, bottom: 44 },
    legend: each.lines.length > 1 ? legend(each.lines.map(([name]) => name), { right: 16, top: 4 }) : undefined,
    xAxis: across, yAxis: axis(each.unit, upwards),
    tooltip: tooltip({ trigger: "axis", formatter: (hits) => tip(heading(hits[0]), hits.map((hit) => [hit.color, hit.seriesName, text(hit)])) }),
    series,
  };
}

function experimentRemarks() {
  if (data.remarks.length === 0) return null;
  return part("section", { id: "remarks" }, part("h2", {}, "Remarks"), data.remarks.map((remark) => part("p", { class: "small" }, remark)));
}

begin(build);
