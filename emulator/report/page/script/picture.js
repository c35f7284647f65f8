// A picture over time: a canvas with axes, linked to the others by the time window, for mouse, fingers and keys.

import { colours } from "./colours.js";
import { element } from "./dom.js";
import { timeTicks } from "./ticks.js";

const MARGIN = { left: 64, right: 12, top: 8, bottom: 24 };
const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
const CLICK = 4; // Pixels: whoever moves less has clicked.
const STEP = 0.25; // Share of the window that a key or a button moves.
const FACTOR = 1.6; // By which a key or a button zooms.

/** What the keys do; buttons do the same by these names. */
export const MOVES = {
  in: (shown) => shown.zoom(1 / FACTOR),
  out: (shown) => shown.zoom(FACTOR),
  left: (shown) => shown.move(-STEP),
  right: (shown) => shown.move(STEP),
  all: (shown) => shown.all(),
};
const KEYS = { "+": "in", "=": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", 0: "all", Home: "all" };

/** Shared by all pictures: the time under the pointer, or null. */
export const cursor = { time: null, listeners: [] };

/**
 * A picture.
 *
 * `host` is the element that it goes into, `shown` the time window. `options`: `height` in pixels; `label` in words;
 * `draw(area)` draws what it shows; `read(time, area, y)` says in words what is under the pointer; `click(time, area, y)`;
 * `epoch()` Unix time of second 0, or null.
 */
export class Picture {
  constructor(host, shown, options) {
    Object.assign(this, { host, shown, options, pending: false, near: true, stale: false });
    this.canvas = element("canvas", { tabIndex: 0, role: "application", "aria-label": options.label });
    this.cover = element("canvas", { "aria-hidden": "true" });
    this.cover.style.cssText = "position:absolute;left:0;top:0;pointer-events:none";
    this.canvas.style.height = `${options.height}px`; // Its place is there before it is drawn, so that nothing jumps.
    this.readout = element("div", { className: "readout" });
    host.replaceChildren(this.canvas, this.cover, this.readout);
    this.listen();
  }

  /** Draw soon, once, and only if it can be seen. */
  redraw() {
    this.stale = true;
    if (this.pending || !this.near) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      if (this.near) this.drawNow();
    });
  }

  /** Draw all of it. */
  drawNow() {
    const began = performance.now();
    this.stale = false;
    const area = this.area();
    this.canvas.setAttribute("aria-label", this.options.label);
    area.context.clearRect(0, 0, area.width, area.height);
    this.options.draw(area);
    drawTimes(area);
    this.drawCover();
    this.canvas.dataset.milliseconds = (performance.now() - began).toFixed(1);
  }

  /** The canvas at the size of its place, and how times and pixels belong together. */
  area() {
    const width = Math.max(this.host.clientWidth, 120);
    const height = this.options.height;
    const context = sized(this.canvas, width, height);
    sized(this.cover, width, height);
    const plot = { x: MARGIN.left, y: MARGIN.top, w: width - MARGIN.left - MARGIN.right, h: height - MARGIN.top - MARGIN.bottom };
    const { from, length } = this.shown;
    return {
      context, width, height, plot, from, length, to: from + length, epoch: this.options.epoch(), colours: colours(),
      x: (time) => plot.x + ((time - from) / length) * plot.w,
      time: (x) => from + ((x - plot.x) / plot.w) * length,
    };
  }

  /** The line under the pointer, or the part that is being chosen. */
  drawCover() {
    const area = this.area();
    const context = this.cover.getContext("2d");
    context.clearRect(0, 0, area.width, area.height);
    if (this.chosen) {
      const [low, high] = this.chosen;
      context.fillStyle = `${area.colours.series[0]}40`;
      context.fillRect(low, area.plot.y, high - low, area.plot.h);
    } else if (cursor.time !== null) {
      context.fillStyle = area.colours.muted;
      const x = area.x(cursor.time);
      if (x >= area.plot.x && x <= area.plot.x + area.plot.w) context.fillRect(Math.round(x), area.plot.y, 1, area.plot.h);
    }
    const y = cursor.picture === this ? cursor.y : null;
    this.readout.textContent = cursor.time === null || this.chosen ? "" : this.options.read(cursor.time, area, y);
  }

  listen() {
    new ResizeObserver(() => this.redraw()).observe(this.host);
    new IntersectionObserver((seen) => {
      this.near = seen[seen.length - 1].isIntersecting;
      if (this.near && this.stale) this.redraw();
    }, { rootMargin: "200px" }).observe(this.host);
    this.shown.listeners.push(() => this.redraw());
    cursor.listeners.push(() => this.near && this.drawCover());
    listenToPointer(this);
    this.canvas.addEventListener("keydown", (event) => pressed(event, this.shown));
    this.canvas.addEventListener("wheel", (event) => turned(event, this), { passive: false });
    this.canvas.addEventListener("dblclick", () => this.shown.all());
  }

  /** Where a pointer is, in pixels of the canvas. */
  at(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }
}

function sized(canvas, width, height) {
  const ratio = devicePixelRatio || 1;
  const context = canvas.getContext("2d");
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.font = FONT;
  return context;
}

/** The axis of time, below. */
function drawTimes({ context, plot, from, to, epoch, x, colours: look }) {
  context.fillStyle = look.rule;
  context.fillRect(plot.x, plot.y + plot.h, plot.w, 1);
  context.textBaseline = "top";
  context.textAlign = "center";
  for (const [at, text] of timeTicks(from, to, epoch, Math.max(plot.w / 110, 2))) {
    context.fillStyle = look.rule;
    context.fillRect(Math.round(x(at)), plot.y + plot.h, 1, 4);
    context.fillStyle = look.muted;
    const half = context.measureText(text).width / 2;
    if (x(at) - half > plot.x - 40 && x(at) + half < plot.x + plot.w + 12) context.fillText(text, x(at), plot.y + plot.h + 7);
  }
}

/** Marks of the upright axis: pairs of pixel and text. */
export function drawHeights({ context, plot, colours: look }, marks, lines = true) {
  context.textBaseline = "middle";
  context.textAlign = "right";
  for (const [y, text] of marks) {
    context.fillStyle = look.rule;
    if (lines) context.fillRect(plot.x, Math.round(y), plot.w, 1);
    context.fillStyle = look.muted;
    context.fillText(text, plot.x - 6, y);
  }
}

function pressed(event, shown) {
  const name = KEYS[event.key];
  if (!name || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  MOVES[name](shown);
}

function turned(event, picture) {
  if (!event.ctrlKey && !event.metaKey) return; // Without them the page moves, as everywhere.
  event.preventDefault();
  const { plot } = picture.area();
  const share = (picture.at(event)[0] - plot.x) / plot.w;
  picture.shown.zoom(Math.exp(event.deltaY / 300), Math.min(Math.max(share, 0), 1));
}

/** A drag of the mouse chooses a part, with Shift it moves; one finger moves, two zoom. */
function listenToPointer(picture) {
  const { canvas, shown } = picture;
  const held = new Map();
  let began = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    canvas.setPointerCapture(event.pointerId);
    held.set(event.pointerId, picture.at(event)[0]);
    began = { at: picture.at(event), moves: event.shiftKey || event.pointerType === "touch", moved: false };
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = picture.at(event);
    if (!held.has(event.pointerId) || !began) return point(picture, x, y);
    if (held.size > 1) pinch(picture, held, event.pointerId, x);
    else drag(picture, began, held.get(event.pointerId), x);
    held.set(event.pointerId, x);
  });
  const end = (event) => {
    held.delete(event.pointerId);
    if (!began || held.size) return;
    const chosen = picture.chosen;
    picture.chosen = null;
    if (event.type === "pointerup" && chosen) choose(picture, chosen);
    else if (event.type === "pointerup" && !began.moved) clicked(picture, ...picture.at(event));
    began = null;
    picture.drawCover();
  };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  canvas.addEventListener("pointerleave", () => !held.size && point(picture, null, null));
  shown.listeners.push(() => { picture.chosen = null; });
}

function drag(picture, began, last, x) {
  if (Math.abs(x - began.at[0]) >= CLICK) began.moved = true;
  if (!began.moved) return;
  const { plot } = picture.area();
  if (began.moves) {
    picture.shown.move((last - x) / plot.w);
    return;
  }
  const inside = (value) => Math.min(Math.max(value, plot.x), plot.x + plot.w);
  picture.chosen = [inside(began.at[0]), inside(x)].sort((one, other) => one - other);
  picture.drawCover();
}

function choose(picture, [low, high]) {
  const area = picture.area();
  if (high - low >= CLICK) picture.shown.show(area.time(low), area.time(high));
}

function clicked(picture, x, y) {
  const area = picture.area();
  if (picture.options.click) picture.options.click(area.time(x), area, y);
}

function pinch(picture, held, id, x) {
  const { plot } = picture.area();
  const [other] = [...held].filter(([each]) => each !== id).map(([, at]) => at);
  const before = Math.max(Math.abs(held.get(id) - other), 8);
  picture.shown.zoom(before / Math.max(Math.abs(x - other), 8), ((x + other) / 2 - plot.x) / plot.w);
}

function point(picture, x, y) {
  const area = picture.area();
  const inside = x !== null && x >= area.plot.x && x <= area.plot.x + area.plot.w;
  Object.assign(cursor, { time: inside ? area.time(x) : null, y, picture });
  for (const listener of cursor.listeners) listener();
}
