// Access specifications as a table: what is in it runs, from top to bottom.

import { button, dialog, el, fill, fresh, state } from "./parts.js";
import { number, quantity } from "./design.js";
import { parseSize, size } from "./units.js";
import { forget, rename } from "./workers.js";

const COLUMNS = [["name", "Name"], ["share", "Share %"], ["size", "Size"], ["reads", "% read"], ["random", "% random"], ["burst", "Burst"], ["delay", "Delay ms"], ["align", "Align"]];

export function specifications(page) {
  const table = el("table", { class: "specifications" });
  const build = () => {
    const assigned = page.design.specifications.filter((one) => one.assigned);
    const shares = assigned.some((one) => one.lines.length > 1);
    const head = COLUMNS.filter(([key]) => key !== "share" || shares).map(([, title]) => el("th", { scope: "col" }, title));
    fill(table, el("caption", { class: "unseen" }, "Access specifications that run, in their order"),
      el("thead", {}, el("tr", {}, head, el("th", { scope: "col" }, el("span", { class: "unseen" }, "Changes")))),
      assigned.map((one, index) => rows(page, one, index, assigned, shares, rebuild)));
    empty.hidden = assigned.length > 0;
  };
  const rebuild = () => {
    build();
    page.changed();
  };
  const empty = el("p", { class: "empty" }, "Nothing is chosen: add from IOMeter's list, or write your own.");
  const fresh_one = () => {
    page.design.specifications.push({ name: unused(page, "My mix"), assigned: true, lines: [{ bytes: 4096, percent: 100, reads: 70, random: 100, delay_ms: 0, burst: 1, align: 4096 }] });
    rebuild();
  };
  build();
  const id = fresh("card");
  return el("section", { class: "card", "aria-labelledby": id }, el("h2", { id }, "Access specifications"), empty, el("div", { class: "scroll" }, table),
    el("div", { class: "tools" }, button("Add from IOMeter's list…", () => listDialog(page, rebuild)), button("New specification", fresh_one)));
}

function unused(page, stem) {
  const names = page.design.specifications.map((one) => one.name.toLowerCase());
  let [name, counted] = [stem, 1];
  while (names.includes(name.toLowerCase())) {
    counted += 1;
    name = stem + " " + counted;
  }
  return name;
}

function rows(page, one, index, assigned, shares, rebuild) {
  return el("tbody", {}, one.lines.map((line, at) => row(page, one, line, at, index, assigned, shares, rebuild)));
}

function row(page, one, line, at, index, assigned, shares, rebuild) {
  const label = (title) => ({ "aria-label": title + " of " + one.name + (one.lines.length > 1 ? ", line " + (at + 1) : "") });
  const cell = (title, ...children) => el("td", { "data-label": title }, children);
  const whole = (title, key, attributes) => cell(title, number(page, () => line[key], (value) => { line[key] = value === null ? 0 : value; }, { min: 0, ...attributes, ...label(title) }));
  const name = el("input", { type: "text", class: "wide", value: one.name, spellcheck: false, title: one.name, ...label("Name") });
  name.addEventListener("input", () => {
    rename(page.design, one.name, name.value);
    one.name = name.value;
    page.changed();
  });
  const bytes = quantity(page, () => line.bytes, (value) => { line.bytes = value; }, parseSize, size, label("Size"));
  const align = quantity(page, () => line.align, (value) => { line.align = value; }, parseSize, (value) => value ? size(value) : "", { placeholder: "sector", ...label("Align") });
  const reads = number(page, () => line.reads, (value) => { line.reads = value === null ? 0 : value; bar.style.setProperty("--reads", line.reads + "%"); }, { min: 0, max: 100, ...label("% read") });
  const bar = el("span", { class: "mix", "aria-hidden": "true" });
  bar.style.setProperty("--reads", line.reads + "%");
  return el("tr", { class: at ? "further" : "" },
    at ? cell("Name", el("span", { class: "hint" }, "and")) : cell("Name", name),
    shares ? whole("Share %", "percent", { max: 100 }) : null,
    cell("Size", bytes), cell("% read", el("div", { class: "mixed" }, reads, bar)), whole("% random", "random", { max: 100 }),
    whole("Burst", "burst", { min: 1 }), whole("Delay ms", "delay_ms"), cell("Align", align),
    el("td", { class: "actions" }, actions(page, one, at, index, assigned, rebuild)));
}

function actions(page, one, at, index, assigned, rebuild) {
  const all = page.design.specifications;
  const swap = (other) => {
    const [a, b] = [all.indexOf(one), all.indexOf(other)];
    [all[a], all[b]] = [all[b], all[a]];
    rebuild();
  };
  const quiet = (sign, title, action, disabled) => button(sign, action, { class: "quiet small", "aria-label": title + " " + one.name, title, disabled });
  if (at) {
    return quiet("✕", "Remove this line of", () => { one.lines.splice(at, 1); rebuild(); });
  }
  return [
    quiet("↑", "Move up", () => swap(assigned[index - 1]), index === 0),
    quiet("↓", "Move down", () => swap(assigned[index + 1]), index === assigned.length - 1),
    quiet("+", "Add a line to", () => { one.lines.push({ ...one.lines.at(-1) }); spread(one); rebuild(); }),
    quiet("✕", "Take out", () => { one.assigned = false; forget(page.design, one.name); rebuild(); }),
  ];
}

// The shares of all lines make 100.
function spread(one) {
  const count = one.lines.length;
  one.lines.forEach((line, index) => { line.percent = Math.floor(100 / count) + (index < 100 % count ? 1 : 0); });
}

function listDialog(page, rebuild) {
  const all = page.design.specifications;
  for (const known of state.start.stock) {
    if (!all.some((one) => one.name.toLowerCase() === known.name.toLowerCase())) all.push(structuredClone(known));
  }
  const search = el("input", { type: "search", placeholder: "4 KiB, random, 0% Read…", "aria-label": "Search the list" });
  const list = el("ul", { class: "choices" });
  const show = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = all.filter((one) => words.every((word) => one.name.toLowerCase().includes(word)));
    fill(list, found.map((one) => {
      const box = el("input", { type: "checkbox", checked: one.assigned, id: fresh("choice") });
      box.addEventListener("change", () => {
        one.assigned = box.checked;
        if (!one.assigned) forget(page.design, one.name);
        rebuild();
      });
      const line = one.lines[0];
      const told = one.lines.length > 1 ? one.lines.length + " lines" : size(line.bytes) + " · " + line.reads + " % read · " + line.random + " % random" + (line.align ? " · aligned" : "");
      return el("li", {}, box, el("label", { for: box.id }, one.name, el("small", {}, told)));
    }));
  };
  search.addEventListener("input", show);
  show();
  dialog("Access specifications", [search, list], (close) => button("Done", close, { class: "primary" }));
}
