// Open, import and export: files and command lines of other tools.

import { button, complain, dialog, download, el, field, fill, get, post, problems, Refusal, toast } from "./parts.js";
import { explained } from "./design.js";
import { follow } from "./run.js";

export function openDialog(page) {
  const list = el("ul", { class: "choices" });
  const box = dialog("Open a design", list);
  get("designs").then(({ kept }) => {
    fill(list, kept.length ? kept.map((name) => el("li", {}, button(name, () => {
      get("design", { name }).then(({ design, notes }) => {
        page.put(design, notes);
        box.close();
      }, complain);
    }, { class: "link" }))) : el("li", { class: "empty" }, "None is kept yet. Save one, or start one: both keep it."));
  }, complain);
}

export function importDialog(page) {
  const file = el("input", { type: "file", accept: ".icf,.fio,.job,.f,.toml,.ior,.txt" });
  const line = el("textarea", { rows: 3, spellcheck: false, placeholder: "fio --name=a --filename=/srv/f --size=1g --rw=randrw --bs=4k --runtime=30 --time_based" });
  const told = el("div", { class: "told", "aria-live": "polite" });
  let [asked, box] = [null, null];
  const look = (value) => {
    asked = value;
    post("import", value).then((found) => fill(told, imported(page, found, asked, () => box.close())), (error) => {
      fill(told, problems(error instanceof Refusal ? error.wrong : [{ message: String(error) }], "It cannot be read"));
    });
  };
  file.addEventListener("change", async () => {
    if (file.files[0]) look({ name: file.files[0].name, text: await file.files[0].text() });
  });
  const read = button("Read the line", () => look({ line: line.value }));
  box = dialog("Import", [
    field("A file", file, ".icf of IOMeter, a job file of fio, a script of IOR (.ior), a workload of filebench (.f), a plan (.toml)"),
    field("Or a command line", line, "fio, ior, iozone, filebench, dd, …, as it is typed in a terminal"), read, told]);
}

function imported(page, found, asked, close) {
  const run = () => {
    const devices = found.explanation.devices || [];
    const destroy = devices.length ? typed.value.trim() : "";
    post("begin-as-written", { ...asked, destroy }).then((begun) => {
      close();
      follow(begun.number);
      location.hash = "run";
    }, complain);
  };
  const typed = el("input", { type: "text", autocomplete: "off", spellcheck: false });
  const devices = found.explanation.devices || [];
  const wrong = found.explanation.wrong || [];
  return [
    el("h3", {}, found.name + " · " + found.tool),
    found.notes.length ? el("ul", { class: "notes" }, found.notes.map((note) => el("li", {}, note))) : null,
    devices.length ? el("div", { class: "danger" }, el("strong", {}, "As it was written it overwrites " + devices.map((one) => one.path).join(", ")), field("Type the device's name to allow it", typed)) : null,
    el("div", { class: "tools" },
      found.design ? button("Put it into the table", () => { page.put(found.design, found.notes); close(); }, { class: "primary" }) : null,
      button("Run it as it was written", run, { disabled: wrong.length > 0 })),
    found.design ? null : el("p", { class: "hint" }, "The table cannot show it; it can run as it was written."),
    explained(found.explanation),
  ];
}

const LANGUAGES = [["icf", "IOMeter (.icf)"], ["toml", "iodyno plan (.toml)"], ["fio", "fio job file"], ["ior", "IOR command lines"], ["iozone", "iozone command lines"]];

export function exportDialog(page) {
  const chosen = el("select", {}, LANGUAGES.map(([value, title]) => el("option", { value }, title)));
  const told = el("div", { class: "told" });
  let exported = null;
  const save = button("Download", () => exported && download(exported.name, exported.text), { class: "primary" });
  const copy = button("Copy", () => exported && navigator.clipboard.writeText(exported.text).then(() => toast("Copied"), complain));
  const show = () => {
    exported = null;
    [save, copy].forEach((one) => { one.disabled = true; });
    post("export", { design: page.design, to: chosen.value }).then((found) => {
      exported = found;
      [save, copy].forEach((one) => { one.disabled = false; });
      fill(told, found.notes.length ? el("ul", { class: "notes" }, found.notes.map((note) => el("li", {}, note))) : null, el("pre", { tabindex: "0" }, found.text));
    }, (error) => fill(told, problems(error instanceof Refusal ? error.wrong : [{ message: String(error) }], "It cannot be said in this language")));
  };
  chosen.addEventListener("change", show);
  show();
  dialog("Export", [field("Language", chosen), told], (close) => [save, copy, button("Close", close)]);
}
