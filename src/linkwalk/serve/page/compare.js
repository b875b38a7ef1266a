// Agents side by side on the same pair, beneath the walk that was watched.

import * as api from "./api.js";
import { count, h, notice, still, waiting } from "./dom.js";
import { lanes, ofAgent, ofOptimum } from "./lanes.js";

const BESIDE = ["greedy-unvisited", "random"];
const MOST = 6;

/** `onpick(names)` is told which agents to compare: the address holds them, and `show` draws what it holds. */
export function comparison({ agents, say, onpick }) {
  const element = h("section", { class: "beside-each-other", "aria-label": "Side by side" });
  const usual = [...new Set([agents[0], ...BESIDE])].filter((name) => agents.includes(name));
  let shown = "", // what is on the page, or on its way there
    wanted = false;

  function offer() {
    if (shown === "offer") return;
    shown = "offer";
    const begin = () => {
      wanted = true;
      onpick(usual);
    };
    element.replaceChildren(h("button", { type: "button", onclick: begin }, "Compare agents on this pair"));
  }

  async function compare(asked, chosen, key) {
    const picks = h("fieldset", { class: "picks" }, h("legend", null, "Agents"));
    const repick = () => {
      const next = [...picks.querySelectorAll("input:checked")].map((box) => box.value).slice(0, MOST);
      onpick(next.length ? next : usual);
    };
    for (const name of agents) {
      const box = { type: "checkbox", value: name, checked: chosen.includes(name), onchange: repick };
      picks.append(h("label", { class: "tick" }, h("input", box), name));
    }
    const result = h("div", null, waiting(`${count(chosen.length, "agent")} at work …`));
    element.replaceChildren(h("h2", null, "Side by side"), picks, result);
    if (wanted) element.scrollIntoView({ block: "start", behavior: still() ? "auto" : "smooth" });
    wanted = false;
    try {
      const { start, goal, budget, seed } = asked;
      const { walks } = await api.compare({ start, goal, agents: chosen, budget: budget ?? 100, seed });
      if (shown !== key) return;
      const [first] = walks; // all begin at the same page, and the shortest path is the same
      result.replaceChildren(
        lanes(first.start, [ofOptimum(first.optimum), ...walks.map(ofAgent)], first.optimum),
      );
      say(walks.map(told).join(". "));
    } catch (error) {
      const again = () => compare(asked, chosen, key);
      if (shown === key) result.replaceChildren(notice(error.message, error.passing && again));
    }
  }

  return {
    element,
    clear() {
      shown = "";
      element.replaceChildren();
    },
    /** Draw the comparison of these names, separated by commas, or with none the button that begins one. */
    show(asked, names) {
      const chosen = (names ?? "")
        .split(",")
        .filter((name) => agents.includes(name))
        .slice(0, MOST);
      if (!chosen.length) return offer();
      const key = JSON.stringify([asked, chosen]);
      if (shown === key) return;
      shown = key;
      compare(asked, chosen, key);
    },
  };
}

function told({ agent, success, steps }) {
  return `${agent}: ${success ? `found in ${count(steps.length, "click")}` : "not found"}`;
}
