// A walk as a line with stops: drawn as it grows, each stop a button. Also as a column, for walks side by side.

import { arrow, bdi, count, h, isolate, label, move, named } from "./dom.js";

const WAYS = { prev: "block before", next: "block after", back: "went back", backlink: "links here" };

/** Every page of a walk: the start, then where each click led. */
export const pages = (start, steps) => [start, ...steps.map((click) => click.to)];

/** What was clicked, in words: “oceans”, or the way. */
export const how = (click) =>
  WAYS[click.kind] ?? (click.link ? `“${isolate(click.link)}”` : click.kind);

/** A line of stops. `onpick(i)` is called when stop i is chosen; without it they are only to be read. */
export function line({ name, kind, onpick }) {
  const stops = h("ol", { class: "stops", "aria-label": name });
  const element = h("div", { class: `trail ${kind}` }, stops);
  let places = [];

  const stop = (place, i) => {
    const same = i > 0 && places[i - 1].title === place.title;
    const words = same ? `… (${place.block})` : label(place);
    const inside = [
      h("span", { class: "dot", "aria-hidden": "true" }),
      h("span", { class: same ? "words same" : "words" }, words),
    ];
    const told = { "aria-label": `${i}: ${isolate(named(place))}`, title: named(place) };
    if (!onpick) return h("li", told, h("span", { class: "stop" }, inside));
    return h("li", null, h("button", { type: "button", ...told, onclick: () => onpick(i) }, inside));
  };
  return {
    element,
    /** Show these pages; those that are new appear at the end. `shared` are nodes to point out. */
    show(next, { goal = null, found = -1, shared = null } = {}) {
      stops.querySelector("li.ahead")?.remove();
      for (let i = places.length; i < next.length; i++) {
        places = next.slice(0, i + 1);
        const item = stop(next[i], i);
        if (shared?.has(next[i].node)) item.classList.add("shared");
        stops.append(item);
        if (i)
          move(item.querySelector(".dot"), [{ transform: "scale(0)" }, { transform: "scale(1)" }], {
            duration: 260,
          });
      }
      [...stops.children].forEach((item, i) => item.classList.toggle("goal", i === found));
      if (goal && found < 0) {
        stops.append(
          h(
            "li",
            { class: "ahead" },
            h(
              "span",
              { class: "stop" },
              h("span", { class: "dot", "aria-hidden": "true" }),
              h("span", { class: "words" }, goal),
            ),
          ),
        );
      }
    },
    /** Light up stop i, and bring it into view. Of all stops the Tab key meets this one; the focus goes along. */
    mark(i) {
      const inside = stops.contains(document.activeElement);
      [...stops.children].forEach((item, at) => {
        item.classList.toggle("past", at < i);
        item.classList.toggle("now", at === i);
        const button = item.querySelector("button");
        if (!button) return;
        button.tabIndex = at === Math.max(i, 0) ? 0 : -1;
        if (at === i) button.setAttribute("aria-current", "step");
        else button.removeAttribute("aria-current");
      });
      const item = stops.children[i];
      if (inside) item?.querySelector("button")?.focus({ preventScroll: true });
      if (item) element.scrollTo({ left: item.offsetLeft - element.clientWidth / 2 + item.clientWidth / 2 });
    },
  };
}

const HEAD = 9,
  TAIL = 4;

/** A walk as a column: page by page, with the words clicked. Long ones are folded in the middle. */
export function column(start, steps, { reached, shared } = {}) {
  const items = [h("li", { class: "first" }, label(start))];
  steps.forEach((click, i) =>
    items.push(
      h(
        "li",
        {
          class:
            [
              reached && i === steps.length - 1 ? "goal" : "",
              shared?.has(click.to.node) ? "shared" : "",
              click.seen ? "seen" : "",
            ]
              .join(" ")
              .trim() || null,
        },
        label(click.to),
        h("span", { class: "how" }, how(click)),
      ),
    ),
  );
  const list = h("ol", { class: "column" }, items);
  if (items.length > HEAD + TAIL + 2) {
    const folded = items.slice(HEAD, -TAIL);
    const more = h(
      "li",
      { class: "fold" },
      h(
        "button",
        { type: "button", class: "quiet", onclick: () => more.replaceWith(...folded) },
        `${count(folded.length, "more page")}`,
      ),
    );
    folded[0].before(more);
    folded.forEach((item) => item.remove());
  }
  return list;
}

/** A short path in one line: start › page › page. */
export function crumbs(start, steps) {
  return h(
    "span",
    { class: "crumbs" },
    pages(start, steps).map((place, i) => [i ? arrow("›") : null, label(place)]),
  );
}

/** Each click of a path with the sentence its link stands in. */
export function clicks(start, steps) {
  return h(
    "ol",
    { class: "clicks" },
    steps.map((click) =>
      h(
        "li",
        null,
        h("span", { class: "on" }, label(click.at)),
        click.sentence
          ? h(
              "p",
              { dir: "auto" },
              click.sentence.before,
              h("span", { class: "chosen" }, click.sentence.link),
              click.sentence.after,
            )
          : h("p", { class: "how" }, WAYS[click.kind] ?? click.kind),
      ),
    ),
  );
}
