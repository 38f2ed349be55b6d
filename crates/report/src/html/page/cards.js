// The cards: what was measured, what makes it comparable, and right beside each figure what spoils it.

function cardsSection(tracks, runs, state, most) {
  const shown = state.every ? tracks : tracks.slice(0, most);
  const more = tracks.length > shown.length && part("p", { style: "margin-top:14px" }, part("button", { onclick: () => state.change({ every: true }) }, "Show all " + tracks.length));
  return part("section", { id: "results" }, part("div", { class: "cards" + (shown.length === 1 ? " one" : "") }, shown.map((track) => card(track, runs, tracks.length > 1, state))), more);
}

function card(track, runs, several, state) {
  const jobs = runs.map((run) => ({ run, job: track.jobs[run.index] })).filter((each) => each.job);
  if (jobs.length === 0) return null;
  const first = jobs[0].job;
  const chosen = several && state.key === track.key;
  const labels = [...new Set(jobs.flatMap(({ job }) => job.lines.map((line) => line.label)))];
  return part("article", { class: "card" + (chosen ? " chosen" : "") },
    part("header", {}, part("div", {}, part("div", { class: "name" }, track.title), track.place && part("div", { class: "soft small" }, track.place), first.passes && part("div", { class: "soft small" }, first.passes)),
      several && hasCharts(track) && part("button", { "aria-pressed": String(chosen), onclick: () => state.change({ key: track.key, jump: true }) }, "charts")),
    first.verdict && part("p", { class: "figure" }, first.verdict),
    first.topics && topics(first.topics),
    part("div", { class: "figures" }, labels.map((label) => figure(label, jobs, runs))),
    labels.length === 0 && !first.verdict && part("p", { class: "soft figure" }, "nothing was counted"),
    jobs.flatMap(({ run, job }) => shownOf(job.findings.map((index) => run.findings[index])).map((finding) => told(finding, runs.length > 1 && letter(run.index)))),
    jobs.flatMap(({ job }) => job.errors.slice(0, 8).map((error) => part("p", { class: "error" }, error))),
    part("p", { class: "aside" }, first.shape + " · measured " + first.measured),
    first.replay && fold("replay: " + first.replay[0][1], true, table(["", "certificate"], first.replay.slice(1))),
    first.cache && part("p", { class: "aside", style: "margin-top:2px" }, first.cache));
}

// Groups of conformance cases: what did not pass, and why.
function topics(all) {
  const reasons = (topic) => topic.reasons.slice(0, 6).join("; ") + (topic.reasons.length > 6 ? "; …" : "");
  const rows = all.map((topic) => [topic.name, ...[topic.passed, topic.failed, topic.not_applicable, topic.not_run].map((count) => count.toLocaleString("en-US")), reasons(topic)]);
  return fold(all.length + (all.length === 1 ? " topic" : " topics"), all.length <= 60, table(["topic", "passed", "failed", "not applicable", "not run", "reasons"], rows));
}

function hasCharts(track) {
  return track.jobs.some((job) => job && (job.over || job.lines.some((line) => line.latency)));
}

function spoils(run, job) {
  return job.findings.map((index) => run.findings[index].severity).find((severity) => severity === "invalid");
}

function figure(label, jobs, runs) {
  const several = runs.length > 1;
  const lines = jobs.map(({ run, job }) => ({ run, job, line: job.lines.find((line) => line.label === label) })).filter((each) => each.line);
  const base = lines[0];
  return lines.map(({ run, job, line }) => part("div", { class: "figure" },
    part("div", { class: "label", dot: several ? "run-" + run.index % 6 : line.kind }, several ? letter(run.index) + ": " : "", label, line.failed > 0 && part("span", { class: "word invalid" }, " · " + line.failed.toLocaleString("en-US") + " failed")),
    part("div", { class: "big" }, part("span", { class: spoils(run, job) && "spoilt", title: spoils(run, job) && "spoilt: see below" }, line.lead[0]), part("small", {}, line.lead[1]),
      several && run !== base.run && part("small", {}, differs(line.rate, base.line.rate))),
    line.lead[2] && part("div", { class: "soft small" }, line.lead[2]),
    line.range && part("div", { class: "soft small" }, line.range),
    steps(line), !several && sparkOf(job, line)));
}

function steps(line) {
  if (!line.latency) return null;
  const of = (name) => (line.latency.figures.find((figure) => figure[0] === name) || [])[1] || NONE;
  return part("dl", { class: "steps" }, ["p50", "p99", "p99.9", "max"].map((name) => part("div", {}, part("dt", {}, name), part("dd", {}, of(name)))));
}

function sparkOf(job, line) {
  const column = job.over && job.over.operations.find((each) => each.name === line.kind);
  return column && spark(column.values, line.kind);
}

function told(finding, run) {
  return part("details", { class: "told " + finding.severity },
    part("summary", {}, run && run + ": ", part("span", { class: "word " + finding.severity }, finding.severity), " " + finding.sentence),
    part("ul", {}, finding.figures.map((figure) => part("li", {}, figure))),
    finding.advice && part("p", { class: "advice" }, finding.advice),
    finding.explains && part("p", { class: "soft small" }, "explains " + finding.explains),
    finding.explained_by && part("p", { class: "soft small" }, "explained by [" + finding.explained_by + "]"));
}

// What another finding explains stands under that one, and among all findings, unless its cause is not here.
function shownOf(findings) {
  const here = new Set(findings.map((finding) => finding.code));
  return findings.filter((finding) => !here.has(finding.explained_by));
}

// Findings of no phase that is on a card, and demands.
function verdicts(runs) {
  const several = runs.length > 1;
  return runs.flatMap((run) => {
    const name = several ? letter(run.index) + ": " : "";
    const beside = new Set(run.jobs.flatMap((job) => job.findings));
    const others = shownOf(run.findings.filter((_, index) => !beside.has(index))).map((finding) => told(finding, several && letter(run.index)));
    const demands = run.demands.map((demand) => part("div", { class: "verdict" + (demand.failed ? " invalid" : "") }, name, part("span", { class: "word " + (demand.failed ? "invalid" : "good") }, demand.failed ? "failed" : "kept"), " fails if " + demand.text, part("span", { class: "soft" }, " · found " + demand.found + (demand.place ? " in " + demand.place : ""))));
    const wrong = [run.stopped, ...run.errors].filter(Boolean).map((text) => part("div", { class: "verdict invalid" }, name, text));
    const rounds = run.rounds && part("div", { class: "verdict note" }, name, run.rounds);
    return [wrong, demands, rounds, summary(run, name), others];
  });
}

function summary(run, name) {
  const count = (severity) => run.findings.filter((finding) => finding.severity === severity).length;
  const kinds = ["invalid", "doubtful", "note"].filter((severity) => count(severity) > 0);
  if (kinds.length === 0) return null;
  const all = run.findings.length;
  const each = kinds.map((severity, at) => [at > 0 && ", ", part("span", { class: "word " + severity }, count(severity) + " " + severity)]);
  return part("div", { class: "verdict " + kinds[0] }, name, run.verdict ? part("span", { class: "word " + kinds[0] }, run.verdict) : [all === 1 ? "One finding: " : all + " findings: ", each], part("span", { class: "soft" }, all === 1 ? ". It stands beside the figure that it concerns." : ". Each stands beside the figure that it concerns."));
}
