// Walks side by side: a column each, with its clicks as a number and as a bar.

import { bdi, h } from "./dom.js";
import { column, pages } from "./trail.js";

/** `walks` are {name, steps, verdict, reached, kind} from one start; pages of the `optimum` are pointed out. */
export function lanes(start, walks, optimum) {
  const ideal = new Set(pages(start, optimum ?? []).map((place) => place.node));
  const most = Math.max(...walks.map((walk) => walk.steps.length), 1);
  const key = h("p", { class: "key" }, h("i", { "aria-hidden": "true" }), "on the shortest path");
  return h(
    "div",
    null,
    optimum ? key : null,
    h(
      "div",
      { class: "lanes" },
      walks.map((walk) => lane(start, walk, most, ideal)),
    ),
  );
}

function lane(start, { name, steps, verdict, reached, kind }, most, shared) {
  const fill = h("span", { class: "fill" });
  fill.style.setProperty("--share", steps.length / most);
  return h(
    "section",
    { class: `lane ${kind}` },
    h("h3", null, bdi(name)),
    h("p", { class: "big" }, `${steps.length}`, h("span", null, steps.length === 1 ? " click" : " clicks")),
    h("span", { class: "track", "aria-hidden": "true" }, fill),
    h("p", { class: "result" }, verdict),
    column(start, steps, { reached, shared }),
  );
}

/** The lane of an agent's walk. */
export const ofAgent = ({ agent, steps, success }) => ({
  name: agent,
  steps,
  verdict: success ? "found" : "not found",
  reached: success,
  kind: success ? "found" : "lost",
});

/** The lane of the shortest path. */
export const ofOptimum = (steps) => ({
  name: "Shortest path",
  steps,
  verdict: "the fewest there are",
  reached: true,
  kind: "best",
});
