// Elements without markup: every string becomes a text node, so a wiki's text can never become part of the page.

const SVG = "http://www.w3.org/2000/svg";

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "dataset") Object.assign(element.dataset, value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

/** Replace what is in an element. */
export function fill(element, ...children) {
  element.replaceChildren();
  return build(element, null, children);
}

/** An HTML element: h("p", {class: "x", onclick: f}, "text", child). */
export const h = (tag, attributes, ...children) => build(document.createElement(tag), attributes, children);

/** An SVG element, likewise. */
export const s = (tag, attributes, ...children) =>
  build(document.createElementNS(SVG, tag), attributes, children);

/** A title or a piece of text whose direction does not leak into what stands around it. */
export const bdi = (text, attributes) => h("bdi", { dir: "auto", ...attributes }, text);

/** The same where only a string can stand: between the marks that isolate. */
export const isolate = (text) => `\u2068${text}\u2069`;

/** An arrow that is read as "to". */
export const arrow = (sign = "→") => [
  h("span", { class: "unseen" }, " to "),
  h("span", { class: "to", "aria-hidden": "true" }, ` ${sign} `),
];

/** "Title" for an article's first block, "Title (3)" for another: a place as people write it. */
export const named = (place) => (place.block ? `${place.title} (${place.block})` : place.title);

/** A place's name with its block number set back. */
export function label(place) {
  return h(
    "span",
    { class: "place" },
    bdi(place.title),
    place.block ? h("span", { class: "number" }, ` (${place.block})`) : null,
  );
}

export const count = (n, one, many = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

export const percent = (p) =>
  p > 0 && p < 0.01 ? "<1%" : p > 0.99 && p < 1 ? ">99%" : `${Math.round(100 * p)}%`;

export const seconds = (t) => `${Math.floor(t / 60)}:${String(Math.floor(t % 60)).padStart(2, "0")}`;

/** The address of a state; empty values are left out. */
export function address(values) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== null && value !== undefined && value !== "") query.set(name, value);
  }
  return `?${query}`;
}

/** Whether the reader asked for less motion. */
export const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** Animate unless the reader asked for less motion. */
export function move(element, frames, options) {
  if (!still()) element.animate(frames, { duration: 320, easing: "cubic-bezier(.2,.7,.2,1)", ...options });
}

/** What can be remembered between visits; nothing, where the browser does not want to. */
export const kept = {
  get(name) {
    try {
      return localStorage.getItem(`linkwalk.${name}`);
    } catch {
      return null;
    }
  },
  set(name, value) {
    try {
      localStorage.setItem(`linkwalk.${name}`, value);
    } catch {
      /* not remembered, then */
    }
  },
};

/** A double click is one: its second half does nothing. */
export const once = (event) => event.detail > 1 && event.preventDefault();

/** Put text on the clipboard; false where the browser refuses. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = h("textarea", { class: "unseen", value: text, "aria-hidden": "true" });
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}

/** A button that copies what `text()` gives, and says so for a moment. */
export function copyButton(words, text) {
  const button = h("button", { type: "button" }, words);
  button.addEventListener("click", () => copied(button, text()));
  return button;
}

export async function copied(button, text) {
  const words = button.dataset.words ?? (button.dataset.words = button.textContent);
  const done = await copy(text);
  button.textContent = done ? "Copied" : "Copy it from the address bar";
  button.classList.add("done");
  setTimeout(() => {
    button.textContent = words;
    button.classList.remove("done");
  }, 1600);
  return done;
}

/** A box with one line: what went wrong, and what to do. */
export function notice(message, retry) {
  return h(
    "div",
    { class: "notice", role: "alert" },
    h("p", { dir: "auto" }, withCommands(message[0].toUpperCase() + message.slice(1))),
    retry ? h("button", { type: "button", onclick: () => retry() }, "Try again") : null,
  );
}

/** Text in which `commands` between backquotes stand out. */
export function withCommands(text) {
  return text.split("`").map((part, i) => (i % 2 ? h("code", null, part) : part));
}

/** A line that says what is being waited for; who can be told to stop gets a button, once it takes long. */
export const waiting = (words, cancel) =>
  h(
    "div",
    { class: "waiting" },
    h("span", { class: "dots", "aria-hidden": "true" }, h("i"), h("i"), h("i")),
    h("p", { role: "status" }, words),
    cancel ? h("button", { type: "button", class: "quiet", onclick: () => cancel() }, "Cancel") : null,
  );
