// What a memory is about: themes, the statements in them, and down to the steps that say them.

import { all, ask } from "./api.js";
import { counted, failed, fill, h, moment, notice, shortened } from "./dom.js";

export function themesView(app) {
  let last = null,
    running = null;
  const list = h("div", { class: "stack" });
  const whole = h("div", { class: "stack" });
  const element = h(
    "div",
    { class: "view" },
    h("h1", {}, "Themes"),
    h("p", { class: "hint" }, "Statements of all trajectories that are about one thing, found without a model."),
    h("div", { class: "pair wide-right" }, list, whole),
  );

  async function load(params) {
    running?.abort();
    running = new AbortController();
    const signal = running.signal;
    if (!list.firstChild) fill(list, notice("loading", "Reading the themes…"));
    try {
      const themes = await all("themes", "themes", {}, signal);
      if (!themes.length) {
        fill(list, notice("empty", "No themes yet", "They form as steps come in that say something."));
        fill(whole);
        return;
      }
      const chosen = params.theme || themes[0].id;
      fill(
        list,
        h(
          "nav",
          { class: "card", "aria-label": "Themes" },
          h(
            "ul",
            { class: "plain picks" },
            themes.map((theme) =>
              h(
                "li",
                {},
                h(
                  "a",
                  {
                    href: app.href("themes", { theme: theme.id }),
                    "aria-current": theme.id === chosen ? "true" : undefined,
                  },
                  h("span", {}, theme.name),
                  " ",
                  h("span", { class: "aside" }, theme.statements.length),
                ),
              ),
            ),
          ),
        ),
      );
      whole.setAttribute("aria-busy", "true");
      const theme = await ask("theme", { theme: chosen }, signal);
      const episodes = await episodesOf(theme, signal);
      fill(whole, show(theme, episodes));
    } catch (error) {
      if (error.name === "AbortError") return;
      fill(
        params.theme ? whole : list,
        error.status === 400 || error.status === 422 || error.status === 404
          ? notice("gone", "This theme is gone", error.message, h("a", { href: "#/themes" }, "Show all"))
          : failed(error, () => load(params)),
      );
    } finally {
      if (signal === running.signal) whole.removeAttribute("aria-busy");
    }
  }

  async function episodesOf(theme, signal) {
    const wanted = [...new Set(theme.statements.map((each) => each.episode))].slice(0, 40);
    const found = await Promise.all(wanted.map((episode) => ask("episodes", { episode }, signal)));
    return new Map(found.flatMap((each) => each.episodes).map((each) => [each.id, each]));
  }

  function show(theme, episodes) {
    const groups = new Map();
    for (const each of theme.statements) groups.set(each.episode, [...(groups.get(each.episode) || []), each]);
    return h(
      "section",
      { class: "card", "aria-label": "Theme" },
      h("h2", {}, theme.name),
      h("p", { class: "hint" }, theme.terms.join(", ")),
      [...groups].map(([id, statements]) => {
        const episode = episodes.get(id);
        return h(
          "section",
          { class: "stretch" },
          h(
            "h3",
            {},
            episode
              ? `${shortened(episode.trajectory)}: ${episode.scope || "no scope"} · ${counted(episode.steps.length, "step")} · ${moment(episode.started_at)}`
              : statements[0].trajectory,
          ),
          h(
            "ul",
            { class: "plain" },
            statements.map((each) =>
              h(
                "li",
                { class: "statement" },
                h("p", { class: "step-text" }, each.text),
                h(
                  "p",
                  { class: "facts" },
                  [each.speaker, moment(each.said_at)].filter(Boolean).join(" · "),
                  " · ",
                  each.steps.map((step) =>
                    h(
                      "button",
                      {
                        type: "button",
                        class: "link",
                        onclick: (event) => {
                          app.returnTo = event.currentTarget;
                          app.open(each.trajectory, step);
                        },
                      },
                      `step ${step}`,
                    ),
                  ),
                  each.superseded_by ? h("span", { class: "superseded" }, " told otherwise later") : null,
                ),
              ),
            ),
          ),
        );
      }),
      theme.neighbors.length
        ? h(
            "div",
            {},
            h("h3", {}, "Near it"),
            h(
              "ul",
              { class: "plain" },
              theme.neighbors
                .slice(0, 6)
                .map((each) =>
                  h(
                    "li",
                    {},
                    h("a", { href: app.href("themes", { theme: each.id }) }, each.name),
                    " ",
                    h("span", { class: "aside" }, each.similarity.toFixed(2)),
                  ),
                ),
            ),
          )
        : null,
    );
  }

  return {
    element,
    update(params) {
      const state = params.theme || "";
      if (state !== last) {
        last = state;
        load(params);
      }
    },
    changed() {
      load(app.params);
    },
    close() {
      running?.abort();
    },
  };
}
