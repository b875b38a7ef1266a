// Ask: a claim or a question; the sentences that bear on it, each with the clicks that led to it.

import * as api from "./api.js";
import { map, WAYS } from "./art.js";
import { paragraphs, whereabouts } from "./card.js";
import { address, bdi, count, h, isolate, label, named, notice, once, percent, waiting } from "./dom.js";
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
const UNANSWERED = "Nothing here answers this.";
const SURE = "How likely it is that anything that was read settles this, in the judgement of who read it";
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
    stop();
    if (q) find(q);
    else found.replaceChildren();
  }

  function find(q) {
    if (answers.has(q)) {
      end(q, answers.get(q));
      return;
    }
    found.setAttribute("aria-busy", "true");
    found.replaceChildren(waiting("Searching, reading, following links …", cancel));
    asking = api.ask(
      { query: q, limit: LIMIT },
      {
        hits(answer) {
          if (!answer.evidence.length) return; // nothing to show yet: go on waiting
          put(answer);
          say(`${count(answer.evidence.length, "search result")}, still being read.`);
        },
        reading: put,
        answer(answer) {
          answers.set(q, answer);
          end(q, answer);
        },
        error(error) {
          stop();
          asked = "";
          found.replaceChildren(notice(error.message, error.passing && (() => update({ q }))));
        },
      },
    );
  }
  function end(q, answer) {
    stop();
    put(answer);
    const [first] = answer.evidence;
    if (!first) say("Nothing found.");
    else if (!answer.answered) say(`${UNANSWERED} Nearest: ${first.sentence}`);
    else say(`${count(answer.evidence.length, "sentence")} found. First: ${first.sentence}`);
  }
  /** Show an answer in place of the one before; what was opened stays open, and the focus where it was. */
  function put(answer) {
    const focused = found.contains(document.activeElement) ? document.activeElement : null;
    const opened = new Map([...found.querySelectorAll(".evidence > li")].map((li) => [li.dataset.key, li]));
    found.replaceChildren(...show(answer, opened, cancel));
    if (focused) (focused.isConnected ? focused : found.firstChild).focus({ preventScroll: true });
  }
  function stop() {
    asking?.();
    asking = null;
    found.removeAttribute("aria-busy");
  }
  function cancel() {
    stop();
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
    leave: stop,
  };
}

/** An answer; `before` are the items shown so far, by what they say. */
function show(answer, before, cancel) {
  const final = answer.stage === "final";
  const head = h(
    "div",
    { class: "summary", tabindex: "-1" },
    h("div", null, final ? summary(answer) : underWay(answer, cancel)),
    answer.confidence === null ? null : confidence(answer.confidence),
  );
  if (!answer.evidence.length) return [notice("No block has any of these words: try others."), head];
  const first = final && answer.evidence.find((evidence) => evidence.path.length); // one path to see what they are
  const most = Math.max(...answer.evidence.map((evidence) => evidence.score), 1e-9);
  const unread = answer.stage === "search";
  return [
    head,
    h(
      "ol",
      { class: final ? "evidence" : "evidence unsettled" },
      answer.evidence.map((evidence) => {
        const worth = answer.confidence === null ? `score ${evidence.score.toFixed(2)}` : percent(evidence.score);
        return item(evidence, unread ? null : evidence.score / most, worth, evidence === first, before);
      }),
    ),
  ];
}

function summary(answer) {
  const took =
    answer.took < 1000 ? `${Math.round(answer.took)} ms` : `${(answer.took / 1000).toFixed(1)} s`;
  const walked = answer.evidence.filter((evidence) => evidence.path.length).length;
  return [
    answer.answered || !answer.evidence.length
      ? null
      : h("p", { class: "unanswered" }, h("strong", null, UNANSWERED), " These sentences come nearest."),
    h(
      "p",
      null,
      `${count(answer.blocks, "block")} read in ${took}`,
      answer.agent ? [", led by ", bdi(answer.agent)] : "",
      walked ? ` · ${count(walked, "sentence")} reached by clicking` : "",
    ),
  ];
}

/** What stands there while it is being read: nothing of it is said to be the answer yet. */
function underWay(answer, cancel) {
  return [
    h("span", { class: "dots", "aria-hidden": "true" }, h("i"), h("i"), h("i")),
    h(
      "p",
      null,
      answer.stage === "search"
        ? "Search results, still being read …"
        : `${count(answer.blocks, "block")} read so far, reading on …`,
    ),
    h("button", { type: "button", class: "quiet", onclick: cancel }, "Cancel"),
  ];
}

function confidence(chance) {
  const fill = h("span", { class: "fill" });
  fill.style.setProperty("--share", chance);
  return h(
    "span",
    {
      class: "score confidence",
      title: SURE,
      role: "meter",
      "aria-label": SURE,
      "aria-valuemin": "0",
      "aria-valuemax": "1",
      "aria-valuenow": chance.toFixed(2),
      "aria-valuetext": percent(chance),
    },
    h("span", { class: "track", "aria-hidden": "true" }, fill),
    `${percent(chance)} sure`,
  );
}

/** A sentence; its share of the best score, or null where nobody has read it yet, and that score in words. */
function item({ sentence, place, start, path }, share, worth, open, before) {
  const key = `${place.node} ${sentence}`;
  const fill = h("span", { class: "fill" });
  fill.style.setProperty("--share", Math.max(0, share ?? 0));
  const known = before.get(key);
  const around = known?.querySelector(".around") ?? h("div", { class: "around", hidden: true });
  const more = known?.querySelector(".origin > button") ?? h(
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
    { class: "panel", dataset: { key } },
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
        h("span", { class: "track", "aria-hidden": "true" }, share === null ? null : fill),
        share === null ? "not read yet" : worth,
      ),
    ),
    h("div", { class: "origin" }, source, more),
    around,
  );
}
