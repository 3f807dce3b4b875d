// Receipts: how far each step has come and why not further, page by page.

import { ask } from "./api.js";
import { button, choice, failed, fill, h, shortened, tableBox } from "./dom.js";

const LISTED = 50;
const STATES = ["", "accepted", "labeled", "stored", "failed", "retired"];

export function receiptsOf(app) {
  let shown = null,
    asked = 0;
  const body = h("div", {});
  const states = choice(
    STATES.map((each) => [each, each || "any"]),
    "",
    () => list(),
  );
  const element = h(
    "section",
    { class: "card", "aria-label": "Receipts" },
    h("h2", {}, "Every step: how far it has come"),
    h("p", { class: "acts" }, h("label", { class: "inline" }, "State ", states)),
    body,
  );

  // Receipts in some states, page by page; next() gives those that follow.
  async function read(states, signal, after) {
    const [state, ...others] = states;
    const page = await ask("receipts", { state, limit: LISTED, after }, signal);
    const next = page.next
      ? () => read(states, signal, page.next)
      : others.length
        ? () => read(others, signal)
        : null;
    return page.receipts.length || !next ? { receipts: page.receipts, next } : next();
  }

  // All receipts, or those in a state: the first page follows what happens, further ones are asked for.
  async function list(instead = null) {
    const turn = (asked += 1);
    const found = await read([states.value]).catch((error) => error);
    if (turn !== asked || instead?.grown) return;
    const own = (shown = { grown: false });
    if (found instanceof Error)
      fill(
        body,
        failed(found, () => list()),
      );
    else if (found.receipts.length)
      fill(
        body,
        table(found, "Why", () => {
          own.grown = true;
        }),
      );
    else fill(body, h("p", { class: "hint" }, "None."));
  }

  function table(found, why, grew = () => {}) {
    const rows = h("tbody", {}, found.receipts.map(row));
    const more = h("p", { class: "acts" });
    const offer = ({ next }) =>
      fill(
        more,
        next
          ? button("Show more", async (event) => {
              event.target.disabled = true;
              grew();
              const following = await next().catch((error) => {
                fill(
                  more,
                  failed(error, () => offer({ next })),
                );
              });
              if (!following) return;
              rows.append(...following.receipts.map(row));
              offer(following);
            })
          : null,
      );
    offer(found);
    const head = ["Step", "Trajectory", "State", why].map((each) => h("th", {}, each));
    return [tableBox(why, h("thead", {}, h("tr", {}, head)), rows), more];
  }

  function row(each) {
    const open = (event) => {
      app.returnTo = event.currentTarget;
      app.open(each.trajectory, each.step);
    };
    return h(
      "tr",
      {},
      h("td", {}, h("button", { type: "button", class: "link", onclick: open }, each.position)),
      h("td", { title: each.trajectory }, shortened(each.trajectory)),
      h("td", {}, h("span", { class: `state ${each.state}` }, each.state)),
      h("td", {}, each.reason),
    );
  }

  return {
    element,
    read,
    table,
    // Show what there is, or follow what happens, unless somebody has gone on to further pages.
    refresh() {
      if (!shown?.grown) list(shown);
    },
  };
}
