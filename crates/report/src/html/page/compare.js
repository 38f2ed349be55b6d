// Several runs side by side: which is which, what differs in their surroundings, and their figures in one table.

function runsSection(runs, state) {
  if (runs.length < 2) return null;
  const rows = runs.map((run) => part("p", {}, part("label", {}, part("input", { type: "checkbox", checked: !state.hidden.has(run.index), onchange: (event) => state.toggle(run.index, event.target.checked) }), " ",
    part("span", { class: "run", dot: "run-" + run.index % 6 }, part("b", {}, letter(run.index)), " " + run.title), part("span", { class: "soft small" }, " · " + [day(run), run.machine].filter(Boolean).join(" · ")))));
  return part("section", { id: "runs" }, part("div", { class: "verdict note" }, rows), differences(runs));
}

// Facts that are not the same in all runs: what may be the reason for a difference, besides what was meant to be.
function differences(runs) {
  const facts = (run) => new Map(run.facts.flatMap((group) => group.rows.map(([name, value]) => [group.title + " · " + name, value])));
  const all = runs.map(facts);
  const names = [...new Set(all.flatMap((each) => [...each.keys()]))];
  const different = names.filter((name) => new Set(all.map((each) => each.get(name))).size > 1 && !/free|Machine · (host|clock)$/.test(name));
  if (different.length === 0) return null;
  return fold(different.length === 1 ? "One fact about the surroundings differs" : different.length + " facts about the surroundings differ", different.length < 8,
    table(["", ...runs.map((run) => letter(run.index))], different.map((name) => [name, ...all.map((each) => each.get(name) || NONE)])));
}

function figuresSection(tracks, runs) {
  if (runs.length < 2) return null;
  const rows = tracks.flatMap((track) => lineRows(track, runs));
  if (rows.length === 0) return null;
  const headings = ["", "", ...runs.flatMap((run, at) => (at === 0 ? [letter(run.index)] : [letter(run.index), "against " + letter(runs[0].index)]))];
  return part("section", { id: "figures" }, part("h2", {}, "Side by side"), part("p", { class: "soft small" }, "Plain ratios of two runs: whether a difference is more than noise, iodyno compare tells."), table(headings, rows));
}

function lineRows(track, runs) {
  const labels = [...new Set(runs.flatMap((run) => (track.jobs[run.index] ? track.jobs[run.index].lines.map((line) => line.label) : [])))];
  return labels.flatMap((label) => {
    const lines = runs.map((run) => track.jobs[run.index] && track.jobs[run.index].lines.find((line) => line.label === label));
    const row = (name, value, text) => [track.title + (track.place ? " · " + track.place : "") + " · " + label, name, ...lines.flatMap((line, at) => {
      const cell = line ? text(line) : NONE;
      return at === 0 ? [cell] : [cell, line && lines[0] ? differs(value(line), value(lines[0])) : ""];
    })];
    const rows = [row("IOPS", (line) => line.rate, (line) => line.rate_text)];
    if (lines.some((line) => line && known(line.bytes))) rows.push(row("MB/s", (line) => line.bytes, (line) => significant(line.bytes / 1e6)));
    for (const [name, nines_] of [["p50", 0.30103], ["p99", 2], ["p99.9", 3]]) {
      if (lines.every((line) => !line || !line.latency)) continue;
      rows.push(row(name, (line) => nearest(line, nines_), (line) => (line.latency ? (line.latency.figures.find((figure) => figure[0] === name) || [])[1] : NONE)));
    }
    return rows;
  });
}

// The latency at so many nines, from the nearest point of the curve.
function nearest(line, wanted) {
  const curve = line.latency ? line.latency.curve : [];
  let best;
  for (let place = 0; place < curve.length; place += 2) {
    if (best === undefined || Math.abs(curve[place] - wanted) < Math.abs(curve[best] - wanted)) best = place;
  }
  return best === undefined ? undefined : curve[best + 1];
}

function day(run) {
  return run.began ? new Date(run.began).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" }) : "";
}
