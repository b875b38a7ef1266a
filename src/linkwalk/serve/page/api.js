// The server's JSON (see /docs): one function per endpoint, errors as one line a person can act on.

export class ApiError extends Error {
  constructor(type, message) {
    super(message);
    this.type = type;
  }
  /** Whether asking for the same once more may go better. */
  get passing() {
    return ["unreachable", "busy", "timeout", "internal"].includes(this.type);
  }
}

const UNREACHABLE = "The server does not answer. Is `linkwalk serve` still running?";

async function call(path, { body, signal } = {}) {
  let response, answer;
  try {
    response = await fetch(
      `api/v1/${path}`,
      body === undefined
        ? { signal }
        : {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify(body),
            signal,
          },
    );
    answer = await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(
      "unreachable",
      response ? `The server answered ${response.status} without JSON.` : UNREACHABLE,
    );
  }
  if (!response.ok) {
    const { type = "internal", message = `The server answered ${response.status}.` } = answer?.error ?? {};
    throw new ApiError(type, message);
  }
  const took = Number(/dur=([\d.]+)/.exec(response.headers.get("server-timing"))?.[1] ?? 0);
  Object.defineProperty(answer, "took", { value: took }); // ms of the server: to be read, no part of the answer
  return answer;
}

const query = (values) =>
  new URLSearchParams(
    Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== ""),
  ).toString();

export const health = () => call("health");
export const titles = (words, signal) => call(`titles?${query({ q: words, limit: 8 })}`, { signal });
export const pair = (seed, least = 2) => call(`pair?${query({ seed, least })}`);
export const walk = (asked, signal) => call("walk", { body: asked, signal });
export const compare = (asked, signal) => call("compare", { body: asked, signal });
export const find = (asked, signal) => call("find", { body: asked, signal });
export const graph = (signal) => call("graph", { signal });
export const saveRun = (run) => call("runs", { body: run });

const blocks = new Map();

/** A block with its links, by node number or by name; fetched once. */
export function block(which) {
  if (!blocks.has(which)) {
    if (blocks.size > 400) blocks.delete(blocks.keys().next().value);
    const path = typeof which === "number" ? `block/${which}` : `block?${query({ name: which })}`;
    const answer = call(path);
    blocks.set(which, answer);
    answer.then(
      (found) => blocks.set(found.place.node, answer),
      () => blocks.delete(which),
    );
  }
  return blocks.get(which);
}

/** Follow a walk click by click: `on.start`, `on.click`, `on.end`, `on.error`. Returns a function that stops it. */
export function follow(asked, on) {
  const source = new EventSource(`api/v1/walk/events?${query(asked)}`);
  const asking = new AbortController();
  let begun = false;
  const stop = () => {
    asking.abort();
    source.close();
  };
  for (const name of ["start", "click", "end"]) {
    source.addEventListener(name, (event) => {
      begun = true;
      if (name === "end") stop();
      on[name](JSON.parse(event.data));
    });
  }
  source.addEventListener("failure", (event) => {
    stop();
    const { type, message } = JSON.parse(event.data).error;
    on.error(new ApiError(type, message));
  });
  source.addEventListener("error", async () => {
    if (asking.signal.aborted) return;
    source.close(); // an EventSource would ask again for ever
    if (begun) {
      on.error(new ApiError("unreachable", "The connection broke off: this is not the whole walk."));
      return;
    }
    // The request itself was refused; ask in the way that says why.
    try {
      const whole = await walk(
        { ...asked, sentence: asked.sentence || null, goal: asked.goal || null },
        asking.signal,
      );
      on.start(whole);
      whole.steps.forEach(on.click);
      on.end(whole);
    } catch (error) {
      if (!asking.signal.aborted) on.error(error);
    }
  });
  return stop;
}

/**
 * What is found for a question, as soon as anything is: `on.hits`, then `on.reading` (after every wave of reading),
 * then `on.answer`; or `on.error`. Where no events come, the question is asked as a whole. Returns a function that
 * stops it.
 */
export function ask(asked, on) {
  const began = performance.now();
  const source = new EventSource(`api/v1/find/events?${query(asked)}`);
  const asking = new AbortController();
  const stop = () => {
    asking.abort();
    source.close();
  };
  for (const name of ["hits", "reading", "answer"]) {
    source.addEventListener(name, (event) => {
      const answer = JSON.parse(event.data);
      if (name === "answer") stop();
      Object.defineProperty(answer, "took", { value: performance.now() - began });
      on[name](answer);
    });
  }
  source.addEventListener("failure", (event) => {
    stop();
    const { type, message } = JSON.parse(event.data).error;
    on.error(new ApiError(type, message));
  });
  source.addEventListener("error", async () => {
    if (asking.signal.aborted) return;
    source.close(); // an EventSource would ask again for ever
    try {
      on.answer(await find(asked, asking.signal));
    } catch (error) {
      if (!asking.signal.aborted) on.error(error);
    }
  });
  return stop;
}
