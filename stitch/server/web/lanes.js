// Scopes as lanes over the steps of a trajectory: pursued, waiting, resumed. Drawn on canvas; a list of the same stands
// beside it for those who do not see it. It imports nothing: `stitch show --html` puts it into a file as it is.

const ROW = 28,
  BAR = 14,
  AXIS = 38,
  FLAGS = 18,
  STRIP = 26;
const MANY = 40; // of more scopes only those with a stretch in view have a lane
const MARKED = 7; // pixels of a step from which on its acts are marked
const KINDS = [
  ["trouble", "Failed, refused or corrected", /fail|error|reject|correct|refus|disagree/],
  ["decided", "Decided or confirmed", /decid|confirm|agree|choose|chose|accept|approve/],
  ["reached", "Succeeded", /succe|complete|pass|finish|done/],
  ["asked", "Asked or requested", /ask|request|question|task|instruct/],
  ["did", "Did something", /call|run|edit|read|write|search|tool|plan|book/],
  ["said", "Said something else", /./],
];

export const ACT_KINDS = KINDS.map(([name, text]) => [name, text]);

// The most telling kind of what was done in a step.
export function kindOfActs(acts) {
  const found = KINDS.find(([, , pattern]) => acts.some((act) => pattern.test(act)));
  return found ? found[0] : "said";
}

export function drawMark(context, kind, x, y, size) {
  const r = size / 2;
  context.beginPath();
  if (kind === "trouble") {
    context.moveTo(x - r, y - r);
    context.lineTo(x + r, y + r);
    context.moveTo(x + r, y - r);
    context.lineTo(x - r, y + r);
    context.stroke();
  } else if (kind === "decided") {
    context.moveTo(x, y - r - 1);
    context.lineTo(x + r + 1, y);
    context.lineTo(x, y + r + 1);
    context.lineTo(x - r - 1, y);
    context.closePath();
    context.fill();
  } else if (kind === "reached") {
    context.moveTo(x - r, y);
    context.lineTo(x - r / 4, y + r * 0.8);
    context.lineTo(x + r, y - r * 0.8);
    context.stroke();
  } else if (kind === "asked") {
    context.arc(x, y, r * 0.9, 0, 2 * Math.PI);
    context.stroke();
  } else if (kind === "did") {
    context.moveTo(x, y - r);
    context.lineTo(x, y + r);
    context.stroke();
  } else {
    context.arc(x, y, r * 0.45, 0, 2 * Math.PI);
    context.fill();
  }
}

function styles(element) {
  const own = getComputedStyle(element);
  const of = (name) => own.getPropertyValue(name).trim();
  return {
    ink: of("--ink"),
    soft: of("--soft"),
    line: of("--line"),
    surface: of("--surface"),
    accent: of("--accent"),
    lit: of("--lit"),
    bad: of("--bad"),
    mark: of("--on-lane"),
    font: own.fontFamily,
    lanes: [0, 1, 2, 3, 4, 5, 6, 7].map((number) => of(`--lane-${number}`)),
  };
}

function made(tag, className, parent, given = {}) {
  const element = document.createElement(tag);
  element.className = className;
  for (const [name, value] of Object.entries(given)) element.setAttribute(name, value);
  parent.append(element);
  return element;
}

// The first of the spans that ends at a place or behind it.
function firstSpan(spans, place) {
  let low = 0,
    high = spans.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans[middle][1] < place) low = middle + 1;
    else high = middle;
  }
  return low;
}

function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least) || 1;
}

export class Lanes {
  // `told` has what is called: moved(from, to), chosen(position), named(scope); describe(position) is the text of a step,
  // clock(position) its day and time.
  constructor(told = {}) {
    this.told = { moved() {}, chosen() {}, named: null, describe: () => "", clock: () => ["", ""], ...told };
    this.length = 0;
    this.scopes = [];
    this.steps = new Map();
    this.hits = new Map();
    this.selected = null;
    this.from = 0;
    this.to = 1;
    this.element = document.createElement("div");
    this.element.className = "lanes";
    this._strip = made("canvas", "lanes-strip", this.element, { "aria-hidden": "true" });
    this._axis = made("canvas", "lanes-axis", this.element, { "aria-hidden": "true" });
    this._scroll = made("div", "lanes-scroll", this.element, {
      tabindex: "0",
      role: "group",
      "aria-roledescription": "timeline",
    });
    this._canvas = made("canvas", "lanes-canvas", this._scroll, { "aria-hidden": "true" });
    this._names = made("div", "lanes-names", this._scroll);
    this._tip = made("div", "lanes-tip", this.element, { hidden: "" });
    this._said = made("div", "unseen", this.element, { "aria-live": "polite" });
    this._listen();
    this._resizing = new ResizeObserver(() => this.draw());
    this._resizing.observe(this.element);
    this._scheme = matchMedia("(prefers-color-scheme: dark)");
    this._scheme.addEventListener("change", () => this.restyle());
  }

  // Let this be what is shown: `scopes` as `{name, steps, spans}`; one that is `pinned` stands above all others.
  set({ length, scopes }) {
    const all = this.length === 0 || (this.from <= 0 && this.to >= this.length);
    const atEnd = this.to >= this.length;
    const grown = length - this.length;
    this.length = length;
    this.scopes = scopes
      .map((scope) => ({ ...scope, spans: [...scope.spans].sort((a, b) => a[0] - b[0]) }))
      .filter((scope) => scope.spans.length)
      .sort((a, b) => Boolean(b.pinned) - Boolean(a.pinned) || a.spans[0][0] - b.spans[0][0]);
    this.scopes.forEach((scope, number) => {
      scope.color = number % 8;
      scope.number = number;
    });
    this.byName = new Map(this.scopes.map((scope) => [scope.name, scope]));
    this._stripped = null;
    if (all) this.show(0, length, false);
    else if (atEnd && grown > 0) this.show(this.from + grown, this.to + grown, false);
    this._scroll.setAttribute(
      "aria-label",
      `${this.scopes.length} scopes over ${length} steps. Arrow keys move from step to step, Enter opens one, plus and minus zoom.`,
    );
    this.draw();
  }

  show(from, to, tell = true) {
    const span = Math.min(Math.max(1, to - from), Math.max(1, this.length));
    this.from = Math.min(Math.max(0, from), Math.max(0, this.length - span));
    this.to = this.from + span;
    if (tell) this.told.moved(this.from, this.to);
    this.draw();
  }

  zoom(factor, around = (this.from + this.to) / 2) {
    const span = (this.to - this.from) * factor;
    const share = (around - this.from) / (this.to - this.from);
    this.show(around - share * span, around + (1 - share) * span);
  }

  select(position, { open = false } = {}) {
    this.selected = position;
    if (position !== null && (position < this.from || position >= this.to)) {
      const span = this.to - this.from;
      this.show(position - span / 2, position + span / 2);
    }
    if (position !== null) this._said.textContent = this.told.describe(position);
    if (open && position !== null) this.told.chosen(position);
    this.draw();
  }

  restyle() {
    this._style = null;
    this._stripped = null;
    this.draw();
  }

  draw() {
    if (this._drawing) return;
    this._drawing = requestAnimationFrame(() => {
      this._drawing = 0;
      if (this.element.isConnected && this.element.clientWidth) this._draw();
    });
  }

  scopeAt(position) {
    const step = this.steps.get(position);
    if (step) return step.scope;
    const found = this.scopes.find(({ spans }) => {
      const span = spans[firstSpan(spans, position)];
      return span && span[0] <= position;
    });
    return found ? found.name : null;
  }

  // The lanes that are drawn: all, or of very many those that are pursued in view.
  rows() {
    if (this.scopes.length <= MANY) return this.scopes;
    return this.scopes.filter(({ spans, pinned }) => {
      const span = spans[firstSpan(spans, this.from)];
      return pinned || (span && span[0] < this.to);
    });
  }

  _sized(canvas, width, height) {
    const ratio = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    return context;
  }

  _draw() {
    this._style ||= styles(this.element);
    const gutter = (this._gutter = this.element.clientWidth < 600 ? 104 : 208);
    const width = (this._width = Math.max(40, this._scroll.clientWidth - gutter - 1));
    this.element.style.setProperty("--gutter", `${gutter}px`);
    const rows = this.rows(),
      tall = Math.max(1, rows.length) * ROW + 8;
    const most = Math.max(160, Math.min(520, innerHeight * 0.5)),
      shown = Math.min(tall, most);
    this._scroll.style.height = `${shown}px`;
    this._names.style.height = `${tall}px`;
    this._drawStrip(width);
    this._drawAxis(width);
    const context = this._sized(this._canvas, width, shown),
      top = this._scroll.scrollTop;
    const first = Math.max(0, Math.floor(top / ROW)),
      last = Math.min(rows.length, Math.ceil((top + shown) / ROW));
    const x = (place) => (place - this.from) * (width / (this.to - this.from));
    this._drawHits(context, x, shown);
    for (let row = first; row < last; row += 1) this._drawRow(context, rows[row], row * ROW - top, x, width);
    this._drawSteps(context, rows, first, last, x, top);
    this._drawNames(rows, first, last);
  }

  _drawRow(context, scope, y, x, width) {
    const style = this._style,
      spans = scope.spans,
      middle = y + ROW / 2 + 0.5;
    context.strokeStyle = style.line;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(0, y + ROW + 0.5);
    context.lineTo(width, y + ROW + 0.5);
    context.stroke();
    const begin = Math.max(0, x(spans[0][0])),
      end = Math.min(width, x(spans[spans.length - 1][1] + 1));
    const color = style.lanes[scope.color];
    if (end > begin) {
      // it waits wherever it is not pursued between its first and its last step
      context.strokeStyle = color;
      context.setLineDash([2, 4]);
      context.beginPath();
      context.moveTo(begin, middle);
      context.lineTo(end, middle);
      context.stroke();
      context.setLineDash([]);
    }
    context.fillStyle = color;
    let open = null; // stretches that touch each other in pixels are one rectangle
    const flush = () => {
      if (open) {
        context.beginPath();
        context.roundRect(open[0], y + (ROW - BAR) / 2, open[1] - open[0], BAR, open[1] - open[0] > 6 ? 3 : 0);
        context.fill();
      }
    };
    const resumed = [];
    for (let number = firstSpan(spans, this.from); number < spans.length && spans[number][0] < this.to; number += 1) {
      const left = x(spans[number][0]),
        right = Math.max(left + 1.5, x(spans[number][1] + 1) - 1);
      if (open && left <= open[1] + 0.5) open[1] = Math.max(open[1], right);
      else {
        flush();
        open = [left, right];
      }
      if (number > 0 && left - x(spans[number - 1][1] + 1) > 9) resumed.push(left);
    }
    flush();
    for (const left of resumed) {
      // an arrow before a stretch says: taken up again
      const high = y + (ROW - BAR) / 2 + 2;
      context.beginPath();
      context.moveTo(left - 7, high);
      context.lineTo(left - 1, y + ROW / 2);
      context.lineTo(left - 7, high + BAR - 4);
      context.closePath();
      context.fill();
    }
  }

  _drawSteps(context, rows, first, last, x, top) {
    const wide = x(this.from + 1),
      style = this._style;
    const places = new Map();
    for (let row = first; row < last; row += 1) places.set(rows[row].name, row * ROW - top);
    if (wide >= MARKED) {
      context.lineWidth = 1.6;
      const end = Math.min(this.length, Math.ceil(this.to));
      for (let position = Math.floor(this.from); position < end; position += 1) {
        const step = this.steps.get(position),
          y = step && places.get(step.scope);
        if (y === undefined) continue;
        const left = x(position),
          size = Math.min(7, wide - 2);
        context.strokeStyle = context.fillStyle = style.mark;
        const kind = step.state === "failed" ? "trouble" : kindOfActs(step.event_types);
        const named = wide > 84 && step.event_types.length;
        drawMark(context, kind, named ? left + 13 : left + wide / 2, y + ROW / 2, size);
        if (named) this._write(context, step.event_types.join(", "), left + 22, y + ROW / 2 + 4, wide - 28);
        if (step.state === "retired" || step.state === "failed") {
          context.strokeStyle = style.bad;
          context.strokeRect(left + 1, y + 4, Math.max(3, wide - 3), ROW - 8);
        }
      }
    }
    for (const position of this.hits.keys()) this._frame(context, position, places, x, wide, style.lit, 2);
    if (this.selected !== null) this._frame(context, this.selected, places, x, wide, style.ink, 2);
  }

  _write(context, text, x, y, room) {
    context.font = `11px ${this._style.font}`;
    const most = Math.floor(room / 6);
    context.fillText(text.length > most ? `${text.slice(0, Math.max(1, most - 1))}…` : text, x, y);
  }

  _frame(context, position, places, x, wide, color, line) {
    const y = places.get(this.scopeAt(position));
    if (y === undefined || position < this.from - 1 || position > this.to) return;
    context.strokeStyle = color;
    context.lineWidth = line;
    context.strokeRect(x(position) - 1, y + 3.5, Math.max(4, wide), ROW - 7);
  }

  _drawHits(context, x, height) {
    context.fillStyle = this._style.lit;
    context.globalAlpha = 0.16;
    for (const position of this.hits.keys()) {
      if (position >= this.from - 1 && position < this.to)
        context.fillRect(x(position), 0, Math.max(2, x(position + 1) - x(position)), height);
    }
    context.globalAlpha = 1;
  }

  _drawNames(rows, first, last) {
    const wanted = rows.slice(first, last),
      kept = new Map([...this._names.children].map((child) => [child.scope, child]));
    const visible = new Set(wanted);
    for (const [scope, child] of kept) if (!visible.has(scope)) child.remove();
    wanted.forEach((scope, offset) => {
      const name = kept.get(scope) || this._nameOf(scope);
      name.style.top = `${(first + offset) * ROW}px`;
      name.tabIndex = this.told.named ? 0 : -1;
    });
  }

  _nameOf(scope) {
    const name = made(this.told.named ? "button" : "div", "lanes-name", this._names);
    if (this.told.named) {
      name.type = "button";
      name.addEventListener("click", () => this.told.named(scope.name));
    }
    name.scope = scope;
    name.title = scope.name;
    const times = scope.spans.length;
    name.setAttribute(
      "aria-label",
      `${scope.name}: ${scope.steps} steps in ${times} ${times === 1 ? "stretch" : "stretches"}`,
    );
    made("span", "lanes-swatch", name).style.background = `var(--lane-${scope.color})`;
    made("span", "lanes-label", name).textContent = scope.name;
    made("span", "lanes-count", name).textContent = scope.steps;
    return name;
  }

  _drawAxis(width) {
    const style = this._style,
      height = this.hits.size ? AXIS + FLAGS : AXIS,
      context = this._sized(this._axis, width, height);
    const scale = width / (this.to - this.from),
      step = niceStep(112 / scale);
    context.font = `11px ${style.font}`;
    context.textBaseline = "alphabetic";
    let day = "";
    for (let place = Math.ceil(this.from / step) * step; place < Math.min(this.to, this.length); place += step) {
      const left = (place - this.from) * scale;
      context.strokeStyle = style.line;
      context.beginPath();
      context.moveTo(left + 0.5, 4);
      context.lineTo(left + 0.5, height);
      context.stroke();
      context.fillStyle = style.ink;
      context.fillText(place.toLocaleString("en"), left + 5, 14);
      context.fillStyle = style.soft;
      const [date, time] = this.told.clock(place);
      context.fillText(date === day ? time : `${date} ${time}`, left + 5, 29);
      day = date;
    }
    let taken = -20;
    for (const [position, rank] of [...this.hits].sort((a, b) => a[0] - b[0])) {
      const center = (position + 0.5 - this.from) * scale;
      if (center < 0 || center > width) continue;
      const text = String(rank),
        broad = text.length * 7 + 6;
      if (center - taken < broad + 1) {
        context.fillStyle = style.lit;
        context.fillRect(center - 1, height - 8, 2, 8);
        continue;
      }
      taken = center;
      context.fillStyle = style.lit;
      context.beginPath();
      context.roundRect(center - broad / 2, height - 17, broad, 15, 7);
      context.fill();
      context.fillStyle = style.surface;
      context.fillText(text, center - text.length * 3.2, height - 6);
    }
  }

  // All of the trajectory in one line, with the part that is in view.
  _drawStrip(width) {
    const style = this._style,
      context = this._sized(this._strip, width, STRIP);
    const scale = width / Math.max(1, this.length);
    if (!this._stripped || this._stripped.width !== this._strip.width) {
      this._stripped = new OffscreenCanvas(this._strip.width, this._strip.height);
      const own = this._stripped.getContext("2d");
      own.setTransform(context.getTransform());
      for (const scope of this.scopes) {
        own.fillStyle = style.lanes[scope.color];
        let end = -1;
        for (const [left, right] of scope.spans) {
          const stop = (right + 1) * scale;
          if (stop < end) continue; // inside a pixel that is drawn
          own.fillRect(left * scale, 8, Math.max(0.6, stop - left * scale), 10);
          end = Math.max(stop, Math.floor(left * scale) + 0.6);
        }
      }
    }
    context.save();
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this._stripped, 0, 0);
    context.restore();
    context.fillStyle = style.lit;
    for (const position of this.hits.keys()) context.fillRect((position + 0.5) * scale - 1, 2, 3, 22);
    if (this.to - this.from < this.length) {
      const left = this.from * scale,
        right = Math.max(left + 4, this.to * scale);
      context.fillStyle = style.surface;
      context.globalAlpha = 0.66;
      context.fillRect(0, 0, left, STRIP);
      context.fillRect(right, 0, width - right, STRIP);
      context.globalAlpha = 1;
      context.strokeStyle = style.ink;
      context.lineWidth = 1.5;
      context.strokeRect(left + 0.75, 1.5, right - left - 1.5, STRIP - 3);
    }
  }

  _place(event, canvas = this._canvas) {
    const box = canvas.getBoundingClientRect();
    return (event.clientX - box.left) / box.width;
  }

  _listen() {
    const at = (event) => this.from + this._place(event) * (this.to - this.from);
    const fingers = new Map();
    let grabbed = null,
      dragged = false;
    this._canvas.addEventListener("pointerdown", (event) => {
      fingers.set(event.pointerId, event.clientX);
      this._canvas.setPointerCapture(event.pointerId);
      grabbed = at(event);
      dragged = false;
    });
    this._canvas.addEventListener("pointermove", (event) => {
      const scale = this._width / (this.to - this.from);
      if (fingers.size === 2 && fingers.has(event.pointerId)) {
        const [one, other] = fingers.values(),
          before = Math.abs(one - other);
        fingers.set(event.pointerId, event.clientX);
        const [left, right] = fingers.values();
        dragged = true;
        if (before > 5) this.zoom(before / Math.max(5, Math.abs(left - right)));
      } else if (fingers.has(event.pointerId)) {
        const moved = grabbed - at(event);
        if (dragged || Math.abs(moved) * scale > 4) {
          dragged = true;
          this.show(this.from + moved, this.to + moved);
        }
      } else this._hover(event, Math.floor(at(event)));
    });
    const ended = (event) => {
      if (fingers.delete(event.pointerId) && !dragged && event.type === "pointerup")
        this._clicked(event, Math.floor(at(event)));
    };
    this._canvas.addEventListener("pointerup", ended);
    this._canvas.addEventListener("pointercancel", ended);
    this._canvas.addEventListener("pointerleave", () => {
      this._tip.hidden = true;
    });
    this._scroll.addEventListener("scroll", () => this.draw());
    this._scroll.addEventListener(
      "wheel",
      (event) => {
        if (event.ctrlKey || event.metaKey) {
          event.preventDefault();
          this.zoom(1.0025 ** event.deltaY, at(event));
          return;
        }
        const sideways = event.shiftKey ? event.deltaY : event.deltaX;
        if (!sideways) return;
        event.preventDefault();
        const moved = sideways * ((this.to - this.from) / this._width);
        this.show(this.from + moved, this.to + moved);
      },
      { passive: false },
    );
    this._scroll.addEventListener("keydown", (event) => {
      if (this._key(event)) event.preventDefault();
    });
    const brush = (event) => {
      const center = this._place(event, this._strip) * this.length;
      const whole = this.to - this.from >= this.length,
        span = whole ? Math.max(20, this.length / 8) : this.to - this.from;
      this.show(center - span / 2, center + span / 2);
    };
    this._strip.addEventListener("pointerdown", (event) => {
      this._strip.setPointerCapture(event.pointerId);
      brush(event);
    });
    this._strip.addEventListener("pointermove", (event) => {
      if (event.buttons) brush(event);
    });
  }

  _hover(event, position) {
    const text = position >= 0 && position < this.length ? this.told.describe(position) : "";
    this._tip.hidden = !text;
    if (!text) return;
    this._tip.textContent = text;
    const box = this.element.getBoundingClientRect();
    this._tip.style.left = `${Math.min(event.clientX - box.left + 12, box.width - 330)}px`;
    this._tip.style.top = `${event.clientY - box.top + 18}px`;
  }

  _clicked(event, position) {
    if (position < 0 || position >= this.length) return;
    if ((this.to - this.from) / this._width > 1)
      this.zoom(0.125, position); // a pixel is many steps: look closer first
    else this.select(position, { open: true });
  }

  _key(event) {
    if (event.target !== this._scroll || event.altKey || event.ctrlKey || event.metaKey) return false;
    const span = this.to - this.from,
      here = this.selected ?? Math.floor(this.from);
    const to = (position) => this.select(Math.min(Math.max(0, position), this.length - 1));
    const acts = {
      ArrowRight: () =>
        event.shiftKey
          ? this.show(this.from + span / 4, this.to + span / 4)
          : to(this.selected === null ? here : here + 1),
      ArrowLeft: () => (event.shiftKey ? this.show(this.from - span / 4, this.to - span / 4) : to(here - 1)),
      ArrowDown: () => to(this._stretch(here, 1)),
      ArrowUp: () => to(this._stretch(here, -1)),
      Home: () => to(0),
      End: () => to(this.length - 1),
      Enter: () => this.select(here, { open: true }),
      "+": () => this.zoom(0.5, here),
      "=": () => this.zoom(0.5, here),
      "-": () => this.zoom(2, here),
      0: () => this.show(0, this.length),
      n: () => to(this._hit(here, 1)),
      p: () => to(this._hit(here, -1)),
    };
    if (!acts[event.key]) return false;
    acts[event.key]();
    return true;
  }

  // Where the scope of a step is taken up next, or was before.
  _stretch(position, direction) {
    const scope = this.byName.get(this.scopeAt(position));
    if (!scope) return position + direction;
    const number = firstSpan(scope.spans, position) + direction;
    return scope.spans[Math.min(Math.max(0, number), scope.spans.length - 1)][0];
  }

  _hit(position, direction) {
    const places = [...this.hits.keys()].sort((a, b) => (a - b) * direction);
    return places.find((place) => (place - position) * direction > 0) ?? position;
  }
}
