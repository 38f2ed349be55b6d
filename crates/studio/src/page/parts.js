// Pieces of the page, questions to the server, and what is told in passing.

export const state = { token: "", start: null };

// An element: attributes that begin with "on" are listeners; texts are texts, whatever is in them.
export function el(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "value") element.value = value;
    else if (key === "checked") element.checked = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function svg(name, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
  element.append(...children.flat(Infinity));
  return element;
}

export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

let counted = 0;
export function fresh(stem) {
  counted += 1;
  return stem + "-" + counted;
}

// A labelled field with a hint; the hint is read out with it.
export function field(label, input, hint) {
  input.id = input.id || fresh("field");
  const parts = [el("label", { for: input.id }, label), input];
  if (hint) {
    const told = el("small", { id: input.id + "-hint", class: "hint" }, hint);
    input.setAttribute("aria-describedby", told.id);
    parts.push(told);
  }
  return el("div", { class: "field" }, parts);
}

export class Refusal extends Error {
  constructor(wrong) {
    super(wrong.map((one) => one.message).join("; "));
    this.wrong = wrong;
  }
}

async function asked(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Refusal([{ place: "studio", message: "the studio does not answer", hint: "is it still running in the terminal?" }]);
  }
  const text = await response.text();
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Refusal([{ place: "studio", message: text.trim() || "no answer", hint: null }]);
  }
  if (!response.ok) throw new Refusal(value.wrong || [{ place: "studio", message: response.statusText }]);
  return value;
}

export function get(path, query) {
  const words = new URLSearchParams(query || {}).toString();
  return asked("/api/" + path + (words ? "?" + words : ""));
}

export function post(path, value) {
  return asked("/api/" + path, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Iodyno-Token": state.token },
    body: JSON.stringify(value),
  });
}

export function toast(text, kind) {
  const one = el("div", { class: "toast " + (kind || "") }, text);
  document.getElementById("toasts").append(one);
  setTimeout(() => one.remove(), 7000);
}

// What went wrong with something that was asked for in passing.
export function complain(error) {
  const wrong = error instanceof Refusal ? error.wrong : [{ message: String(error) }];
  wrong.forEach((one) => toast(one.message + (one.hint ? " — " + one.hint : ""), "bad"));
}

export function problems(wrong, title) {
  if (!wrong.length) return null;
  return el("div", { class: "problem", role: "alert" }, el("strong", {}, title || "This cannot run"),
    el("ul", {}, wrong.map((one) => el("li", {}, one.message, one.hint ? el("span", { class: "hint" }, " — " + one.hint) : null))));
}

export function button(text, onclick, attributes) {
  return el("button", { type: "button", onclick, ...attributes }, text);
}

// A dialog with a title; closes by Escape, its button, or what `body` does with it.
export function dialog(title, body, foot) {
  const id = fresh("dialog");
  const box = el("dialog", { "aria-labelledby": id });
  const close = () => box.close();
  box.append(
    el("div", { class: "dialog-head" }, el("h2", { id }, title), button("✕", close, { class: "quiet", "aria-label": "Close" })),
    el("div", { class: "dialog-body" }, body),
    el("div", { class: "dialog-foot" }, foot ? foot(close) : button("Close", close)),
  );
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
  return box;
}

export function download(name, text) {
  const address = "data:text/plain;charset=utf-8," + encodeURIComponent(text);
  el("a", { href: address, download: name }).click();
}

export function severity(word) {
  const names = { invalid: "invalid", doubtful: "doubtful", note: "note" };
  return el("span", { class: "badge " + (names[word] || "note") }, word);
}
