// Run: gauges, charts, seconds left, findings as they appear.

import { button, complain, el, fill, get, post, severity } from "./parts.js";
import { about, brief, count, figure, latency, percent, rate, seconds } from "./units.js";
import { Chart, Gauge } from "./charts.js";

const NS = 1e9;
let watching = null;
let view = null;

// Follows a run that was started here, to its end.
export function follow(number) {
  watching = { number, from: 0, ended: false };
  if (view) view.begin();
  ask(watching);
}

function ask(own) {
  if (own !== watching) return;
  get("running", { number: own.number, from: own.from }).then((told) => {
    if (own !== watching) return;
    own.from = told.next;
    own.told = told;
    own.lines = (own.lines || []).concat(told.lines);
    own.ended = told.ended;
    document.querySelector("nav .live-dot").hidden = own.ended;
    if (view) view.take(told);
    // The last lines come with the end.
    if (!own.ended || told.lines.length) setTimeout(() => ask(own), own.ended ? 0 : 100);
  }, (error) => {
    complain(error);
    setTimeout(() => ask(own), 3000);
  });
}

export function runPage(section) {
  view = new RunView(section);
  view.begin();
  return {};
}

class RunView {
  constructor(section) {
    this.section = section;
  }

  begin() {
    if (!watching) {
      fill(this.section, el("div", { class: "heading" }, el("h1", { id: "run-title" }, "Run")),
        el("div", { class: "card welcome" }, el("p", {}, "Nothing was started yet."), el("p", {}, el("a", { href: "#design", class: "button primary" }, "Design a measurement"))));
      return;
    }
    Object.assign(this, { phases: [], phase: -1, points: [], watched: [], findings: [], marks: [], offset: 0, gaugeAt: -1, state: "starting", ended: null });
    this.build();
    if (watching.lines) this.take({ ...watching.told, lines: watching.lines });
  }

  build() {
    this.title = el("h1", { id: "run-title" }, "Run");
    this.pill = el("span", { class: "pill" }, "starting");
    this.stopButton = button("Stop", () => post("stop", { number: watching.number }).then(() => { this.pill.textContent = "stopping"; }, complain), { class: "stop" });
    this.where = el("p", { class: "where" });
    this.left = el("div", { class: "left" }, "–");
    this.leftSub = el("div", { class: "hint" });
    this.bar = el("progress", { max: 1, value: 0, "aria-label": "Progress of the run" });
    this.words = el("code", { class: "command" });
    this.gauges = {
      operations: new Gauge("Operations / s", brief), bytes: new Gauge("Data rate", (value) => rate(value)),
      mean: new Gauge("Mean latency", latency), max: new Gauge("99th percentile", latency),
      cpu: new Gauge("Processors", percent, 100), errors: new Gauge("Errors", count),
    };
    this.charts = {
      operations: new Chart("Operations each second", brief), bytes: new Chart("Data rate", rate),
      latency: new Chart("Latency", latency), machine: new Chart("Busy", (value) => Math.round(value) + " %"),
    };
    this.list = el("ol", { class: "phases" });
    this.found = el("div", { class: "findings", "aria-live": "polite" }, el("p", { class: "empty" }, "None so far. They are judged at the end of each phase."));
    this.messages = el("ul", { class: "messages" });
    this.after = el("div", { class: "after", hidden: true });
    const update = el("select", { "aria-label": "Gauges move" }, [1, 2, 5, 10, 30, 60].map((value) => el("option", { value: String(value) }, "each " + value + " s")));
    update.addEventListener("change", () => { this.update = Number(update.value); });
    this.updateSelect = update;
    fill(this.section,
      el("div", { class: "heading" }, this.title, this.pill, el("div", { class: "tools" }, update, this.stopButton)),
      el("div", { class: "card progress" }, el("div", { class: "progress-head" }, this.where, el("div", { class: "clock" }, this.left, this.leftSub)), this.bar, this.words),
      this.after,
      el("div", { class: "gauges" }, Object.values(this.gauges).map((gauge) => gauge.element)),
      el("div", { class: "charts" }, Object.values(this.charts).map((chart) => chart.element)),
      el("div", { class: "cards" },
        el("section", { class: "card" }, el("h2", {}, "Phases"), this.list),
        el("section", { class: "card" }, el("h2", {}, "Findings"), this.found),
        el("section", { class: "card" }, el("h2", {}, "Messages"), this.messages)));
  }

  take(told) {
    this.title.textContent = told.name;
    this.words.textContent = "iodyno " + told.words.map((word) => (/[\s'"]/.test(word) ? "'" + word + "'" : word)).join(" ");
    if (this.update === undefined || this.runNumber !== told.number) {
      this.runNumber = told.number;
      this.update = told.update_s;
      this.updateSelect.value = String(told.update_s);
    }
    told.lines.forEach((line) => this.line(line));
    this.told(told);
  }

  line(line) {
    switch (line.event) {
      case "started":
        this.phases = line.phases.map((phase) => ({ ...phase, state: "waiting" }));
        this.hosts = line.hosts;
        this.ranks = line.ranks;
        break;
      case "preparing":
        this.state = "preparing";
        this.where.textContent = "Making " + line.target + " ready: " + about(line.done_bytes) + " of " + about(line.total_bytes);
        this.bar.value = line.total_bytes ? line.done_bytes / line.total_bytes : 0;
        break;
      case "phase started":
        this.offset = this.points.length ? this.points.at(-1).at : 0;
        this.phase = line.phase;
        this.state = "running";
        if (this.phases[line.phase]) Object.assign(this.phases[line.phase], { state: "running", place: line.place });
        this.marks.push({ at: this.offset, name: line.place.join(" ") || (line.phases > 1 ? line.name : "") });
        break;
      case "live":
        this.live(line);
        break;
      case "watched":
        this.watched.push({ at: this.offset + line.at_ns / NS, ...line });
        break;
      case "phase ended":
        if (this.phases[line.phase]) Object.assign(this.phases[line.phase], { state: "done", result: result(line) });
        break;
      case "finding":
        this.findings.push(line);
        fill(this.found, this.findings.map(shownFinding));
        break;
      case "message":
        this.messages.append(el("li", {}, line.text));
        break;
      case "ended":
        this.ended = line;
        break;
    }
  }

  live(line) {
    const at = this.offset + line.elapsed_ns / NS;
    this.points.push({ at, ...line });
    this.state = line.ramping ? "ramping up" : "running";
    const second = Math.floor(line.elapsed_ns / NS);
    if (this.gaugeAt < 0 || second < this.gaugeAt || second - this.gaugeAt >= this.update) {
      this.gaugeAt = second;
      this.show();
    }
    this.showClock(line);
  }

  // The gauges show the mean since they moved last.
  show() {
    const recent = this.points.slice(-Math.max(1, Math.round(this.update))).filter((point) => point.rate.operations !== null);
    const mean = (of) => (recent.length ? recent.reduce((sum, point) => sum + of(point), 0) / recent.length : null);
    const last = this.points.at(-1);
    this.gauges.operations.set(mean((point) => point.rate.operations), recent.length ? brief(mean((point) => point.rate.reads)) + " reads · " + brief(mean((point) => point.rate.writes)) + " writes" : "");
    this.gauges.bytes.set(mean((point) => point.rate.read_bytes + point.rate.write_bytes), about(last.bytes) + " in all");
    const timed = recent.filter((point) => point.latency_ns);
    const counted = timed.reduce((sum, point) => sum + point.latency_ns.count, 0);
    this.gauges.mean.set(counted ? timed.reduce((sum, point) => sum + point.latency_ns.mean * point.latency_ns.count, 0) / counted : null);
    this.gauges.max.set(timed.length ? Math.max(...timed.map((point) => point.latency_ns.p99)) : null, timed.length ? "longest " + latency(Math.max(...timed.map((point) => point.latency_ns.max))) : "");
    const machine = this.watched.at(-1);
    if (machine && machine.cpu) this.gauges.cpu.set(100 - machine.cpu.idle_percent - machine.cpu.iowait_percent, percent(machine.cpu.iowait_percent) + " waiting for I/O");
    this.gauges.errors.set(last.errors);
    this.drawCharts();
  }

  drawCharts() {
    const line = (name, colour, of) => ({ name, colour, points: this.points.map((point) => [point.at, of(point)]) });
    const moved = (key) => this.points.some((point) => point.rate[key] > 0);
    const pick = (key) => (point) => point.rate[key];
    const set = (chart, lines) => this.charts[chart].set(lines, this.marks);
    set("operations", [moved("reads") && line("reads", "read", pick("reads")), moved("writes") && line("writes", "write", pick("writes"))].filter(Boolean));
    set("bytes", [moved("reads") && line("read", "read", pick("read_bytes")), moved("writes") && line("written", "write", pick("write_bytes"))].filter(Boolean));
    const timed = (key) => (point) => (point.latency_ns ? point.latency_ns[key] : null);
    set("latency", [line("median", "read", timed("p50")), line("99th percentile", "write", timed("p99"))]);
    const devices = new Set(this.watched.flatMap((one) => one.devices.map((device) => device.name)));
    const busiest = [...devices].slice(0, 2).map((name, index) => ({
      name, colour: ["write", "trim"][index],
      points: this.watched.map((one) => [one.at, (one.devices.find((device) => device.name === name) || {}).busy_percent ?? null]),
    }));
    const processors = { name: "processors", colour: "read", points: this.watched.map((one) => [one.at, one.cpu ? 100 - one.cpu.idle_percent - one.cpu.iowait_percent : null]) };
    set("machine", [processors, ...busiest]);
  }

  showClock(line) {
    const phase = this.phases[line.phase];
    const name = phase ? phase.name + (phase.place && phase.place.length ? " · " + phase.place.join(" ") : "") : "";
    const hosts = this.hosts && this.hosts.length > 1 ? " · " + this.hosts.length + " hosts, " + this.ranks + " ranks: " + this.hosts.join(", ") : "";
    this.where.textContent = (this.phases.length > 1 ? line.phase + 1 + " of " + this.phases.length + " · " : "") + name + hosts;
    const left = line.left_ns ?? line.phase_left_ns;
    this.left.textContent = left === null || left === undefined ? seconds(line.elapsed_ns / NS) : seconds(left / NS);
    this.leftSub.textContent = (left === null || left === undefined ? "so far" : "left") + (line.ramping ? " · ramping up, not counted yet" : "");
    const planned = this.phases.reduce((sum, one) => sum + (one.planned_ns || 0), 0);
    const done = this.phases.slice(0, line.phase).reduce((sum, one) => sum + (one.planned_ns || 0), 0) + line.elapsed_ns;
    this.bar.value = planned ? Math.min(1, done / planned) : 0;
  }

  told(told) {
    const failed = told.ended && told.status !== 0;
    const stopped = told.stopped && told.ended;
    const word = !told.ended ? (told.stopped ? "stopping" : this.state) : stopped ? "stopped" : failed ? "failed" : "complete";
    this.pill.textContent = word;
    this.pill.className = "pill " + (told.ended ? (stopped ? "warn" : failed ? "bad" : "good") : "on");
    this.stopButton.hidden = told.ended;
    const states = { waiting: "waiting", running: "running", done: "done" };
    fill(this.list, this.phases.map((phase) => el("li", { class: phase.state }, el("span", {}, phase.name + (phase.place && phase.place.length ? " · " + phase.place.join(" ") : "")), el("small", {}, phase.result || states[phase.state]))));
    const messages = withoutFindings(told.messages).filter((text) => text.trim());
    const events = this.ended ? this.ended.errors : [];
    fill(this.messages, [...messages, ...events].map((text) => el("li", {}, text)));
    if (!messages.length && !events.length) fill(this.messages, el("li", { class: "empty" }, "None."));
    if (told.ended && this.points.length) this.show();
    if (told.ended) this.finish(told, failed && !stopped, messages);
  }

  finish(told, failed, messages) {
    this.bar.value = failed ? this.bar.value : 1;
    this.left.textContent = stoppedWord(told, failed);
    this.leftSub.textContent = "";
    if (!this.findings.length) fill(this.found, el("p", { class: failed ? "empty" : "good" }, failed ? "It was not judged." : "Nothing spoils the figures."));
    this.after.hidden = false;
    fill(this.after,
      failed ? el("div", { class: "problem", role: "alert" }, el("strong", {}, "It did not run to its end (status " + told.status + ")"), el("ul", {}, messages.slice(0, 6).map((text) => el("li", {}, text)))) : null,
      el("div", { class: "tools" },
        told.kept ? el("a", { class: "button primary", href: "#results/" + told.kept }, "See run " + told.kept) : null,
        told.report ? el("a", { class: "button", href: "/api/file?report=" + encodeURIComponent(told.report) }, told.report.endsWith(".csv") ? "Download IOMeter's results (CSV)" : "Download the report") : null,
        told.kept ? el("a", { class: "button", href: "/api/file?as=html&runs=" + told.kept, target: "_blank", rel: "noopener" }, "Report page") : null,
        el("a", { class: "button", href: "#design" }, "Design another")));
  }
}

// The findings stand beside the messages: their lines for a terminal are left out.
function withoutFindings(messages) {
  const at = messages.indexOf("findings");
  if (at < 0) return messages;
  const end = messages.findIndex((text, index) => index > at && !/^\s/.test(text));
  return [...messages.slice(0, at), ...(end < 0 ? [] : messages.slice(end))];
}

function stoppedWord(told, failed) {
  return told.stopped ? "stopped" : failed ? "failed" : "done";
}

function result(line) {
  const sums = {};
  for (const job of line.jobs) {
    for (const one of job.lines) {
      sums[one.label] = sums[one.label] || { operations: 0, bytes: 0 };
      sums[one.label].operations += one.operations;
      sums[one.label].bytes += one.bytes;
    }
  }
  return Object.entries(sums).map(([label, sum]) => label + " " + count(sum.operations) + ", " + about(sum.bytes)).join(" · ") + " in " + seconds(line.elapsed_ns / NS);
}

export function shownFinding(finding) {
  return el("article", { class: "finding " + finding.severity }, el("p", {}, severity(finding.severity), " ", finding.sentence),
    el("details", {}, el("summary", {}, "Proof and remedy"),
      el("ul", {}, finding.figures.map((one) => el("li", {}, one.name + ": " + figure(one.value, one.unit)))),
      finding.advice ? el("p", { class: "advice" }, finding.advice) : null),
    finding.phase ? el("small", { class: "hint" }, finding.phase + (finding.job ? " · " + finding.job : "")) : null);
}
