// Design: targets, workers, access specifications, pace and times; beside them what the plan will do, as it is typed.

import { button, complain, el, field, fill, fresh, get, post, problems, Refusal, state, toast } from "./parts.js";
import { about, parseSize, parseTime, seconds, size } from "./units.js";
import { specifications } from "./specifications.js";
import { exportDialog, importDialog, openDialog } from "./dialogs.js";
import { follow } from "./run.js";
import { differing, stepCount } from "./workers.js";

export const SECTOR = 512;
const DRAFT = "design";

export function designPage(section) {
  const page = { design: { ...structuredClone(state.start.first), ...draft() }, written: null, listeners: [] };
  const changed = () => {
    keep(page.design);
    page.listeners.forEach((listener) => listener());
  };
  page.changed = changed;
  page.put = (design, notes) => {
    page.design = { ...structuredClone(state.start.first), ...structuredClone(design) };
    build();
    changed();
    (notes || []).forEach((note) => toast(note));
  };
  const build = () => {
    page.listeners = [];
    fill(section, heading(page), el("div", { class: "columns" },
      el("div", { class: "stack" }, targets(page), specifications(page), load(page), times(page)),
      el("aside", { class: "stack side", "aria-label": "What it will do" }, outcome(page))));
    changed();
  };
  build();
  return page;
}

function draft() {
  try {
    return JSON.parse(localStorage.getItem(DRAFT));
  } catch {
    return {};
  }
}

function keep(design) {
  try {
    localStorage.setItem(DRAFT, JSON.stringify(design));
  } catch { /* then it lasts as long as the page */ }
}

function heading(page) {
  const name = el("input", { type: "text", class: "title", "aria-label": "Name of the design", value: page.design.name, maxlength: 60, spellcheck: false });
  name.addEventListener("input", () => {
    page.design.name = name.value;
    page.changed();
  });
  const save = () => post("save", { design: page.design }).then((kept) => toast("Kept as " + kept.path), complain);
  return el("div", { class: "heading" }, el("h1", { id: "design-title", class: "unseen" }, "Design"), name,
    el("div", { class: "tools" }, button("New", () => page.put(state.start.first)), button("Open…", () => openDialog(page)),
      button("Import…", () => importDialog(page)), button("Export…", () => exportDialog(page)), button("Save", save)));
}

function card(title, ...children) {
  const id = fresh("card");
  return el("section", { class: "card", "aria-labelledby": id }, el("h2", { id }, title), children);
}

// A number; what is none is told where it stands and keeps the last good value out of the plan.
export function number(page, get, set, attributes) {
  const input = el("input", { type: "number", inputmode: "numeric", ...attributes, value: get() === null ? "" : get() });
  input.addEventListener("input", () => {
    const value = input.value === "" ? null : Number(input.value);
    input.setAttribute("aria-invalid", String(!input.checkValidity() || Number.isNaN(value)));
    set(value);
    page.changed();
  });
  return input;
}

// A size or a time as a text with its unit.
export function quantity(page, get, set, parse, show, attributes) {
  const input = el("input", { type: "text", autocomplete: "off", spellcheck: false, ...attributes, value: show(get()) });
  input.addEventListener("input", () => {
    const value = parse(input.value);
    input.setAttribute("aria-invalid", String(Number.isNaN(value)));
    if (!Number.isNaN(value)) {
      set(value);
      page.changed();
    }
  });
  input.addEventListener("change", () => {
    if (!Number.isNaN(parse(input.value))) input.value = show(get());
  });
  return input;
}

function targets(page) {
  const list = el("ul", { class: "targets" });
  const known = { directories: [], devices: [] };
  const path = el("input", { type: "text", placeholder: "/srv/data or /dev/nvme0n1", list: "known-targets", autocomplete: "off", spellcheck: false });
  const add = () => {
    const typed = path.value.trim();
    if (typed && !page.design.targets.includes(typed)) page.design.targets.push(typed);
    path.value = "";
    page.changed();
  };
  path.addEventListener("keydown", (event) => event.key === "Enter" && add());
  const described = (target) => {
    const directory = known.directories.find((one) => one.path === target);
    const device = known.devices.find((one) => one.path === target);
    if (directory) return about(directory.free_bytes) + " free · " + directory.file_system + (directory.about ? " · " + directory.about : "");
    if (device) return about(device.size_bytes) + (device.about ? " · " + device.about : "");
    return "";
  };
  const show = () => {
    const chosen = page.design.targets.map((target) => {
      const device = known.devices.find((one) => one.path === target);
      return el("li", {}, el("div", {}, el("code", {}, target), el("small", {}, described(target)),
        device && device.holds ? el("small", { class: "warn" }, device.holds) : null),
      button("Remove", () => {
        page.design.targets = page.design.targets.filter((one) => one !== target);
        page.changed();
      }, { class: "quiet", "aria-label": "Remove the target " + target }));
    });
    fill(list, chosen.length ? chosen : el("li", { class: "empty" }, "No target yet: choose a directory, a file or a device."));
  };
  const choices = el("datalist", { id: "known-targets" });
  get("targets").then((found) => {
    Object.assign(known, found);
    const options = [...found.directories.filter((one) => one.writable), ...found.devices];
    fill(choices, options.map((one) => el("option", { value: one.path }, described(one.path))));
    fill(offers, el("span", { class: "hint" }, "Here: "), options.slice(0, 6).map((one) => button(one.path, () => {
      if (!page.design.targets.includes(one.path)) page.design.targets.push(one.path);
      page.changed();
    }, { class: "chip", title: described(one.path) })));
    show();
  }, complain);
  const offers = el("div", { class: "chips" });
  page.listeners.push(show);
  return card("Targets", list, el("div", { class: "joined" }, field("Add a path", path, "In a directory a file iobw.tst is made; the size below says how large."),
    button("Add", add)), offers, choices);
}

function load(page) {
  const design = page.design;
  const sectors = el("small", { class: "hint" });
  const bytes = quantity(page, () => design.sectors * SECTOR, (value) => { design.sectors = Math.floor(value / SECTOR); }, parseSize, (value) => value ? size(value) : "", { placeholder: "all of it" });
  page.listeners.push(() => {
    sectors.textContent = design.sectors ? design.sectors.toLocaleString("en-US") + " sectors of 512 bytes" : "all of a file or device; a directory needs a size";
  });
  const hosts = el("input", { type: "text", value: design.hosts, placeholder: "this machine", spellcheck: false, autocomplete: "off" });
  hosts.addEventListener("input", () => { design.hosts = hosts.value; page.changed(); });
  const sized = field("Maximum size", bytes);
  sized.append(sectors);
  const cpus = state.start.first.workers;
  return card("Workers and load", el("div", { class: "grid" },
    field("Workers", number(page, () => design.workers, (value) => { design.workers = value || 0; }, { min: 1, max: 4096, required: true }), "IOMeter begins with one for each processor: " + cpus + " here"),
    field("Outstanding I/Os", number(page, () => design.depth, (value) => { design.depth = value || 0; }, { min: 1, max: 65536, required: true }), "of each worker on each target"),
    sized,
    field("Starting sector", number(page, () => design.first_sector, (value) => { design.first_sector = value || 0; }, { min: 0 })),
    field("Written data", contents(page, design)),
    field("Pace", number(page, () => design.rate, (value) => { design.rate = value; }, { min: 0.001, step: "any", placeholder: "as fast as it goes" }), "operations each second of each worker; what comes late counts as late"),
    field("Seed", number(page, () => design.seed, (value) => { design.seed = value; }, { min: 0, placeholder: "the start time" }), "the same seed draws the same places"),
    field("Hosts", hosts, "h1,h2:4 or node[01-16]: over ssh and the site's MPI")), differing(page));
}

// What is written, as IOMeter has it.
export function contents(page, holder, attributes) {
  const select = el("select", attributes || {}, ["Repeating bytes", "Random, the same in each write", "New random bytes in each write"].map((text, index) => el("option", { value: String(index) }, text)));
  select.value = String(holder.content);
  select.addEventListener("change", () => { holder.content = Number(select.value); page.changed(); });
  return select;
}

function times(page) {
  const design = page.design;
  const time = (key, attributes) => quantity(page, () => design[key], (value) => { design[key] = value; }, parseTime, seconds, attributes);
  const update = el("select", {}, [1, 2, 5, 10, 30, 60].map((value) => el("option", { value: String(value) }, "each " + value + " s")));
  update.value = String(design.update_s);
  update.addEventListener("change", () => { design.update_s = Number(update.value); page.changed(); });
  const sweeps = el("input", { type: "checkbox", checked: design.sweep !== null, id: fresh("sweep") });
  const place = el("div", { class: "grid" });
  const show = () => {
    if (!design.sweep) return fill(place);
    const sweep = design.sweep;
    const mode = el("select", {}, el("option", { value: "times" }, "times"), el("option", { value: "plus" }, "plus"));
    mode.value = sweep.exponential ? "times" : "plus";
    mode.addEventListener("change", () => { sweep.exponential = mode.value === "times"; page.changed(); });
    const one = (key) => number(page, () => sweep[key], (value) => { sweep[key] = value || 0; }, { min: 1, max: 65536 });
    return fill(place, field("From", one("from")), field("To", one("to")), field("Step", mode), field("By", one("step")));
  };
  sweeps.addEventListener("change", () => {
    design.sweep = sweeps.checked ? { from: 1, to: 64, step: 2, exponential: true } : null;
    show();
    page.changed();
  });
  show();
  const total = el("p", { class: "hint" });
  page.listeners.push(() => {
    const runs = stepCount(design) * depths(design);
    total.textContent = runs + (runs === 1 ? " run" : " runs") + ", " + seconds(runs * (design.run_s + design.ramp_s)) + " in all";
  });
  return card("Times and depths", el("div", { class: "grid" },
    field("Ramp up", time("ramp_s"), "run, but not counted"), field("Run time", time("run_s"), "of each specification"), field("Gauges move", update)),
  el("div", { class: "check" }, sweeps, el("label", { for: sweeps.id }, "Run each specification at several depths")), place, total);
}

function depths(design) {
  const sweep = design.sweep;
  if (!sweep) return 1;
  let [depth, found] = [sweep.from, 0];
  while (depth > 0 && depth <= sweep.to && found < 1024 && sweep.step >= (sweep.exponential ? 2 : 1)) {
    depth = sweep.exponential ? depth * sweep.step : depth + sweep.step;
    found += 1;
  }
  return found;
}

// What it will do, and the button that does it.
function outcome(page) {
  const told = el("div", { class: "told", "aria-live": "polite" });
  const typed = el("input", { type: "text", autocomplete: "off", spellcheck: false });
  const danger = el("div", { class: "danger" });
  const begin = button("Start", () => start(page, typed.value.trim()), { class: "primary" });
  const fit = { explanation: null, devices: [] };
  const allowed = () => {
    const name = fit.devices.length === 1 ? fit.devices[0].path : null;
    begin.disabled = !fit.explanation || fit.explanation.wrong.length > 0 || (fit.devices.length > 0 && typed.value.trim() !== name);
  };
  typed.addEventListener("input", allowed);
  const show = (explanation) => {
    fit.explanation = explanation;
    const devices = explanation.devices || [];
    if (JSON.stringify(devices) !== JSON.stringify(fit.devices)) {
      fit.devices = devices;
      typed.value = "";
      fill(danger, devices.length ? [el("strong", {}, "This overwrites " + devices.map((one) => one.path).join(", ")),
        devices.map((one) => el("p", {}, one.holds ? one.path + ": " + one.holds : one.path + ": no file system is known on it")),
        field("Type the device's name to allow it", typed)] : null);
      danger.hidden = !devices.length;
    }
    fill(told, explained(explanation));
    allowed();
  };
  let [asked, timer] = [0, 0];
  page.listeners.push(() => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      asked += 1;
      const own = asked;
      post("explain", { design: page.design }).then(
        (explanation) => own === asked && show(explanation),
        (error) => own === asked && show({ wrong: error instanceof Refusal ? error.wrong : [{ message: String(error) }] }));
    }, 250);
  });
  danger.hidden = true;
  return el("section", { class: "card outcome", "aria-labelledby": "outcome-title" },
    el("div", { class: "outcome-head" }, el("h2", { id: "outcome-title" }, "What it will do"), begin), danger, told);
}

// What is said of several workers in the same words is said once.
function together(items) {
  const counts = new Map();
  items.forEach((item) => counts.set(item, (counts.get(item) || 0) + 1));
  return [...counts].map(([item, times]) => (times > 1 ? times + " × " + item : item));
}

// Pitfalls of workers that are alike: "4 KiB/Worker 1 on /srv writes …", once for all of them.
function alike(items) {
  const found = new Map();
  for (const item of items) {
    const named = /^(.+)\/Worker \d+ on (\S+) (.*)$/s.exec(item);
    const text = named ? named[3] : item;
    const one = found.get(text) || { names: [], item };
    if (named) one.names.push(named[1]);
    found.set(text, one);
  }
  return [...found].map(([text, { names, item }]) => (names.length > 1 ? [...new Set(names)].join(", ") + " (" + names.length + " workers) " + text : item));
}

export function explained(explanation) {
  const sections = (explanation.sections || []).map((one) => ({ ...one, items: together(one.items) }));
  const watch = sections.find((one) => one.title === "Watch out");
  const wrong = explanation.wrong || [];
  return [
    problems(wrong),
    watch ? el("div", { class: "pitfalls" }, el("h3", {}, "Watch out"), el("ul", {}, alike(watch.items).map(pitfall))) : null,
    !watch && !wrong.length && sections.length ? el("p", { class: "good" }, "No pitfall is known in this plan.") : null,
    sections.filter((one) => one !== watch).map((one) => [el("h3", {}, one.title), el("ul", {}, one.items.map((item) => el("li", {}, item)))]),
    (explanation.messages || []).map((message) => el("p", { class: "hint" }, message)),
    explanation.plan ? el("details", {}, el("summary", {}, "The plan, word by word"), el("pre", { tabindex: "0" }, explanation.plan)) : null,
  ];
}

function pitfall(text) {
  const [what, advice] = text.split(" → ");
  return el("li", {}, what, advice ? el("span", { class: "advice" }, advice) : null);
}

function start(page, destroy) {
  post("begin", { design: page.design, destroy }).then((begun) => {
    follow(begun.number);
    location.hash = "run";
  }, complain);
}
