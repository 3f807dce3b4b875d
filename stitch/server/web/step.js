// One step: what was said, how it was labeled and by whom, what it was before; and what to put right.

import { ask, tell } from "./api.js";
import { button, confirmed, counted, failed, field, fill, h, moment, notice, say, shortened, toast } from "./dom.js";
import { change, labelsOf, undoing } from "./correcting.js";
import { chip } from "./shared.js";

export function stepPanel(app) {
  const body = h("div", { class: "panel-body" });
  const element = h("aside", { class: "panel", "aria-label": "Step", hidden: true }, body);
  let shown = "",
    drawn = "", // what of the step stands there
    loading = null;

  // Read and draw a step; one that only follows an event leaves what somebody is writing alone.
  async function load(trajectory, id, { follows = false } = {}) {
    loading?.abort();
    loading = new AbortController();
    const signal = loading.signal;
    if (!follows) drawn = "";
    try {
      const { found } = await ask("step", { trajectory, step: id }, signal);
      if (!found) {
        fill(
          body,
          head(`Step ${id}`),
          notice("gone", "This step is gone", "It was erased, or never accepted. Nothing of it is kept."),
        );
        return;
      }
      const [read, history] = await Promise.all([
        ask(
          "timeline",
          { trajectory, scopes: false, limit: 1, after: found.position ? found.position - 1 : undefined },
          signal,
        ),
        ask("history", { trajectory, step: id }, signal),
      ]);
      const now = JSON.stringify([found, read.steps[0], history.revisions]);
      if (follows && (busy() || now === drawn)) return;
      drawn = now;
      const said = h("div", {});
      draw(found, read.steps[0], history.revisions, said);
      const { statements } = await ask("statements", { trajectory, step: id }, signal);
      if (statements.length)
        fill(
          said,
          h("h3", {}, "Statements"),
          h(
            "ul",
            {},
            statements.map((each) =>
              h("li", {}, each.text, " ", h("a", { href: app.href("themes", { theme: each.theme }) }, "its theme")),
            ),
          ),
        );
    } catch (error) {
      if (error.name !== "AbortError")
        fill(
          body,
          head("Step"),
          failed(error, () => load(trajectory, id)),
        );
    }
  }

  function busy() {
    return body.querySelector("form, .proof, .edited");
  }

  function head(title, row) {
    const beside = (position) => async () => {
      const { steps } = await ask("timeline", {
        trajectory: row.trajectory,
        scopes: false,
        limit: 1,
        after: position ? position - 1 : undefined,
      });
      if (steps[0]) app.open(row.trajectory, steps[0].step);
    };
    return h(
      "div",
      { class: "panel-head" },
      h("h2", { tabindex: "-1" }, title),
      h("span", { class: "space" }),
      row
        ? h(
            "span",
            { class: "group" },
            button("↑", beside(row.position - 1), { "aria-label": "Step before", disabled: row.position === 0 }),
            button("↓", beside(row.position + 1), { "aria-label": "Step after" }),
          )
        : null,
      h("button", { type: "button", class: "quiet", "aria-label": "Close the step", onclick: () => app.close() }, "×"),
    );
  }

  function draw(row, read, revisions, said) {
    const labels = row.labels,
      step = row.step;
    const again = () => load(row.trajectory, step.id);
    const parts = [
      head(`Step ${row.position}`, row),
      h(
        "p",
        { class: "facts" },
        [
          shortened(row.trajectory),
          step.role,
          moment(step.timestamp ?? row.recorded),
          step.id === String(row.position) ? null : `id ${step.id}`,
        ]
          .filter(Boolean)
          .join(" · "),
      ),
    ];
    if (row.state !== "stored")
      parts.push(
        notice(
          row.state === "failed" ? "failed" : "gone",
          row.state,
          row.reason || (row.state === "retired" ? "Out of retrieval, kept for audit." : ""),
          row.state === "retired" ? button("Put back", () => putBack(row)) : null,
        ),
      );
    parts.push(h("h3", {}, "What was said"), h("blockquote", { class: "said" }, step.content || "(no words)"));
    for (const call of read?.calls || []) parts.push(h("pre", { class: "call", tabindex: "0" }, call));
    if (read?.references?.length) parts.push(references(row, read, again));
    if (labels?.summary) parts.push(h("h3", {}, "Summary"), h("p", {}, labels.summary));
    if (labels?.asks?.length)
      parts.push(
        h("h3", {}, "What it answers, in other words"),
        h(
          "ul",
          {},
          labels.asks.map((each) => h("li", {}, each)),
        ),
      );
    parts.push(
      labels
        ? labelsOf(row, read, again)
        : notice(
            "empty",
            "No labels yet",
            "They are made in the background; the step is found by its words meanwhile.",
          ),
    );
    parts.push(said);
    parts.push(history(row, revisions, again));
    if (step.metadata && Object.keys(step.metadata).length)
      parts.push(
        h(
          "details",
          {},
          h("summary", {}, "Metadata"),
          h("pre", { tabindex: "0" }, JSON.stringify(step.metadata, null, 2)),
        ),
      );
    if (row.state !== "retired") parts.push(endings(row, again));
    else
      parts.push(
        h("h3", {}, "Take it away"),
        h(
          "p",
          { class: "acts" },
          button("Erase…", () => erase(row), { class: "button danger" }),
        ),
      );
    fill(body, parts);
  }

  // The text with what its references were read as, each of which can be undone.
  function references(row, read, again) {
    const text = read.text,
      parts = [];
    let end = 0;
    for (const each of [...read.references].sort((a, b) => a.start - b.start)) {
      parts.push(text.slice(end, each.start), h("del", {}, each.said), " ", h("ins", {}, each.replacement));
      end = each.end;
    }
    parts.push(text.slice(end));
    return h(
      "div",
      {},
      h("h3", {}, "With its references replaced"),
      h("blockquote", { class: "said" }, parts),
      h(
        "ul",
        { class: "plain" },
        read.references.map((each) =>
          h(
            "li",
            {},
            `“${each.said}” reads as “${each.replacement}” (${Math.round(each.confidence * 100)} % sure) `,
            button(
              "Undo",
              async () => {
                await change(row, { undo: [String(each.number)] }, "The reference reads as it was said.");
                again();
              },
              { class: "button small" },
            ),
          ),
        ),
      ),
    );
  }

  function history(row, revisions, again) {
    if (!revisions.length) return h("p", { class: "hint" }, "Never corrected.");
    const now = row.labels?.intent || {};
    return h(
      "section",
      { "aria-label": "History" },
      h("h3", {}, "What it was before"),
      h(
        "ol",
        { class: "history" },
        [...revisions].reverse().map((each) => {
          const intent = each.labels?.intent || {},
            text = each.step.content ?? "";
          const wanted = {
            scope: intent.scope ?? null,
            event_types: intent.event_types || [],
            entity_types: intent.entity_types || [],
          };
          const back = { labels: each.labels ? wanted : undefined, text: text === row.step.content ? undefined : text };
          return h(
            "li",
            {},
            h(
              "p",
              { class: "facts" },
              each.retired_at === null
                ? `until ${moment(each.until)}, then corrected by ${each.corrected_by}`
                : `retired from ${moment(each.retired_at)} until ${moment(each.until)}, then put back by ${each.corrected_by}`,
            ),
            text === row.step.content ? null : h("blockquote", { class: "said" }, text),
            h(
              "p",
              {},
              intent.scope ? chip("scope", intent.scope, { lit: intent.scope !== now.scope }) : null,
              wanted.event_types.map((value) => chip("event_type", value)),
              wanted.entity_types.map((value) => chip("entity_type", value)),
            ),
            row.state === "retired" || each.retired_at !== null
              ? null
              : button(
                  "Put back",
                  async () => {
                    await change(
                      row,
                      back,
                      "The step is as it was then.",
                      undoing(row, { labels: back.labels, ...(back.text === undefined ? {} : { text: back.text }) }),
                    );
                    again();
                  },
                  { class: "button small" },
                ),
          );
        }),
      ),
    );
  }

  function endings(row) {
    return h(
      "section",
      { "aria-label": "Take it away" },
      h("h3", {}, "Take it away"),
      h(
        "p",
        { class: "acts" },
        button("Retire…", () => retire(row)),
        button("Erase…", () => erase(row), { class: "button danger" }),
      ),
    );
  }

  async function retire(row) {
    const reason = h("input", { maxlength: "200" });
    const meant = { trajectory: row.trajectory, step: row.step.id, action: "retire" };
    const { steps } = await tell("forget", { ...meant, dry_run: true });
    const yes = await confirmed({
      title: "Retire this step?",
      act: "Retire",
      body: h(
        "div",
        {},
        h(
          "p",
          {},
          `${counted(steps, "step")} would no longer be found. It stays in the journal, for audit, and can be put back.`,
        ),
        field("Reason", reason),
      ),
    });
    if (!yes) return;
    await tell("forget", { ...meant, reason: reason.value });
    toast("The step is retired.", () => putBack(row));
    load(row.trajectory, row.step.id);
  }

  async function putBack(row) {
    try {
      await tell("forget", { trajectory: row.trajectory, step: row.step.id, action: "unretire" });
      toast("The step is found again.");
    } catch (error) {
      toast(error.message);
    }
    if (shown === `${row.trajectory}\t${row.step.id}`) load(row.trajectory, row.step.id);
  }

  async function erase(row) {
    const meant = { trajectory: row.trajectory, step: row.step.id, action: "erase" };
    const { steps } = await tell("forget", { ...meant, dry_run: true });
    const yes = await confirmed({
      title: "Erase this step?",
      act: "Erase for good",
      danger: true,
      body: h(
        "div",
        {},
        h(
          "p",
          {},
          `A dry run finds ${counted(steps, "step")}. Text, labels, vectors and history are overwritten everywhere, then all files are searched for what must be gone. There is no way back.`,
        ),
        h("blockquote", { class: "said" }, (row.step.content || "").slice(0, 200)),
      ),
    });
    if (!yes) return;
    const told = await tell("forget", meant);
    fill(body, head(`Step ${row.position}`), proofOf(told));
    say("The step is erased.");
  }

  return {
    element,
    update({ in: trajectory, step }) {
      const wanted = step && trajectory ? `${trajectory}\t${step}` : "";
      element.hidden = !wanted;
      document.querySelector(".frame").classList.toggle("with-panel", Boolean(wanted));
      if (wanted === shown) return;
      shown = wanted;
      if (!wanted) {
        loading?.abort();
        fill(body);
        return;
      }
      if (!body.firstChild) fill(body, notice("loading", "Reading the step…"));
      load(trajectory, step).then(() => {
        if (shown === wanted) body.querySelector("h2")?.focus({ preventScroll: true });
      });
      element.scrollTop = 0;
    },
    changed(events) {
      const [trajectory, step] = shown.split("\t");
      const about = events.some(
        (event) => event.step === step || event.steps?.includes?.(step) || event.name === "merged",
      );
      if (shown && about && !busy()) load(trajectory, step, { follows: true });
    },
  };
}

export function proofOf(told) {
  const proof = told.proof;
  const clean = proof && !proof.found.length;
  return h(
    "div",
    { class: `notice proof ${clean ? "done" : "failed"}` },
    h("p", { class: "notice-title" }, `${counted(told.steps, "step")} erased`),
    proof
      ? h(
          "p",
          {},
          `${counted(proof.traces, "trace")} searched for in all files: ${clean ? "none was found." : `found in ${proof.found.join(", ")}.`}${proof.said_elsewhere ? ` ${proof.said_elsewhere} are also said by steps that stay.` : ""}`,
        )
      : null,
    proof?.not_searched?.length ? h("p", {}, `Not searched: ${proof.not_searched.join("; ")}`) : null,
  );
}
