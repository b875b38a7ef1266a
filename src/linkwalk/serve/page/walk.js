// Walk: say where from and what to find, then watch an agent click.

import * as api from "./api.js";
import { map, WAYS } from "./art.js";
import { comparison } from "./compare.js";
import { address, arrow, bdi, count, fill, h, isolate, label, named, notice, once } from "./dom.js";
import { player } from "./player.js";
import { suggest } from "./suggest.js";

const EXAMPLES = [3, 5, 8]; // seeds of the pairs offered to begin with
const LEAST = 4; // clicks that a pair is apart

export function enter(root, { server, go, note, say, title }) {
  const agents = server.agents.map((agent) => agent.name);
  const lacks = server.missing?.navigate ?? server.missing?.policy;
  const usual = agents[0];
  let watching = null,
    watched = "",
    stop = () => {},
    values = {},
    examples = null;

  const from = suggest({ label: "From", name: "from", placeholder: "Where to start" });
  const to = suggest({ label: "To", name: "to", placeholder: "What to find" });
  const words = h("input", {
    id: "sentence",
    name: "sentence",
    type: "text",
    maxlength: "2000",
    dir: "auto",
    placeholder: "What to find, in words of your own",
    autocomplete: "off",
  });
  const sentence = h("div", { class: "field" }, h("label", { for: "sentence" }, "Towards a sentence"), words);
  const choice = (value, text) =>
    h(
      "label",
      null,
      h("input", { type: "radio", name: "goal", value, onchange: () => goalIs(value) }),
      h("span", null, text),
    );
  const kinds = h(
    "div",
    { class: "switch", role: "radiogroup", "aria-label": "The goal is" },
    choice("title", "An article"),
    choice("sentence", "A sentence"),
  );
  const agent = h(
    "select",
    { id: "agent", name: "agent" },
    server.agents.map(({ name, about }) => h("option", { value: name, title: about }, name)),
  );
  const about = h("p", { class: "about" });
  const budget = h("input", {
    id: "budget",
    type: "number",
    min: "1",
    max: String(server.budget ?? 1000),
    step: "1",
    inputmode: "numeric",
    placeholder: "100",
  });
  const seed = h("input", {
    id: "seed",
    type: "number",
    min: "0",
    step: "1",
    inputmode: "numeric",
    placeholder: "0",
  });
  const back = h("input", { id: "back", type: "checkbox" });
  const options = h(
    "button",
    { type: "button", class: "quiet unfolds", "aria-controls": "options", onclick: () => unfold(fields.hidden) },
    "Options",
  );
  const fields = h(
    "div",
    { class: "fields", id: "options" },
    h("div", { class: "field" }, h("label", { for: "budget" }, "Clicks at most"), budget),
    h("div", { class: "field" }, h("label", { for: "seed" }, "Seed"), seed),
    h("label", { class: "tick", for: "back" }, back, "May go back"),
  );
  unfold(false);
  const surprise = h("button", { type: "button", onclick: surpriseMe }, "Surprise me");
  const trouble = h("div", { class: "trouble" });
  const swap = h(
    "button",
    {
      type: "button",
      class: "swap",
      "aria-label": "Swap start and goal",
      title: "Swap start and goal",
      onclick: () => {
        [from.value, to.value] = [to.value, from.value];
      },
    },
    "⇄",
  );
  const asking = h("p", { class: "asking" }); // on a phone the form steps back behind this once a walk has begun
  const form = h(
    "form",
    { class: "panel ask-walk", "aria-label": "A walk", novalidate: true, onsubmit: submit },
    h(
      "div",
      { class: "ends" },
      from.element,
      swap,
      h("div", { class: "aim-field" }, to.element, sentence, kinds),
      h("div", { class: "field agent" }, h("label", { for: "agent" }, "Agent"), agent),
      h("button", { class: "primary", onclick: once }, "Walk"),
    ),
    h("div", { class: "under" }, about, options, surprise),
    fields,
    trouble,
    lacks ? notice(lacks) : null,
  );
  const intro = h(
    "div",
    { class: "intro" },
    h(
      "div",
      null,
      h("h1", null, "Watch an agent find its way by clicking links"),
      h(
        "p",
        null,
        "Name two articles. The agent starts at the first and looks for the second: ",
        "it reads one paragraph at a time, weighs the links in it, and clicks one.",
      ),
    ),
    map([WAYS.agent]),
  );
  const offered = h("section", { class: "offered", "aria-label": "Examples" });
  const arena = h("div", { class: "arena" });
  const beside = comparison({
    agents,
    say,
    onpick: (names) =>
      go({ view: "walk", ...asked(), step: values.step, trail: values.trail, compare: names.join(",") }),
  });
  root.append(intro, asking, form, offered, arena, beside.element);
  agent.addEventListener("change", tellAbout);
  const keys = (event) => {
    if (!event.defaultPrevented && !event.target.closest("input, select, textarea")) watching?.keys(event);
  };
  document.addEventListener("keydown", keys);

  function tellAbout() {
    about.textContent = server.agents.find(({ name }) => name === agent.value)?.about ?? "";
  }
  function unfold(open) {
    fields.hidden = !open;
    options.setAttribute("aria-expanded", String(open));
  }
  function goalIs(kind) {
    form.querySelector(".ends").classList.toggle("wordy", kind === "sentence");
    to.element.hidden = swap.hidden = kind === "sentence";
    sentence.hidden = kind !== "sentence";
    for (const radio of kinds.querySelectorAll("input")) radio.checked = radio.value === kind;
  }
  function submit(event) {
    event.preventDefault();
    const toSentence = !sentence.hidden;
    const lacks = !from.value
      ? [from.input, "Name an article to start from."]
      : toSentence
        ? !words.value.trim() && [words, "Write a sentence that says what to find."]
        : !to.value && [to.input, "Name an article to find, or give a sentence instead."];
    if (lacks) return wrong(lacks[1], lacks[0]);
    watched = ""; // the same walk again, from the start
    go({
      view: "walk",
      from: from.value,
      to: toSentence ? null : to.value,
      sentence: toSentence ? words.value.trim() : null,
      agent: agent.value === usual ? null : agent.value,
      budget: budget.value,
      back: back.checked ? 1 : null,
      seed: seed.value,
    });
    if (!watched) update(values); // the address was the same
    watching?.element.focus({ preventScroll: true }); // where the arrow keys step
  }
  /** Say what is wrong with the form, where it can be put right. */
  function wrong(message, field) {
    right();
    form.classList.add("open");
    asking.replaceChildren();
    trouble.replaceChildren(notice(message));
    field?.setAttribute("aria-invalid", "true");
    field?.focus();
  }
  function right() {
    trouble.replaceChildren();
    for (const field of form.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
  }
  async function surpriseMe() {
    surprise.disabled = true;
    try {
      const pair = await api.pair(Math.floor(Math.random() * 1e6), 3);
      go({
        view: "walk",
        from: named(pair.start),
        to: named(pair.goal),
        agent: agent.value === usual ? null : agent.value,
      });
    } catch (error) {
      trouble.replaceChildren(notice(error.message, error.passing && surpriseMe));
    }
    surprise.disabled = false;
  }

  function update(now) {
    values = now;
    right();
    const ready = now.from && (now.to || now.sentence);
    root.classList.toggle("begun", Boolean(ready));
    from.value = now.from ?? "";
    to.value = now.to ?? "";
    words.value = now.sentence ?? "";
    agent.value = agents.includes(now.agent) ? now.agent : usual;
    budget.value = now.budget ?? "";
    seed.value = now.seed ?? "";
    back.checked = now.back === "1";
    unfold(Boolean(now.budget || now.seed || now.back || (ready && !fields.hidden)));
    tellAbout();
    goalIs(now.sentence ? "sentence" : "title");
    form.classList.remove("open");
    if (ready) {
      fill(
        asking,
        h("span", null, bdi(now.from), arrow(), bdi(now.to ?? `“${now.sentence}”`)),
        h(
          "button",
          {
            type: "button",
            class: "quiet",
            onclick: () => {
              form.classList.add("open");
              asking.replaceChildren();
              from.input.focus();
            },
          },
          "Change",
        ),
      );
    }
    if (!ready) {
      stop();
      watching = null;
      watched = "";
      arena.replaceChildren();
      beside.clear();
      title("");
      offer();
      return;
    }
    offered.replaceChildren();
    title(`${isolate(now.from)} → ${isolate(now.to ?? now.sentence)}`);
    const key = JSON.stringify(asked());
    if (key !== watched) {
      watched = key;
      watch();
    } else if (now.step !== undefined) {
      watching?.seek(Number(now.step) || 0, now.trail);
    }
    drawBeside();
  }
  /** What stands in the address of this walk, whatever step is shown. */
  function asked() {
    const { from, to, sentence, agent, budget, back, seed } = values;
    return { from, to: sentence ? null : to, sentence, agent, budget, back, seed };
  }
  function request() {
    const { from, to, sentence, agent, budget, back, seed } = asked();
    return {
      start: from,
      goal: to || null,
      sentence: sentence || null,
      agent: agent || usual,
      budget: Number(budget) || null,
      back: back === "1",
      seed: Number(seed) || 0,
    };
  }

  async function watch() {
    stop();
    beside.clear();
    const mine = (watching = player({
      asked: { ...asked(), agent: values.agent || usual },
      say,
      oncancel: () => {
        forget();
        arena.replaceChildren();
        say("Cancelled.");
        form.querySelector(".primary").focus();
      },
      onmove: ({ trail, step }) => {
        if (watching !== mine) return;
        values = { ...values, step: String(step), trail: trail === "optimum" ? trail : null };
        note({ view: "walk", ...asked(), step, trail: values.trail, compare: values.compare });
        drawBeside();
      },
    }));
    const forget = () => {
      stop();
      watching = null;
      watched = "";
      beside.clear();
    };
    const failed = (error) => {
      if (watching !== mine || error.name === "AbortError") return;
      const again = error.passing && (() => update(values));
      if (mine.cut(error.message, again)) {
        watched = "";
        return;
      }
      forget();
      if (again) return arena.replaceChildren(notice(error.message, again));
      arena.replaceChildren();
      wrong(error.message, meant(error.message));
    };
    arena.replaceChildren(mine.element);
    if (values.step !== undefined) {
      const calling = new AbortController();
      stop = () => {
        calling.abort();
        mine.leave();
      };
      try {
        const whole = await api.walk(request(), calling.signal);
        mine.open(whole, Number(values.step) || 0, values.trail);
        drawBeside();
      } catch (error) {
        failed(error);
      }
      return;
    }
    const unfollow = api.follow(request(), { ...mine.feed, error: failed });
    stop = () => {
      unfollow();
      mine.leave();
    };
  }

  /** The field that a message speaks of, by the name that it quotes. */
  function meant(message) {
    const quotes = (text) => text && message.includes(`'${text}'`);
    return quotes(values.from) ? from.input : quotes(values.to) ? to.input : null;
  }

  /** Agents side by side, beneath a walk between two pages that has been seen. */
  function drawBeside() {
    if (!values.to || values.sentence || !watching) beside.clear();
    else if (values.compare || values.step !== undefined) beside.show(request(), values.compare);
  }

  // Something to begin with.
  async function offer() {
    try {
      examples ??= await Promise.all(EXAMPLES.map((number) => api.pair(number, LEAST)));
    } catch {
      return;
    }
    if (values.from && (values.to || values.sentence)) return;
    offered.replaceChildren(
      h("h2", null, "For example"),
      h(
        "ul",
        { class: "chips" },
        examples.map(({ start, goal, distance }) =>
          h(
            "li",
            null,
            h(
              "a",
              { class: "chip", href: address({ view: "walk", from: named(start), to: named(goal) }) },
              label(start),
              arrow(),
              label(goal),
              " ",
              h("span", { class: "hint" }, count(distance, "click")),
            ),
          ),
        ),
      ),
    );
  }

  return {
    update,
    leave() {
      stop();
      document.removeEventListener("keydown", keys);
    },
  };
}
