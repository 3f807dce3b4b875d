// The field for a path query, with completion from the types and fields of a tree.

import { fill, h } from "./dom.js";

const WORDS = ['node ~= ""', "some(/", "every(/", "not(", "count(/", "last()"];

export function pathField(typesOf) {
  const query = h("input", {
    class: "path",
    type: "text",
    role: "combobox",
    "aria-label": "Path query",
    "aria-autocomplete": "list",
    "aria-expanded": "false",
    "aria-controls": "completions",
    placeholder: '//Stop[node ~= "outdoors"]',
    autocomplete: "off",
    spellcheck: "false",
  });
  const options = h("ul", {
    class: "completions",
    id: "completions",
    role: "listbox",
    "aria-label": "Completions",
    hidden: true,
  });

  // What may stand at the end of what is typed so far: types behind a slash, fields behind an @, words in a bracket.
  function suggested() {
    const typed = query.value.slice(0, query.selectionStart),
      types = typesOf();
    const [, sign, begun] = /(\/|@|\[|\()\s*([\w-]*)$/.exec(typed) || [];
    if (!sign) return [];
    const inside = [...typed.matchAll(/[/(]\s*(\w+)/g)]
      .map((match) => match[1])
      .reverse()
      .find((name) => types[name]);
    const fields = inside
      ? Object.keys(types[inside].fields || {})
      : [...new Set(Object.values(types).flatMap((each) => Object.keys(each.fields || {})))];
    const known = {
      "/": Object.keys(types),
      "@": fields,
      "[": [...fields.map((each) => `@${each}`), ...WORDS],
      "(": [],
    }[sign];
    return known
      .filter((each) => each.replace("@", "").toLowerCase().startsWith(begun.toLowerCase()) && each !== begun)
      .map((each) => [each, begun])
      .slice(0, 12);
  }

  let active = -1;
  function complete(found) {
    active = -1;
    options.hidden = !found.length;
    query.setAttribute("aria-expanded", String(found.length > 0));
    query.removeAttribute("aria-activedescendant");
    fill(
      options,
      found.map(([word, begun], number) =>
        h(
          "li",
          {
            role: "option",
            id: `completion-${number}`,
            "aria-selected": "false",
            onpointerdown: (event) => {
              event.preventDefault();
              take(word, begun);
            },
          },
          word,
        ),
      ),
    );
  }

  function take(word, begun) {
    const at = query.selectionStart,
      head = query.value.slice(0, at - begun.length) + word;
    query.value = head + query.value.slice(at);
    const cursor = word.endsWith('""') ? head.length - 1 : head.length;
    query.setSelectionRange(cursor, cursor);
    complete([]);
  }

  query.addEventListener("input", () => complete(suggested()));
  query.addEventListener("blur", () => complete([]));
  query.addEventListener("keydown", (event) => {
    const items = [...options.children];
    if (options.hidden) {
      if (event.key === "ArrowDown") complete(suggested());
      return;
    }
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      active = (active + (event.key === "ArrowDown" ? 1 : items.length - 1 + (active < 0 ? 1 : 0))) % items.length;
      items.forEach((item, number) => item.setAttribute("aria-selected", String(number === active)));
      query.setAttribute("aria-activedescendant", items[active].id);
      items[active].scrollIntoView({ block: "nearest" });
    } else if ((event.key === "Enter" || event.key === "Tab") && active >= 0) {
      event.preventDefault();
      const [word, begun] = suggested()[active];
      take(word, begun);
    } else if (event.key === "Escape") {
      event.stopPropagation();
      complete([]);
    }
  });

  return { query, options, close: () => complete([]) };
}
