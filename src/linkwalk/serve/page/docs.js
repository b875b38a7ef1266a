// The API's page, drawn from the description that the server gives of itself. Everything is set as text.

const here = document.getElementById("main");

function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.filter((child) => child != null));
  return element;
}

const shown = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));
const pre = (value) => make("pre", { tabindex: "0" }, shown(value));
/** Prose with `code` and ``code`` in it. */
const prose = (text) => (text ?? "").split(/`+/).map((part, i) => (i % 2 ? make("code", {}, part) : part));
const followed = (all, schema) => (schema?.$ref ? all.components.schemas[schema.$ref.split("/").pop()] : schema);

/** A schema in a few words: "string, 1 to 300 characters", "integer from 1 to 20". */
function words(schema) {
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.split("/").pop();
  const any = schema.anyOf || schema.oneOf;
  if (any && !schema.properties) return any.map(words).join(" or ");
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(", ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.type === "array") {
    const most = schema.maxItems === undefined ? "" : `, at most ${schema.maxItems}`;
    return `list of ${words(schema.items) || "anything"}${most}`;
  }
  const low = schema.minimum ?? schema.minLength, high = schema.maximum ?? schema.maxLength;
  const unit = schema.type === "string" && (low !== undefined || high !== undefined) ? " characters" : "";
  const range = low !== undefined && high !== undefined ? `, ${low} to ${high}`
    : low !== undefined ? `, from ${low}` : high !== undefined ? `, at most ${high}` : "";
  return `${schema.type ?? "anything"}${range}${unit}`;
}

function table(heads, rows) {
  const head = make("tr", {}, ...heads.map((text) => make("th", { scope: "col" }, text)));
  const body = rows.map((cells) => make("tr", {}, ...cells.map((cell) => make("td", {}, cell))));
  return make("div", { class: "table" }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)));
}

function parameters(list) {
  return table(["Name", "Type", "What"], list.map(({ name, schema, required, description }) => [
    make("code", {}, name),
    words(schema) + (required ? "" : ", may be left out"),
    (description ?? "") + (schema.default == null ? "" : ` [${schema.default}]`),
  ]));
}

function fields(schema) {
  return parameters(Object.entries(schema.properties ?? {}).map(([name, one]) =>
    ({ name, schema: one, required: schema.required?.includes(name), description: one.description })));
}

const content = (answer) => Object.entries(answer?.content ?? {})[0] ?? [];
const example = (media, schema) => media?.example ?? schema?.examples?.[0];

/** A form that sends the request; where the answer is a stream of events, they are shown as they come. */
function trial(path, verb, operation, body) {
  const inputs = new Map();
  const form = make("form", { class: "trial" });
  for (const one of operation.parameters ?? []) {
    const id = `${operation.operationId}-${one.name}`;
    const value = one.example ?? one.schema.examples?.[0] ?? "";
    const input = make("input", { type: "text", id, value: String(value) });
    if (one.required) input.required = true;
    inputs.set(one, input);
    form.append(make("div", { class: "row" }, make("label", { for: id }, one.name), input));
  }
  let text = null;
  if (body !== undefined) {
    const id = `${operation.operationId}-body`;
    text = make("textarea", { id, spellcheck: "false" }, shown(body));
    form.append(make("label", { for: id }, "Body"), text);
  }
  const status = make("p", { class: "answer", role: "status" });
  const output = make("pre", { tabindex: "0", hidden: "" });
  form.append(make("button", { type: "submit" }, "Send"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    let address = path;
    const query = new URLSearchParams();
    for (const [one, input] of inputs) {
      if (input.value === "") continue;
      if (one.in === "path") address = address.replace(`{${one.name}}`, encodeURIComponent(input.value));
      else query.append(one.name, input.value);
    }
    const url = address.slice(1) + (String(query) ? `?${query}` : "");
    status.textContent = "…";
    output.hidden = true;
    try {
      const sent = text === null ? {} : { body: text.value, headers: { "content-type": "application/json" } };
      const began = performance.now();
      const answer = await fetch(url, { method: verb.toUpperCase(), ...sent });
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let all = "";
      for (let part = await reader.read(); !part.done; part = await reader.read()) all += part.value;
      status.textContent = `${answer.status} ${answer.statusText}, ${Math.round(performance.now() - began)} ms: ${verb.toUpperCase()} /${url}`;
      output.textContent = (answer.headers.get("content-type") ?? "").includes("json") ? shown(JSON.parse(all)) : all;
      output.hidden = false;
    } catch (error) {
      status.textContent = `No answer: ${error.message}`;
    }
  });
  return make("details", {}, make("summary", {}, "Try it"), form, status, output);
}

function endpoint(all, path, verb, operation) {
  const wanted = content(operation.requestBody)[1];
  const schema = followed(all, wanted?.schema);
  const body = wanted && example(wanted, schema);
  const [kind, good] = content(operation.responses["200"]);
  const bad = Object.entries(operation.responses).filter(([status]) => status !== "200");
  const model = followed(all, good?.schema);
  const sample = example(good, model);
  return make("article", { id: operation.operationId },
    make("h3", {}, make("span", { class: "verb" }, verb.toUpperCase()), path),
    make("p", {}, ...prose(operation.description ?? operation.summary)),
    operation.parameters?.length ? make("h4", {}, "Parameters") : null,
    operation.parameters?.length ? parameters(operation.parameters) : null,
    schema ? make("h4", {}, "Body") : null,
    schema ? make("p", {}, ...prose(schema.description)) : null,
    schema ? fields(schema) : null,
    make("h4", {}, "Answer"),
    make("p", {}, ...prose(`${model?.description ?? operation.responses["200"].description} (${kind})`)),
    model?.properties ? fields(model) : null,
    sample === undefined ? null : make("details", {}, make("summary", {}, "Example"), pre(sample)),
    make("details", {}, make("summary", {}, "Errors"),
      table(["Status", "Type", "When"], bad.map(([status, answer]) =>
        [status, content(answer)[1]?.example?.error.type ?? "", answer.description]))),
    trial(path, verb, operation, body),
  );
}

async function draw() {
  const all = await (await fetch("openapi.json")).json();
  const groups = new Map();
  for (const [path, verbs] of Object.entries(all.paths)) {
    for (const [verb, operation] of Object.entries(verbs)) {
      const group = operation.tags?.[0] ?? "other";
      if (!groups.has(group)) groups.set(group, []);
      groups.get(group).push([path, verb, operation]);
    }
  }
  const nav = make("nav", { "aria-label": "Endpoints" });
  const folded = make("details", { class: "toc" }, make("summary", {}, "Endpoints"), nav);
  folded.open = matchMedia("(min-width: 52rem)").matches;
  const body = make("div", {});
  const header = make("header", {}, make("h1", {}, "HTTP API"),
    ...all.info.description.split("\n\n").map((text) => make("p", {}, ...prose(text))),
    make("p", {}, `linkwalk ${all.info.version}`));
  for (const [group, list] of groups) {
    nav.append(make("h2", {}, group));
    for (const [path, verb, operation] of list) {
      nav.append(make("a", { href: `#${operation.operationId}` }, `${verb.toUpperCase()} ${path}`));
      body.append(endpoint(all, path, verb, operation));
    }
  }
  const schemas = Object.entries(all.components.schemas);
  nav.append(make("h2", {}, "schemas"));
  const shapes = make("article", { id: "schemas" }, make("h3", {}, "Schemas"));
  nav.append(make("a", { href: "#schemas" }, `All ${schemas.length}`));
  for (const [name, schema] of schemas) {
    shapes.append(make("details", { id: `schema-${name}` }, make("summary", {}, name),
      make("p", {}, ...prose(schema.description)), schema.properties ? fields(schema) : pre(schema)));
  }
  body.append(shapes);
  here.replaceChildren(header, folded, body);
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

draw().catch((error) => here.replaceChildren(make("p", { class: "notice" }, `The API's description did not load: ${error.message}`)));
