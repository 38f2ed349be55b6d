// The studio's journeys in a real Chromium: design a mixed test, run it, watch it, compare two runs, import an .icf; a hostile page;
// axe-core on each page; screenshots to be looked at. Driven by Playwright; `cargo xtask against studio` starts it.

import { createRequire } from "node:module";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import http from "node:http";
import os from "node:os";

const require = createRequire(process.env.STUDIO_FOLDER + "/");
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const { STUDIO_URL, STUDIO_TARGET, STUDIO_SHOTS, STUDIO_CHROMIUM, STUDIO_DEVICE } = process.env;
const SIZES = { phone: { width: 360, height: 780 }, desk: { width: 1280, height: 860 }, wall: { width: 3840, height: 2160 } };
let failures = 0;

function check(what, holds, more) {
  console.log((holds ? "ok   " : "FAIL ") + what + (holds || !more ? "" : ": " + more));
  if (!holds) failures += 1;
}

async function shots(page, name, sizes = Object.keys(SIZES)) {
  for (const size of sizes) {
    await page.setViewportSize(SIZES[size]);
    for (const scheme of ["light", "dark"]) {
      await page.evaluate((wish) => { document.documentElement.dataset.theme = wish; }, scheme);
      await page.evaluate(() => window.scrollTo(0, 0));
      await page.waitForTimeout(150);
      await page.screenshot({ path: STUDIO_SHOTS + "/" + name + "-" + size + "-" + scheme + ".png", fullPage: size !== "wall" });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      check(name + " at " + SIZES[size].width + " px is not wider than the window", wide <= 0, wide + " px");
    }
  }
  await page.setViewportSize(SIZES.desk);
}

// What axe-core finds in both themes.
async function accessible(page, name) {
  for (const scheme of ["light", "dark"]) {
    await page.evaluate((wish) => { document.documentElement.dataset.theme = wish; }, scheme);
    // The policy of the page forbids scripts from elsewhere: this one comes from the driver.
    const found = await page.evaluate(async (source) => {
      if (!window.axe) (0, eval)(source);
      return (await window.axe.run()).violations.map((one) => ({ id: one.id, impact: one.impact, nodes: one.nodes.map((node) => node.html.slice(0, 160) + " " + node.failureSummary.slice(0, 200)) }));
    }, axe);
    const serious = found.filter((one) => ["serious", "critical"].includes(one.impact));
    check("axe-core finds nothing serious on " + name + " (" + scheme + ")", serious.length === 0, JSON.stringify(serious, null, 1));
    found.filter((one) => !serious.includes(one)).forEach((one) => console.log("note " + name + ": " + one.id + " (" + one.impact + ")"));
  }
}

async function set(page, label, value) {
  const input = page.getByLabel(label, { exact: true }).first();
  await input.fill(value);
  await input.blur();
}

async function design(page, name) {
  await page.getByRole("button", { name: "New", exact: true }).click();
  await page.getByLabel("Name of the design").fill(name);
  await set(page, "Add a path", STUDIO_TARGET);
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await set(page, "Workers", "2");
  await set(page, "Outstanding I/Os", "4");
  await set(page, "Maximum size", "16 MiB");
  await set(page, "Ramp up", "1");
  await set(page, "Run time", "4");
}

async function only(page, name) {
  await page.getByRole("button", { name: "Add from IOMeter's list…" }).click();
  for (const box of await page.locator(".choices input:checked").all()) await box.uncheck();
  await page.getByLabel(name).check();
  const listed = await page.locator(".choices li").count();
  await page.getByRole("button", { name: "Done" }).click();
  return listed;
}

async function begun(page) {
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.waitForURL(/#run/);
  await page.waitForFunction(() => document.querySelector(".pill")?.textContent === "running", null, { timeout: 60000 });
}

async function results(page) {
  const [csv] = await Promise.all([page.waitForEvent("download"), page.getByText("Download IOMeter's results (CSV)").click()]);
  return readFileSync(await csv.path(), "utf8").split("\n");
}

async function backToDesign(page) {
  await page.getByRole("link", { name: "Design", exact: true }).click();
  await page.getByRole("button", { name: "Start", exact: true }).waitFor();
}

async function ran(page) {
  await page.waitForFunction(() => ["complete", "failed", "stopped"].includes(document.querySelector(".pill")?.textContent), null, { timeout: 120000 });
  return page.locator(".pill").textContent();
}

const browser = await chromium.launch({ executablePath: STUDIO_CHROMIUM, args: ["--no-sandbox"] });
const context = await browser.newContext({ viewport: SIZES.desk, acceptDownloads: true, bypassCSP: false });
const page = await context.newPage();
const foreign = [];
const complaints = [];
page.on("request", (request) => {
  const url = new URL(request.url());
  if (url.origin !== new URL(STUDIO_URL).origin && !["data:", "blob:"].includes(url.protocol)) foreign.push(request.url());
});
// A refusal is an answer with this status, which the browser also tells.
const refusal = "Failed to load resource: the server responded with a status of 422";
page.on("console", (message) => ["error", "warning"].includes(message.type()) && !message.text().startsWith(refusal) && complaints.push(message.text()));
page.on("pageerror", (error) => complaints.push(String(error)));
mkdirSync(STUDIO_SHOTS, { recursive: true });
writeFileSync(STUDIO_TARGET + "/plain.dat", Buffer.alloc(16 << 20, 7));

// The key opens it once.
await page.goto(STUDIO_URL);
await page.waitForSelector(".outcome .primary");
check("the key is not in the address any more", !page.url().includes("key"));
const other = await (await browser.newContext()).newPage();
check("the key works once", (await other.goto(STUDIO_URL)).status() === 403);

// 1: a mixed test is designed; what it does is told while it is typed.
await design(page, "mixed test");
await page.getByRole("button", { name: "New specification" }).click();
await page.getByRole("button", { name: "Take out 4 KiB aligned; 100% Read; 100% random" }).click();
await page.waitForFunction(() => document.querySelector(".told")?.textContent.includes("read 70 %"));
check("the plan is explained", (await page.locator(".told").textContent()).includes("What it does"));
await shots(page, "design");
await accessible(page, "Design");
await page.getByRole("button", { name: "Add from IOMeter's list…" }).click();
await page.getByLabel("Search the list").fill("aligned");
check("IOMeter's list is there", (await page.locator(".choices li").count()) === 3);
await shots(page, "list", ["phone", "desk"]);
await accessible(page, "the list");
await page.getByRole("button", { name: "Done" }).click();
await page.getByRole("button", { name: "Export…" }).click();
for (const [language, word] of [["fio", "rwmixread=70"], ["toml", "mix = { read = 70, write = 30 }"], ["icf", "'Access specification name"]]) {
  await page.getByLabel("Language").selectOption(language);
  await page.waitForFunction((word) => document.querySelector("dialog pre")?.textContent.includes(word), word);
  check("it is exported to " + language, true);
}
await page.getByLabel("Language").selectOption("ior");
await page.waitForSelector("dialog .problem");
check("what IOR cannot do is refused with a reason", (await page.locator("dialog .problem").textContent()).includes("mix reads and writes"));
await page.keyboard.press("Escape");

// By keyboard alone: from the top of the page to Start.
await page.evaluate(() => { document.activeElement.blur(); window.scrollTo(0, 0); });
let reached = false;
for (let presses = 0; presses < 90 && !reached; presses += 1) {
  await page.keyboard.press("Tab");
  reached = await page.evaluate(() => document.activeElement?.textContent === "Start");
}
check("Start is reached by the keyboard", reached);
await page.keyboard.press("Enter");

// 2 and 3: it runs, and is watched.
await page.waitForURL(/#run/);
await page.waitForFunction(() => document.querySelectorAll(".gauge-value")[0]?.textContent !== "–", null, { timeout: 60000 });
await page.waitForFunction(() => document.querySelector(".clock")?.textContent.includes("left"));
check("seconds left are shown", true);
await page.waitForTimeout(2500);
await shots(page, "run", ["desk"]);
check("it is complete", (await ran(page)) === "complete", await page.locator(".messages").textContent());
await shots(page, "ran");
await accessible(page, "Run");
const rows = await results(page);
check("the CSV has PROCESSOR rows", rows.some((row) => row.startsWith("PROCESSOR,CPU 0,")), rows.map((row) => row.slice(0, 20)).join(" | "));

// 4: two runs are compared.
await page.goto(new URL("/#design", STUDIO_URL).href);
await page.getByRole("button", { name: "Start", exact: true }).click();
await page.waitForURL(/#run/);
await page.waitForFunction(() => document.querySelector(".pill")?.textContent !== "complete");
check("the second is complete", (await ran(page)) === "complete");
await page.getByRole("link", { name: "Results", exact: true }).click();
await page.waitForSelector(".runs tbody tr");
await page.locator(".runs tbody tr a").first().click();
await page.waitForSelector(".detail .figures");
await page.getByPlaceholder("add a tag").fill("before-upgrade");
await page.keyboard.press("Enter");
await page.waitForFunction(() => document.querySelector(".detail .tag")?.parentElement.textContent.includes("before-upgrade"));
await page.getByLabel("Note", { exact: true }).fill("as it was delivered");
await page.waitForFunction(() => document.querySelector("#toasts")?.textContent.includes("Noted"));
await shots(page, "results");
await accessible(page, "Results");
for (const box of await page.locator(".runs input[type=checkbox]").all()) await box.check();
await page.getByRole("button", { name: "Compare", exact: true }).click();
await page.waitForSelector(".pair .interval");
check("a comparison has intervals", (await page.locator(".pair .interval").count()) > 0);
await shots(page, "compare");
await accessible(page, "the comparison");
const [report] = await Promise.all([context.waitForEvent("page"), page.getByText("One report page").click()]);
await report.waitForSelector("main", { timeout: 30000 });
check("the report page opens", (await report.locator("body").textContent()).length > 200);
await report.close();
await page.getByLabel("Search the runs").fill("delivered");
await page.waitForFunction(() => document.querySelectorAll(".runs tbody tr").length === 1);
check("a note is found", true);

// 5: an .icf comes in.
await page.getByRole("link", { name: "Design", exact: true }).click();
await page.getByRole("button", { name: "Import…" }).click();
const icf = readFileSync(process.env.STUDIO_ICF, "utf8").replace("C:", STUDIO_TARGET);
await page.getByLabel("A file").setInputFiles({ name: "small.icf", mimeType: "text/plain", buffer: Buffer.from(icf) });
await page.waitForSelector("text=Put it into the table");
await shots(page, "import", ["desk"]);
await accessible(page, "the import");
await page.getByRole("button", { name: "Put it into the table" }).click();
check("the .icf is in the table", (await page.locator(".specifications input.wide").first().inputValue()) === "4 KiB; 67% Read; 100% random");
await page.getByRole("button", { name: "Import…" }).click();
await page.getByLabel("Or a command line").fill("fio --name=a --filename=" + STUDIO_TARGET + "/f --size=1m --rw=randread --bs=8k --runtime=5 --time_based");
await page.getByRole("button", { name: "Read the line" }).click();
await page.waitForSelector("text=Put it into the table");
await page.getByRole("button", { name: "Put it into the table" }).click();
check("a line of fio is in the table", (await page.getByLabel("Size of a", { exact: true }).inputValue()) === "8 KiB");

// Other lines come in, each as its tool means it.
async function imported(line) {
  await page.getByRole("button", { name: "Import…" }).click();
  await page.getByLabel("Or a command line").fill(line);
  await page.getByRole("button", { name: "Read the line" }).click();
  await page.waitForSelector("dialog .told h3");
}
for (const [line, value] of [
  ["ior -a POSIX -r -t 64k -b 1m -o " + STUDIO_TARGET + "/f", "64 KiB"],
  ["iozone -I -r 32k -s 1m -i 0 -f " + STUDIO_TARGET + "/f", "32 KiB"],
]) {
  await imported(line);
  await page.getByRole("button", { name: "Put it into the table" }).click();
  const size = page.locator('.specifications input[aria-label^="Size of"]').first();
  check("a line is in the table: " + line.split(" ")[0], (await size.inputValue()) === value, await size.inputValue());
}
const pool = "define fileset name=a,path=" + STUDIO_TARGET + ",entries=10,size=1k,dirwidth=20,prealloc\ndefine process name=p,instances=1 {\n thread name=t,instances=1 {\n flowop statfile name=s,filesetname=a\n }\n}\nrun 1\n";
await page.getByRole("button", { name: "Import…" }).click();
await page.getByLabel("A file").setInputFiles({ name: "pool.f", mimeType: "text/plain", buffer: Buffer.from(pool) });
await page.waitForSelector("text=it can run as it was written");
await page.getByRole("button", { name: "Run it as it was written" }).click();
await page.waitForURL(/#run/);
await page.waitForFunction(() => document.querySelector("h1")?.textContent === "pool" || [...document.querySelectorAll("h1")].some((one) => one.textContent === "pool"));
check("a workload of filebench runs as it was written", (await ran(page)) === "complete", await page.locator(".messages").textContent());

// IOMeter's guides: one worker for each processor, its list, 50 GB (here less), 64 outstanding, ramp, run, updates, results.
await backToDesign(page);
await page.getByRole("button", { name: "New", exact: true }).click();
await page.getByLabel("Name of the design").fill("the guide");
const cpus = Number(await page.getByLabel("Workers", { exact: true }).inputValue());
check("it begins with a worker for each processor", cpus === os.cpus().length, String(cpus));
await set(page, "Add a path", STUDIO_TARGET);
await page.getByRole("button", { name: "Add", exact: true }).click();
check("the list has all of IOMeter's", (await only(page, "4 KiB aligned; 0% Read; 100% random")) >= 31);
await set(page, "Outstanding I/Os", "64");
await set(page, "Maximum size", "50 GB");
check("50 GB are so many sectors", (await page.locator(".field", { hasText: "Maximum size" }).first().textContent()).includes("97,656,250 sectors"));
await set(page, "Maximum size", "32768 sectors");
await set(page, "Ramp up", "2");
await set(page, "Run time", "5");
await page.getByLabel("Gauges move").first().selectOption("2");
await page.getByRole("button", { name: "Start", exact: true }).click();
await page.waitForURL(/#run/);
await page.waitForFunction(() => document.querySelector(".clock")?.textContent.includes("ramping up"), null, { timeout: 60000 });
check("it ramps up", true);
await page.waitForFunction(() => /^[1-5] sleft$/.test(document.querySelector(".clock")?.textContent), null, { timeout: 60000 });
check("the seconds that are left are counted down", true);
check("the guide's run is complete", (await ran(page)) === "complete", await page.locator(".messages").textContent());
const guide = await results(page);
const starting = (word) => guide.filter((row) => row.startsWith(word + ","));
check("a row for each worker and each processor", starting("WORKER").length === cpus && starting("PROCESSOR").length === cpus, guide.join("\n"));
check("the row says what was asked", starting("WORKER").every((row) => row.includes("4 KiB aligned; 0% Read; 100% random")), starting("WORKER").join("\n"));

// Workers that differ: while one reads at random, two write a stream into a file of their own.
await backToDesign(page);
await design(page, "two kinds");
await only(page, "4 KiB aligned; 100% Read; 100% random");
await page.getByRole("button", { name: "New specification" }).click();
await page.getByLabel("% read of My mix").fill("0");
await set(page, "Workers", "1");
await page.getByRole("button", { name: "Add workers that differ" }).click();
await page.getByLabel("Workers of workers 2").fill("2");
await page.getByLabel("Outstanding I/Os of workers 2").fill("1");
await page.getByRole("textbox", { name: "Targets of workers 2" }).fill(STUDIO_TARGET + "/plain.dat");
await page.getByRole("button", { name: "Choose step by step what workers 1 do" }).click();
await page.getByRole("button", { name: "Remove step 2 of workers 1" }).click();
await page.getByRole("button", { name: "Choose step by step what workers 2 do" }).click();
await page.getByRole("button", { name: "Remove step 1 of workers 2" }).click();
await page.waitForFunction(() => document.querySelector(".told")?.textContent.includes("plain.dat"));
await shots(page, "workers", ["phone", "desk"]);
await accessible(page, "workers that differ");
await begun(page);
check("workers that differ run together", (await ran(page)) === "complete", await page.locator(".messages").textContent());
const kinds = (await results(page)).filter((row) => row.startsWith("WORKER,")).map((row) => row.split(",").slice(1, 3).join(": "));
check("each did its own", JSON.stringify(kinds) === JSON.stringify(["Worker 1: 4 KiB aligned; 100% Read; 100% random", "Worker 2: My mix", "Worker 3: My mix"]), kinds.join(" | "));

// A run is stopped, and what it measured is kept.
await backToDesign(page);
await set(page, "Run time", "10 min");
await begun(page);
await page.waitForTimeout(1500);
await page.getByRole("button", { name: "Stop", exact: true }).click();
check("a run is stopped", (await ran(page)) === "stopped");
check("what it had measured is kept", (await page.getByRole("link", { name: /^See run/ }).count()) === 1, await page.locator(".messages").textContent());
await backToDesign(page);

// A device is overwritten where its name is typed, and not otherwise.
if (STUDIO_DEVICE) {
  await design(page, "device test");
  await page.getByRole("button", { name: "Remove the target " + STUDIO_TARGET }).click();
  await set(page, "Add a path", STUDIO_DEVICE);
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("button", { name: "New specification" }).click();
  const typed = page.getByLabel("Type the device's name to allow it");
  await typed.waitFor();
  const begin = page.getByRole("button", { name: "Start", exact: true });
  check("a device is not written to unasked", await begin.isDisabled());
  await typed.fill("/dev/loop");
  check("half of its name is not enough", await begin.isDisabled());
  await shots(page, "device", ["desk"]);
  await accessible(page, "a device");
  await typed.fill(STUDIO_DEVICE);
  await begin.click();
  await page.waitForURL(/#run/);
  await page.waitForFunction(() => document.querySelector("h1")?.textContent !== "" && document.querySelector(".pill")?.textContent.includes("r"));
  check("the device was measured", (await ran(page)) === "complete", await page.locator(".messages").textContent());
  await page.getByRole("link", { name: "Design", exact: true }).click();
  await page.getByRole("button", { name: "Start", exact: true }).waitFor();
}

await page.getByRole("link", { name: "Machine", exact: true }).click();
await page.waitForSelector(".checks li");
await shots(page, "machine");
await accessible(page, "Machine");

// A page of somebody else, in the same browser, with the same cookie.
const evil = http.createServer((_, response) => response.end("<p>evil</p>"));
await new Promise((resolve) => evil.listen(0, "127.0.0.1", resolve));
const hostile = await context.newPage();
await hostile.goto("http://localhost:" + evil.address().port + "/");
const outcome = await hostile.evaluate(async (origin) => {
  const tried = [];
  for (const [path, options] of [["/api/start", {}], ["/api/begin", { method: "POST", body: "{}", headers: { "Content-Type": "text/plain" } }]]) {
    try {
      const response = await fetch(origin + path, { credentials: "include", mode: "cors", ...options });
      tried.push(response.status);
    } catch {
      tried.push("refused");
    }
  }
  return tried;
}, new URL(STUDIO_URL).origin);
check("a hostile page reads nothing and starts nothing", outcome.every((one) => one === "refused" || one === 403), JSON.stringify(outcome));
evil.close();

check("nothing was asked of another machine", foreign.length === 0, foreign.join(" "));
check("no script complained", complaints.length === 0, complaints.join(" | "));
await browser.close();
console.log(failures ? failures + " failed" : "all journeys end");
process.exit(failures ? 1 : 0);
