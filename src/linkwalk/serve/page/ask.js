// Ask: a claim or a question; the sentences that bear on it, each with the clicks that led to it.

import * as api from "./api.js";
import { map, WAYS } from "./art.js";
import { paragraphs, whereabouts } from "./card.js";
import { address, bdi, count, h, isolate, label, named, notice, once, waiting } from "./dom.js";
import { clicks, crumbs } from "./trail.js";

// What the encyclopedia that ships with linkwalk can answer; other wikis are asked about articles they have.
const BUNDLED = "Linkwalk Encyclopedia";
const QUESTIONS = [
  "Who wrote the first computer program?",
  "How many hearts does an octopus have?",
  "Which ocean lies between Africa and Australia?",
  "Coral reefs are built by animals.",
  "Stars are made mainly of hydrogen and helium.",
];
const SEEDS = [5, 6, 7];
const LIMIT = 6; // sentences
const answers = new Map(); // so that going back does not ask again

export function enter(root, { server, go, say, title }) {
  const field = h("textarea", {
    id: "question",
    name: "q",
    rows: "1",
    maxlength: "2000",
    dir: "auto",
    placeholder: "A claim, or a question",
    onkeydown: (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        form.requestSubmit();
      }
    },
  });
  const trouble = h("div", { class: "trouble" });
  const form = h(
    "form",
    { class: "panel question", "aria-label": "A question", onsubmit: submit },
    h("div", { class: "field" }, h("label", { for: "question" }, "A claim or a question"), field),
    h("button", { class: "primary", onclick: once }, "Find evidence"),
    trouble,
  );
  const offered = h("section", { class: "offered", "aria-label": "Examples" });
  const found = h("section", { class: "found", "aria-label": "Evidence" });
  root.append(
    h(
      "div",
      { class: "intro" },
      h(
        "div",
        null,
        h("h1", null, "Ask, and see where the answer stands"),
        h(
          "p",
          null,
          "Search gives a page of results; the agent reads on from there by following links. ",
          "What it found comes back sentence by sentence, with the clicks that led to each.",
        ),
      ),
      map([WAYS.read]),
    ),
    form,
    found,
    offered,
  );
  let asking = null,
    asked = "",
    examples = null;

  function submit(event) {
    event.preventDefault();
    const q = field.value.trim();
    if (!q) {
      trouble.replaceChildren(notice("Write a claim or a question first."));
      field.focus();
      return;
    }
    if (q === asked) asked = "";
    go({ view: "ask", q });
    if (!asked) update({ q });
  }

  function update({ q = "" }) {
    trouble.replaceChildren();
    root.classList.toggle("begun", Boolean(q));
    field.value = q;
    title(q ? isolate(q) : "Ask");
    if (!server.find) {
      found.replaceChildren(
        notice(
          server.missing?.find ??
            "This wiki has no search index yet: make one with `linkwalk index WIKI`, then serve it again.",
        ),
      );
      return;
    }
    if (server.missing?.read) trouble.replaceChildren(notice(server.missing.read));
    offer(q);
    if (q === asked && q) return;
    asked = q;
    asking?.abort();
    if (q) find(q);
    else found.replaceChildren();
  }

  async function find(q) {
    const mine = (asking = new AbortController());
    found.replaceChildren(waiting("Searching, reading, following links …", cancel));
    try {
      const answer = answers.get(q) ?? (await api.find({ query: q, limit: LIMIT }, mine.signal));
      if (mine.signal.aborted) return;
      answers.set(q, answer);
      found.replaceChildren(...show(answer));
      say(
        answer.evidence.length
          ? `${count(answer.evidence.length, "sentence")} found. First: ${answer.evidence[0].sentence}`
          : "Nothing found.",
      );
    } catch (error) {
      if (error.name === "AbortError" || mine.signal.aborted) return;
      asked = "";
      found.replaceChildren(notice(error.message, error.passing && (() => update({ q }))));
    }
  }
  function cancel() {
    asking.abort();
    asked = "";
    found.replaceChildren();
    say("Cancelled.");
    field.focus();
  }

  async function offer(q) {
    examples ??= server.wiki.snapshot.startsWith(BUNDLED)
      ? QUESTIONS
      : await Promise.all(SEEDS.map((seed) => api.pair(seed)))
          .then((pairs) => pairs.map(({ goal }) => `What is ${goal.title}?`))
          .catch(() => []);
    const others = examples.filter((question) => question !== q);
    offered.replaceChildren(
      others.length ? h("h2", null, q ? "Ask another" : "For example") : "",
      h(
        "ul",
        { class: "chips" },
        others.map((question) =>
          h(
            "li",
            null,
            h("a", { class: "chip", href: address({ view: "ask", q: question }), dir: "auto" }, question),
          ),
        ),
      ),
    );
  }

  return {
    update,
    leave() {
      asking?.abort();
    },
  };
}

function show(answer) {
  const took =
    answer.took < 1000 ? `${Math.round(answer.took)} ms` : `${(answer.took / 1000).toFixed(1)} s`;
  const walked = answer.evidence.filter((evidence) => evidence.path.length).length;
  const summary = h(
    "p",
    { class: "summary" },
    `${count(answer.blocks, "block")} read in ${took}`,
    answer.agent ? [", led by ", bdi(answer.agent)] : "",
    walked ? ` · ${count(walked, "sentence")} reached by clicking` : "",
  );
  if (!answer.evidence.length) return [notice("No block has any of these words: try others."), summary];
  const first = answer.evidence.find((evidence) => evidence.path.length); // one path to see what they are
  const most = Math.max(...answer.evidence.map((evidence) => evidence.score), 1e-9);
  return [
    summary,
    h(
      "ol",
      { class: "evidence" },
      answer.evidence.map((evidence) => item(evidence, most, evidence === first)),
    ),
  ];
}

function item({ sentence, score, place, start, path }, most, open) {
  const fill = h("span", { class: "fill" });
  fill.style.setProperty("--share", Math.max(0, score / most));
  const around = h("div", { class: "around", hidden: true });
  const more = h(
    "button",
    { type: "button", class: "quiet", "aria-expanded": "false", onclick: () => unfold() },
    "Show the paragraph",
  );
  async function unfold() {
    const open = around.hidden;
    around.hidden = !open;
    more.setAttribute("aria-expanded", String(open));
    more.textContent = open ? "Hide the paragraph" : "Show the paragraph";
    if (!open || around.hasChildNodes()) return;
    around.replaceChildren(waiting("Opening …"));
    try {
      const block = await api.block(place.node);
      const text = block.segments.map((segment) => segment.text).join("");
      const at = text.indexOf(sentence);
      around.replaceChildren(
        whereabouts(block.place),
        ...paragraphs(block, {
          marked: at < 0 ? null : [at, at + sentence.length],
          link: (link) =>
            h("a", {
              class: `link ${link.kind}`,
              href: address({ view: "walk", from: named(place), to: named(link) }),
              title: "Walk there",
            }),
        }),
      );
    } catch (error) {
      around.replaceChildren(notice(error.message));
    }
  }
  const source = path.length
    ? h(
        "details",
        { class: "path", open },
        h("summary", null, h("span", { class: "tag" }, count(path.length, "click")), crumbs(start, path)),
        clicks(start, path),
        h(
          "p",
          null,
          h(
            "a",
            { href: address({ view: "walk", from: named(start), to: named(place) }) },
            "Watch an agent walk there",
          ),
        ),
      )
    : h("p", { class: "path" }, h("span", { class: "tag" }, "search"), "among the search results");
  return h(
    "li",
    { class: "panel" },
    h("blockquote", { dir: "auto" }, sentence),
    h(
      "div",
      { class: "source" },
      h(
        "p",
        { class: "article" },
        label(place),
        place.section ? h("span", { class: "soft" }, " · ", bdi(place.section)) : null,
      ),
      h(
        "span",
        { class: "score" },
        h("span", { class: "track", "aria-hidden": "true" }, fill),
        `score ${score.toFixed(2)}`,
      ),
    ),
    h("div", { class: "origin" }, source, more),
    around,
  );
}
