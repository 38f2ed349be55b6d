// Results: what was measured before, found, tagged, noted, laid over each other and compared.

import { button, complain, dialog, el, field, fill, get, post, toast } from "./parts.js";
import { count, latency, rate, seconds, when } from "./units.js";
import { Chart } from "./charts.js";
import { shownFinding } from "./run.js";
import { compared } from "./compare.js";

export function resultsPage(section) {
  const page = { ticked: [], runs: [], shownRun: null };
  const search = el("input", { type: "search", placeholder: "name, command, note…", "aria-label": "Search the runs" });
  const tag = el("input", { type: "search", placeholder: "tag", "aria-label": "Only runs with this tag", class: "short" });
  page.list = el("div", {});
  page.detail = el("div", { class: "detail" });
  page.bar = el("div", { class: "compare-bar", hidden: true, role: "region", "aria-label": "Chosen runs" });
  const look = () => get("runs", { text: search.value, tag: tag.value }).then((found) => {
    page.runs = found.runs;
    showList(page, search.value || tag.value);
  }, (error) => {
    fill(page.list, el("p", { class: "problem" }, error.message));
  });
  page.look = look;
  let timer = 0;
  [search, tag].forEach((input) => input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(look, 200);
  }));
  fill(section, el("div", { class: "heading" }, el("h1", { id: "results-title" }, "Results"), el("div", { class: "tools" }, search, tag)),
    page.bar, el("div", { class: "master" }, page.list, page.detail));
  return {
    shown: ([number]) => {
      look();
      if (number) show(page, number);
      else if (!page.shownRun) fill(page.detail, el("p", { class: "empty" }, "Choose a run to see it; tick two or more to compare them."));
    },
  };
}

function showList(page, filtered) {
  if (!page.runs.length) {
    fill(page.list, el("p", { class: "empty" }, filtered ? "No run has that." : "No run is kept yet."));
    return;
  }
  const head = ["", "Run", "When", "Result", "Tags"].map((title) => el("th", { scope: "col" }, title || el("span", { class: "unseen" }, "Compare")));
  const rows = page.runs.map((run) => {
    const box = el("input", { type: "checkbox", checked: page.ticked.includes(run.id), "aria-label": "Compare run " + run.id });
    box.addEventListener("change", () => {
      page.ticked = (box.checked ? [...page.ticked, run.id] : page.ticked.filter((id) => id !== run.id)).sort((one, other) => one - other);
      showBar(page);
    });
    return el("tr", { class: page.shownRun === String(run.id) ? "chosen" : "" }, el("td", {}, box),
      el("td", { "data-label": "Run" }, el("a", { href: "#results/" + run.id }, run.id + " · " + called(run)), el("small", {}, run.tool + (run.parts ? " · and " + run.parts + " more" : ""))),
      el("td", { "data-label": "When" }, when(run.began_unix_ns), el("small", {}, seconds(run.elapsed_ns / 1e9) + " on " + run.host)),
      el("td", { "data-label": "Result" }, run.state === "complete" || run.state === "imported" ? "" : el("span", { class: "badge note" }, run.state), " " + run.headline,
        run.findings ? el("span", { class: "badge doubtful" }, run.findings + " doubtful") : null, run.note ? el("small", {}, run.note.split("\n")[0]) : null),
      el("td", { "data-label": "Tags" }, run.tags.map((tag) => el("span", { class: "tag" }, tag))));
  });
  fill(page.list, el("table", { class: "list runs" }, el("caption", { class: "unseen" }, "Kept runs, the newest first"), el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows)));
}

// A design's name, which its file has; the plan of all of them is called as the tool.
function called(run) {
  const file = run.tool === run.name && (run.words || []).find((word) => /\.[a-z]+$/i.test(word) && !word.startsWith("-"));
  return file ? file.split("/").at(-1).replace(/\.[a-z]+$/i, "") : run.name;
}

function showBar(page) {
  page.bar.hidden = page.ticked.length === 0;
  const enough = page.ticked.length > 1;
  fill(page.bar, el("span", {}, page.ticked.length === 1 ? "Run " + page.ticked[0] + ": tick another one to compare" : "Runs " + page.ticked.join(", ") + "; the oldest is what the others are held against"),
    el("div", { class: "tools" },
      button("Compare", () => compareRuns(page), { class: "primary", disabled: !enough }),
      enough ? el("a", { class: "button", href: "/api/file?as=html&runs=" + page.ticked.join(","), target: "_blank", rel: "noopener" }, "One report page") : null,
      button("None", () => { page.ticked = []; showBar(page); page.look(); }, { class: "quiet" })));
}

function compareRuns(page) {
  page.shownRun = null;
  fill(page.detail, el("p", { class: "empty" }, "Comparing…"));
  compared(page.ticked).then((parts) => {
    fill(page.detail, parts);
    page.detail.scrollIntoView({ block: "nearest" });
  }, complain);
}

function show(page, number) {
  page.shownRun = number;
  get("run", { run: number }).then((found) => {
    fill(page.detail, shown(page, found));
    showList(page, true);
  }, complain);
}

function shown(page, { entry, plan, record }) {
  const change = (value) => post("change", { run: String(entry.id), ...value }).then((told) => {
    page.look();
    return told;
  });
  const keep = (kind, title) => el("a", { class: "button", href: "/api/file?keep&as=" + kind + "&runs=" + entry.id }, title);
  const remove = button("Delete…", () => {
    const box = dialog("Delete run " + entry.id, el("p", {}, "The run and all that is kept of it will be gone."), (close) => [
      button("Delete it", () => change({ delete: true }).then(() => { close(); location.hash = "results"; page.shownRun = null; fill(page.detail); }, complain), { class: "stop" }),
      button("Keep it", close)]);
    return box;
  }, { class: "quiet" });
  return [
    el("div", { class: "heading" }, el("h2", {}, "Run " + entry.id + " · " + called(entry))),
    el("p", { class: "hint" }, when(entry.began_unix_ns) + " · " + entry.host + " · " + entry.state),
    el("code", { class: "command" }, "iodyno " + entry.words.join(" ")),
    tags(entry, change), note(entry, change),
    results(record), curves([[entry, record]]),
    el("h3", {}, "Findings"),
    record.findings.length ? record.findings.map(shownFinding) : el("p", { class: "good" }, "Nothing spoils the figures."),
    el("details", {}, el("summary", {}, "The plan, word by word"), el("pre", { tabindex: "0" }, plan)),
    el("div", { class: "tools" }, el("a", { class: "button primary", href: "/api/file?as=html&runs=" + entry.id, target: "_blank", rel: "noopener" }, "Report page"),
      keep("html", "Page"), keep("json", "JSON"), keep("csv", "CSV"), keep("hdr", "Latency log"), remove),
  ];
}

function tags(entry, change) {
  const place = el("div", { class: "chips" });
  const input = el("input", { type: "text", class: "short", placeholder: "add a tag", "aria-label": "Add a tag to run " + entry.id });
  const build = (list) => fill(place, list.map((tag) => el("span", { class: "tag" }, tag, button("✕", () => change({ remove: tag }).then((told) => build(told.entry.tags), complain), { class: "quiet small", "aria-label": "Remove the tag " + tag }))), input);
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !input.value.trim()) return;
    change({ add: input.value.trim() }).then((told) => {
      input.value = "";
      build(told.entry.tags);
      input.focus();
    }, complain);
  });
  build(entry.tags);
  return place;
}

function note(entry, change) {
  const text = el("textarea", { rows: 2, placeholder: "What was changed, what is to be remembered…", value: entry.note || "" });
  let timer = 0;
  const save = () => change({ note: text.value }).then(() => toast("Noted"), complain);
  text.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(save, 1200);
  });
  return field("Note", text);
}

function percentile(line, wanted) {
  const found = line.latency.percentiles.find((one) => Math.abs(one.percent - wanted) < 1e-9);
  return found ? latency(found.ns) : "–";
}

function results(record) {
  const heads = ["Phase", "Job", "", "Operations/s", "Data rate", "Mean", "Median", "99 %", "99.9 %", "Failed"];
  const rows = record.phases.flatMap((phase) => merged(phase).map((line) => [
    phase.name + (phase.coordinates.length ? " · " + phase.coordinates.map(placed).join(" ") : ""), line.job, line.label, count(line.operations_per_second), rate(line.bytes_per_second),
    latency(line.latency.mean_ns), percentile(line, 50), percentile(line, 99), percentile(line, 99.9), line.failed ? String(line.failed) : "0"]));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Figures" }, el("table", { class: "list figures" }, el("caption", { class: "unseen" }, "Figures of each job"),
    el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head || el("span", { class: "unseen" }, "Operation"))))),
    el("tbody", {}, rows.map((cells) => el("tr", {}, cells.map((cell, index) => el("td", { "data-label": heads[index] || "Operation" }, cell)))))));
}

function placed(coordinate) {
  const value = typeof coordinate.value === "object" && coordinate.value !== null ? Object.values(coordinate.value)[0] : coordinate.value;
  return coordinate.parameter + " " + value;
}

function merged(phase) {
  return phase.jobs.flatMap((job) => job.lines.filter((line) => line.operations > 0 || line.failed > 0).map((line) => ({ ...line, job: job.name })));
}

// The seconds of all phases and jobs, one behind the other.
export function series(record) {
  let offset = 0;
  const points = [];
  for (const phase of record.phases) {
    const jobs = phase.jobs.filter((job) => job.series && job.series.rows && job.series.rows.length);
    const longest = Math.max(0, ...jobs.map((job) => job.series.rows.length));
    const whole = jobs.length ? jobs[0].series.interval_ns / 1e9 : 1;
    const measured = Math.max(0, ...jobs.map((job) => job.measured_ns / 1e9));
    for (let index = 0; index < longest; index += 1) {
      // The last second is seldom a whole one; of a piece of it nothing is said.
      const step = Math.min(whole, measured - index * whole);
      if (step < whole / 2) continue;
      const rows = jobs.map((job) => job.series.rows[index]).filter(Boolean);
      const sum = (of) => rows.reduce((all, row) => all + of(row), 0);
      const operations = sum((row) => row.reads + row.writes + row.trims + row.others);
      points.push({
        at: offset + index * whole + step, reads: sum((row) => row.reads) / step, writes: sum((row) => row.writes) / step, operations: operations / step,
        bytes: sum((row) => row.read_bytes + row.write_bytes) / step, latency: operations ? sum((row) => row.latency_sum_ns) / operations : null,
      });
    }
    offset += measured;
  }
  return points;
}

const COLOURS = ["read", "write", "trim", "other", "fifth", "sixth"];

// Runs over each other: operations, data and latency by second.
export function curves(runs) {
  const all = runs.map(([entry, record], index) => ({ name: "run " + entry.id, colour: COLOURS[index % COLOURS.length], points: series(record) }));
  if (!all.some((one) => one.points.length > 1)) return el("p", { class: "hint" }, "It was too short for a line of seconds.");
  const chart = (title, format, key) => {
    const own = new Chart(title, format);
    own.set(all.map((one) => ({ ...one, points: one.points.map((point) => [point.at, point[key]]) })));
    return own.element;
  };
  return el("div", { class: "charts" }, chart("Operations each second", count, "operations"), chart("Data rate", rate, "bytes"), chart("Mean latency", latency, "latency"));
}
