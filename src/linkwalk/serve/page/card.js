// A block as a card: where it stands, its text with every link in its place, the blocks before and after.

import { bdi, h, label } from "./dom.js";

/** The text of a block as paragraphs. `link(link)` makes the element of a link, `marked` is [from, to) in the text. */
export function paragraphs(block, { link, marked } = {}) {
  const found = [h("p", { dir: "auto" })];
  let at = 0;
  block.segments.forEach((segment, number) => {
    const element = segment.link !== null && link ? link(block.links[segment.link]) : null;
    if (element) element.dataset.segment = number;
    let first = true;
    for (const line of segment.text.split("\n")) {
      if (!first) {
        at += 1;
        if (found.at(-1).hasChildNodes()) found.push(h("p", { dir: "auto" }));
      }
      first = false;
      const parts = cut(line, at, marked);
      at += line.length;
      (element ?? found.at(-1)).append(...parts);
    }
    if (element) found.at(-1).append(element);
  });
  return found.filter((paragraph) => paragraph.hasChildNodes());
}

function cut(line, at, marked) {
  if (!line) return [];
  if (!marked) return [line];
  const [from, to] = marked.map((edge) => Math.min(Math.max(edge - at, 0), line.length));
  return [
    line.slice(0, from),
    to > from ? h("mark", null, line.slice(from, to)) : "",
    line.slice(Math.max(from, to)),
  ].filter(Boolean);
}

const FEW = 8; // as many pages in a list as need not be folded

const ENDINGS = { one: "st", two: "nd", few: "rd", other: "th" };
const ordinal = (n) => `${n}${ENDINGS[new Intl.PluralRules("en", { type: "ordinal" }).select(n)]}`;

/** Which block of its article this is, and under which heading; names count the blocks after the first. */
export function whereabouts(place) {
  return h(
    "p",
    { class: "eyebrow" },
    place.section ? [bdi(place.section), h("span", { class: "dot", "aria-hidden": "true" }, " · ")] : null,
    place.blocks === 1 ? "the whole article" : `${ordinal(place.block + 1)} of ${place.blocks} blocks`,
  );
}

/** The whole card. `to(place, how)` gives the attributes of a way out: what is done or where it leads. */
export function card(block, to) {
  const { place, previous, next, above, below, linked_from: from } = block;
  const number = place.block ? h("bdi", { class: "number" }, ` (${place.block})`) : null;
  const text = h(
    "div",
    { class: "text" },
    paragraphs(block, {
      link: (link) => h("a", { class: `link ${link.kind}`, ...to(link, "link") }),
    }),
  );
  const beside = (other, how, words) =>
    other
      ? h(
          "a",
          { class: `beside ${how}`, dataset: { to: other.node }, ...to(other, how.split(" ")[0]) },
          words ? h("span", { class: "way" }, words) : null,
          label(other),
        )
      : null;
  const listed = (list, how, words) =>
    list?.total
      ? h(
          "details",
          { class: "listed", open: list.total <= FEW },
          h("summary", null, `${words} (${list.total.toLocaleString("en")})`),
          h(
            "ul",
            null,
            list.places.map((other) => h("li", null, beside(other, how))),
          ),
        )
      : null;
  return h(
    "article",
    { class: "card", dataset: { node: place.node } },
    beside(above, "contents above", "Above in the contents"),
    h(
      "header",
      null,
      whereabouts(place),
      h("h2", { class: "headline", dir: "auto" }, place.title, number),
      place.address ? h("p", { class: "address" }, bdi(place.address)) : null,
    ),
    text,
    listed(below, "contents", "Below in the contents"),
    listed(from, "backlink", "Linked from"),
    previous || next
      ? h("footer", null, beside(previous, "prev", "Block before"), beside(next, "next", "Block after"))
      : null,
  );
}

/** The element of the card that a click was made on; null for a step back. */
export function clickedOn(element, click) {
  if (click.segment !== null && click.segment !== undefined)
    return element.querySelector(`[data-segment="${Number(click.segment)}"]`);
  const way = click.kind === "back" ? "nowhere" : click.kind;
  const link = element.querySelector(`.beside.${way}[data-to="${Number(click.to.node)}"]`);
  if (link?.closest("details")) link.closest("details").open = true;
  return link;
}
