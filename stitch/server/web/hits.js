// The steps that answer a question: labels, reasons, and the parts of their scores.

import { h, shortened } from "./dom.js";
import { chip, chipsOf, roleOf, timeOf } from "./shared.js";

const PARTS = {
  density: "labels that match",
  similarity: "similarity",
  meaning: "meaning",
  words: "words of the question",
  beside: "a step beside it",
  near: "near what is named",
  goal: "the goal asked about",
  kind: "kind of step asked for",
  late: "late or early, as asked",
  speaker: "the speaker",
  time: "the time",
  asking: "asks, tells nothing",
  standing: "an instruction that stands",
  clock: "early or late",
  neighbors: "beside a hit",
};

export function hitOf(app, hit, found, ranks) {
  const before = ranks?.get(`${hit.trajectory}\t${hit.step}`);
  const text = hit.text.length > 500 ? `${hit.text.slice(0, 500)}…` : hit.text;
  return h(
    "li",
    { class: "hit" },
    h("div", { class: "hit-rank", "aria-hidden": "true" }, hit.rank),
    h(
      "div",
      { class: "hit-body" },
      h(
        "div",
        { class: "step-meta" },
        h(
          "button",
          {
            type: "button",
            class: "link",
            onclick: (event) => {
              app.returnTo = event.currentTarget;
              app.open(hit.trajectory, hit.step);
            },
          },
          `${shortened(hit.trajectory)} ${hit.position}`,
        ),
        roleOf(hit.role),
        hit.scope ? chip("scope", hit.scope, { lit: (hit.matched.scope || []).length > 0 }) : null,
        chipsOf(hit, hit.matched),
        hit.trust === "low" ? h("span", { class: "state low" }, "low trust") : null,
        ranks
          ? h(
              "span",
              { class: "moved" },
              before === undefined
                ? "only here"
                : before === hit.rank
                  ? "same place"
                  : before > hit.rank
                    ? `↑ ${before - hit.rank} from ${before}`
                    : `↓ ${hit.rank - before} from ${before}`,
            )
          : null,
      ),
      h("p", { class: "step-text" }, text),
      h("p", { class: "because" }, (hit.reasons || []).join(" · ")),
      hit.superseded?.length
        ? h(
            "p",
            { class: "superseded" },
            hit.superseded
              .map((each) => `${each.value} no longer holds: step ${each.position} says ${each.now}`)
              .join("; "),
          )
        : null,
      partsOf(hit, found),
      h("time", { class: "step-time" }, timeOf(hit), hit.in_context ? "" : " · not in the context"),
    ),
  );
}

// The parts of a score as one bar and as a table, so that neither color nor length alone tells them.
function partsOf(hit, found) {
  const summed = found.rule.summed.length ? found.rule.summed : Object.keys(hit.parts);
  const parts = summed
    .map((name) => [name, hit.parts[name] ?? (name === "density" ? hit.density : 0)])
    .filter(([, value]) => Math.abs(value) > 0.004)
    .sort((a, b) => b[1] - a[1]);
  const whole = parts.reduce((sum, [, value]) => sum + Math.max(0, value), 0) || 1;
  const most = Math.max(...found.hits.map((each) => each.score), 0.0001);
  const bar = h(
    "span",
    { class: "score-bar", "aria-hidden": "true" },
    parts
      .filter(([, value]) => value > 0)
      .map(([name, value], number) => {
        const part = h("span", { class: `score-part part-${number % 5}` });
        part.style.width = `${(value / whole) * Math.min(1, hit.score / most) * 100}%`;
        part.title = `${PARTS[name] || name} ${value.toFixed(2)}`;
        return part;
      }),
  );
  return h(
    "details",
    { class: "score" },
    h(
      "summary",
      {},
      h("span", { class: "unseen" }, "Score "),
      h("span", { class: "score-number" }, hit.score.toFixed(2)),
      bar,
    ),
    h(
      "table",
      {},
      h("caption", { class: "unseen" }, "Parts of the score"),
      h(
        "tbody",
        {},
        parts.map(([name, value]) =>
          h("tr", {}, h("th", { scope: "row" }, PARTS[name] || name), h("td", {}, value.toFixed(3))),
        ),
      ),
      hit.relevance === null
        ? null
        : h(
            "tbody",
            {},
            h(
              "tr",
              {},
              h("th", { scope: "row" }, "chance that it bears on the question"),
              h("td", {}, hit.relevance.toFixed(2)),
            ),
          ),
    ),
  );
}
