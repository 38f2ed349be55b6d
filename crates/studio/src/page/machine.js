// Machine: what this host is, what it can measure, and what it lacks.

import { button, complain, el, fill, get } from "./parts.js";
import { about } from "./units.js";

export function machinePage(section) {
  const place = el("div", {}, el("p", { class: "empty" }, "Looking…"));
  const look = () => get("machine").then((found) => fill(place, shown(found)), complain);
  fill(section, el("div", { class: "heading" }, el("h1", { id: "machine-title" }, "Machine"), el("div", { class: "tools" }, button("Look again", look))), place);
  look();
  return {};
}

function card(title, ...children) {
  return el("section", { class: "card" }, el("h2", {}, title), children);
}

function pairs(list) {
  return el("dl", { class: "pairs" }, list.filter(([, value]) => value).map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, String(value)))));
}

function table(caption, heads, rows) {
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, el("table", { class: "list" }, el("caption", { class: "unseen" }, caption),
    el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))),
    el("tbody", {}, rows.map((cells) => el("tr", {}, cells.map((cell, index) => el("td", { "data-label": heads[index] }, cell)))))));
}

function shown(found) {
  const missing = found.checks.filter((check) => !check.works);
  return [
    el("div", { class: "cards" },
      card(found.host, pairs([["Kernel", found.kernel], ["Processor", found.processor], ["Processors", found.cpus], ["Memory", about(found.memory_bytes)], ["Clock", found.clock], ["iodyno", found.version]])),
      found.facts.length ? card("What may make a difference", pairs(found.facts)) : null),
    card("Devices", found.targets.devices.length ? table("Block devices", ["Device", "Size", "What it is", "What it holds"], found.targets.devices.map((one) => [
      el("code", {}, one.path), about(one.size_bytes), one.about, one.holds ? el("span", { class: "warn" }, one.holds) : "nothing that is known"])) : el("p", { class: "empty" }, "No block device can be seen.")),
    card("File systems", table("File systems", ["Directory", "Kind", "Free", "On"], found.targets.directories.map((one) => [
      el("code", {}, one.path), one.file_system, about(one.free_bytes) + " of " + about(one.size_bytes), [one.on, one.about].filter(Boolean).join(" · ")]))),
    card("What can be measured here", el("p", { class: missing.length ? "warn" : "good" }, missing.length ? missing.length + " of " + found.checks.length + (missing.length === 1 ? " is missing" : " are missing") : "Nothing is missing"),
      el("ul", { class: "checks" }, [...missing, ...found.checks.filter((check) => check.works)].map((check) => el("li", { class: check.works ? "ok" : "lacks" },
        el("span", { class: "mark", "aria-hidden": "true" }, check.works ? "✓" : "✗"),
        el("div", {}, el("strong", {}, check.name), el("span", { class: "unseen" }, check.works ? " works: " : " is missing: "), el("span", {}, " " + check.found),
          check.works ? null : el("small", {}, "needed for " + check.serves), check.remedy ? el("small", { class: "advice" }, check.remedy) : null))))),
    card("Engines", table("Engines", ["Engine", "What it is", "Here"], found.engines.map((one) => [el("code", {}, one.name), one.about, one.missing || "available"]))),
  ];
}
