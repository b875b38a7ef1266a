// Play: a person against an agent, on the same pair and by the same rules: click from the start to the goal.

import * as api from "./api.js";
import { map, WAYS } from "./art.js";
import { address, copyButton, h, isolate, label, named, notice, waiting } from "./dom.js";
import { board, clockHeld, newGame, retrace } from "./game.js";
import { outcome } from "./outcome.js";
import { suggest } from "./suggest.js";

export function enter(root, { server, go, note, say, title }) {
  const agents = server.agents.map((agent) => agent.name);
  const usual = agents[0];
  let shown = "", // the address of what is on the page
    visited = false, // whether something was, before
    leave = () => {};

  const keyOf = ({ from, to, seed, steps, end, agent }) =>
    JSON.stringify([from, to, seed, steps, end, agent]);
  const another = () => go({ view: "play", seed: Math.floor(Math.random() * 1e6) + 1 });
  const pairOf = ({ start, goal, agent }) => ({
    view: "play",
    from: named(start),
    to: named(goal),
    agent: agent === usual ? null : agent,
  });
  const stateOf = (game, nodes = game.steps.map((click) => click.to.node)) => ({
    ...pairOf(game),
    steps: nodes.join("."),
    seconds: Math.round(game.seconds) || null,
  });

  async function update(values) {
    const key = keyOf(values);
    if (key === shown) return;
    leave();
    leave = () => {};
    title("Play");
    const before = visited,
      held = before ? null : clockHeld.take();
    shown = key;
    visited = true;
    if (!values.seed && !(values.from && values.to)) return choose(values);
    root.replaceChildren(waiting("Laying out the game …"));
    try {
      const [start, goal] = await ends(values);
      if (shown !== key) return;
      if (start.node === goal.node) return choose(values, "Start and goal are the same page: choose two.");
      title(`Play ${isolate(named(start))} → ${isolate(named(goal))}`);
      const game = newGame(start, goal, agents.includes(values.agent) ? values.agent : usual);
      if (values.steps === undefined && held === null && !values.end) return ready(game, before);
      game.seconds = held ?? (Number(values.seconds) || 0);
      await retrace(game, values.steps);
      if (shown !== key) return;
      if (values.end) finish(game, values.end === "won", { fresh: false });
      else begin(game);
    } catch (error) {
      if (shown !== key) return;
      if (!error.passing) return choose(values, error.message);
      const again = () => {
        shown = "";
        update(values);
      };
      root.replaceChildren(notice(error.message, again));
    }
  }
  async function ends({ seed, from, to }) {
    if (from && to) return (await Promise.all([api.block(from), api.block(to)])).map((block) => block.place);
    const pair = await api.pair(Number(seed) || 0);
    return [pair.start, pair.goal];
  }
  /** Write a state into the address, and remember that it is the one on the page. */
  function write(state) {
    note(state);
    shown = keyOf(Object.fromEntries(new URLSearchParams(location.search)));
  }

  /** Before: which two. */
  function choose(values, trouble) {
    const from = suggest({ label: "From", name: "from", placeholder: "Where to start" });
    const to = suggest({ label: "To", name: "to", placeholder: "What to find" });
    from.value = values.from ?? "";
    to.value = values.to ?? "";
    const wrong = h("div", { class: "trouble" }, trouble ? notice(trouble) : null);
    function submit(event) {
      event.preventDefault();
      if (!from.value || !to.value) {
        wrong.replaceChildren(notice("Name both articles, or play a random pair."));
        (from.value ? to : from).input.focus();
        return;
      }
      const chosen = { view: "play", from: from.value, to: to.value };
      shown = ""; // also when it is the pair that there was trouble with
      go(chosen);
      if (!shown) update(chosen);
    }
    const intro = h(
      "div",
      null,
      h("h1", null, "Get there in fewer clicks than the agent"),
      h(
        "p",
        null,
        "You and the agent start on the same page and look for the same one. ",
        "Links, the blocks before and after, and the back button: each counts as one click.",
      ),
    );
    const chance = h(
      "button",
      { type: "button", class: "primary large", onclick: another },
      "Play a random pair",
    );
    root.replaceChildren(
      h("div", { class: "intro" }, intro, map([WAYS.agent, WAYS.person])),
      h("p", { class: "begin" }, chance),
      h("h2", { class: "or" }, "or choose your own"),
      h(
        "form",
        { class: "panel ask-walk", "aria-label": "A pair of articles", onsubmit: submit },
        h("div", { class: "ends" }, from.element, to.element, h("button", null, "Play this pair")),
        wrong,
      ),
    );
  }

  /** The pair is known, the clock does not run yet. */
  function ready(game, focus) {
    const opponent = h("select", { id: "opponent" });
    opponent.append(
      ...agents.map((name) => h("option", { value: name, selected: name === game.agent }, name)),
    );
    opponent.addEventListener("change", () => {
      game.agent = opponent.value;
      write(pairOf(game));
    });
    const start = h(
      "button",
      { type: "button", class: "primary large", onclick: () => begin(game) },
      "Start the clock",
    );
    root.replaceChildren(
      h(
        "section",
        { class: "ready", "aria-label": "The game" },
        h("h1", null, "From ", label(game.start), " to ", label(game.goal)),
        h(
          "div",
          { class: "duel" },
          end("You start at", game.start, "from"),
          end("You look for", game.goal, "to"),
        ),
        h("p", { class: "soft against" }, h("label", { for: "opponent" }, "Against "), opponent),
        h(
          "p",
          { class: "begin" },
          start,
          h("button", { type: "button", onclick: another }, "Another pair"),
          copyButton("Share this pair", () => new URL(address(pairOf(game)), location.href).href),
        ),
      ),
    );
    if (focus) start.focus({ preventScroll: true }); // not when the page has just been opened
  }
  function end(words, place, kind) {
    const text = h("p", { class: "excerpt", dir: "auto" });
    api.block(place.node).then(
      (block) => (text.textContent = block.segments.map((segment) => segment.text).join("")),
      () => {}, // the title says enough
    );
    const name = h("p", { class: "name" }, label(place));
    return h("div", { class: `panel end ${kind}` }, h("p", { class: "eyebrow" }, words), name, text);
  }

  function begin(game) {
    const { element, stop } = board(game, {
      say,
      addressOf: (node) => address(stateOf(game, [...game.steps.map((click) => click.to.node), node])),
      onstep: () => write(stateOf(game)),
      onend: (won) => finish(game, won, { fresh: true }),
    });
    leave = stop;
    root.replaceChildren(h("h1", { class: "unseen" }, "Game"), element);
  }

  /** After: who won, and how it could have been done. */
  async function finish(game, won, { fresh }) {
    leave = () => {};
    write({ ...stateOf(game), end: won ? "won" : "lost" });
    const mine = shown;
    root.replaceChildren(waiting("Comparing with the agent …"));
    const { start, goal, agent } = game;
    const walked = await api
      .walk({ start: start.node, goal: goal.node, agent, budget: 100 })
      .catch((error) => error);
    if (shown !== mine) return;
    const { element, words } = outcome(game, won, walked, { again: address(pairOf(game)), another, fresh });
    root.replaceChildren(element);
    element.querySelector("h1").focus({ preventScroll: true });
    scrollTo(0, 0);
    say(words);
  }

  return { update, leave: () => leave() };
}
