// The page: its head, its sections in order, and a run that still goes on.

const state = { key: null, every: false, hidden: new Set(), jump: false };

state.change = (what) => {
  Object.assign(state, what);
  build();
  const there = document.getElementById("details");
  if (state.jump && there) there.scrollIntoView({ behavior: "smooth" });
  state.jump = false;
};

state.toggle = (index, shown) => {
  if (shown) state.hidden.delete(index);
  else state.hidden.add(index);
  build();
};

// Jobs of the same phase, place and name are one track, one job of each run.
function tracksOf(runs) {
  const tracks = new Map();
  for (const run of runs) {
    const seen = new Map();
    for (const job of run.jobs) {
      const plain = JSON.stringify([job.phase, job.place, job.name]);
      seen.set(plain, (seen.get(plain) || 0) + 1);
      const key = plain + seen.get(plain);
      const title = job.phase === job.name || !job.phase ? job.name : job.phase + " · " + job.name;
      if (!tracks.has(key)) tracks.set(key, { key, title, place: job.place, jobs: [] });
      tracks.get(key).jobs[run.index] = job;
    }
  }
  return [...tracks.values()];
}

function build() {
  forgetCharts();
  data.runs.forEach((run, index) => { run.index = index; });
  const runs = data.runs.filter((run) => !state.hidden.has(run.index));
  const tracks = tracksOf(data.runs);
  // Passes have charts; what they came to together has the card.
  const carded = tracks.filter((track) => !track.jobs.some((job) => job && job.is_pass));
  const drawable = tracks.filter(hasCharts);
  if (!drawable.some((track) => track.key === state.key)) state.key = (drawable[0] || { key: null }).key;
  const chosen = drawable.find((track) => track.key === state.key);
  const open = [...page.querySelectorAll("details[open] > summary")].map((summary) => summary.textContent);
  const sweeps = sweepSections(runs);
  // A curve says more than its points one by one.
  const results = [repetitionsSection(runs), sweeps, cardsSection(carded, runs, state, sweeps ? 6 : 24), figuresSection(carded, runs)];
  const parts = [head(), runsSection(data.runs, state), verdicts(runs), ...results];
  if (chosen) parts.push(part("div", { id: "details" }), picker(drawable, runs), timeSection(chosen, runs), latencySection(chosen, runs), workersSection(chosen, runs));
  parts.push(disclosure(runs), foot());
  page.replaceChildren(...parts.flat(Infinity).filter(Boolean));
  page.firstChild.after(...contents());
  for (const summary of page.querySelectorAll("details > summary")) {
    if (open.includes(summary.textContent)) summary.parentElement.open = true;
  }
  watchCharts();
}

function head() {
  const first = data.runs[0] || {};
  const several = data.runs.length > 1;
  const about = several ? data.runs.length + " runs" : [day(first), first.machine, "seed " + first.seed].filter(Boolean).join(" · ");
  return part("div", { class: "head" }, part("div", {}, part("div", { class: "brand" }, "iodyno", data.live && part("span", { class: "pulse" }, " · running")),
    part("h1", {}, several ? "Comparison of " + data.runs.length + " runs" : first.title || "nothing has run"), part("p", { class: "soft small" }, about)), tools());
}

// Which job the charts below are about.
function picker(tracks, runs) {
  if (tracks.length < 2) return null;
  const option = (track) => part("option", { value: track.key, selected: track.key === state.key }, track.title + (track.place ? " · " + track.place : ""));
  const select = part("select", { "aria-label": "which job the charts show", onchange: (event) => state.change({ key: event.target.value }) }, tracks.map(option));
  const marks = runs.length > 1 && runs.map((run) => part("span", { class: "run", dot: "run-" + run.index % 6 }, letter(run.index)));
  return part("div", { class: "bar" }, part("span", { class: "soft" }, "Charts of"), select, marks);
}

function disclosure(runs) {
  const facts = (groups) => part("div", { class: "facts" }, groups.map((group) => part("section", {}, part("h3", {}, group.title), table_(group.rows))));
  const body = runs.flatMap((run) => {
    const name = runs.length > 1 && part("h3", {}, part("span", { class: "run", dot: "run-" + run.index % 6 }, letter(run.index) + ": " + run.title));
    const seen = run.phases.filter((phase) => phase.seen.length > 0).slice(0, 200).map((phase) => fold("What was seen during " + (phase.name || "a phase"), false, facts(phase.seen)));
    const findings = run.findings.length > 0 && fold("All findings", false, run.findings.map((finding) => [finding.place && part("p", { class: "soft small", style: "margin-top:12px" }, finding.place), told(finding)]));
    return [name, facts(run.facts), seen, findings, run.plan && fold("The plan, complete", false, part("pre", {}, run.plan))];
  });
  return part("section", { id: "disclosure" }, part("h2", {}, "Disclosure"), part("p", { class: "soft small" }, "Everything that was known when this was measured."), body);
}

function table_(rows) {
  return part("table", {}, part("tbody", {}, rows.map(([name, value]) => part("tr", {}, part("td", {}, name), part("td", {}, value.length > 160 ? part("details", {}, part("summary", {}, value.slice(0, 60) + "…"), value) : value)))));
}

// While the run goes on, the page asks what is new; where somebody is looking closer, it waits.
async function follow() {
  while (data.live) {
    await new Promise((resolve) => setTimeout(resolve, 2000));
    try {
      const answer = await fetch("data.json" + location.search, { cache: "no-store" });
      if (!answer.ok) continue;
      const news = await answer.json();
      if (lookingCloser && news.live) continue;
      const place = window.scrollY;
      data = news;
      build();
      window.scrollTo(0, place);
    } catch {
      data.live = false;
      const pulse = document.querySelector(".pulse");
      if (pulse) pulse.textContent = " · the run is no longer reached";
    }
  }
}

begin(build, follow);
