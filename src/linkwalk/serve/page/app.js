// The frame: four views, the address bar as the only state, the theme, what is said to screen readers.

import { health } from "./api.js";
import * as ask from "./ask.js";
import { address, copied, count, h, kept, notice, waiting } from "./dom.js";
import * as graph from "./graph.js";
import * as play from "./play.js";
import * as walk from "./walk.js";

const VIEWS = { walk, ask, play, graph };
const main = document.getElementById("main");
const live = document.getElementById("live");
let shown = null; // {name, view}
let server = null;

const here = {
  /** Go to a state: a new entry in the history, or with `replace` the same one. */
  go(values, { replace = false } = {}) {
    const url = address(values);
    if (url === location.search) return;
    history[replace ? "replaceState" : "pushState"](null, "", url);
    render();
  },
  /** Note a state in the address without drawing anything: what is drawn is there already. */
  note(values) {
    history.replaceState(null, "", address(values));
    named();
  },
  /** Say something to those who listen instead of look. */
  say(words) {
    live.textContent = words;
  },
  /** The page's title in the tab. */
  title(words) {
    document.title = words ? `${words} · linkwalk` : "linkwalk";
  },
};

function named() {
  for (const link of document.querySelectorAll(".views a")) {
    if (link.dataset.view === shown?.name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function render() {
  const values = Object.fromEntries(new URLSearchParams(location.search));
  const name = Object.hasOwn(VIEWS, values.view ?? "") ? values.view : "walk";
  if (shown?.name !== name) {
    shown?.view.leave();
    here.title("");
    live.textContent = "";
    const root = h("div", { class: `view ${name}` });
    main.replaceChildren(root);
    shown = { name, view: VIEWS[name].enter(root, { ...here, server }) };
  }
  named();
  shown.view.update(values);
}

async function open() {
  main.replaceChildren(waiting("Opening the wiki …"));
  try {
    server = await health();
  } catch (error) {
    main.replaceChildren(notice(error.message, open));
    return;
  }
  document
    .getElementById("snapshot")
    .replaceChildren(
      h("bdi", { dir: "auto" }, server.wiki.snapshot),
      ` · ${count(server.wiki.articles, "article")} · ${count(server.wiki.blocks, "block")}`,
      ...(server.embeddings ? [" · embeddings: ", h("bdi", null, server.embeddings)] : []),
      ` · linkwalk ${server.version}`,
    );
  render();
}

function theme() {
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () =>
    (document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const draw = () => button.setAttribute("aria-pressed", String(dark()));
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    kept.set("theme", document.documentElement.dataset.theme);
    draw();
  });
  system.addEventListener("change", draw);
  draw();
}

// Links to a state of this page change the state; with a modifier key they open as links do.
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]");
  if (
    !link ||
    event.defaultPrevented ||
    event.button ||
    event.metaKey ||
    event.ctrlKey ||
    event.shiftKey ||
    event.altKey
  )
    return;
  const href = link.getAttribute("href");
  if (!href.startsWith("?") && href !== "./") return;
  event.preventDefault();
  const url = href === "./" ? location.pathname : href;
  if (url === location.search) return;
  history.pushState(null, "", url);
  render();
  if (link.closest(".views")) scrollTo(0, 0);
  if (!link.isConnected) main.focus({ preventScroll: true }); // go on from what has taken the link's place
});
document.getElementById("copy").addEventListener("click", async (event) => {
  if (await copied(event.currentTarget.querySelector(".words"), location.href))
    here.say("The link is on the clipboard.");
});
addEventListener("popstate", () => server && render());
theme();
open();
