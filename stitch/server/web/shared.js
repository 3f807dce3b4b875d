// What several views draw alike: labels, steps, acts.

import { tell } from "./api.js";
import { h, moment } from "./dom.js";
import { drawMark, kindOfActs } from "./lanes.js";

export const KINDS = { scope: "scope", event_type: "act", entity_type: "detail" };
const SIGNS = { scope: "§", event_type: "▸", entity_type: "#" };

// A label as a chip: its kind is told by a sign and a word for those who do not see it.
export function chip(kind, value, { remove, title, lit = false } = {}) {
  return h(
    "span",
    { class: `chip ${kind}${lit ? " lit" : ""}`, title },
    h("span", { class: "chip-sign", "aria-hidden": "true" }, SIGNS[kind]),
    h("span", { class: "unseen" }, `${KINDS[kind]}: `),
    value,
    remove
      ? h(
          "button",
          { type: "button", class: "chip-remove", "aria-label": `Remove ${KINDS[kind]} ${value}`, onclick: remove },
          "×",
        )
      : null,
  );
}

export function chipsOf(step, matched = {}) {
  const lit = (kind, value) => (matched[kind] || []).includes(value);
  return [
    ...(step.event_types || []).map((value) => chip("event_type", value, { lit: lit("event_type", value) })),
    ...(step.entity_types || []).map((value) => chip("entity_type", value, { lit: lit("entity_type", value) })),
  ];
}

export function roleOf(role) {
  return h("span", { class: "role" }, role);
}

export function actMark(kind, size = 16) {
  const canvas = h("canvas", { width: size * 2, height: size * 2, class: "act-mark", "aria-hidden": "true" });
  const context = canvas.getContext("2d");
  requestAnimationFrame(() => {
    context.clearRect(0, 0, size * 2, size * 2);
    context.strokeStyle = context.fillStyle = getComputedStyle(canvas).color;
    context.lineWidth = 3;
    drawMark(context, kind, size, size, size * 0.9);
  });
  return canvas;
}

export function actsMark(step) {
  return actMark(kindOfActs(step.event_types || []));
}

// Undo a renaming: its steps get the labels that they had.
export async function giveBack({ trajectory, steps }) {
  for (const { step, labels } of steps) await tell("correct", { step, trajectory, labels });
}

export function timeOf(step) {
  return moment(step.happened ?? step.recorded);
}

// What a step says, calls of tools behind it.
export function wordsOf(step) {
  return [step.text, ...(step.calls || [])].filter(Boolean).join("\n");
}
