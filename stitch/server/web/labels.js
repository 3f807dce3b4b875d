// The labels of a memory: how many steps carry each, where, what was merged; renamed, merged and taken apart here.

import { ask, tell } from "./api.js";
import {
  button,
  choice,
  confirmed,
  counted,
  failed,
  field,
  fill,
  h,
  notice,
  shortened,
  tableBox,
  toast,
} from "./dom.js";
import { chip, giveBack } from "./shared.js";
import { proofOf } from "./step.js";

const SHOWN = 300; // scopes, and merges at first
const PARTS = ["scopes", "event_types", "entity_types", "merges"];

export function labelsView(app) {
  let last = "",
    running = null,
    most = SHOWN,
    length = new Map();
  const bar = h("div", { class: "bar" });
  const body = h("div", { class: "stack" });
  const element = h("div", { class: "view" }, h("h1", {}, "Labels"), bar, body);

  async function load(params) {
    running?.abort();
    running = new AbortController();
    if (!body.firstChild) fill(body, notice("loading", "Counting labels…"));
    try {
      const found = { scopes: [], event_types: {}, entity_types: {}, merges: [] };
      let after;
      do {
        const page = await ask("labels", { trajectory: params.trajectory, limit: 1000, after }, running.signal);
        for (const name of PARTS) {
          if (Array.isArray(found[name])) found[name].push(...page[name]);
          else Object.assign(found[name], page[name]);
        }
        after = page.next;
      } while (after && found.merges.length <= most);
      length = new Map(app.trajectories.map((each) => [each.trajectory, each.steps]));
      draw(found, params);
    } catch (error) {
      if (error.name !== "AbortError")
        fill(
          body,
          failed(error, () => load(params)),
        );
    }
  }

  function draw(found, params) {
    fill(
      bar,
      h(
        "label",
        { class: "inline" },
        "In ",
        choice([["", "all trajectories"], ...app.trajectoryOptions()], params.trajectory || "", (value) =>
          app.go({ trajectory: value || null }),
        ),
      ),
    );
    if (!found.scopes.length && !Object.keys(found.event_types).length) {
      fill(body, notice("empty", "No labels yet", "They are made as steps come in."));
      return;
    }
    const shown = found.scopes.slice(0, SHOWN);
    fill(
      body,
      h(
        "section",
        { class: "card" },
        h("h2", {}, `What it was for `, " ", h("span", { class: "aside" }, counted(found.scopes.length, "scope"))),
        tableBox(
          "Scopes",
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              h("th", {}, "Scope"),
              h("th", {}, "Trajectory"),
              h("th", { class: "number" }, "Steps"),
              h("th", {}, "When"),
              h("th", {}, h("span", { class: "unseen" }, "Acts")),
            ),
          ),
          h(
            "tbody",
            {},
            shown.map((scope) => scopeRow(scope, found)),
          ),
        ),
        found.scopes.length > shown.length
          ? h(
              "p",
              { class: "hint" },
              `Those of most steps; ${counted(found.scopes.length - shown.length, "more")} are not shown. Choose a trajectory to see its own.`,
            )
          : null,
      ),
      h(
        "div",
        { class: "pair" },
        counts(
          "What was done",
          Object.entries(found.event_types).map(([name, count]) => [name, count, ""]),
          "event_type",
        ),
        counts(
          "What matters",
          Object.entries(found.entity_types).map(([name, { steps, values }]) => [
            name,
            steps,
            (values || []).slice(0, 5).join(", "),
          ]),
          "entity_type",
        ),
      ),
      merges(found),
    );
  }

  function scopeRow(scope, found) {
    const spans = `${scope.spans.length === 1 ? "once" : `${scope.spans.length} times`}: ${scope.spans
      .slice(0, 6)
      .map(([first, end]) => (first === end ? first : `${first}–${end}`))
      .join(", ")}${scope.spans.length > 6 ? "…" : ""}`;
    const [first] = scope.spans[0] || [0],
      end = (scope.spans[scope.spans.length - 1] || [0, 0])[1];
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, chip("scope", scope.name)),
      h("td", { title: scope.trajectory }, shortened(scope.trajectory, 24)),
      h("td", { class: "number" }, scope.steps.toLocaleString("en")),
      h("td", {}, strip(scope), h("span", { class: "hint" }, spans)),
      h(
        "td",
        { class: "row-acts" },
        h(
          "a",
          {
            class: "button small",
            href: app.href("timeline", { trajectory: scope.trajectory, from: Math.max(0, first - 2), to: end + 3 }),
          },
          "Show",
        ),
        button("Rename…", () => rename(scope, found), {
          class: "button small",
          "aria-label": `Rename or merge ${scope.name}`,
        }),
        button("Forget…", () => forget(scope), {
          class: "button small",
          "aria-label": `Retire or erase ${scope.name}`,
        }),
      ),
    );
  }

  function strip(scope) {
    const canvas = h("canvas", { class: "strip", width: "240", height: "16", "aria-hidden": "true" });
    requestAnimationFrame(() => {
      const context = canvas.getContext("2d"),
        style = getComputedStyle(canvas),
        scale = 240 / Math.max(1, length.get(scope.trajectory) || 1);
      context.fillStyle = style.getPropertyValue("--raised");
      context.fillRect(0, 6, 240, 4);
      context.fillStyle = style.getPropertyValue("--accent");
      for (const [first, end] of scope.spans)
        context.fillRect(first * scale, 2, Math.max(2, (end - first + 1) * scale), 12);
    });
    return canvas;
  }

  function counts(title, rows, kind) {
    const most = Math.max(1, ...rows.map(([, count]) => count));
    return h(
      "section",
      { class: "card" },
      h("h2", {}, title),
      rows.length
        ? tableBox(
            title,
            h("caption", { class: "unseen" }, title),
            h(
              "tbody",
              {},
              rows.map(([name, count, more]) => {
                const bar = h("span", { class: "count-bar", "aria-hidden": "true" });
                bar.style.width = `${(count / most) * 100}%`;
                return h(
                  "tr",
                  {},
                  h("th", { scope: "row" }, chip(kind, name), more ? h("span", { class: "hint" }, ` ${more}`) : null),
                  h("td", { class: "number" }, count.toLocaleString("en")),
                  h("td", { class: "count" }, bar),
                );
              }),
            ),
          )
        : notice("empty", "None", ""),
    );
  }

  function merges(found) {
    const rows = found.merges.slice(0, most);
    return h(
      "section",
      { class: "card" },
      h(
        "h2",
        {},
        "Merged ",
        " ",
        h("span", { class: "aside" }, "labels that read as another, because the labeler found that they mean the same"),
      ),
      rows.length
        ? tableBox(
            "Merges",
            h(
              "thead",
              {},
              h(
                "tr",
                {},
                h("th", {}, "Label"),
                h("th", {}, "reads as"),
                h("th", {}, "since step"),
                h("th", {}, h("span", { class: "unseen" }, "Acts")),
              ),
            ),
            h(
              "tbody",
              {},
              rows.map((merge) =>
                h(
                  "tr",
                  {},
                  h("td", {}, chip(merge.kind, merge.alias)),
                  h("td", {}, chip(merge.kind, merge.into)),
                  h("td", {}, merge.position ?? ""),
                  h(
                    "td",
                    { class: "row-acts" },
                    button("Take apart…", () => takeApart(merge), {
                      class: "button small",
                      "aria-label": `Take ${merge.alias} apart from ${merge.into}`,
                    }),
                  ),
                ),
              ),
            ),
          )
        : notice("empty", "Nothing was merged", ""),
      found.merges.length > rows.length
        ? button(
            "Show more",
            () => {
              most += 1000;
              load(app.params);
            },
            { class: "button more" },
          )
        : null,
    );
  }

  // Give the steps of a label another one; what they had can be given back, one step after the other.
  async function relabel(given, told) {
    try {
      const done = await tell("rename", given);
      toast(`${told}: ${counted(done.steps.length, "step")}.`, async () => {
        try {
          await giveBack(done);
          toast("Taken back.");
        } catch (error) {
          toast(error.message);
        }
        load(app.params);
      });
    } catch (error) {
      toast(`${error.message} ${error.hint || ""}`);
    }
    load(app.params);
  }

  async function rename(scope, found) {
    const own = found.scopes.filter((each) => each.trajectory === scope.trajectory && each.name !== scope.name);
    const name = h("input", { value: scope.name, list: "other-scopes", maxlength: "120" });
    const yes = await confirmed({
      title: "Rename or merge a scope",
      act: "Rename",
      body: h(
        "div",
        {},
        h(
          "datalist",
          { id: "other-scopes" },
          own.map((each) => h("option", { value: each.name })),
        ),
        field("Name", name, "A name that another scope has merges the two."),
        h(
          "p",
          { class: "hint" },
          `${counted(scope.steps, "step")} of ${scope.trajectory} are corrected; each keeps its history, and all of it can be undone.`,
        ),
      ),
    });
    const wanted = name.value.trim();
    if (!yes || !wanted || wanted === scope.name) return;
    await relabel(
      { trajectory: scope.trajectory, name: scope.name, to: wanted },
      own.some((each) => each.name === wanted) ? `Merged into “${wanted}”` : `Renamed to “${wanted}”`,
    );
  }

  // Labels of all trajectories are listed together; a merge is taken apart where steps still carry its name.
  async function takeApart(merge) {
    const names = app.params.trajectory ? [app.params.trajectory] : app.trajectories.map((each) => each.trajectory);
    const meant = { kind: merge.kind, name: merge.alias, to: `${merge.alias} (apart)`, merged: true };
    let place = null;
    for (const trajectory of names) {
      const { steps } = await tell("rename", { ...meant, trajectory, dry_run: true });
      if (steps.length) {
        place = { trajectory, steps: steps.length };
        break;
      }
    }
    const name = h("input", { value: meant.to, maxlength: "120" });
    const yes = await confirmed({
      title: "Take a merged label apart",
      act: "Take apart",
      body: place
        ? h(
            "div",
            {},
            h(
              "p",
              {},
              `${counted(place.steps, "step")} of ${place.trajectory} were labeled “${merge.alias}” and read as “${merge.into}”. They get a name of their own:`,
            ),
            field("Name", name),
          )
        : h("p", {}, `No step carries “${merge.alias}” any more: there is nothing to take apart.`),
    });
    const wanted = name.value.trim();
    if (yes && place && wanted)
      await relabel({ ...meant, trajectory: place.trajectory, to: wanted }, `Taken apart as “${wanted}”`);
  }

  async function forget(scope) {
    const meant = { trajectory: scope.trajectory, scope: scope.name };
    const { steps } = await tell("forget", { ...meant, action: "erase", dry_run: true });
    const how = choice(
      [
        ["retire", "Retire: no longer found, kept for audit, can be put back"],
        ["erase", "Erase: gone everywhere, with proof; there is no way back"],
      ],
      "retire",
      () => {},
    );
    const reason = h("input", { maxlength: "200" });
    const yes = await confirmed({
      title: `Forget “${scope.name}”?`,
      act: "Do it",
      danger: true,
      body: h(
        "div",
        {},
        h("p", {}, `A dry run finds ${counted(steps, "step")} of ${scope.trajectory}.`),
        field("How", how),
        field("Reason (of retiring)", reason),
      ),
    });
    if (!yes) return;
    const told = await tell("forget", {
      ...meant,
      action: how.value,
      reason: how.value === "retire" ? reason.value : undefined,
    });
    await load(app.params);
    if (how.value === "erase") body.prepend(proofOf(told));
    else
      toast(`${counted(told.steps, "step")} retired.`, async () => {
        await tell("forget", { trajectory: scope.trajectory, scope: scope.name, action: "unretire" }).then(
          (back) => toast(`${counted(back.steps, "step")} found again.`),
          (error) => toast(error.message),
        );
        load(app.params);
      });
  }

  return {
    element,
    update(params) {
      const state = params.trajectory || "all";
      if (state !== last) {
        last = state;
        load(params);
      }
    },
    changed() {
      if (!document.querySelector("dialog[open]")) load(app.params);
    },
    close() {
      running?.abort();
    },
  };
}
