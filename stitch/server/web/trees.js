// Artifacts as trees: looked at, asked by paths with every step of the evaluation, edited, compared, taken back.

import { all, ask, tell } from "./api.js";
import { button, choice, confirmed, counted, failed, field, fill, h, moment, notice, say, toast } from "./dom.js";
import { pathField } from "./path_field.js";

export function treesView(app) {
  let last = "",
    running = null,
    shown = null;
  const picks = h("div", { class: "bar" });
  const { query, options, close: closeOptions } = pathField(() => shown?.now.definition.types || {});
  const answer = h("div", {});
  const tree = h("div", {});
  const versions = h("div", {});
  const body = h(
    "div",
    { class: "pair wide-left" },
    h(
      "div",
      { class: "stack" },
      h(
        "section",
        { class: "card", "aria-label": "Query" },
        h(
          "form",
          {
            class: "ask-bar with-list",
            onsubmit: (event) => {
              event.preventDefault();
              closeOptions();
              app.go({ path: query.value.trim(), version: app.params.version });
            },
          },
          query,
          options,
          h("button", { class: "button primary" }, "Ask"),
        ),
        answer,
      ),
      h("section", { class: "card", "aria-label": "Tree" }, tree),
    ),
    h("section", { class: "card", "aria-label": "Versions" }, versions),
  );
  const element = h("div", { class: "view" }, h("h1", {}, "Trees"), picks, body);

  async function load(params) {
    running?.abort();
    running = new AbortController();
    const signal = running.signal;
    if (!tree.firstChild) fill(tree, notice("loading", "Reading the tree…"));
    try {
      const trees = await all("trees", "trees", {}, signal);
      if (!trees.length) {
        fill(
          body,
          notice(
            "empty",
            "No trees yet",
            "Plans, itineraries and lists are kept as trees: stitch tree create NAME FILE --memory DIR",
          ),
        );
        return;
      }
      const name = params.tree || trees[0].tree;
      fill(
        picks,
        h(
          "label",
          { class: "inline" },
          "Tree ",
          choice(
            trees.map((each) => [each.tree, `${each.tree} · ${counted(each.nodes, "node")}`]),
            name,
            (value) => app.go({ tree: value, version: null, path: null, branch: null }),
          ),
        ),
      );
      if (!trees.some((each) => each.tree === name)) {
        fill(
          tree,
          notice(
            "gone",
            `There is no tree “${name}” any more`,
            "It was erased, or never was.",
            h("a", { href: "#/trees" }, "Show what there is"),
          ),
        );
        fill(versions);
        fill(answer);
        return;
      }
      const branch = params.branch || undefined;
      const [now, commits] = await Promise.all([
        ask("trees/show", { tree: name, branch, version: params.version }, signal),
        all("trees/log", "commits", { tree: name, branch }, signal),
      ]);
      const latest = commits[commits.length - 1].version;
      const found = params.path
        ? await tell("trees/select", { tree: name, branch, query: params.path, version: params.version }, signal).catch(
            (error) => {
              if (error.name === "AbortError") throw error;
              return error;
            },
          )
        : null;
      const index = commits.findIndex((each) => each.version === now.version);
      const before =
        index > 0
          ? await ask(
              "trees/diff",
              { tree: name, branch, before: commits[index - 1].version, after: now.version },
              signal,
            )
          : null;
      shown = { name, branch, now, commits, latest, scores: scoresOf(found), change: before?.changes };
      if (document.activeElement !== query) query.value = params.path || "";
      fill(answer, evaluation(found));
      drawTree();
      drawVersions(before);
    } catch (error) {
      if (error.name !== "AbortError")
        fill(
          tree,
          failed(error, () => load(params)),
        );
    }
  }

  // Of the nodes that an evaluation came to: its score, and whether it held.
  function scoresOf(found) {
    const scores = new Map();
    for (const step of found?.trace || [])
      for (const each of step.short) scores.set(each.id, { score: each.score, holds: false });
    for (const node of found?.nodes || []) scores.set(node.id, { score: node.score, holds: true, rank: node.rank });
    return scores;
  }

  function evaluation(found) {
    if (!found)
      return h(
        "p",
        { class: "hint" },
        'Ask by structure, values and meaning at once: //Day[2]/Stop[@cost = "free"][node ~= "outdoors"]',
      );
    if (found instanceof Error) return failed(found);
    return h(
      "div",
      {},
      h(
        "p",
        {},
        h("strong", {}, found.nodes.length ? counted(found.nodes.length, "node") : "Nothing"),
        " ",
        h("span", { class: "aside" }, `${found.considered} looked at · ${found.milliseconds.toFixed(1)} ms`),
      ),
      h(
        "ol",
        { class: "evaluation" },
        found.trace.map((step) =>
          h(
            "li",
            {},
            h("code", {}, step.what),
            " ",
            h("span", { class: "aside" }, `${step.given} → ${step.left}`),
            step.short.length
              ? h(
                  "ul",
                  { class: "plain" },
                  step.short.map((each) =>
                    h(
                      "li",
                      { class: "short-of" },
                      scoreMark(each.score, false),
                      h("button", { type: "button", class: "link", onclick: () => focusNode(each.id) }, each.path),
                    ),
                  ),
                )
              : null,
            (step.notes || []).map((note) =>
              h("p", { class: "hint" }, typeof note === "string" ? note : JSON.stringify(note)),
            ),
          ),
        ),
      ),
      found.nodes.length
        ? h(
            "ul",
            { class: "plain" },
            found.nodes.map((node) =>
              h(
                "li",
                {},
                scoreMark(node.score, true),
                h(
                  "button",
                  { type: "button", class: "link", onclick: () => focusNode(node.id) },
                  node.fields?.name || node.path,
                ),
                " ",
                h("span", { class: "aside" }, node.path, node.versions ? ` in ${node.versions.join(", ")}` : ""),
              ),
            ),
          )
        : null,
    );
  }

  function scoreMark(score, holds) {
    return h("span", { class: `score-mark ${holds ? "holds" : ""}` }, `${holds ? "✓" : "✕"} ${score.toFixed(2)}`);
  }

  function drawTree() {
    const { now, latest } = shown,
      current = now.version === latest;
    fill(
      tree,
      h(
        "h2",
        {},
        now.tree,
        " ",
        h("span", { class: "aside" }, current ? `${now.version}, the latest` : `${now.version}, an earlier version`),
      ),
      current
        ? null
        : h(
            "p",
            { class: "acts" },
            button("Go back to this version…", () => revert(now.version)),
            button("Show the latest", () => app.go({ version: null })),
          ),
      h(
        "ul",
        { class: "tree", role: "tree", "aria-label": `Tree ${now.tree}`, onkeydown: treeKey },
        nodeOf(now.root, 1, true),
      ),
    );
  }

  function nodeOf(node, level, first = false) {
    const { scores, change, latest, now } = shown,
      score = scores.get(node.id),
      children = node.children || [];
    const added = change?.added?.some((each) => (each.id || each) === node.id),
      moved = change?.moved?.find((each) => each.id === node.id);
    const fields = Object.entries(node.fields || {}).filter(([name]) => name !== "name");
    const changed = new Map(
      (change?.changed || []).filter((each) => each.id === node.id).map((each) => [each.field, each]),
    );
    const row = h(
      "div",
      { class: `node${score?.holds ? " holds" : ""}` },
      h("span", { class: "node-type" }, node.type),
      h("span", { class: "node-name" }, node.fields?.name || node.id),
      score ? scoreMark(score.score, score.holds) : null,
      added ? h("span", { class: "change added" }, "+ new") : null,
      moved ? h("span", { class: "change moved-node" }, `> moved from ${moved.before}`) : null,
      h(
        "span",
        { class: "node-fields" },
        [
          ...fields,
          ...[...changed.values()]
            .filter((each) => !(each.field in (node.fields || {})))
            .map((each) => [each.field, ""]),
        ].map(([name, value]) =>
          h(
            "span",
            { class: "node-field" },
            h("span", { class: "hint" }, `${name} `),
            changed.has(name)
              ? [
                  h("del", {}, String(changed.get(name).old ?? "nothing")),
                  " ",
                  h("ins", {}, String(changed.get(name).new ?? "nothing")),
                ]
              : String(value),
          ),
        ),
      ),
      now.version === latest
        ? h(
            "button",
            {
              type: "button",
              class: "button small node-edit",
              tabindex: "-1",
              "aria-label": `Edit ${node.fields?.name || node.id}`,
              onclick: () => edit(node),
            },
            "Edit",
          )
        : null,
    );
    return h(
      "li",
      {
        role: "treeitem",
        "aria-level": String(level),
        "aria-expanded": children.length ? "true" : undefined,
        "aria-selected": score?.holds ? "true" : "false",
        tabindex: first ? "0" : "-1",
        "data-node": node.id,
      },
      row,
      children.length
        ? h(
            "ul",
            { role: "group" },
            children.map((child) => nodeOf(child, level + 1)),
          )
        : null,
    );
  }

  function treeKey(event) {
    const item = event.target.closest("[role=treeitem]");
    if (!item || event.target.tagName === "BUTTON") return;
    const items = [...tree.querySelectorAll("[role=treeitem]")].filter(
      (each) => !each.parentElement.closest("[aria-expanded=false]"),
    );
    const at = items.indexOf(item),
      parent = item.parentElement.closest("[role=treeitem]");
    const open = item.getAttribute("aria-expanded");
    const acts = {
      ArrowDown: () => items[at + 1],
      ArrowUp: () => items[at - 1],
      Home: () => items[0],
      End: () => items[items.length - 1],
      ArrowRight: () => {
        if (open === "false") {
          item.setAttribute("aria-expanded", "true");
          return item;
        }
        return item.querySelector("[role=treeitem]");
      },
      ArrowLeft: () => {
        if (open === "true") {
          item.setAttribute("aria-expanded", "false");
          return item;
        }
        return parent;
      },
      Enter: () => {
        item.querySelector(":scope > .node .node-edit")?.click();
        return null;
      },
    };
    if (!acts[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    const next = acts[event.key]();
    if (next) focusItem(next);
  }

  function focusItem(item) {
    for (const each of tree.querySelectorAll("[role=treeitem]")) each.tabIndex = -1;
    item.tabIndex = 0;
    item.focus();
  }

  function focusNode(id) {
    const item = tree.querySelector(`[data-node="${CSS.escape(id)}"]`);
    if (item) {
      focusItem(item);
      item.scrollIntoView({ block: "nearest" });
    } else say("This node is in another version.");
  }

  function drawVersions(before) {
    const { commits, now, latest } = shown;
    fill(
      versions,
      h("h2", {}, "Versions"),
      h(
        "ol",
        { class: "history", reversed: true },
        [...commits].reverse().map((each) =>
          h(
            "li",
            { class: each.version === now.version ? "current" : "" },
            h(
              "p",
              {},
              h(
                "a",
                {
                  href: app.href("trees", { ...app.params, version: each.version === latest ? null : each.version }),
                  "aria-current": each.version === now.version ? "true" : undefined,
                },
                each.version,
              ),
              ` ${each.message || "no message"}`,
            ),
            h("p", { class: "facts" }, `${each.author} · ${moment(each.time || each.recorded)}`),
            each.version === now.version && before
              ? [
                  h(
                    "ul",
                    { class: "plain diff" },
                    before.lines.map((line) =>
                      h(
                        "li",
                        { class: { "+": "added", "-": "removed", "~": "altered", ">": "moved-node" }[line[0]] || "" },
                        line,
                      ),
                    ),
                  ),
                ]
              : null,
            each.version === latest && commits.length > 1
              ? button("Undo this edit…", () => revert(commits[commits.length - 2].version), { class: "button small" })
              : null,
          ),
        ),
      ),
    );
  }

  async function edit(node) {
    const { name, branch, now } = shown;
    const inputs = Object.entries(node.fields || {}).map(([key, value]) => [
      key,
      h("input", { value: String(value) }),
      String(value),
    ]);
    const key = h("input", {}),
      value = h("input", {}),
      message = h("input", { maxlength: "200" });
    const remove = h("input", { type: "checkbox", id: "remove-node" });
    const yes = await confirmed({
      title: `Edit ${node.type} ${node.fields?.name || node.id}`,
      act: "Commit",
      body: h(
        "div",
        {},
        inputs.map(([each, input]) => field(each, input, "")),
        h("div", { class: "pair" }, field("New field", key), field("Its value", value)),
        node.id === now.root.id
          ? null
          : h("p", { class: "inline" }, remove, h("label", { for: "remove-node" }, "Delete it with all below")),
        field("Message", message),
      ),
    });
    if (!yes) return;
    const operations = remove.checked
      ? [{ op: "delete", id: node.id }]
      : [
          ...inputs
            .filter(([, input, old]) => input.value !== old)
            .map(([each, input, old]) => ({
              op: "set",
              id: node.id,
              field: each,
              value: input.value === "" ? null : input.value,
              old,
            })),
          ...(key.value.trim() ? [{ op: "set", id: node.id, field: key.value.trim(), value: value.value }] : []),
        ];
    if (!operations.length) return;
    await committed(
      () =>
        tell("trees/edit", {
          tree: name,
          branch,
          onto: now.version,
          commits: [{ operations, message: message.value, author: "person" }],
        }),
      "Committed",
    );
  }

  async function revert(version) {
    const { name, branch, latest } = shown;
    const would = await ask("trees/diff", { tree: name, branch, before: latest, after: version });
    const yes = await confirmed({
      title: `Go back to ${version}?`,
      act: "Go back",
      body: h(
        "div",
        {},
        h("p", {}, "A new version is committed that is as it was then:"),
        h(
          "ul",
          { class: "plain diff" },
          would.lines.map((line) => h("li", {}, line)),
        ),
      ),
    });
    if (yes)
      await committed(
        () => tell("trees/revert", { tree: name, branch, version, message: `back to ${version}`, onto: latest }),
        "Gone back",
      );
  }

  async function committed(act, told) {
    const before = shown.latest;
    try {
      const made = await act();
      toast(`${told}: ${made.version}.`, async () => {
        await tell("trees/revert", {
          tree: shown.name,
          branch: shown.branch,
          version: before,
          message: `undo of ${made.version}`,
          onto: made.version,
        }).catch((error) => toast(error.message));
        load(app.params);
      });
      app.go({ version: null });
    } catch (error) {
      toast(`${error.message} ${error.hint || ""}`);
    }
    load(app.params);
  }

  return {
    element,
    update(params) {
      const state = JSON.stringify([params.tree, params.version, params.path, params.branch]);
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
