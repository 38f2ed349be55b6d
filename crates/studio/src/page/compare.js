// Runs held against the first one, with the intervals in which the true differences are.

import { el, get } from "./parts.js";
import { figure } from "./units.js";
import { interval } from "./charts.js";
import { curves } from "./results.js";

const WORDS = { "read.iops": "Read operations", "write.iops": "Write operations", "read.bandwidth": "Read rate", "write.bandwidth": "Write rate" };
const LATENCIES = { p50: "median", p99: "99th percentile", "p99.9": "99.9th percentile", mean: "mean", max: "longest" };

// "read.p99" in words.
function named(quantity) {
  const [, verb, latency] = /^([a-z]+)\.(.+)$/.exec(quantity) || [];
  return WORDS[quantity] || (LATENCIES[latency] ? verb[0].toUpperCase() + verb.slice(1) + " latency, " + LATENCIES[latency] : quantity);
}

export async function compared(ids, across) {
  const runs = await Promise.all(ids.map((id) => get("run", { run: id })));
  const query = { runs: ids.join(",") };
  if (across) query.across = "all";
  const { comparison } = await get("compare", query);
  return [
    el("h2", {}, "Runs " + ids.join(" and ")),
    curves(runs.map(({ entry, record }) => [entry, record])),
    comparison.comparisons ? comparison.comparisons.map((one) => pair(one)) : el("pre", {}, JSON.stringify(comparison, null, 1)),
  ];
}

function pair(one) {
  const figures = one.figures.filter((row) => row.before !== null || row.after !== null);
  const reach = Math.max(5, ...figures.filter((row) => row.difference).map((row) => Math.min(100, Math.max(Math.abs(row.difference.low_percent), Math.abs(row.difference.high_percent)))));
  const weighty = one.contrasts.filter((contrast) => contrast.weight !== "passing");
  return el("section", { class: "pair" },
    el("h3", {}, one.after.name + " against " + one.before.name),
    el("p", { class: one.comparable ? "verdict" : "verdict bad" }, one.comparable ? one.verdict : "They are not comparable: something else was done, or on something else."),
    weighty.length ? el("ul", { class: "notes" }, weighty.map((contrast) => el("li", {}, contrast.what + ": " + contrast.before + " → " + contrast.after))) : null,
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Differences" }, el("table", { class: "list figures" },
      el("caption", { class: "unseen" }, "Differences with their intervals"),
      el("thead", {}, el("tr", {}, ["What", one.before.name, one.after.name, "Difference", "All intervals hold at " + one.confidence_percent + " %", "Verdict"].map((head) => el("th", { scope: "col" }, head)))),
      el("tbody", {}, figures.map((row) => line(row, reach))))),
    el("p", { class: "hint" }, "From " + -Math.round(reach) + " % to " + Math.round(reach) + " %. What is within " + one.margin_percent + " % counts as equal."));
}

function line(row, reach) {
  const signed = (value) => (value > 0 ? "+" : "") + value.toFixed(1) + " %";
  const difference = row.difference;
  const words = row.verdict.startsWith("better") ? "good" : row.verdict.startsWith("worse") ? "bad" : "";
  return el("tr", {},
    el("td", { "data-label": "What" }, named(row.quantity), el("small", {}, row.phase + " · " + row.job)),
    el("td", { "data-label": "Before" }, row.before === null ? "–" : figure(row.before, row.unit)),
    el("td", { "data-label": "After" }, row.after === null ? "–" : figure(row.after, row.unit)),
    el("td", { "data-label": "Difference" }, difference ? signed(difference.percent) : "–"),
    el("td", { "data-label": "Interval", class: "wide-cell" }, difference ? [interval(difference.low_percent, difference.high_percent, difference.percent, reach), el("small", {}, signed(difference.low_percent) + " … " + signed(difference.high_percent))] : "–"),
    el("td", { "data-label": "Verdict", class: words }, row.verdict));
}
