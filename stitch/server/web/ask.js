// A question: the labels that it asks for, the steps that answer it and why, and the context as a prompt would get it.

import { ask, tell } from "./api.js";
import { button, choice, counted, failed, field, fill, h, notice, say, shortened } from "./dom.js";
import { hitOf } from "./hits.js";
import { KINDS, chip } from "./shared.js";

const BUDGET = 2000,
  K = 10;
const LENSES = [
  ["", "labels (default)"],
  ["hybrid", "words and meaning alone"],
  ["dense", "meaning alone"],
  ["lexical", "words alone"],
  ["themes", "themes"],
  ["auto", "as the question asks"],
];
const RANKINGS = [
  ["", "automatic"],
  ["strict", "density first"],
  ["weighed", "weighed"],
];
const KIND_OF = { scopes: "scope", event_types: "event_type", entity_types: "entity_type" };

export function askView(app) {
  let last = "",
    running = null,
    results = [];
  const query = h("input", {
    type: "search",
    name: "q",
    "aria-label": "Question",
    placeholder: "Ask this memory…",
    autocomplete: "off",
  });
  const settings = h("div", { class: "settings" });
  const answer = h("div", { class: "answers" });
  const element = h(
    "div",
    { class: "view" },
    h("h1", { class: "unseen" }, "Ask"),
    h(
      "form",
      {
        class: "ask-bar",
        role: "search",
        onsubmit: (event) => {
          event.preventDefault();
          app.go({ q: query.value.trim(), filter: null, filter2: null, why: null });
        },
      },
      query,
      h("button", { class: "button primary" }, "Ask"),
    ),
    settings,
    answer,
  );

  function drawSettings(params) {
    const set = (name) => (value) => app.go({ [name]: value || null });
    const trajectories = [["", "all"], ...app.trajectoryOptions()];
    fill(
      settings,
      h(
        "div",
        { class: "bar wrap" },
        h("label", { class: "inline" }, "In ", choice(trajectories, params.trajectory || "", set("trajectory"))),
        params.beside ? null : lensOf(params, "", set),
        h(
          "label",
          { class: "inline" },
          "Hits ",
          h("input", {
            type: "number",
            min: "1",
            max: "200",
            value: params.k || K,
            class: "short",
            onchange: (event) => set("k")(event.target.value),
          }),
        ),
        h(
          "label",
          { class: "inline" },
          "As of ",
          h("input", {
            type: "datetime-local",
            value: params.at || "",
            onchange: (event) => set("at")(event.target.value),
          }),
        ),
        h("span", { class: "space" }),
        button(
          params.beside ? "One answer" : "Compare settings",
          () => app.go({ beside: params.beside ? null : "1", ranking2: null, lens2: null, filter2: null }),
          { "aria-pressed": params.beside ? "true" : "false" },
        ),
      ),
    );
  }

  function lensOf(params, side, set) {
    return [
      h("label", { class: "inline" }, "By ", choice(LENSES, params[`lens${side}`] || "", set(`lens${side}`))),
      h(
        "label",
        { class: "inline" },
        "Order ",
        choice(RANKINGS, params[`ranking${side}`] || "", set(`ranking${side}`)),
      ),
    ];
  }

  function requestOf(params, side) {
    return {
      query: params.q,
      trajectory: params.trajectory,
      k: Number(params.k || K),
      budget_tokens: Number(params.budget || BUDGET),
      as_of: params.at ? new Date(params.at).toISOString() : undefined,
      retriever: params[`lens${side}`] || undefined,
      ranking: params[`ranking${side}`] || undefined,
      intent_filter: params[`filter${side}`] ? JSON.parse(params[`filter${side}`]) : undefined,
    };
  }

  async function run(params) {
    running?.abort();
    running = new AbortController();
    const signal = running.signal,
      sides = params.beside ? ["", "2"] : [""];
    answer.setAttribute("aria-busy", "true");
    if (!answer.querySelector(".answer")) fill(answer, notice("loading", "Looking for it…"));
    try {
      results = await Promise.all(sides.map((side) => tell("search", requestOf(params, side), signal)));
      draw(params, sides);
      say(`${counted(results[0].hits.length, "hit")}, ${results[0].context_tokens} tokens`);
    } catch (error) {
      if (error.name !== "AbortError")
        fill(
          answer,
          failed(error, () => run(params)),
        );
    } finally {
      answer.removeAttribute("aria-busy");
    }
  }

  function draw(params, sides) {
    answer.classList.toggle("two", sides.length === 2);
    fill(
      answer,
      sides.map((side, number) => answerOf(params, side, results[number], results[1 - number])),
    );
  }

  function answerOf(params, side, found, other) {
    const set = (name) => (value) => app.go({ [name]: value || null });
    const ranks = other ? new Map(other.hits.map((hit) => [`${hit.trajectory}\t${hit.step}`, hit.rank])) : null;
    return h(
      "section",
      { class: "answer", "aria-label": side ? "Second answer" : "Answer" },
      other ? h("div", { class: "bar" }, h("strong", {}, side ? "Second" : "First"), lensOf(params, side, set)) : null,
      labelsAsked(params, side, found),
      h(
        "div",
        { class: "columns" },
        h(
          "section",
          { class: "card hits", "aria-label": named("Hits", side) },
          h(
            "h2",
            {},
            found.hits.length ? counted(found.hits.length, "hit") : "No hits",
            h(
              "span",
              { class: "aside" },
              `ordered by ${found.decided_by} · ${found.milliseconds.toFixed(0)} ms`,
              found.relevance === null
                ? ""
                : ` · ${Math.round(found.relevance * 100)} % sure that something here bears on it`,
            ),
          ),
          found.hits.length
            ? h(
                "ol",
                { class: "hit-list" },
                found.hits.map((hit) => hitOf(app, hit, found, ranks)),
              )
            : notice(
                "empty",
                "Nothing in this memory bears on it",
                "Ask in other words, remove a label, or search all trajectories.",
              ),
          litLinks(params, found),
        ),
        h("div", { class: "stack" }, contextOf(params, side, found), side ? null : whyNot(params, found)),
      ),
    );
  }

  const named = (text, side) => (side ? `${text}, second answer` : text);

  // Links to the timelines on which the hits stand.
  function litLinks(params, found) {
    const names = [...new Set(found.hits.map((hit) => hit.trajectory))];
    return names.length
      ? h(
          "p",
          { class: "hint" },
          "See them on the timeline of ",
          names.map((name, number) => [
            number ? ", " : "",
            h("a", { href: app.href("timeline", { trajectory: name, q: params.q }) }, shortened(name)),
          ]),
        )
      : null;
  }

  function labelsAsked(params, side, found) {
    const own = found.filter,
      manual = Boolean(params[`filter${side}`]);
    const now = { scopes: own.scopes || [], event_types: own.event_types || [], entity_types: own.entity_types || [] };
    const change = (filter) => app.go({ [`filter${side}`]: filter ? JSON.stringify(filter) : null });
    const chips = Object.entries(KIND_OF).flatMap(([name, kind]) =>
      now[name].map((value) =>
        chip(kind, value, {
          remove: () => change({ ...own, ...now, [name]: now[name].filter((each) => each !== value) }),
          title: reasonFor(found, value),
        }),
      ),
    );
    const reasons = found.reasons.length
      ? h(
          "ul",
          { class: "reasons" },
          found.reasons.map((each) => h("li", {}, each)),
        )
      : null;
    const adder = h(
      "span",
      { class: "inline" },
      button(
        "+ label",
        async (event) => {
          const place = event.currentTarget.parentElement;
          const known = await ask("labels", { trajectory: params.trajectory, limit: 1000 });
          const values = [
            ...known.scopes.map((each) => ["scopes", each.name]),
            ...Object.keys(known.event_types).map((each) => ["event_types", each]),
            ...Object.keys(known.entity_types).map((each) => ["entity_types", each]),
          ];
          const select = h(
            "select",
            {
              "aria-label": "Add a label",
              onchange: () => {
                const [name, value] = JSON.parse(select.value);
                change({ ...own, ...now, [name]: [...new Set([...now[name], value])] });
              },
            },
            h("option", { value: "" }, "choose a label…"),
            Object.entries(KIND_OF).map(([name, kind]) =>
              h(
                "optgroup",
                { label: KINDS[kind] },
                [...new Set(values.filter(([each]) => each === name).map(([, value]) => value))].map((value) =>
                  h("option", { value: JSON.stringify([name, value]) }, value),
                ),
              ),
            ),
          );
          fill(place, select);
          select.focus();
        },
        { class: "button small" },
      ),
    );
    return h(
      "section",
      { class: "asked", "aria-label": named("Labels of the question", side) },
      h(
        "div",
        { class: "chips" },
        h("span", { class: "asked-title" }, manual ? "Your labels" : "It asks for"),
        chips.length ? chips : h("span", { class: "hint" }, "no label by name"),
        adder,
        manual ? button("As the memory reads it", () => change(null), { class: "button small" }) : null,
      ),
      reasons,
    );
  }

  function reasonFor(found, value) {
    return found.reasons.find((each) => each.includes(value)) || "";
  }

  function contextOf(params, side, found) {
    const budget = Number(params.budget || BUDGET),
      output = h("output", {}, `${found.context_tokens.toLocaleString("en")} of ${budget.toLocaleString("en")} tokens`);
    const meter = h("span", { class: "meter", "aria-hidden": "true" }, h("span"));
    meter.firstChild.style.width = `${Math.min(100, (found.context_tokens / budget) * 100)}%`;
    const slider = h("input", {
      type: "range",
      min: "50",
      max: "8000",
      step: "50",
      value: budget,
      "aria-label": "Budget of the context in tokens",
      oninput: () => {
        output.textContent = `up to ${Number(slider.value).toLocaleString("en")} tokens`;
      },
      onchange: () => app.go({ budget: slider.value }, { replace: true }),
    });
    return h(
      "section",
      { class: "card context", "aria-label": named("Context", side) },
      h("h2", {}, "Context as sent", " ", h("span", { class: "aside" }, output)),
      slider,
      meter,
      found.context
        ? h("pre", { class: "context-text", tabindex: "0" }, found.context)
        : notice("empty", "Nothing would be sent", ""),
      found.context
        ? h(
            "p",
            { class: "acts" },
            button(
              "Copy",
              (event) => {
                navigator.clipboard?.writeText(found.context);
                event.target.textContent = "Copied";
              },
              { class: "button small" },
            ),
          )
        : null,
    );
  }

  function whyNot(params, found) {
    const told = h("div", { "aria-live": "polite" });
    const input = h("input", { value: params.why || "", placeholder: "its number, or the beginning of its id" });
    const where = params.trajectory || found.hits[0]?.trajectory || app.trajectory()?.trajectory;
    const place = choice(app.trajectoryOptions(), params.whyin || where, (value) =>
      app.go({ whyin: value }, { replace: true }),
    );
    const explain = async () => {
      try {
        const why = await tell("why", {
          query: params.q,
          step: params.why,
          trajectory: params.whyin || where,
          k: Number(params.k || K),
          as_of: params.at ? new Date(params.at).toISOString() : undefined,
          ranking: params.ranking || undefined,
          whole: true,
        });
        const change = why.ranked?.change,
          wanted = change && applied(found.filter, change);
        fill(
          told,
          h(
            "p",
            {},
            h(
              "strong",
              {},
              why.found
                ? `It is a hit, at rank ${why.ranked?.rank}.`
                : why.ranked
                  ? `Not a hit: rank ${why.ranked.rank} of ${why.ranked.of}.`
                  : "Not ranked at all.",
            ),
          ),
          h(
            "ul",
            {},
            why.explanation.map((each) => h("li", {}, each)),
          ),
          h(
            "p",
            { class: "acts" },
            button("Open the step", () => app.open(why.trajectory, why.step), { class: "button small" }),
            wanted && !why.found
              ? button("Ask with the filter that admits it", () => app.go({ filter: JSON.stringify(wanted) }), {
                  class: "button small",
                })
              : null,
          ),
        );
      } catch (error) {
        fill(told, failed(error));
      }
    };
    if (params.why) explain();
    return h(
      "section",
      { class: "card", "aria-label": "Why not" },
      h("h2", {}, "Why not this step?"),
      h(
        "form",
        {
          class: "why",
          onsubmit: (event) => {
            event.preventDefault();
            app.go({ why: input.value.trim(), whyin: place.value }, { replace: true });
          },
        },
        field("Trajectory", place),
        field("Step", input),
        h("button", { class: "button" }, "Explain"),
      ),
      told,
    );
  }

  function applied(own, change) {
    const next = {};
    for (const [name, kind] of Object.entries(KIND_OF)) {
      const dropped = new Set(change.drop[kind] || []);
      next[name] = [
        ...new Set([...((own || {})[name] || []).filter((each) => !dropped.has(each)), ...(change.add[kind] || [])]),
      ];
    }
    return { ...own, ...next };
  }

  function examples() {
    return notice(
      "empty",
      "Ask what happened",
      "The memory reads from a question what it was for, what was done and which details matter, and finds the steps that share this. It needs no model.",
    );
  }

  return {
    element,
    update(params) {
      if (document.activeElement !== query) query.value = params.q || "";
      drawSettings(params);
      const { in: _, step: __, ...own } = params;
      const state = JSON.stringify(own);
      if (state === last) return;
      last = state;
      if (params.q) run(params);
      else {
        fill(answer, examples());
        query.focus();
      }
    },
    changed() {
      const writing = answer.querySelector("input:focus, select:focus"); // what is typed or chosen there stays
      if (app.params.q && !writing && !document.querySelector("dialog[open]")) run(app.params);
    },
    close() {
      running?.abort();
    },
  };
}
