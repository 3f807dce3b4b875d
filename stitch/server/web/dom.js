// Elements made of plain values. Text only ever becomes a text node: nothing that a step says is read as HTML.

export function h(tag, given = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled" || name === "open") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

export function fill(element, ...children) {
  element.replaceChildren(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

export function button(text, act, given = {}) {
  return h("button", { type: "button", class: "button", onclick: act, ...given }, text);
}

// A field with its label above it.
export function field(label, input, hint) {
  const id = input.id || `field-${++fields}`;
  input.id = id;
  return h(
    "div",
    { class: "field" },
    h("label", { for: id }, label),
    input,
    hint ? h("p", { class: "hint" }, hint) : null,
  );
}
let fields = 0;

export function choice(options, value, act, given = {}) {
  return h(
    "select",
    { onchange: (event) => act(event.target.value), ...given },
    options.map(([name, text]) => h("option", { value: name, selected: name === value }, text)),
  );
}

// What stands where nothing is: empty, loading, failed and gone look alike and say what to do next.
export function notice(kind, title, text, ...acts) {
  return h(
    "div",
    { class: `notice ${kind}`, role: kind === "failed" ? "alert" : undefined },
    h("p", { class: "notice-title" }, title),
    text ? h("p", {}, text) : null,
    acts.length ? h("p", { class: "acts" }, acts) : null,
  );
}

// A table that can be broader than the window.
export function tableBox(name, ...parts) {
  return h(
    "div",
    { class: "scroll-x", tabindex: "0", role: "region", "aria-label": name },
    h("table", { class: "wide" }, parts),
  );
}

export function failed(error, again) {
  return notice("failed", error.message, error.hint, again ? button("Try again", again) : null);
}

export function counted(number, word, plural = `${word}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? word : plural}`;
}

// A long name with its middle left out; beginnings and ends tell runs apart.
export function shortened(name, most = 40) {
  return name.length <= most ? name : `${name.slice(0, most / 2 - 1)}…${name.slice(-most / 2)}`;
}

// A moment as somebody reads it: Unix seconds, or the text of its source.
export function moment(when, { short = false } = {}) {
  if (when === null || when === undefined || when === "") return "";
  const date = typeof when === "number" ? new Date(when * 1000) : new Date(when);
  if (Number.isNaN(date.getTime())) return String(when);
  return short
    ? date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })
    : date.toLocaleString([], { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
}

let speaker;
// Tell people who do not see the page what has changed on it.
export function say(text) {
  if (!speaker) document.body.append((speaker = h("div", { class: "unseen", "aria-live": "polite" })));
  speaker.textContent = text;
}

let toasts;
// A short message at the edge, with a way back where there is one.
export function toast(text, undo) {
  if (!toasts) document.body.append((toasts = h("div", { class: "toasts", role: "status" })));
  const shown = h(
    "div",
    { class: "toast" },
    h("span", {}, text),
    undo
      ? button("Undo", () => {
          shown.remove();
          undo();
        })
      : null,
    h("button", { type: "button", class: "quiet", "aria-label": "Dismiss", onclick: () => shown.remove() }, "×"),
  );
  toasts.append(shown);
  if (!undo) setTimeout(() => shown.remove(), 6000);
}

// A question before something that cannot be taken back; resolves to whether it is to be done.
export function confirmed({ title, body, act, danger = false }) {
  return new Promise((resolve) => {
    const dialog = h(
      "dialog",
      { "aria-labelledby": "confirm-title" },
      h("h2", { id: "confirm-title" }, title),
      body,
      h(
        "p",
        { class: "acts" },
        button("Cancel", () => dialog.close()),
        button(
          act,
          () => {
            dialog.returnValue = "yes";
            dialog.close("yes");
          },
          { class: danger ? "button danger" : "button primary" },
        ),
      ),
    );
    dialog.addEventListener("close", () => {
      resolve(dialog.returnValue === "yes");
      dialog.remove();
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
