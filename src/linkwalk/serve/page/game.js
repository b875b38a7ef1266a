// A game: the clicks of a person from a start to a goal, and the board it is played on.

import * as api from "./api.js";
import { card } from "./card.js";
import { bdi, h, isolate, label, move, named, notice, seconds } from "./dom.js";
import { line, pages } from "./trail.js";

const MOST = 500; // clicks a game can have: an address holds no more

/** A game that has not begun. Its history is the browser's: a step back takes the last page off. */
export const newGame = (start, goal, agent) => ({
  start,
  goal,
  agent,
  steps: [],
  history: [start],
  seconds: 0,
});

/** The clock of a game whose page is loaded again: noted as the page goes, and read once. */
export const clockHeld = {
  set(seconds) {
    try {
      sessionStorage.setItem("linkwalk.clock", JSON.stringify([location.search, seconds]));
    } catch {
      /* it goes on from the last click, then */
    }
  },
  take() {
    try {
      const [where, seconds] = JSON.parse(sessionStorage.getItem("linkwalk.clock"));
      sessionStorage.removeItem("linkwalk.clock");
      return where === location.search ? seconds : null;
    } catch {
      return null; // nothing was noted
    }
  },
};

const here = (game) => game.history.at(-1);

/** Add a click; `way` is the link taken, or {kind} for the blocks before and after and for a step back. */
function step(game, to, way) {
  const seen = pages(game.start, game.steps).some((place) => place.node === to.node);
  game.steps.push({ at: here(game), to, kind: way.kind, link: way.text ?? "", seen });
  if (way.kind === "back") game.history.pop();
  else game.history.push(to);
}

/** Follow the clicks of an address again; one that no link leads to is an error. */
export async function retrace(game, steps) {
  for (const text of steps ? steps.split(".").slice(0, MOST) : []) {
    const block = await api.block(here(game).node);
    const beside = {
      prev: [block.previous],
      next: [block.next],
      contents: [block.above, ...block.below.places],
      backlink: block.linked_from.places,
    };
    const ways = [
      ...Object.entries(beside).flatMap(([kind, places]) =>
        places.filter(Boolean).map(({ node }) => ({ kind, node })),
      ),
      ...block.links,
    ];
    const back = String(game.history.at(-2)?.node) === text;
    const way = back ? { kind: "back" } : ways.find((other) => String(other.node) === text);
    if (!way) {
      throw new api.ApiError(
        "bad_input",
        "This address does not hold a game: one of its clicks follows no link.",
      );
    }
    step(game, (await api.block(Number(text))).place, way);
  }
}

/**
 * Play: `addressOf(node)` is the address of the game one click on, `onstep()` is told of every click, `onend(won)` of
 * the goal or that it was given up. Returns {element, stop}.
 */
export function board(game, { addressOf, say, onstep, onend }) {
  const began = performance.now() - game.seconds * 1000;
  const clock = h("span", { class: "figure", role: "timer", "aria-label": "Time" });
  const clicks = h("span", { class: "figure" });
  const unit = h("span", { class: "unit" });
  const back = h("button", { type: "button", onclick: goBack }, "← Back");
  const giveUp = h("button", { type: "button", class: "quiet", onclick: () => end(false) }, "Give up");
  const excerpt = h("p", { class: "excerpt", dir: "auto" });
  const trail = line({ name: "Your trail", kind: "own" });
  const stage = h("div", { class: "page" });
  const goal = h(
    "section",
    { class: "panel aim", "aria-label": "Goal" },
    h(
      "div",
      null,
      h("h2", { class: "small" }, "Looking for"),
      h("p", { class: "name" }, label(game.goal)),
      excerpt,
    ),
    h(
      "div",
      { class: "scores" },
      h("p", null, clicks, unit),
      h("p", null, clock, h("span", { class: "unit" }, "time")),
    ),
    h("div", { class: "actions" }, back, giveUp),
  );
  const trails = h("section", { class: "panel trails", "aria-label": "Your trail" }, trail.element);
  const element = h("div", { class: "game" }, goal, h("div", { class: "table" }, trails, stage));
  let over = false,
    busy = false;

  function tick() {
    game.seconds = (performance.now() - began) / 1000;
    clock.textContent = seconds(game.seconds);
  }
  const ticking = setInterval(tick, 500);
  const leaving = () => {
    tick();
    clockHeld.set(game.seconds);
  };
  addEventListener("pagehide", leaving);
  function stop() {
    over = true;
    clearInterval(ticking);
    removeEventListener("pagehide", leaving);
  }
  function end(won) {
    tick();
    stop();
    onend(won);
  }

  async function draw(direction) {
    tick();
    clicks.textContent = String(game.steps.length);
    unit.textContent = game.steps.length === 1 ? "click" : "clicks";
    back.disabled = game.history.length < 2;
    trail.show(pages(game.start, game.steps), { goal: bdi(game.goal.title) });
    trail.mark(game.steps.length);
    let block;
    try {
      block = await api.block(here(game).node);
    } catch (error) {
      stage.replaceChildren(notice(error.message, () => draw(0)));
      return;
    }
    if (over) return;
    const drawn = card(block, (other, how) => ({
      href: addressOf(other.node),
      onclick: (event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        if (event.detail > 1) return; // a double click is one: its second half meets a page nobody has read
        take(other, how === "link" ? other : { kind: how });
      },
    }));
    stage.replaceChildren(drawn);
    if (!direction) return;
    move(drawn, [
      { opacity: 0, transform: `translateX(${48 * direction}px)` },
      { opacity: 1, transform: "none" },
    ]);
    const headline = drawn.querySelector(".headline");
    headline.tabIndex = -1;
    headline.focus({ preventScroll: true }); // what was clicked is gone: go on reading from the top
    if (stage.getBoundingClientRect().top < 0) stage.scrollIntoView({ block: "start" });
  }
  async function take(other, way) {
    if (over || busy || game.steps.length >= MOST) return;
    busy = true;
    try {
      const { place } = await api.block(other.node);
      if (!over) await go(place, way, 1);
    } catch (error) {
      stage.querySelector(".notice")?.remove();
      stage.prepend(notice(error.message, error.passing && (() => take(other, way))));
    }
    busy = false;
  }
  function goBack() {
    if (!over && !busy && game.history.length > 1 && game.steps.length < MOST)
      go(game.history.at(-2), { kind: "back" }, -1);
  }
  async function go(place, way, direction) {
    step(game, place, way);
    if (place.node === game.goal.node) return end(true);
    onstep();
    say(`Click ${game.steps.length}: ${isolate(named(place))}`);
    await draw(direction);
  }

  api.block(game.goal.node).then(
    (block) => (excerpt.textContent = block.segments.map((segment) => segment.text).join("")),
    () => {}, // the title says enough
  );
  draw(0);
  return { element, stop };
}
