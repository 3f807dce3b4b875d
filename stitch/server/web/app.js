// The frame of the page: which view is shown, for which address. All of a view's state stands in the address.

import { ask, follow, useKey } from "./api.js";
import { failed, fill, h, say, shortened } from "./dom.js";
import { askView } from "./ask.js";
import { healthView } from "./health.js";
import { labelsView } from "./labels.js";
import { stepPanel } from "./step.js";
import { themesView } from "./themes.js";
import { timelineView } from "./timeline.js";
import { treesView } from "./trees.js";

const VIEWS = {
  timeline: ["Timeline", timelineView],
  ask: ["Ask", askView],
  labels: ["Labels", labelsView],
  trees: ["Trees", treesView],
  themes: ["Themes", themesView],
  health: ["Health", healthView],
};
const KEPT = ["trajectory"]; // what stays when another view is opened
const SCHEME = "stitch-scheme";

class App {
  constructor() {
    this.listeners = new Set();
    this.trajectories = [];
    this.view = null;
    this.panel = stepPanel(this);
    this.status = h("span", { class: "live", role: "status" }, "");
    this.main = h("main", { id: "main", tabindex: "-1" });
    this.links = Object.fromEntries(Object.entries(VIEWS).map(([name, [text]]) => [name, h("a", {}, text)]));
    this.picker = h("select", {
      "aria-label": "Trajectory",
      onchange: (event) => this.go({ trajectory: event.target.value, from: null, to: null, step: null, in: null }),
    });
    document.body.append(
      h(
        "a",
        {
          class: "skip",
          href: "#main",
          onclick: (event) => {
            event.preventDefault();
            this.main.focus();
          },
        },
        "Skip to the view",
      ),
      h(
        "header",
        { class: "top" },
        h(
          "a",
          { class: "brand", href: "#/timeline" },
          h("img", { src: "page/icon.svg", alt: "", width: "22", height: "22" }),
          "stitch",
        ),
        h("nav", { "aria-label": "Views" }, Object.values(this.links)),
        h("span", { class: "space" }),
        this.status,
        this.schemeButton(),
      ),
      h("div", { class: "frame" }, this.main, this.panel.element),
    );
    addEventListener("hashchange", () => this.route());
    addEventListener("key-needed", (event) => this.askForKey(event.detail));
    addEventListener("keydown", (event) => {
      if (event.key === "/" && !/INPUT|TEXTAREA|SELECT/.test(event.target.tagName)) {
        event.preventDefault();
        this.go({}, { view: "ask" });
      }
      if (event.key === "Escape" && this.params.step && !document.querySelector("dialog[open]")) this.close();
    });
  }

  // The view and the state that the address names.
  get address() {
    const [, path, query] = /^#?\/?([^?]*)\??(.*)$/s.exec(location.hash);
    return { view: VIEWS[path] ? path : "timeline", params: Object.fromEntries(new URLSearchParams(query)) };
  }

  get params() {
    return this.address.params;
  }

  href(view, params) {
    const query = new URLSearchParams(
      Object.entries(params).filter(([, value]) => value !== null && value !== undefined && value !== ""),
    );
    return `#/${view}${query.size ? `?${query}` : ""}`;
  }

  // Change the state; of another view only what all of them have is kept.
  go(changed, { view = this.address.view, replace = false } = {}) {
    const own = this.address;
    const kept =
      view === own.view
        ? own.params
        : Object.fromEntries(KEPT.filter((name) => own.params[name]).map((name) => [name, own.params[name]]));
    const href = this.href(view, { ...kept, ...changed });
    if (href === location.hash) return;
    if (replace) {
      history.replaceState(null, "", href);
      this.route();
    } else location.hash = href;
  }

  // Write the state down without drawing anything anew.
  remember(changed) {
    const { view, params } = this.address;
    history.replaceState(null, "", this.href(view, { ...params, ...changed }));
  }

  open(trajectory, step) {
    this.go({ in: trajectory, step });
  }

  close() {
    this.go({ in: null, step: null });
    this.returnTo?.focus?.();
  }

  async begin() {
    try {
      await this.load();
    } catch (error) {
      if (error.status !== 401)
        fill(
          this.main,
          failed(error, () => location.reload()),
        );
      return;
    }
    this.listen();
    this.route();
  }

  async load() {
    const [about, list] = await Promise.all([ask("about"), ask("trajectories", { limit: 1000 })]);
    this.about = about;
    this.trajectories = list.trajectories;
  }

  trajectory(name = this.params.trajectory) {
    return (
      this.trajectories.find((each) => each.trajectory === name) ||
      this.trajectories.reduce((most, each) => (!most || each.steps > most.steps ? each : most), null)
    );
  }

  // What a choice among trajectories offers.
  trajectoryOptions() {
    return this.trajectories.map((each) => [each.trajectory, shortened(each.trajectory)]);
  }

  pickTrajectory(chosen) {
    fill(
      this.picker,
      this.trajectories.map((each) =>
        h("option", { value: each.trajectory }, `${shortened(each.trajectory)} · ${each.steps.toLocaleString("en")}`),
      ),
    );
    if (chosen) this.picker.value = chosen;
    return this.picker;
  }

  route() {
    const { view, params } = this.address;
    const [text, create] = VIEWS[view];
    for (const [name, link] of Object.entries(this.links)) {
      link.href = this.href(
        name,
        Object.fromEntries(KEPT.filter((each) => params[each]).map((each) => [each, params[each]])),
      );
      if (name === view) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    if (this.view?.name !== view) {
      const moved = this.view !== null;
      this.view?.close?.();
      this.view = { name: view, ...create(this) };
      fill(this.main, this.view.element);
      if (moved) {
        this.main.focus({ preventScroll: true });
        say(text);
        scrollTo(0, 0);
      }
    }
    document.title = `${text} · stitch`;
    this.view.update(params);
    this.panel.update(params);
  }

  // Tell the views what happens in the memory; where events cannot be followed, ask now and then.
  listen() {
    const heard = (name, event) => {
      if (name === "connected") {
        this.status.textContent = "live";
        this.status.dataset.state = "on";
        return;
      }
      if (name === "disconnected") {
        this.status.textContent = "not connected";
        this.status.dataset.state = "off";
        return;
      }
      if (!["ready", "searched", "closing"].includes(name)) this.changed(name, event);
    };
    this.following = new AbortController();
    follow(heard, this.following.signal);
    setInterval(async () => {
      if (document.hidden) return;
      const before = JSON.stringify(this.trajectories);
      const list = await ask("trajectories", { limit: 1000 }).catch(() => null);
      if (list && JSON.stringify(list.trajectories) !== before) this.changed("accepted", {});
    }, 5000);
  }

  changed(name, event) {
    this.pending = [...(this.pending || []), { name, ...event }];
    this.gathering ||= setTimeout(async () => {
      const events = this.pending;
      this.pending = [];
      this.gathering = 0;
      const list = await ask("trajectories", { limit: 1000 }).catch(() => null);
      if (list) this.trajectories = list.trajectories;
      this.view?.changed?.(events);
      this.panel.changed(events);
    }, 250);
  }

  askForKey(message) {
    if (document.querySelector("#key")) return;
    const input = h("input", { id: "key", type: "password", autocomplete: "off", required: true });
    fill(
      this.main,
      h(
        "form",
        {
          class: "key-form",
          onsubmit: (event) => {
            event.preventDefault();
            useKey(input.value.trim());
            location.reload();
          },
        },
        h("h1", {}, "This memory asks for a key"),
        h("p", {}, message || ""),
        h("label", { for: "key" }, "Key, as `stitch keys add` printed it"),
        input,
        h("p", { class: "hint" }, "It stays in this tab and is forgotten when you close it."),
        h("button", { class: "button primary" }, "Open the memory"),
      ),
    );
    input.focus();
  }

  schemeButton() {
    const names = { auto: "Colors: as the system", light: "Colors: light", dark: "Colors: dark" };
    const shown = { auto: "◐", light: "○", dark: "●" };
    const set = (scheme) => {
      if (scheme === "auto") {
        delete document.documentElement.dataset.scheme;
        localStorage.removeItem(SCHEME);
      } else {
        document.documentElement.dataset.scheme = scheme;
        localStorage.setItem(SCHEME, scheme);
      }
      toggle.textContent = shown[scheme];
      toggle.setAttribute("aria-label", names[scheme]);
      toggle.title = names[scheme];
      toggle.dataset.scheme = scheme;
      dispatchEvent(new Event("restyle"));
    };
    const next = { auto: "light", light: "dark", dark: "auto" };
    const toggle = h("button", {
      type: "button",
      class: "quiet scheme",
      onclick: () => set(next[toggle.dataset.scheme]),
    });
    set(localStorage.getItem(SCHEME) || "auto");
    return toggle;
  }
}

new App().begin();
