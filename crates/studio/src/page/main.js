// The page: which of its four parts is seen, dark or light, and what is common to all.

import { complain, get, state } from "./parts.js";
import { designPage } from "./design.js";
import { follow, runPage } from "./run.js";
import { resultsPage } from "./results.js";
import { machinePage } from "./machine.js";

const PAGES = { design: designPage, run: runPage, results: resultsPage, machine: machinePage };
const TITLES = { design: "Design", run: "Run", results: "Results", machine: "Machine" };
const made = {};

function theme(wish) {
  document.documentElement.dataset.theme = wish;
  try {
    localStorage.setItem("theme", wish);
  } catch { /* a browser that keeps nothing begins anew */ }
}

function show() {
  const [name, ...rest] = location.hash.slice(1).split("/");
  const page = PAGES[name] ? name : "design";
  for (const section of document.querySelectorAll("main > section")) section.hidden = section.dataset.of !== page;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.page === page) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = TITLES[page] + " · iodyno studio";
  const section = document.querySelector("main > section[data-of=" + page + "]");
  made[page] = made[page] || PAGES[page](section);
  if (made[page].shown) made[page].shown(rest);
}

async function begin() {
  let wish = null;
  try {
    wish = localStorage.getItem("theme");
  } catch { /* then the system decides */ }
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  theme(wish || (dark.matches ? "dark" : "light"));
  document.getElementById("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  state.start = await get("start");
  state.token = state.start.token;
  const running = state.start.running.find((run) => !run.ended) || state.start.running.at(-1);
  if (running) follow(running.number);
  window.addEventListener("hashchange", () => {
    show();
    document.getElementById("main").focus({ preventScroll: true });
    window.scrollTo(0, 0);
  });
  show();
}

begin().catch(complain);
