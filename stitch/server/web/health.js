// How a memory is: what has come how far, what failed and why, what models have cost, whether all agrees.

import { ask, tell } from "./api.js";
import { button, confirmed, counted, failed, fill, h, moment, notice, tableBox, toast } from "./dom.js";
import { receiptsOf } from "./receipts.js";

export function healthView(app) {
  let running = null;
  const receipts = receiptsOf(app);
  const body = h("div", { class: "stack" });
  const verified = h("div", { "aria-live": "polite" });
  const element = h("div", { class: "view" }, h("h1", {}, "Health"), body, receipts.element);

  async function load() {
    running?.abort();
    running = new AbortController();
    const signal = running.signal;
    if (!body.firstChild) fill(body, notice("loading", "Looking…"));
    try {
      const [status, bad, open, recalls] = await Promise.all([
        ask("status", { limit: 100 }, signal),
        receipts.read(["failed"], signal),
        receipts.read(["accepted", "labeled"], signal),
        ask("recalls", { last: 20 }, signal),
      ]);
      fill(
        body,
        summary(status),
        h(
          "div",
          { class: "pair" },
          failures(bad),
          waiting(status, open),
          check(),
          spend(status.model),
          asked(recalls.recalls),
          about(status),
        ),
      );
    } catch (error) {
      if (error.name !== "AbortError") fill(body, failed(error, load));
    }
  }

  function summary(status) {
    const figure = (number, text, kind) =>
      h(
        "div",
        { class: `figure ${number ? kind || "" : ""}` },
        h("dt", {}, text),
        h("dd", {}, number.toLocaleString("en")),
      );
    const well = !status.failed && !status.away;
    return h(
      "section",
      { class: "card" },
      h(
        "h2",
        {},
        h(
          "span",
          { class: well ? "well" : "unwell" },
          well
            ? "✓ All is well"
            : status.away
              ? `✕ The store cannot be reached: ${status.away}`
              : `✕ ${counted(status.failed, "step")} failed`,
        ),
      ),
      h(
        "dl",
        { class: "figures" },
        figure(status.accepted, "steps accepted"),
        figure(status.stored, "stored"),
        figure(status.waiting, "waiting"),
        figure(status.failed, "failed", "bad"),
        figure(status.retired, "retired"),
        figure(status.trajectories, "trajectories"),
      ),
    );
  }

  function failures(found) {
    return h(
      "section",
      { class: "card", "aria-label": "Failures" },
      h("h2", {}, "Failures"),
      found.receipts.length
        ? [
            receipts.table(found, "Why"),
            h(
              "p",
              { class: "acts" },
              button(
                "Try all again",
                async (event) => {
                  event.target.disabled = true;
                  const told = await tell("retry", {}).catch((error) => {
                    toast(error.message);
                    return null;
                  });
                  if (told) toast(`${counted(told.stored, "step")} stored, ${told.failed} failed again.`);
                  load();
                },
                { class: "button primary" },
              ),
            ),
          ]
        : h("p", { class: "hint" }, "None."),
    );
  }

  function waiting(status, found) {
    return h(
      "section",
      { class: "card", "aria-label": "What waits" },
      h("h2", {}, "What waits"),
      found.receipts.length
        ? [
            h(
              "p",
              { class: "hint" },
              `${counted(status.waiting, "step")} ${status.waiting === 1 ? "waits" : "wait"}: for labels, for vectors, or for a store that is away.`,
            ),
            receipts.table(found, "For what"),
          ]
        : h("p", { class: "hint" }, "Nothing: every step has its labels and its vector."),
    );
  }

  function check() {
    const run = async (repair) => {
      fill(verified, notice("loading", "Comparing journal, store and labels…"));
      try {
        const told = await tell("verify", { repair });
        const wrong = told.disagreements;
        fill(
          verified,
          wrong.length
            ? [
                notice(
                  "failed",
                  `${counted(wrong.length, "thing")} ${wrong.length === 1 ? "does" : "do"} not agree`,
                  "",
                ),
                h(
                  "ul",
                  {},
                  wrong
                    .slice(0, 50)
                    .map((each) => h("li", {}, [each.trajectory, each.step, each.what].filter(Boolean).join(" · "))),
                ),
                repair
                  ? null
                  : button("Repair…", async () => {
                      if (
                        await confirmed({
                          title: "Repair what does not agree?",
                          act: "Repair",
                          body: h("p", {}, "The journal is believed; store and labels are made to agree with it."),
                        })
                      )
                        run(true);
                    }),
              ]
            : notice(
                "done",
                "Journal, store and labels agree",
                `${counted(told.steps, "step")} and ${counted(told.snippets, "snippet")} were compared.`,
              ),
        );
      } catch (error) {
        fill(verified, failed(error));
      }
    };
    return h(
      "section",
      { class: "card", "aria-label": "Verify" },
      h("h2", {}, "Does it all agree?"),
      h(
        "p",
        { class: "acts" },
        button("Verify", () => run(false)),
      ),
      verified,
    );
  }

  function spend(model) {
    const total = model.total,
      money = (each) => (each.cost_usd === null ? "price unknown" : `$${each.cost_usd.toFixed(4)}`);
    if (!total.calls)
      return h(
        "section",
        { class: "card", "aria-label": "Spend" },
        h("h2", {}, "Spend"),
        h("p", { class: "hint" }, "No language model was called."),
      );
    const rows = [
      ...Object.entries(model.models),
      ...Object.entries(model.stages).map(([name, each]) => [`for ${name}`, each]),
    ];
    return h(
      "section",
      { class: "card", "aria-label": "Spend" },
      h(
        "h2",
        {},
        "Spend",
        " ",
        h(
          "span",
          { class: "aside" },
          `${counted(total.calls, "call")}, ${total.tokens.toLocaleString("en")} tokens, ${money(total)}`,
        ),
      ),
      tableBox(
        "Spend",
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["", "Calls", "Prompt tokens", "Reply tokens", "Cost"].map((each, place) =>
              h("th", { class: place ? "number" : "" }, each),
            ),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map(([name, each]) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, name),
              [each.calls, each.prompt_tokens, each.reply_tokens].map((number) =>
                h("td", { class: "number" }, number.toLocaleString("en")),
              ),
              h("td", { class: "number" }, money(each)),
            ),
          ),
        ),
      ),
    );
  }

  function asked(recalls) {
    return h(
      "section",
      { class: "card", "aria-label": "Asked last" },
      h("h2", {}, "Asked last"),
      recalls.length
        ? h(
            "ul",
            { class: "plain" },
            [...recalls]
              .reverse()
              .map((each) =>
                h(
                  "li",
                  {},
                  h("a", { href: app.href("ask", { q: each.query }) }, each.query),
                  " ",
                  h("span", { class: "aside" }, moment(each.at)),
                ),
              ),
          )
        : h("p", { class: "hint" }, "Not kept: the setting `recall_log` keeps it."),
    );
  }

  function about(status) {
    const facts = [
      [
        "Labels by",
        Object.entries(status.labeled_by)
          .map(([name, count]) => `${name} (${count.toLocaleString("en")})`)
          .join(", ") || "nobody yet",
      ],
      ["Embedder", status.embedder],
      ["Journal", status.journal],
      [
        "Secrets taken out",
        Object.entries(status.redacted)
          .map(([name, count]) => `${count} ${name}`)
          .join(", ") || "none",
      ],
      ["Tenant", app.about.tenant],
      ...(Object.entries(status.owner).length ? [["Opened by", Object.values(status.owner).join(", ")]] : []),
      ...Object.entries(status.server).map(([name, value]) => [name, value]),
    ];
    return h(
      "section",
      { class: "card", "aria-label": "About" },
      h("h2", {}, "About"),
      h(
        "dl",
        { class: "facts-list" },
        facts.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
      ),
    );
  }

  return {
    element,
    update() {
      if (body.firstChild) return;
      load();
      receipts.refresh();
    },
    changed() {
      load();
      receipts.refresh();
    },
    close() {
      running?.abort();
    },
  };
}
