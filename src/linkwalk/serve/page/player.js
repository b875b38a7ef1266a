// Watching a walk: the page, the links weighed, the one clicked, the trail. Live or replayed, at the eye's pace.

import { block } from "./api.js";
import { icon } from "./art.js";
import { card, clickedOn } from "./card.js";
import {
  address,
  bdi,
  count,
  fill,
  h,
  isolate,
  kept,
  label,
  move,
  named,
  notice,
  percent,
  waiting,
} from "./dom.js";
import { how, line, pages } from "./trail.js";

const READ = 1500,
  DECIDE = 1200; // ms at speed 1: to see the page and what was weighed; to see what was clicked
const SPEEDS = [0.5, 1, 2, 4];
const BESIDE = { prev: "before", next: "after", back: "back", contents: "contents", backlink: "links here" };

/**
 * A player over a walk {start, goal, sentence, steps, over, optimum}: `feed` adds to it as it comes in.
 * `asked` is what stands in the address; `onmove({trail, step})` is told where it rests, `oncancel()` that nobody
 * wants to wait any longer.
 */
export function player({ asked, say, onmove, oncancel }) {
  const walk = { start: null, goal: null, sentence: null, steps: [], over: false, optimum: null, end: null };
  let trail = "agent",
    at = 0,
    playing = true,
    decided = false,
    timer = 0,
    revealed = false,
    left = false,
    toEnd = false, // at the end asked for, which may be still to come
    shownKey = "",
    arriving = null; // the page on its way here
  let speed = SPEEDS.includes(Number(kept.get("speed"))) ? Number(kept.get("speed")) : 1;

  const headline = h("h2", { class: "verdict" }, "On the way …");
  const controls = {};
  const control = (name, words, act, [key, sign]) =>
    (controls[name] = h(
      "button",
      {
        type: "button",
        class: "control",
        "aria-label": words,
        "aria-keyshortcuts": key,
        title: `${words} (${sign})`,
        onclick: act,
      },
      icon(name),
    ));
  const rate = h(
    "select",
    {
      class: "rate",
      "aria-label": "Speed",
      onchange: () => {
        speed = Number(rate.value);
        kept.set("speed", speed);
        if (playing) next();
      },
    },
    SPEEDS.map((value) =>
      h("option", { value: String(value), ...(value === speed ? { selected: true } : {}) }, `${value}×`),
    ),
  );
  const counter = h("span", { class: "counter" });
  const bar = h(
    "div",
    { class: "controls", role: "group", "aria-label": "Replay" },
    control("first", "First page", () => seek(0), ["Home", "Home"]),
    control("before", "Step back", () => seek(at - 1), ["ArrowLeft", "←"]),
    control("play", "Play", () => toggle(), ["Space", "space bar"]),
    control("after", "Step on", () => seek(at + 1), ["ArrowRight", "→"]),
    control("last", "To the end", () => seek(Infinity), ["End", "End"]),
    counter,
    rate,
  );
  const own = line({ name: "The agent's trail", kind: "own", onpick: (i) => seek(i, "agent") });
  const best = line({ name: "The shortest path", kind: "best", onpick: (i) => seek(i, "optimum") });
  const later = h("p", { class: "later" }, "shown when the walk is over"); // its place is kept: nothing moves then
  const bestRow = h(
    "div",
    { class: "row", hidden: true },
    h("p", { class: "rowname" }, "Shortest path"),
    later,
    best.element,
  );
  best.element.hidden = true;
  const trails = h(
    "section",
    { class: "panel trails", "aria-label": "Trail" },
    h("div", { class: "trailhead" }, headline, bar),
    h("div", { class: "row" }, h("p", { class: "rowname" }, bdi(asked.agent)), own.element),
    bestRow,
  );
  const stage = h("div", { class: "page" }, waiting("The agent sets out …", oncancel));
  const aim = h("section", { class: "panel aim", "aria-label": "Goal" });
  const weighed = h("section", { class: "panel weighed", "aria-label": "Links weighed" });
  const element = h(
    "div",
    { class: "player", tabindex: "-1" },
    trails,
    h("div", { class: "stage" }, stage, h("div", { class: "side" }, weighed, aim)),
  );
  trails.hidden = weighed.hidden = aim.hidden = true; // until there is something in them

  const steps = () => (trail === "agent" ? walk.steps : (walk.optimum ?? []));
  const atEnd = () => at >= steps().length && (trail === "optimum" || walk.over);

  function toggle() {
    if (playing) return pause();
    if (atEnd()) {
      at = 0;
      decided = false;
    }
    playing = true;
    toEnd = false;
    draw().then(onward);
  }
  function pause() {
    playing = false;
    clearTimeout(timer);
    draw();
    rest();
  }
  function seek(to, on = trail) {
    clearTimeout(timer);
    playing = false;
    trail = on === "optimum" && walk.optimum ? "optimum" : "agent";
    toEnd = to === Infinity && !walk.over;
    at = Math.min(Math.max(0, to), steps().length);
    decided = true;
    draw();
    rest();
  }
  const rest = () => onmove({ trail, step: at });

  /** What happens after what is shown now: the link lights up, or the next page comes. */
  function next() {
    clearTimeout(timer);
    if (!playing || !walk.start || left) return;
    if (at < steps().length) {
      timer = setTimeout(
        () => {
          if (decided) {
            at += 1;
            decided = false;
          } else decided = true;
          draw().then(onward);
        },
        (decided ? DECIDE : READ) / speed,
      );
    } else if (atEnd()) {
      playing = false;
      draw();
      rest();
    }
  }

  const onward = (drawn) => drawn && next();

  /** Draw what is to be seen now; false where there is something else to be seen before it has come. */
  async function draw() {
    if (!walk.start) return false;
    drawTrails();
    drawControls();
    const key = `${trail}/${at}`,
      before = Number(shownKey.split("/")[1] ?? 0);
    if (key !== shownKey) {
      shownKey = key;
      arriving = turn(key, before);
    }
    await arriving;
    if (shownKey !== key || left) return false;
    decide(steps()[at] ?? null);
    return true;
  }

  /** Turn to the page that the walk is at; a page that is slow to come is waited for. */
  async function turn(key, before) {
    const clicks = steps(),
      place = at ? clicks[at - 1].to : walk.start,
      late = setTimeout(() => stage.classList.add("late"), 400);
    let found, wrong;
    try {
      found = await block(place.node);
    } catch (error) {
      wrong = error;
    }
    clearTimeout(late);
    if (shownKey !== key || left) return; // moved on in the meantime
    stage.classList.remove("late");
    if (wrong) {
      shownKey = "";
      playing = false; // the walk stands where the page is missing
      drawControls();
      stage.replaceChildren(notice(wrong.message, draw));
      return;
    }
    const drawn = card(found, (other) => ({
      href: address({ view: "walk", ...asked, from: named(other), step: null, trail: null, compare: null }),
      title: "Walk from there instead",
    }));
    if (isGoal(place)) drawn.classList.add("reached");
    stage.replaceChildren(drawn);
    if (before !== at)
      move(drawn, [
        { opacity: 0, transform: `translateX(${at > before ? 48 : -48}px)` },
        { opacity: 1, transform: "none" },
      ]);
    aim.hidden = isGoal(place);
    const click = clicks[at] ?? null; // which may have come in while the page was fetched
    drawWeighed(click);
    announce(place, clicks);
    if (click) block(click.to.node).catch(() => {});
  }

  const isGoal = (place) => place.node === (walk.goal ?? (walk.over ? walk.end?.closest?.place : null))?.node;

  /** Light up the link that was clicked, on the page and among the links weighed. */
  function decide(click) {
    const drawn = stage.querySelector(".card");
    if (!drawn || !click || !decided) return;
    const link = clickedOn(drawn, click);
    if (link && !link.classList.contains("chosen")) {
      link.classList.add("chosen");
      link.setAttribute("aria-current", "true");
      const box = link.getBoundingClientRect();
      if (playing && (box.top < 0 || box.bottom > innerHeight))
        link.scrollIntoView({ block: "center", behavior: "smooth" });
    }
    weighed.classList.add("decided");
  }

  function drawWeighed(click) {
    weighed.classList.remove("decided");
    if (!click && walk.over && walk.steps.length && trail === "agent") return drawClicks();
    if (!click || trail === "optimum") {
      weighed.hidden = true;
      if (!click && !walk.over && trail === "agent") {
        weighed.hidden = false;
        fill(weighed, h("h3", null, "Links weighed"), waiting("Thinking …", oncancel));
      }
      if (trail === "optimum" && click) {
        weighed.hidden = false;
        weighed.replaceChildren(
          h("h3", null, "Shortest path"),
          h(
            "p",
            { class: "soft" },
            `Click ${at + 1} of ${count(steps().length, "click")}: `,
            how(click),
            " leads to ",
            label(click.to),
            ".",
          ),
        );
      }
      return;
    }
    weighed.hidden = false;
    const rest = 1 - click.choices.reduce((sum, choice) => sum + choice.probability, 0);
    const bars = click.choices.map((choice) => {
      const fill = h("span", { class: "fill" });
      fill.style.setProperty("--share", choice.probability);
      return h(
        "li",
        { class: choice.taken ? "taken" : null },
        h(
          "span",
          { class: "what" },
          label(choice),
          choice.kind in BESIDE ? h("span", { class: "tag" }, BESIDE[choice.kind]) : null,
          choice.seen ? h("span", { class: "tag" }, "seen") : null,
          choice.taken ? h("span", { class: "unseen" }, "(clicked)") : null,
          choice.towards ? h("span", { class: "soft towards" }, "on the way to ", bdi(choice.towards)) : null,
        ),
        h("span", { class: "chance" }, percent(choice.probability)),
        h("span", { class: "track", "aria-hidden": "true" }, fill),
      );
    });
    fill(
      weighed,
      h("h3", null, "Links weighed"),
      bars.length
        ? h("ol", { class: "bars" }, bars)
        : h("p", { class: "soft" }, "This agent does not say what it weighs."),
      click.others
        ? h(
            "p",
            { class: "soft more" },
            `${count(click.others, "more link")}, ${percent(Math.max(0, rest))} together`,
          )
        : null,
    );
  }

  /** At the end: how sure the agent was of each click. */
  function drawClicks() {
    weighed.hidden = false;
    fill(
      weighed,
      h("h3", null, "Every click, and how likely it was"),
      h(
        "ol",
        { class: "bars all", tabindex: "0", "aria-label": "Every click" },
        walk.steps.map((click, i) => {
          const share = h("span", { class: "fill" });
          share.style.setProperty("--share", click.probability ?? 0);
          return h(
            "li",
            null,
            h(
              "button",
              { type: "button", class: "what", onclick: () => seek(i, "agent") },
              label(click.to),
              h("span", { class: "soft" }, how(click)),
            ),
            h("span", { class: "chance" }, click.probability === null ? "" : percent(click.probability)),
            h("span", { class: "track", "aria-hidden": "true" }, share),
          );
        }),
      ),
    );
  }

  function announce(place, clicks) {
    if (!at) return say(`Start: ${isolate(named(place))}.`);
    const click = clicks[at - 1];
    const chance = trail === "agent" && click.probability !== null ? `, ${percent(click.probability)}` : "";
    const which = trail === "agent" ? "Click" : "Shortest path, click";
    const goal = isGoal(place) ? " That is the goal." : "";
    say(`${which} ${at}: ${how(click)}${chance}, to ${isolate(named(place))}.${goal}`);
  }

  function drawTrails() {
    trails.style.setProperty(
      "--stops",
      Math.max(revealed ? walk.steps.length + 1 : at + 2, (revealed && walk.optimum?.length + 1) || 0, 6),
    );
    const seen =
      trail === "agent" && !revealed
        ? pages(walk.start, walk.steps.slice(0, at))
        : pages(walk.start, walk.steps);
    const done = walk.over && (trail === "optimum" || at >= walk.steps.length);
    if (done && !revealed) reveal();
    own.show(revealed ? pages(walk.start, walk.steps) : seen, {
      goal: walk.goal ? bdi(walk.goal.title) : revealed ? null : "?",
      found: revealed ? foundAt() : -1,
    });
    own.mark(trail === "agent" ? at : -1);
    best.mark(trail === "optimum" ? at : -1);
    if (!revealed) headline.textContent = at ? `${count(at, "click")} so far` : "Setting out";
  }

  /** Which stop is the goal, or the closest to the sentence; -1 where there is none. */
  const foundAt = () =>
    walk.end.success
      ? walk.steps.length
      : pages(walk.start, walk.steps).findIndex((place) => place.node === walk.end.closest?.place.node);

  /** The end: what came of it, and beside it the shortest path. */
  function reveal() {
    revealed = true;
    const { success, distance, trapped, ways } = walk.end,
      made = count(walk.steps.length, "click");
    if (success === null || success === undefined) {
      headline.replaceChildren(
        `Closest page in ${made}: `,
        walk.end.closest
          ? h(
              "button",
              { type: "button", class: "inline", onclick: () => seek(foundAt(), "agent") },
              label(walk.end.closest.place),
            )
          : "none",
      );
    } else if (success) {
      headline.replaceChildren(
        h("b", null, `Found in ${made}.`),
        ` ${walk.steps.length === distance ? "No path is shorter." : `The shortest path has ${distance}.`}`,
      );
    } else {
      headline.replaceChildren(
        h(
          "b",
          null,
          trapped ? `All that can be reached was seen after ${made}.` : `Not found within ${made}.`,
        ),
        trapped && !ways.back ? " With “May go back” (Options) it would go on." : "",
        ` The shortest path has ${distance}.`,
      );
    }
    if (walk.optimum?.length) {
      const shared = new Set(pages(walk.start, walk.steps).map((place) => place.node));
      later.remove();
      bestRow.hidden = best.element.hidden = false;
      best.show(pages(walk.start, walk.optimum), { found: walk.optimum.length, shared });
      move(
        best.element,
        [
          { opacity: 0, transform: "translateX(-24px)" },
          { opacity: 1, transform: "none" },
        ],
        { duration: 500 },
      );
    } else bestRow.hidden = true;
    say(headline.textContent);
  }

  function drawControls() {
    const { play, first, before, after, last } = controls;
    fill(play, icon(playing ? "pause" : atEnd() ? "again" : "play"));
    const words = playing ? "Pause" : atEnd() ? "Replay" : "Play";
    play.setAttribute("aria-label", words);
    play.title = `${words} (space bar)`;
    counter.textContent = walk.over && revealed ? `${at} / ${steps().length}` : String(at);
    // Not `disabled`, which would take the focus from the one who steps with this button.
    for (const one of [first, before]) one.setAttribute("aria-disabled", String(at === 0));
    for (const one of [after, last]) one.setAttribute("aria-disabled", String(at >= steps().length));
  }

  async function drawAim() {
    trails.hidden = aim.hidden = false;
    if (walk.sentence) {
      aim.replaceChildren(
        h("h3", null, "Looking for"),
        h("p", { class: "quote", dir: "auto" }, walk.sentence),
      );
      return;
    }
    const name = h("p", { class: "name" }, label(walk.goal)),
      text = h("p", { class: "excerpt", dir: "auto" });
    aim.replaceChildren(h("h3", null, "Looking for"), name, text);
    try {
      text.textContent = (await block(walk.goal.node)).segments.map((segment) => segment.text).join("");
    } catch {
      /* the name says enough */
    }
  }

  /** Arrow keys step, Home and End go to the ends, the space bar plays. */
  function keys(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || !walk.start) return;
    const jump = {
      ArrowRight: () => seek(at + 1),
      ArrowLeft: () => seek(at - 1),
      Home: () => seek(0),
      End: () => seek(Infinity),
    }[event.key];
    if (jump) {
      event.preventDefault();
      jump();
    } else if (event.key === " " && !event.target.matches("button, a, summary")) {
      event.preventDefault();
      toggle();
    }
  }

  return {
    element,
    keys,
    seek,
    feed: {
      start(found) {
        Object.assign(walk, {
          start: found.start,
          goal: found.goal ?? null,
          sentence: found.sentence ?? null,
        });
        bestRow.hidden = !walk.goal;
        drawAim();
        draw().then(onward);
      },
      click(click) {
        walk.steps.push(click);
        if (toEnd) {
          at = walk.steps.length;
          draw();
        } else if (at === walk.steps.length - 1 && trail === "agent") {
          drawWeighed(click);
          draw().then(onward);
        }
        drawControls();
      },
      end(end) {
        Object.assign(walk, { over: true, end, optimum: end.optimum ?? null });
        draw().then(onward);
        if (toEnd) rest();
        toEnd = false;
      },
    },
    /** Show a whole walk at a step, at rest. */
    open(whole, step, on) {
      Object.assign(walk, {
        start: whole.start,
        goal: whole.goal,
        sentence: whole.sentence,
        steps: whole.steps,
        over: true,
        end: whole,
        optimum: whole.optimum,
      });
      drawAim();
      playing = false;
      decided = true;
      reveal();
      trail = on === "optimum" && walk.optimum ? "optimum" : "agent";
      at = Math.min(Math.max(0, step), steps().length);
      draw();
    },
    /** Nothing more will come: keep what there is, and say so; false where there is nothing yet. */
    cut(message, retry) {
      if (!walk.start) return false;
      playing = false;
      clearTimeout(timer);
      weighed.hidden = !walk.steps[at];
      element.prepend(notice(message, retry));
      drawControls();
      return true;
    },
    leave() {
      clearTimeout(timer);
      playing = false;
      left = true;
    },
  };
}
