// What every page has: its data, contents, footer, theme, printing, and the library that is unpacked last.

const page = document.getElementById("page");
let data = JSON.parse(document.getElementById("data").textContent);

function tools() {
  const theme = part("button", { title: "light or dark", onclick: () => choose(document.documentElement.dataset.theme === "dark" ? "light" : "dark") }, "light / dark");
  const print = part("button", { onclick: () => window.print() }, "print");
  return part("div", { class: "tools" }, theme, print);
}

// Links to the sections that have a heading.
function contents() {
  const named = [...page.querySelectorAll("section[id] > h2")].map((heading) => [heading.parentElement.id, heading.textContent]);
  if (named.length < 3) return [];
  return [part("nav", { class: "soft small contents", "aria-label": "contents" }, named.map(([id, text]) => part("a", { href: "#" + id }, text)))];
}

function foot() {
  return part("footer", {}, "Written by iodyno " + data.version + ". Charts by Apache ECharts " + data.library + " (Apache License 2.0). This file needs no network and tells nobody anything.");
}

function choose(theme) {
  document.documentElement.dataset.theme = theme;
  document.documentElement.style.colorScheme = theme;
  redrawCharts(false);
}

const night = matchMedia("(prefers-color-scheme: dark)");
night.addEventListener("change", () => choose(night.matches ? "dark" : "light"));

// Paper is white, and shows what was never scrolled to.
let before = "light";
window.addEventListener("beforeprint", () => {
  before = document.documentElement.dataset.theme;
  document.documentElement.dataset.theme = "light";
  redrawCharts(true);
});
window.addEventListener("afterprint", () => choose(before));

async function library() {
  const packed = Uint8Array.from(atob(document.getElementById("library").textContent.trim()), (letter_) => letter_.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(stream).text();
  document.head.append(script);
}

// Builds the page, then draws its charts, then goes on with what is given.
function begin(build, then) {
  document.documentElement.dataset.theme = night.matches ? "dark" : "light";
  build();
  library().then(() => {
    drawn.forEach((one) => watcher.unobserve(one.element));
    watchCharts();
    document.documentElement.dataset.ready = "yes";
    return then && then();
  });
}
