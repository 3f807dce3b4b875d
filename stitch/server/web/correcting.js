// The labels of a step, and what puts them and its text right.

import { ask, tell } from "./api.js";
import { button, choice, counted, failed, field, fill, h, say, toast } from "./dom.js";
import { chip, giveBack } from "./shared.js";

export function labelsOf(row, read, again) {
  const labels = row.labels,
    intent = labels.intent,
    canonical = read?.scope ?? intent.scope;
  const show = h(
    "div",
    {},
    h(
      "dl",
      { class: "labels" },
      h("dt", {}, "What it was for"),
      h(
        "dd",
        {},
        canonical ? chip("scope", canonical) : "no scope",
        intent.scope && canonical !== intent.scope
          ? h("span", { class: "hint" }, ` labeled “${intent.scope}”, which was merged`)
          : null,
      ),
      h("dt", {}, "What was done"),
      h(
        "dd",
        {},
        (read?.event_types || []).map((each) => chip("event_type", each)),
        read?.event_types?.length ? null : "nothing named",
      ),
      h("dt", {}, "What matters"),
      h(
        "dd",
        {},
        (read?.entity_types || []).map((each) => chip("entity_type", each)),
        read?.entity_types?.length ? null : "no details",
        labels.mentions?.length
          ? h(
              "span",
              { class: "hint" },
              ` ${labels.mentions.map((each) => `${each.value} (${each.entity_type})`).join(", ")}`,
            )
          : null,
      ),
    ),
    h("p", { class: "hint" }, `Labels by ${labels.made_by}${labels.reason ? `: ${labels.reason}` : ""}. `),
    row.state === "retired" ? null : button("Correct…", () => edit(), { class: "button" }),
  );
  const box = h("section", { "aria-label": "Labels" }, h("h3", {}, "Labels"), show);

  async function edit() {
    box.classList.add("edited"); // from now on no event draws the step anew
    const known = await ask("labels", { trajectory: row.trajectory, limit: 500 }).catch(() => ({
      scopes: [],
      event_types: {},
      entity_types: {},
    }));
    const options = (id, values) =>
      h(
        "datalist",
        { id },
        values.map((value) => h("option", { value })),
      );
    const scope = h("input", { value: canonical || "", list: "known-scopes" });
    const stretch = stretchOf(known.scopes.find((each) => each.name === canonical)?.spans || [], row.position);
    let also = null; // the steps around that get the scope, too
    const reach = stretch.length
      ? choice([["", "this step"], ...stretch.map(([first, last, text]) => [`${first} ${last}`, text])], "", (value) => {
          also = value ? value.split(" ").map(Number) : null;
        })
      : null;
    const acts = h("input", { value: (read?.event_types || []).join(", ") });
    const details = h("input", { value: (read?.entity_types || []).join(", ") });
    const text = h("textarea", { rows: "4" });
    text.value = row.step.content || "";
    const split = (input) =>
      input.value
        .split(",")
        .map((each) => each.trim())
        .filter(Boolean);
    const save = async (event) => {
      event.preventDefault();
      const given = {};
      const next = { scope: scope.value.trim() || null, event_types: split(acts), entity_types: split(details) };
      const before = {
        scope: canonical ?? null,
        event_types: read?.event_types || [],
        entity_types: read?.entity_types || [],
      };
      const changed = Object.fromEntries(
        Object.entries(next).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name])),
      );
      if (Object.keys(changed).length) given.labels = changed;
      if (text.value !== row.step.content) given.text = text.value;
      if (!Object.keys(given).length) {
        leave();
        return;
      }
      try {
        if (also && given.labels?.scope) await changeStretch(row, canonical, given, also);
        else await change(row, given, "The step is corrected.", undoing(row, given));
        again();
      } catch (error) {
        box.querySelector(".notice")?.remove();
        box.append(failed(error));
      }
    };
    fill(
      box,
      h("h3", {}, "Correct the step"),
      h(
        "form",
        { class: "edit", onsubmit: save },
        options(
          "known-scopes",
          known.scopes.map((each) => each.name),
        ),
        field("What it was for (scope)", scope),
        reach ? field("The scope is corrected of", reach) : null,
        field(
          "What was done",
          acts,
          `Separated by commas. Known: ${Object.keys(known.event_types).slice(0, 12).join(", ")}`,
        ),
        field(
          "What matters (kinds of details)",
          details,
          `Known: ${Object.keys(known.entity_types).slice(0, 12).join(", ")}`,
        ),
        field("Text", text, "With another text its references, summary and questions are dropped."),
        h(
          "p",
          { class: "acts" },
          h("button", { class: "button primary" }, "Save"),
          button("Cancel", leave),
        ),
      ),
    );
    scope.focus();
  }
  function leave() {
    box.classList.remove("edited");
    fill(box, h("h3", {}, "Labels"), show);
  }
  return box;
}

// Correct the scope of a stretch of steps, and what else is given of this one.
async function changeStretch(row, canonical, given, [first, last]) {
  const back = undoing(row, given);
  const { scope, ...labels } = given.labels;
  const done = await tell("rename", { trajectory: row.trajectory, name: canonical, to: scope, first, last });
  const rest = { ...given, labels: Object.keys(labels).length ? labels : undefined };
  const own = { step: row.step.id, trajectory: row.trajectory };
  if (rest.labels || rest.text !== undefined) await tell("correct", { ...own, ...rest });
  const told = `${counted(done.steps.length, "step")} corrected.`;
  say(told);
  toast(told, async () => {
    try {
      await giveBack(done);
      await tell("correct", { ...own, ...back });
      say("Taken back.");
    } catch (error) {
      toast(error.message);
    }
  });
}

// What puts a step back to how it is now.
export function undoing(row, given) {
  const back = {};
  if (given.labels)
    back.labels = Object.fromEntries(
      Object.keys(given.labels).map((name) => [name, row.labels.intent[name] ?? (name === "scope" ? null : [])]),
    );
  if (given.text !== undefined) back.text = row.step.content;
  return back;
}

export async function change(row, given, told, back) {
  await tell("correct", { step: row.step.id, trajectory: row.trajectory, ...given });
  say(told);
  toast(
    told,
    back
      ? async () => {
          await tell("correct", { step: row.step.id, trajectory: row.trajectory, ...back }).then(
            () => say("Taken back."),
            (error) => toast(error.message),
          );
        }
      : undefined,
  );
}

// The parts of the stretch of a scope around a place: first and last position, and how they are told.
function stretchOf(spans, place) {
  const [first, last] = spans.find(([from, to]) => from <= place && place <= to) || [place, place];
  const parts = [
    [first, last, "all of this stretch"],
    [place, last, "from here on"],
    [first, place, "up to here"],
  ];
  const seen = new Set([`${place} ${place}`]);
  return parts
    .filter(([from, to]) => !seen.has(`${from} ${to}`) && seen.add(`${from} ${to}`))
    .map(([from, to, text]) => [from, to, `${text}: steps ${from}–${to}`]);
}
