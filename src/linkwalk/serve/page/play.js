// Play: a person against an agent, on the same pair and by the same rules: click from the start to the goal.

import * as api from "./api.js";
import { map, WAYS } from "./art.js";
import { card } from "./card.js";
import { address, bdi, copyButton, count, fill, h, isolate, kept, label, move, named, notice, seconds, waiting, withCommands } from "./dom.js";
import { suggest } from "./suggest.js";
import { column, line, pages } from "./trail.js";

const MOST = 500; // clicks a game can have: an address holds no more

export function enter(root, { server, go, note, say, title }) {
  const agents = server.agents.map((agent) => agent.name);
  const usual = agents.includes("compass") ? "compass" : agents[0];
  let game = null, shown = "", ticking = 0, asked = false, visited = false;

  function leave() {
    clearInterval(ticking);
    game = null;
  }
  async function update(values) {
    const key = JSON.stringify([values.from, values.to, values.seed, values.steps, values.end, values.agent]);
    if (key === shown) return;
    shown = key;
    leave();
    visited = asked;
    asked = true;
    title("Play");
    if (!values.seed && !(values.from && values.to)) return choose(values);
    root.replaceChildren(waiting("Laying out the game …"));
    try {
      const [start, goal] = await ends(values);
      if (shown !== key) return;
      title(`Play ${isolate(named(start))} → ${isolate(named(goal))}`);
      if (start.node === goal.node) return choose(values, "Start and goal are the same page: choose two.");
      const made = { start, goal, agent: agents.includes(values.agent) ? values.agent : usual, steps: [], history: [start], seconds: Number(values.seconds) || 0 };
      if (values.steps === undefined) return ready(made);
      await retrace(made, values.steps);
      if (shown !== key) return;
      if (values.end) finish(made, values.end === "won", { fresh: false });
      else begin(made);
    } catch (error) {
      if (shown === key) choose(values, error.message);
    }
  }
  async function ends({ seed, from, to }) {
    if (from && to) return (await Promise.all([api.block(from), api.block(to)])).map((block) => block.place);
    const pair = await api.pair(Number(seed) || 0);
    return [pair.start, pair.goal];
  }
  /** Follow the clicks of an address again; one that no link leads to is an error. */
  async function retrace(made, steps) {
    const nodes = steps ? steps.split(".").slice(0, MOST) : [];
    for (const text of nodes) {
      const here = await api.block(at(made).node);
      const back = String(made.history.at(-2)?.node) === text;
      const way = back ? { kind: "back" } : out(here).find((other) => String(other.node) === text);
      if (!way) throw new api.ApiError("bad_input", "This address does not hold a game: one of its clicks follows no link.");
      const there = await api.block(Number(text));
      step(made, there.place, way);
    }
  }
  const at = (made) => made.history.at(-1);
  const out = (block) => [
    ...(block.previous ? [{ ...block.previous, kind: "prev", text: "" }] : []), ...(block.next ? [{ ...block.next, kind: "next", text: "" }] : []), ...block.links,
  ];
  function step(made, to, way) {
    const seen = pages(made.start, made.steps).some((place) => place.node === to.node);
    made.steps.push({ number: made.steps.length + 1, from: at(made), to, kind: way.kind, link: way.text ?? "", seen });
    if (way.kind === "back") made.history.pop();
    else made.history.push(to);
  }
  const state = (made, extra) => ({
    view: "play", from: named(made.start), to: named(made.goal), agent: made.agent === usual ? null : made.agent,
    steps: made.steps.map((click) => click.to.node).join(".") || (extra ? "" : null), seconds: Math.round(made.seconds) || null, ...extra,
  });
  const pairOf = (made) => new URL(address({ view: "play", from: named(made.start), to: named(made.goal), agent: made.agent === usual ? null : made.agent }), location.href).href;
  /** Write the state into the address, and remember that it is the one on the screen. */
  function write(made, end = null) {
    note({ ...state(made), end });
    const values = Object.fromEntries(new URLSearchParams(location.search));
    shown = JSON.stringify([values.from, values.to, values.seed, values.steps, values.end, values.agent]);
  }
  const another = () => go({ view: "play", seed: Math.floor(Math.random() * 1e6) + 1 });

  // Before: which two.
  function choose(values, trouble) {
    const from = suggest({ label: "From", name: "from", placeholder: "Where to start" });
    const to = suggest({ label: "To", name: "to", placeholder: "What to find" });
    from.value = values.from ?? "";
    to.value = values.to ?? "";
    const wrong = h("div", { class: "trouble" }, trouble ? notice(trouble) : null);
    const form = h("form", { class: "panel ask-walk", "aria-label": "A pair of articles", onsubmit: (event) => {
      event.preventDefault();
      if (from.value && to.value) {
        shown = "";
        go({ view: "play", from: from.value, to: to.value });
        if (!shown) update({ from: from.value, to: to.value });
      } else {
        wrong.replaceChildren(notice("Name both articles, or take a pair by chance."));
        (from.value ? to : from).input.focus();
      }
    } }, h("div", { class: "ends" }, from.element, to.element, h("button", null, "Play this pair")), wrong);
    root.replaceChildren(
      h("div", { class: "intro" }, h("div", null, h("h1", null, "Get there in fewer clicks than the agent"),
        h("p", null, "You and the agent start on the same page and look for the same one. Links, the blocks before and after, and the back button: each counts as one click.")), map([WAYS.agent, WAYS.person])),
      h("p", { class: "begin" }, h("button", { type: "button", class: "primary large", onclick: another }, "Play a pair by chance")),
      h("h2", { class: "or" }, "or choose your own"), form);
  }
  function ready(made) {
    const texts = [made.start, made.goal].map(() => h("p", { class: "excerpt", dir: "auto" }));
    const end = (words, place, text, kind) => h("div", { class: `panel end ${kind}` }, h("p", { class: "eyebrow" }, words), h("p", { class: "name" }, label(place)), text);
    const opponent = h("select", { id: "opponent", onchange: () => { made.agent = opponent.value; write(made); } },
      agents.map((name) => h("option", { value: name, ...(name === made.agent ? { selected: true } : {}) }, name)));
    const start = h("button", { type: "button", class: "primary large", onclick: () => { made.seconds = 0; begin(made); } }, "Start the clock");
    root.replaceChildren(h("section", { class: "ready", "aria-label": "The game" },
      h("h1", null, "From ", label(made.start), " to ", label(made.goal)),
      h("div", { class: "duel" }, end("You start at", made.start, texts[0], "from"), end("You look for", made.goal, texts[1], "to")),
      h("p", { class: "begin" }, start, h("button", { type: "button", onclick: another }, "Another pair"),
        copyButton("Share this pair", () => pairOf(made))),
      h("p", { class: "soft against" }, h("label", { for: "opponent" }, "Against "), opponent)));
    if (visited) start.focus({ preventScroll: true }); // not when the page has just been opened
    [made.start, made.goal].forEach((place, i) => api.block(place.node).then(
      (block) => { texts[i].textContent = block.segments.map((segment) => segment.text).join(""); }, () => {}, // the title says enough
    ));
  }

  // The game.
  function begin(made) {
    game = made;
    made.clock = performance.now() - made.seconds * 1000;
    const clock = h("span", { class: "figure", role: "timer", "aria-label": "Time" }), made_ = h("span", { class: "figure" });
    const back = h("button", { type: "button", onclick: goBack }, "← Back");
    const giveUp = h("button", { type: "button", class: "quiet", onclick: () => finish(made, false, { fresh: true }) }, "Give up");
    const trail = line({ name: "Your trail", kind: "own", onpick: () => {} });
    const excerpt = h("p", { class: "excerpt", dir: "auto" });
    const stage = h("div", { class: "page" });
    const goalCard = h("section", { class: "panel aim", "aria-label": "Goal" },
      h("div", null, h("h2", { class: "small" }, "Looking for"), h("p", { class: "name" }, label(made.goal)), excerpt),
      h("div", { class: "scores" }, h("p", null, made_, h("span", { class: "unit", id: "unit" }, "clicks")), h("p", null, clock, h("span", { class: "unit" }, "time"))),
      h("div", { class: "actions" }, back, giveUp));
    const trailPanel = h("section", { class: "panel trails", "aria-label": "Your trail" }, trail.element);
    root.replaceChildren(h("h1", { class: "unseen" }, "Game"), h("div", { class: "game" }, goalCard, h("div", { class: "table" }, trailPanel, stage)));
    const tick = () => {
      made.seconds = (performance.now() - made.clock) / 1000;
      clock.textContent = seconds(made.seconds);
    };
    clearInterval(ticking);
    ticking = setInterval(tick, 500);
    api.block(made.goal.node).then((block) => { excerpt.textContent = block.segments.map((segment) => segment.text).join(""); }, () => {});
    draw(0);

    async function draw(direction) {
      tick();
      made_.textContent = String(made.steps.length);
      root.querySelector("#unit").textContent = made.steps.length === 1 ? "click" : "clicks";
      back.disabled = made.history.length < 2;
      trail.show(pages(made.start, made.steps), { goal: bdi(made.goal.title) });
      trail.mark(made.steps.length);
      let block;
      try {
        block = await api.block(at(made).node);
      } catch (error) {
        stage.replaceChildren(notice(error.message, () => draw(0)));
        return;
      }
      if (game !== made) return;
      const drawn = card(block, (other, how) => ({
        href: address({ ...state(made), steps: [...made.steps.map((click) => click.to.node), other.node].join(".") }),
        onclick: (event) => {
          if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
          event.preventDefault();
          take(other, how);
        },
      }));
      stage.replaceChildren(drawn);
      if (direction) {
        move(drawn, [{ opacity: 0, transform: `translateX(${48 * direction}px)` }, { opacity: 1, transform: "none" }]);
        const headline = drawn.querySelector(".headline");
        headline.tabIndex = -1;
        headline.focus({ preventScroll: true }); // what was clicked is gone: go on reading from the top
        if (stage.getBoundingClientRect().top < 0) stage.scrollIntoView({ block: "start" });
      }
    }
    async function take(other, how) {
      if (game !== made || made.busy || made.steps.length >= MOST) return;
      made.busy = true;
      try {
        const { place } = await api.block(other.node);
        step(made, place, how === "link" ? other : { kind: how });
        await go_(1);
      } catch (error) {
        stage.prepend(notice(error.message));
      }
      made.busy = false;
    }
    async function goBack() {
      if (made.history.length < 2 || made.busy || made.steps.length >= MOST) return;
      step(made, made.history.at(-2), { kind: "back" });
      await go_(-1);
    }
    async function go_(direction) {
      if (at(made).node === made.goal.node) return finish(made, true, { fresh: true });
      write(made);
      say(`Click ${made.steps.length}: ${isolate(named(at(made)))}`);
      await draw(direction);
    }
  }

  // After: who won, and how it could have been done.
  async function finish(made, won, { fresh }) {
    clearInterval(ticking);
    if (game) made.seconds = (performance.now() - made.clock) / 1000;
    game = null;
    write(made, won ? "won" : "lost");
    const mine = shown;
    root.replaceChildren(waiting("Comparing with the agent …"));
    let agent;
    try {
      agent = await api.walk({ start: made.start.node, goal: made.goal.node, sentence: null, agent: made.agent, budget: 100, back: false, seed: 0 });
    } catch (error) {
      agent = error;
    }
    if (shown !== mine) return;
    const failed = agent instanceof Error;
    const optimum = failed ? null : agent.optimum;
    const words = verdict(won, made.steps.length, failed ? null : agent);
    const ideal = optimum ? new Set(pages(made.start, optimum).map((place) => place.node)) : null;
    const lane = (name, steps, note_, reached, kind) => h("section", { class: `lane ${kind}` }, h("h2", { class: "lanename" }, name),
      h("p", { class: "big" }, String(steps.length), h("span", null, steps.length === 1 ? " click" : " clicks")), h("p", { class: "result" }, note_),
      column(made.start, steps, { reached, shared: kind === "best" ? null : ideal }));
    const stored = h("p", { class: "soft stored", role: "status" }, "A line of JSON: who, start, goal, steps, time.");
    const who = h("input", { id: "who", type: "text", maxlength: "60", autocomplete: "nickname", dir: "auto", value: kept.get("who") ?? "", placeholder: "Your name", onchange: () => kept.set("who", who.value.trim()) });
    const run = () => ({
      who: who.value.trim() || "a person", start: made.start.node, goal: made.goal.node, steps: made.steps.map((click) => click.to.node),
      seconds: Math.round(made.seconds * 10) / 10, won,
    });
    const keep = h("button", { type: "button", onclick: () => save(run(), keep, stored) }, "Save the run");
    root.replaceChildren(h("section", { class: `outcome ${won ? "won" : "lost"}`, "aria-label": "Result" },
      h("p", { class: "eyebrow" }, label(made.start), " → ", label(made.goal)),
      h("h1", { tabindex: "-1" }, words),
      h("p", { class: "begin" }, h("button", { type: "button", class: "primary", onclick: another }, "Play another pair"),
        h("a", { class: "button", href: address({ view: "play", from: named(made.start), to: named(made.goal), agent: made.agent === usual ? null : made.agent }) }, "Same pair again"),
        copyButton("Share this pair", () => pairOf(made)), copyButton("Share this result", () => location.href)),
      failed ? notice(agent.message) : null,
      h("div", { class: "lanes" }, lane("You", made.steps, `${won ? "found" : "given up"} in ${seconds(made.seconds)}`, won, "you"),
        failed ? null : lane(bdi(made.agent), agent.steps, agent.success ? "found" : "not found", agent.success, agent.success ? "found" : "gone"),
        optimum ? lane("Shortest path", optimum, "the fewest there are", true, "best") : null),
      fresh ? h("div", { class: "panel keep" }, h("div", { class: "field" }, h("label", { for: "who" }, "Who played"), who), keep, stored) : null));
    root.querySelector("h1").focus({ preventScroll: true });
    scrollTo(0, 0);
    say(words);
  }
  async function save(run, button, stored) {
    button.disabled = true;
    try {
      const line = await api.saveRun(run);
      download(line);
      fill(stored, line.stored ? "Downloaded, and kept by the server." : withCommands("Downloaded. This server keeps no games: `linkwalk serve --runs FILE` does."));
    } catch (error) {
      download({ ...run, time: new Date().toISOString() });
      stored.textContent = `Saved as a file; the server did not take it: ${error.message}`;
    }
    button.disabled = false;
  }
  function download(run) {
    const url = URL.createObjectURL(new Blob([`${JSON.stringify(run)}\n`], { type: "application/x-ndjson" }));
    h("a", { href: url, download: "linkwalk-run.jsonl" }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  }

  return { update, leave };
}

/** Who won, in one line. */
function verdict(won, clicks, agent) {
  const mine = count(clicks, "click");
  if (!won) return agent?.success ? `The agent found it in ${count(agent.steps.length, "click")}.` : "Nobody found it this time.";
  if (!agent) return `You found it in ${mine}.`;
  if (!agent.success) return `You found it in ${mine}; the agent never did.`;
  if (clicks < agent.steps.length) return `You won: ${mine} to the agent's ${agent.steps.length}.`;
  if (clicks === agent.steps.length) return `A draw: ${mine} each.`;
  return `The agent won: ${count(agent.steps.length, "click")} to your ${clicks}.`;
}
