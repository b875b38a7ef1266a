// A field for a title with suggestions as one types: the ARIA pattern "editable combobox with list autocomplete".

import { titles } from "./api.js";
import { bdi, count, h, named } from "./dom.js";

const WAIT = 90; // ms after the last key: fewer questions than keys, no delay one feels

let made = 0;

/** Returns {element, input, value}; `label` is what the field is called. */
export function suggest({ label, name, placeholder, onpick = () => {} }) {
  const id = `suggest-${++made}`;
  const list = h("ul", {
    class: "options",
    role: "listbox",
    id: `${id}-list`,
    "aria-label": `${label}: titles`,
    hidden: true,
  });
  const input = h("input", {
    id,
    name,
    placeholder,
    type: "text",
    role: "combobox",
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    dir: "auto",
    "aria-autocomplete": "list",
    "aria-expanded": "false",
    "aria-controls": `${id}-list`,
  });
  const told = h("p", { class: "unseen", role: "status" }); // how many there are, for those who do not see the list
  const element = h("div", { class: "field combobox" }, h("label", { for: id }, label), input, list, told);
  let options = [],
    active = -1,
    timer = 0,
    asking = null;

  const close = () => {
    clearTimeout(timer);
    asking?.abort();
    list.hidden = true;
    told.textContent = "";
    active = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const mark = (at) => {
    active = at;
    [...list.children].forEach((option, i) => option.setAttribute("aria-selected", String(i === at)));
    if (at < 0) return input.removeAttribute("aria-activedescendant");
    input.setAttribute("aria-activedescendant", list.children[at].id);
    list.children[at].scrollIntoView({ block: "nearest" });
  };
  const pick = (place) => {
    input.value = named(place);
    close();
    onpick(place);
  };
  const show = (found) => {
    options = found;
    list.replaceChildren(
      ...found.map((place, i) =>
        h(
          "li",
          {
            role: "option",
            id: `${id}-${i}`,
            "aria-selected": "false",
            onmousedown: (event) => event.preventDefault(), // the field keeps the focus
            onclick: () => pick(place),
          },
          title(place, input.value),
          " ",
          h("span", { class: "hint" }, count(place.blocks, "block")),
        ),
      ),
    );
    if (!found.length)
      list.replaceChildren(
        h(
          "li",
          { class: "none", role: "option", "aria-disabled": "true", "aria-selected": "false" },
          "No title like that",
        ),
      );
    list.hidden = false;
    told.textContent = count(found.length, "title");
    active = -1;
    input.setAttribute("aria-expanded", "true");
  };
  const ask = async () => {
    asking?.abort();
    const words = input.value.trim();
    if (!words) return close();
    const mine = (asking = new AbortController());
    try {
      const answer = await titles(words, mine.signal);
      if (!mine.signal.aborted && document.activeElement === input) show(answer.titles);
    } catch {
      if (!mine.signal.aborted) close(); // suggestions are a help: what is wrong shows when one asks for real
    }
  };

  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(ask, WAIT);
  });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    const open = !list.hidden && options.length > 0;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (!open) return void ask();
      const step = event.key === "ArrowDown" ? 1 : -1;
      mark((active + step + options.length + (active < 0 && step < 0 ? 1 : 0)) % options.length);
    } else if (event.key === "Enter" && open && active >= 0) {
      event.preventDefault();
      pick(options[active]);
    } else if (event.key === "Escape" && !list.hidden) {
      event.preventDefault();
      close();
    } else if (event.key === "Tab" && open && active >= 0) {
      pick(options[active]);
    }
  });
  return {
    element,
    input,
    get value() {
      return input.value.trim();
    },
    set value(text) {
      input.value = text;
      close();
    },
  };
}

/** A title with the letters typed so far in bold, where they stand in it as they are. */
function title(place, typed) {
  const at = place.title.toLowerCase().indexOf(typed.trim().toLowerCase());
  const end = at + typed.trim().length;
  if (at < 0 || place.title.toLowerCase().length !== place.title.length) return bdi(place.title);
  const { title: text } = place;
  const found = bdi(text.slice(0, at));
  found.append(h("b", null, text.slice(at, end)), text.slice(end));
  return found;
}
