// How a game went: who won, the three ways beside each other, and the run to keep.

import * as api from "./api.js";
import { arrow, copyButton, count, fill, h, kept, label, notice, seconds, withCommands } from "./dom.js";
import { lanes, ofAgent, ofOptimum } from "./lanes.js";

/**
 * The result of `game` {start, goal, agent, steps, seconds}; `agent` is the agent's walk, or the error in its place.
 * `again` is the address of the same pair, `another` gives a new one; a `fresh` game can be kept.
 */
export function outcome(game, won, agent, { again, another, fresh }) {
  const failed = agent instanceof Error;
  const words = verdict(won, game.steps.length, failed ? null : agent);
  const mine = {
    name: "You",
    steps: game.steps,
    verdict: `${won ? "found in" : "given up after"} ${seconds(game.seconds)}`,
    reached: won,
    kind: "you",
  };
  const others = failed ? [] : [ofAgent(agent), ofOptimum(agent.optimum)];
  const element = h(
    "section",
    { class: `outcome ${won ? "won" : "lost"}`, "aria-label": "Result" },
    h("p", { class: "eyebrow" }, label(game.start), arrow(), label(game.goal)),
    h("h1", { tabindex: "-1" }, words),
    h(
      "p",
      { class: "begin" },
      h("button", { type: "button", class: "primary", onclick: another }, "Play another pair"),
      h("a", { class: "button", href: again }, "Same pair again"),
      copyButton("Share this pair", () => new URL(again, location.href).href),
      copyButton("Share this result", () => location.href),
    ),
    failed ? notice(agent.message) : null,
    h("h2", { class: "unseen" }, "The ways beside each other"),
    lanes(game.start, [mine, ...others], failed ? null : agent.optimum),
    fresh ? keeping(game, won) : null,
  );
  return { element, words };
}

/** Who won, in one line. */
function verdict(won, clicks, agent) {
  const mine = count(clicks, "click"),
    theirs = agent?.steps.length;
  if (!won && agent?.success) return `The agent found it in ${count(theirs, "click")}.`;
  if (!won) return "Nobody found it this time.";
  if (!agent) return `You found it in ${mine}.`;
  if (!agent.success) return `You found it in ${mine}; the agent never did.`;
  if (clicks < theirs) return `You won: ${mine} to the agent's ${theirs}.`;
  if (clicks === theirs) return `A draw: ${mine} each.`;
  return `The agent won: ${count(theirs, "click")} to your ${clicks}.`;
}

/** A form that keeps the run: on the server, where it keeps games, and as a file. */
function keeping(game, won) {
  const stored = h(
    "p",
    { class: "soft stored", role: "status" },
    "A line of JSON: who, start, goal, clicks, time.",
  );
  const who = h("input", {
    id: "who",
    type: "text",
    maxlength: "60",
    autocomplete: "nickname",
    dir: "auto",
    value: kept.get("who") ?? "",
    placeholder: "Your name",
  });
  const button = h("button", null, "Save the run");
  async function save(event) {
    event.preventDefault();
    kept.set("who", who.value.trim());
    button.disabled = true;
    const run = {
      who: who.value.trim() || "a person",
      start: game.start.node,
      goal: game.goal.node,
      steps: game.steps.map((click) => click.to.node),
      seconds: Math.round(game.seconds * 10) / 10,
      won,
    };
    try {
      const line = await api.saveRun(run);
      download(line.run);
      const elsewhere = withCommands(
        "Downloaded. This server keeps no games: `linkwalk serve --runs FILE` does.",
      );
      fill(stored, line.stored ? "Downloaded, and kept by the server." : elsewhere);
    } catch (error) {
      download({ ...run, when: new Date().toISOString() });
      fill(stored, `Downloaded; the server did not take it: ${error.message}`);
    }
    button.disabled = false;
  }
  const field = h("div", { class: "field" }, h("label", { for: "who" }, "Who played"), who);
  return h(
    "form",
    { class: "panel keep", "aria-label": "Keep the run", onsubmit: save },
    field,
    button,
    stored,
  );
}

function download(run) {
  const line = new Blob([`${JSON.stringify(run)}\n`], { type: "application/x-ndjson" });
  const url = URL.createObjectURL(line);
  h("a", { href: url, download: "linkwalk-run.jsonl" }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
