// The timeline: lanes of scopes over the steps of a trajectory, and the steps in view to be read.

import { ask, tell } from "./api.js";
import { button, counted, failed, fill, h, moment, notice } from "./dom.js";
import { ACT_KINDS, Lanes } from "./lanes.js";
import { actMark, actsMark, chipsOf, roleOf, timeOf, wordsOf } from "./shared.js";

const PAGE = 500; // steps that are asked for at once
const READ = 2000; // of more steps in view, acts and texts are not read
const LISTED = 60;

export function timelineView(app) {
  const lanes = new Lanes({
    moved: (from, to) => {
      moved(from, to);
    },
    chosen: (position) => {
      const step = lanes.steps.get(position);
      if (step) app.open(name, step.step);
      else openAt(position);
    },
    named: (scope) => {
      const found = lanes.byName.get(scope);
      focusOn(found);
    },
    describe: (position) => told(position),
    clock: (position) => clock(position),
  });
  const restyle = () => lanes.restyle();
  addEventListener("restyle", restyle);
  let name = null,
    listed = LISTED,
    timer = 0,
    loading = null,
    asked = "",
    clocks = new Map(),
    pages = new Set(),
    following = true;

  const range = h("span", { class: "range" });
  const hint = h("p", { class: "hint" });
  const steps = h("div", { class: "steps" });
  const query = h("input", {
    type: "search",
    name: "q",
    placeholder: "Ask this memory…",
    "aria-label": "Question",
    autocomplete: "off",
  });
  const follow = h("input", {
    type: "checkbox",
    id: "follow",
    checked: true,
    onchange: () => {
      following = follow.checked;
    },
  });
  const lit = h("p", { class: "lit-note", hidden: true });
  const chart = h(
    "section",
    { class: "card", "aria-label": "Scopes over steps" },
    h(
      "div",
      { class: "bar" },
      h("label", { class: "inline" }, "Trajectory ", app.picker),
      range,
      h("span", { class: "space" }),
      h("span", { class: "inline" }, follow, h("label", { for: "follow" }, "Follow new steps")),
      h(
        "span",
        { class: "group" },
        button("−", () => lanes.zoom(2), { "aria-label": "Zoom out" }),
        button("+", () => lanes.zoom(0.5), { "aria-label": "Zoom in" }),
        button("All", () => lanes.show(0, lanes.length)),
      ),
    ),
    lit,
    lanes.element,
    hint,
    legend(),
  );
  const body = h(
    "div",
    { class: "stack" },
    chart,
    h("section", { class: "card", "aria-label": "Steps in view" }, steps),
  );
  const element = h(
    "div",
    { class: "view" },
    h(
      "form",
      {
        class: "ask-bar",
        role: "search",
        onsubmit: (event) => {
          event.preventDefault();
          if (query.value.trim()) app.go({ q: query.value.trim() }, { view: "ask" });
        },
      },
      query,
      h("button", { class: "button primary" }, "Ask"),
    ),
    h("h1", { class: "unseen" }, "Timeline"),
    body,
  );

  async function open(wanted, params) {
    loading?.abort();
    loading = new AbortController();
    name = wanted.trajectory;
    lanes.length = 0;
    lanes.steps = new Map();
    lanes.hits = new Map();
    lanes.selected = null;
    clocks = new Map();
    pages = new Set();
    fill(steps, notice("loading", "Reading the steps…"));
    await refresh(params);
  }

  async function refresh(params = {}) {
    const found = await ask("timeline", { trajectory: name, steps: false }, loading.signal);
    if (found.trajectory !== name) return;
    lanes.set(found);
    if (params.from !== undefined) lanes.show(Number(params.from), Number(params.to ?? lanes.length), false);
    range.textContent = shown();
    read();
  }

  function shown() {
    const whole = lanes.to - lanes.from >= lanes.length;
    const text = whole
      ? counted(lanes.length, "step")
      : `steps ${Math.floor(lanes.from).toLocaleString("en")}–${(Math.ceil(lanes.to) - 1).toLocaleString("en")} of ${lanes.length.toLocaleString("en")}`;
    return lanes.scopes.length > 40
      ? `${text} · ${lanes.rows().length} of ${counted(lanes.scopes.length, "scope")} in view`
      : text;
  }

  function moved(from, to) {
    range.textContent = shown();
    clearTimeout(timer);
    timer = setTimeout(() => {
      const whole = to - from >= lanes.length;
      app.remember({ from: whole ? null : Math.round(from), to: whole ? null : Math.round(to) });
      read();
    }, 120);
  }

  // Read the steps in view, where they are few enough; of very many, a few for the clocks.
  async function read() {
    const first = Math.max(0, Math.floor(lanes.from)),
      last = Math.min(lanes.length, Math.ceil(lanes.to)),
      signal = loading.signal;
    const wide = last - first > READ;
    hint.textContent = wide ? "Zoom in to see what was done in each step: Ctrl and the wheel, +, or a click." : "";
    try {
      if (wide)
        await Promise.all(
          [0, 1, 2, 3, 4, 5].map((part) => readPage(first + Math.floor((part * (last - first)) / 6), 1, signal)),
        );
      else {
        const wanted = [];
        for (let page = Math.floor(first / PAGE); page * PAGE < last; page += 1)
          if (!pages.has(page)) wanted.push(page);
        await Promise.all(
          wanted.map(async (page) => {
            pages.add(page);
            await readPage(page * PAGE, PAGE, signal).catch((error) => {
              pages.delete(page);
              throw error;
            });
          }),
        );
      }
      listed = LISTED;
      list();
      choose(app.params);
    } catch (error) {
      if (error.name !== "AbortError") fill(steps, failed(error, read));
    }
  }

  async function readPage(start, limit, signal) {
    const found = await ask(
      "timeline",
      { trajectory: name, scopes: false, limit, after: start ? start - 1 : undefined },
      signal,
    );
    for (const step of found.steps) {
      if (limit > 1) lanes.steps.set(step.position, step);
      clocks.set(step.position, step.happened ?? step.recorded);
    }
    lanes.draw();
  }

  // Frame the step that is open beside the lanes.
  function choose(params) {
    if (!params.step) {
      if (lanes.selected !== null) lanes.select(null);
      return;
    }
    if (params.in !== name || lanes.steps.get(lanes.selected)?.step === params.step) return;
    for (const step of lanes.steps.values()) if (step.step === params.step) lanes.select(step.position);
  }

  function clock(position) {
    let when = clocks.get(position);
    if (when === undefined && lanes.to - lanes.from > READ) {
      // the nearest that is known says it roughly
      let near = Infinity;
      for (const [place, known] of clocks)
        if (Math.abs(place - position) < near) {
          near = Math.abs(place - position);
          when = known;
        }
      if (near > (lanes.to - lanes.from) / 8) return ["", ""];
    }
    return when === undefined ? ["", ""] : dayAndTime(when);
  }

  function told(position) {
    const step = lanes.steps.get(position),
      scope = lanes.scopeAt(position);
    if (!step) return `Step ${position}${scope ? `: ${scope}` : ""}`;
    const acts = [...step.event_types, ...step.entity_types.map((each) => `[${each}]`)].join(", ");
    const text = wordsOf(step);
    return `Step ${position}, ${step.role}: ${scope || "no scope"}\n${acts}\n${text.length > 240 ? `${text.slice(0, 240)}…` : text}`;
  }

  async function openAt(position) {
    const found = await ask("timeline", {
      trajectory: name,
      scopes: false,
      limit: 1,
      after: position ? position - 1 : undefined,
    });
    if (found.steps[0]) app.open(name, found.steps[0].step);
  }

  function focusOn(scope) {
    if (!scope) return;
    const first = scope.spans[0][0],
      last = scope.spans[scope.spans.length - 1][1] + 1,
      room = Math.max(2, (last - first) * 0.06);
    lanes.show(first - room, last + room);
    lanes.select(first);
  }

  // The steps in view as they are read, by the stretches of their scopes.
  function list() {
    const first = Math.max(0, Math.floor(lanes.from)),
      last = Math.min(lanes.length, Math.ceil(lanes.to));
    if (!lanes.length) {
      fill(steps, notice("empty", "No steps yet", "They appear here as they come in."));
      return;
    }
    if (last - first > READ) {
      fill(
        steps,
        notice("empty", `${counted(last - first, "step")} in view`, "Zoom in, or click into a lane, to read them."),
      );
      return;
    }
    const rows = [];
    let group = null,
      items = null,
      count = 0,
      day = "";
    for (let position = first; position < last && count < listed; position += 1) {
      const step = lanes.steps.get(position);
      if (!step) continue;
      count += 1;
      if (!items || step.scope !== group) {
        group = step.scope;
        items = h("ol", { class: "step-list" });
        rows.push(h("section", { class: "stretch" }, heading(step), items));
      }
      const [date, time] = dayAndTime(step.happened ?? step.recorded);
      items.append(row(step, date === day ? time : `${date} ${time}`));
      day = date;
    }
    fill(
      steps,
      rows,
      last - first > count
        ? button(
            `Show more of ${counted(last - first - count, "further step")}`,
            () => {
              listed += LISTED * 2;
              list();
            },
            { class: "button more" },
          )
        : null,
    );
  }

  function heading(step) {
    const scope = lanes.byName.get(step.scope);
    if (!scope) return h("h2", { class: "stretch-name" }, step.scope || "without a scope yet");
    const number = scope.spans.findIndex(([first, last]) => first <= step.position && step.position <= last);
    const before = number > 0 ? step.position - scope.spans[number - 1][1] - 1 : 0;
    const swatch = h("span", { class: "swatch" });
    swatch.style.background = `var(--lane-${scope.color})`;
    return h(
      "h2",
      { class: "stretch-name" },
      swatch,
      scope.name,
      number > 0 && before > 0
        ? h("span", { class: "resumed" }, `taken up again after ${counted(before, "step")}`)
        : null,
    );
  }

  function row(step, when) {
    const rank = lanes.hits.get(step.position);
    const text = wordsOf(step);
    return h(
      "li",
      { class: `step-row${rank ? " lit" : ""}${step.state === "retired" ? " retired" : ""}` },
      h(
        "button",
        {
          type: "button",
          class: "step-open",
          "data-step": step.step,
          onclick: (event) => {
            app.returnTo = event.currentTarget;
            lanes.select(step.position);
            app.open(name, step.step);
          },
        },
        h("span", { class: "step-number" }, step.position),
        h(
          "span",
          { class: "step-body" },
          h(
            "span",
            { class: "step-meta" },
            actsMark(step),
            roleOf(step.role),
            chipsOf(step),
            step.state === "stored" ? null : h("span", { class: `state ${step.state}` }, step.state),
            rank ? h("span", { class: "rank" }, `hit ${rank}`) : null,
          ),
          h("span", { class: "step-text" }, text.length > 600 ? `${text.slice(0, 600)}…` : text || "(no words)"),
        ),
        h("time", { class: "step-time", title: timeOf(step) }, when),
      ),
    );
  }

  // Light the hits of a question, where the address has one.
  async function light(params) {
    const wanted = params.q ? JSON.stringify([params.q, name]) : "";
    if (wanted === asked) return;
    asked = wanted;
    query.value = params.q || "";
    lanes.hits = new Map();
    lit.hidden = !params.q;
    if (params.q) {
      const found = await tell("search", { query: params.q, trajectory: name, k: 10 }).catch(() => null);
      if (wanted !== asked) return;
      for (const hit of found?.hits || []) lanes.hits.set(hit.position, hit.rank);
      fill(
        lit,
        h("span", { class: "rank" }, "lit"),
        ` ${counted(lanes.hits.size, "step")} for “${params.q}” `,
        h("a", { href: app.href("ask", { q: params.q, trajectory: name }) }, "Why these?"),
        " ",
        button("Put out", () => app.go({ q: null }), { class: "quiet" }),
      );
    }
    lanes.draw();
    list();
  }

  return {
    element,
    async update(params) {
      const wanted = app.trajectory();
      if (!wanted) {
        fill(
          body,
          notice(
            "empty",
            "This memory is empty",
            "Store something, and it appears here: stitch ingest FILE --memory DIR",
          ),
        );
        return;
      }
      if (params.trajectory && wanted.trajectory !== params.trajectory) {
        fill(
          body,
          notice(
            "gone",
            `There is no trajectory “${params.trajectory}” any more`,
            "It was erased, or never was.",
            h("a", { href: "#/timeline" }, "Show what there is"),
          ),
        );
        name = null;
        return;
      }
      if (!chart.isConnected) fill(body, chart, h("section", { class: "card", "aria-label": "Steps in view" }, steps));
      app.pickTrajectory(wanted.trajectory);
      try {
        if (name !== wanted.trajectory) {
          asked = "";
          await open(wanted, params);
        } else if (
          params.from !== undefined &&
          (Math.round(lanes.from) !== Number(params.from) || Math.round(lanes.to) !== Number(params.to))
        )
          lanes.show(Number(params.from), Number(params.to), false);
        await light(params);
      } catch (error) {
        if (error.name !== "AbortError")
          fill(
            steps,
            failed(error, () => {
              name = null;
              this.update(params);
            }),
          );
      }
      choose(params);
    },
    async changed(events) {
      if (!name) {
        this.update(app.params);
        return;
      }
      app.pickTrajectory(name);
      if (!app.trajectories.some((each) => each.trajectory === name)) {
        this.update({ ...app.params, trajectory: name });
        return;
      }
      if (!events.some((event) => !event.trajectory || event.trajectory === name)) return;
      const window = [lanes.from, lanes.to],
        whole = lanes.to - lanes.from >= lanes.length;
      pages = new Set();
      if (events.some((event) => event.name === "erased")) lanes.steps = new Map();
      await refresh().catch(() => {});
      if (!following && !whole) lanes.show(...window, false);
    },
    close() {
      loading?.abort();
      removeEventListener("restyle", restyle);
    },
  };
}

function dayAndTime(when) {
  const date = typeof when === "number" ? new Date(when * 1000) : new Date(when);
  if (Number.isNaN(date.getTime())) return [String(when ?? "").slice(0, 20), ""];
  return [date.toLocaleDateString([], { month: "short", day: "numeric" }), moment(when, { short: true })];
}

function legend() {
  const item = (sign, text) => h("li", {}, sign, text);
  return h(
    "details",
    { class: "legend" },
    h("summary", {}, "How to read it, and keys"),
    h(
      "ul",
      { class: "legend-list" },
      item(h("span", { class: "sign pursued", "aria-hidden": "true" }), "pursued"),
      item(h("span", { class: "sign waiting", "aria-hidden": "true" }), "waits while others come between"),
      item(h("span", { class: "sign resumed-sign", "aria-hidden": "true" }), "taken up again"),
      ACT_KINDS.map(([kind, text]) => item(actMark(kind), text.toLowerCase())),
    ),
    h(
      "p",
      { class: "hint" },
      "Drag to pan; Ctrl and the wheel, or two fingers, zoom. With the lanes focused: ← → go from step to step, ↑ ↓ to where the same scope was before or is taken up next, Shift and ← → pan, + and − zoom, 0 shows all, n and p go through lit steps, Enter opens a step. / asks.",
    ),
  );
}
