// Workers that differ: each kind with its targets and its load, and what each does step by step.

import { button, el, field, fill } from "./parts.js";
import { contents, number, quantity, SECTOR } from "./design.js";
import { parseSize, size } from "./units.js";

const IDLE = "Idle";

export function assignedNames(design) {
  return design.specifications.filter((one) => one.assigned).map((one) => one.name);
}

// Steps of a run: workers with a longer list go on while the others wait.
export function stepCount(design) {
  const all = assignedNames(design).length;
  return Math.max(...[design, ...design.others].map((one) => one.does.length || all));
}

// A specification got another name.
export function rename(design, from, to) {
  for (const one of [design, ...design.others]) one.does = one.does.map((name) => (name === from ? to : name));
}

// A specification was taken out of the table: nobody does it any more.
export function forget(design, gone) {
  for (const one of [design, ...design.others]) one.does = one.does.filter((name) => name !== gone);
}

// The part of the card that is about workers that differ.
export function differing(page) {
  const design = page.design;
  const place = el("div", { class: "stack" });
  const build = () => {
    const several = design.others.length > 0;
    fill(place,
      several || design.does.length ? el("div", { class: "kind" }, el("h3", {}, several ? "Workers 1 (above)" : "Step by step"), steps(page, design, "workers 1")) : null,
      design.others.map((other, index) => kind(page, other, index, rebuild)),
      several ? el("p", { class: "hint" }, "Step 1 of all workers runs together, then step 2, and so on.") : null,
      el("div", { class: "tools" }, button("Add workers that differ", () => {
        const { workers, depth, sectors, first_sector, content } = design;
        design.others.push({ workers, targets: [], depth, sectors, first_sector, content, does: [] });
        rebuild();
      }),
      several || design.does.length ? null : button("Choose step by step", () => { design.does = assignedNames(design); rebuild(); })));
  };
  const rebuild = () => {
    build();
    page.changed();
  };
  build();
  return place;
}

function kind(page, other, index, rebuild) {
  const name = "workers " + (index + 2);
  const label = (title) => ({ "aria-label": title + " of " + name });
  const paths = el("textarea", { rows: 2, spellcheck: false, placeholder: "as above", value: other.targets.join("\n"), ...label("Targets") });
  paths.addEventListener("input", () => {
    other.targets = paths.value.split("\n").map((path) => path.trim()).filter(Boolean);
    page.changed();
  });
  const bytes = quantity(page, () => other.sectors * SECTOR, (value) => { other.sectors = Math.floor(value / SECTOR); }, parseSize, (value) => (value ? size(value) : ""), { placeholder: "all of it", ...label("Maximum size") });
  const whole = (title, key, attributes) => field(title, number(page, () => other[key], (value) => { other[key] = value || 0; }, { ...attributes, ...label(title) }));
  return el("div", { class: "kind" },
    el("div", { class: "kind-head" }, el("h3", {}, "Workers " + (index + 2)), button("Remove", () => {
      page.design.others.splice(index, 1);
      rebuild();
    }, { class: "quiet", "aria-label": "Remove " + name })),
    el("div", { class: "grid" },
      whole("Workers", "workers", { min: 1, max: 4096, required: true }), whole("Outstanding I/Os", "depth", { min: 1, max: 65536, required: true }),
      field("Maximum size", bytes), whole("Starting sector", "first_sector", { min: 0 }),
      field("Written data", contents(page, other, label("Written data"))),
      field("Targets", paths, "one path a line; empty: as above")),
    steps(page, other, name));
}

// What some workers do: all that the table has, or a list of their own.
function steps(page, holder, name) {
  const place = el("div", { class: "steps" });
  const build = () => {
    const names = assignedNames(page.design);
    const begin = () => { holder.does = [...names]; changed(); };
    if (!holder.does.length) {
      fill(place, el("span", { class: "hint" }, "They do all of the table below, from top to bottom."), button("Choose step by step", begin, { class: "small-text", "aria-label": "Choose step by step what " + name + " do" }));
      return;
    }
    const one = (chosen, index) => {
      const options = [...names, IDLE, ...(names.includes(chosen) || chosen === IDLE ? [] : [chosen])];
      const choice = el("select", { "aria-label": "Step " + (index + 1) + " of " + name }, options.map((option) => el("option", { value: option }, option === IDLE ? "Idle (they wait)" : option)));
      choice.value = chosen;
      choice.addEventListener("change", () => { holder.does[index] = choice.value; page.changed(); });
      return el("li", {}, el("span", { class: "hint" }, String(index + 1)), choice, button("✕", () => { holder.does.splice(index, 1); changed(); }, { class: "quiet small", "aria-label": "Remove step " + (index + 1) + " of " + name }));
    };
    fill(place, el("ol", {}, holder.does.map(one)), el("div", { class: "tools" },
      button("Add a step", () => { holder.does.push(names[0] || IDLE); changed(); }, { class: "small-text", "aria-label": "Add a step to " + name }),
      button("All of the table", () => { holder.does = []; changed(); }, { class: "small-text", "aria-label": "Let " + name + " do all of the table" })));
  };
  const changed = () => {
    build();
    page.changed();
  };
  build();
  let known = "";
  page.listeners.push(() => {
    const now = JSON.stringify([assignedNames(page.design), holder.does]);
    if (now !== known && !place.contains(document.activeElement)) build();
    known = now;
  });
  return place;
}
