// The Gantt chart: each run of a job is a bar. Bars are put into the picture pixel by pixel, so that 300,000 are no burden;
// and while one zooms through very many, the last picture of them is stretched until one rests.

import { colours, pixelOf } from "./colours.js";
import { wordAt } from "./columns.js";
import { element, fill } from "./dom.js";
import { assignLanes } from "./lanes.js";
import { durationText, instantText, numberText } from "./numbers.js";
import { drawHeights, Picture } from "./picture.js";
import { lastAt } from "./steps.js";
import { roundTicks } from "./ticks.js";

const HEIGHT = 420;
const CHUNK = 256; // Runs of which the latest end is known, so that none of them is looked at in vain.
const ENDLESS = 2 ** 31 - 1;
const GAP = 12; // Pixels: larger bars are set apart by a line.
const SLOW = 12; // Milliseconds: bars that take longer to draw are stretched meanwhile.
const REST = 120; // Milliseconds without a change after which they are drawn anew.
const WAITS = [60, 3600, 6 * 3600, 86400];
const WAIT_NAMES = ["under a minute", "under an hour", "under 6 hours", "under a day", "a day or more"];
const NAMED = 7; // Most values of a column that have a colour of their own.

/** What bars can be coloured by. */
export function colourings(run) {
  const columns = ["partition", "qos", "account", "user", "queue"].filter((name) => run.facts[name]?.words);
  return [["start", "how it started"], ["wait", "wait of the job"], ...columns.map((name) => [name, name])];
}

/** The chart of a run: where its bars lie. Worked out once, when it is first seen. */
export function layOut(run) {
  const { stints, nodes } = run;
  const last = run.span[1];
  const ends = Float64Array.from(stints.end, (end) => (end === end ? end : last));
  const pools = nodes ? poolsOf(nodes) : [[0, ENDLESS]];
  const parts = nodes ? partsOnNodes(stints, nodes) : (at) => [[0, stints.processors[at]]];
  const ranges = assignLanes(stints.start, ends, parts, pools);
  const top = nodes ? pools[pools.length - 1][1] : Math.max(run.processors, highest(ranges));
  return { ends, ranges, top, latest: latestOfChunks(ends), pools: nodes ? pools : null };
}

/** Lanes of each node: its CPUs, one node above the other. */
function poolsOf(nodes) {
  let sum = 0;
  return nodes.cpus.map((cpus) => {
    sum += cpus;
    return [sum - cpus, sum];
  });
}

/** Which nodes a run holds, and how many CPUs of each. */
function partsOnNodes(stints, nodes) {
  return (at) => {
    const cpus = wordAt(stints.cpus, at).split(",").map(Number);
    const places = nodes.lists[wordAt(stints.nodes, at)] ?? [];
    return places.map((place, number) => [place, Math.min(cpus[number] ?? cpus[0] ?? 1, nodes.cpus[place])]);
  };
}

function highest(ranges) {
  let most = 0;
  for (let at = 0; at < ranges.count; at += 1) most = Math.max(most, ranges.highs[at]);
  return most;
}

function latestOfChunks(ends) {
  const latest = new Float64Array(Math.ceil(ends.length / CHUNK)).fill(-Infinity);
  ends.forEach((end, at) => {
    const chunk = Math.floor(at / CHUNK);
    if (end > latest[chunk]) latest[chunk] = end;
  });
  return latest;
}

/** The picture. `current()` gives the chosen run, `colour()` what bars are coloured by, `job()` the row of the chosen job. */
export function makeGantt(host, shown, { current, colour, job, epoch, open }) {
  const bars = new Bars(() => picture.redraw());
  const picture = new Picture(host, shown, {
    height: HEIGHT,
    label: "Gantt chart: which runs held how many processors over time",
    epoch,
    draw: (area) => current() && drawChart(area, current(), bars, colour(), job()),
    read: (time, area, y) => (current() ? readBar(current(), barAt(current(), time, area, y), epoch()) : ""),
    click: (time, area, y) => {
      const bar = current() ? barAt(current(), time, area, y) : -1;
      if (bar >= 0) open(current().stints.job_id[bar]);
    },
  });
  return picture;
}

/** The bars as they were drawn last, on a canvas of their own. */
class Bars {
  constructor(again) {
    Object.assign(this, { again, canvas: element("canvas"), key: "", spent: 0, labels: [], timer: 0, rested: false });
  }

  /** Bring the bars up to date by `draw()`, or leave them to be stretched if that takes long and more changes may come. */
  update(key, { from, to }, draw) {
    clearTimeout(this.timer);
    if (key === this.key && this.spent > SLOW && !this.rested && (from !== this.from || to !== this.to)) {
      this.timer = setTimeout(() => {
        this.rested = true;
        this.again();
      }, REST);
      return;
    }
    const began = performance.now();
    Object.assign(this, { key, from, to, rested: false, labels: draw() });
    this.spent = performance.now() - began;
  }

  /** Put them where they belong in the part of time that is shown now. */
  put(area) {
    const { context, plot } = area;
    context.save();
    context.beginPath();
    context.rect(plot.x, plot.y, plot.w, plot.h);
    context.clip();
    context.imageSmoothingEnabled = false;
    context.drawImage(this.canvas, area.x(this.from), plot.y, area.x(this.to) - area.x(this.from), plot.h);
    context.restore();
    return this.from === area.from && this.to === area.to ? this.labels : [];
  }
}

function chartOf(run) {
  run.chart ??= layOut(run);
  return run.chart;
}

function drawChart(area, run, bars, by, job) {
  const ratio = area.context.getTransform().a;
  const { w, h } = area.plot;
  const key = [run.number, by, job, w, h, ratio, area.colours.ink].join();
  bars.update(key, area, () => drawBars(area, run, bars.canvas, by, job, ratio));
  drawSpells(area, run, chartOf(run));
  const labels = bars.put(area);
  drawLabels(area, run, labels, ratio);
  drawScale(area, run, chartOf(run));
}

/** Draw all bars that are seen onto a canvas; gives back those that have room for a label. */
function drawBars(area, run, canvas, by, job, ratio) {
  const chart = chartOf(run);
  const kinds = kindsOf(run, by);
  const image = new Bitmap(Math.round(area.plot.w * ratio), Math.round(area.plot.h * ratio));
  const palette = kinds.colours.map(pixelOf);
  const chosen = pixelOf(area.colours.ink);
  const labels = [];
  eachShown(run, chart, area.from, area.to, (at) => {
    const mine = job !== null && run.stints.job_id[at] === run.facts.job_id[job];
    const left = ((run.stints.start[at] - area.from) / area.length) * image.width;
    const right = ((chart.ends[at] - area.from) / area.length) * image.width;
    drawBar(image, chart, at, left, right, mine ? chosen : palette[kinds.of[at]], labels);
  });
  Object.assign(canvas, { width: image.width, height: image.height });
  canvas.getContext("2d").putImageData(image.data, 0, 0);
  return labels;
}

/** When nodes could not be used: behind the bars. */
function drawSpells({ context, plot, from, to, x, colours: look }, run, chart) {
  for (const [state, begin, end, nodes] of run.nodes?.spells ?? []) {
    const last = end ?? run.span[1];
    if (begin > to || last < from) continue;
    const [left, right] = [Math.max(x(begin), plot.x), Math.min(x(last), plot.x + plot.w)];
    context.fillStyle = spellColour(state, look);
    for (const node of nodes) {
      const [low, high] = chart.pools[node] ?? [0, 0];
      const y = plot.y + plot.h * (1 - high / chart.top);
      context.fillRect(left, y, Math.max(right - left, 1), Math.max((plot.h * (high - low)) / chart.top, 1));
    }
  }
}

/** Bars are opaque; what lies behind them is pale. */
function spellColour(state, look) {
  return { DOWN: `${look.bad}66`, DRAIN: `${look.series[4]}66` }[state] ?? `${look.muted}55`;
}

/** A picture of pixels, each one number. */
class Bitmap {
  constructor(width, height) {
    this.data = new ImageData(Math.max(width, 1), Math.max(height, 1));
    this.pixels = new Uint32Array(this.data.data.buffer);
    this.width = this.data.width;
    this.height = this.data.height;
  }
}

/** Call for each run that is seen between two instants. */
function eachShown(run, chart, from, to, call) {
  const starts = run.stints.start;
  const until = lastAt(starts, to) + 1;
  for (let chunk = 0; chunk * CHUNK < until; chunk += 1) {
    if (chart.latest[chunk] < from) continue;
    const end = Math.min((chunk + 1) * CHUNK, until);
    for (let at = chunk * CHUNK; at < end; at += 1) if (chart.ends[at] >= from) call(at);
  }
}

/** A bar on its lanes, lane 0 at the bottom; where there is room a line is left free between bars. */
function drawBar(image, chart, at, left, right, colour, labels) {
  const { width, height, pixels } = image;
  const x0 = Math.max(Math.floor(left), 0);
  const x1 = Math.min(Math.max(Math.floor(right) - (right - left > GAP ? 1 : 0), x0 + 1), width);
  const { ranges, top } = chart;
  let tallest = null;
  for (let place = ranges.first[at]; place < ranges.first[at + 1]; place += 1) {
    const exact = height * (1 - ranges.highs[place] / top);
    const y0 = Math.max(Math.floor(exact), 0);
    const below = height * (1 - ranges.lows[place] / top);
    const y1 = Math.min(Math.max(Math.floor(below) - (below - exact > GAP ? 1 : 0), y0 + 1), height);
    for (let y = y0; y < y1; y += 1) {
      // Most bars of a long log are a pixel wide: a loop is faster there than fill().
      const end = y * width + x1;
      for (let pixel = y * width + x0; pixel < end; pixel += 1) pixels[pixel] = colour;
    }
    if (!tallest || y1 - y0 > tallest[3] - tallest[1]) tallest = [x0, y0, x1, y1];
  }
  if (tallest && tallest[2] - tallest[0] > 40 && tallest[3] - tallest[1] > 14) labels.push([at, ...tallest]);
}

/** The job's number on bars that have room for it. */
function drawLabels({ context, plot, colours: look }, run, labels, ratio) {
  context.fillStyle = look.surface;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (const [at, x0, y0, x1, y1] of labels.slice(0, 2000)) {
    const text = String(run.stints.job_id[at]);
    const room = (x1 - x0) / ratio;
    if (context.measureText(text).width + 6 < room && (y1 - y0) / ratio > 12) {
      context.fillText(text, plot.x + (x0 + x1) / 2 / ratio, plot.y + (y0 + y1) / 2 / ratio);
    }
  }
}

function drawScale(area, run, chart) {
  const { plot } = area;
  const y = (lane) => plot.y + plot.h * (1 - lane / chart.top);
  if (!chart.pools) {
    drawHeights(area, roundTicks(0, chart.top, 6, true).map((lane) => [y(lane), numberText(lane)]), false);
    return;
  }
  const marks = chart.pools.map(([low, high], node) => [y((low + high) / 2), lastLetters(run.nodes.names[node])]);
  drawHeights(area, apart(marks, 14), false);
}

/** Those of some marks that are at least so many pixels from each other. */
function apart(marks, least) {
  let last = Infinity;
  return marks.filter(([y]) => {
    const far = Math.abs(last - y) >= least;
    if (far) last = y;
    return far;
  });
}

/** Nodes of a cluster are told apart by the end of their names. */
function lastLetters(name) {
  return name.length > 8 ? `\u2026${name.slice(-7)}` : name;
}

/** The run whose bar is at an instant and a height; -1 for none. */
function barAt(run, time, area, y) {
  if (y === null) return -1;
  const chart = chartOf(run);
  const lane = chart.top * (1 - (y - area.plot.y) / area.plot.h);
  const near = (1.5 * area.length) / area.plot.w;
  let found = -1;
  eachShown(run, chart, time - near, time + near, (at) => {
    const { first, lows, highs } = chart.ranges;
    for (let place = first[at]; place < first[at + 1]; place += 1) {
      if (lows[place] <= lane && lane < highs[place] && (found < 0 || run.stints.start[at] <= time)) found = at;
    }
  });
  return found;
}

function readBar(run, bar, epoch) {
  if (bar < 0) return "";
  const { stints } = run;
  const words = [
    `job ${stints.job_id[bar]}`,
    `${numberText(stints.processors[bar])} ${run.unit}`,
    `from ${instantText(stints.start[bar], epoch)}`,
    `for ${durationText(stints.end[bar] - stints.start[bar])}`,
    wordAt(stints.outcome, bar).toLowerCase(),
  ];
  if (run.nodes) words.push(`on ${wordAt(stints.nodes, bar)}`);
  return words.join(", ");
}

/** The kind of each run by which it is coloured, and names and colours of the kinds. */
function kindsOf(run, by) {
  const key = `${by} ${colours().ink}`;
  run.kinds ??= {};
  run.kinds[key] ??= by === "start" ? byStart(run) : by === "wait" ? byWait(run) : byWord(run, by);
  return run.kinds[key];
}

function byStart({ stints }) {
  const { series } = colours();
  const of = Uint8Array.from(stints.start, (_, at) => (wordAt(stints.outcome, at) === "PREEMPTED" ? 2 : stints.backfilled[at] ? 1 : 0));
  return { of, names: ["started in turn", "backfilled", "preempted later"], colours: [series[0], series[1], series[6]] };
}

function byWait(run) {
  const { series, muted } = colours();
  const of = Uint8Array.from(run.stints.job_id, (id) => {
    const wait = run.wait[run.rowOf.get(id)];
    const place = WAITS.findIndex((limit) => wait < limit);
    return place < 0 ? WAITS.length : place;
  });
  return { of, names: WAIT_NAMES, colours: [muted, series[7], series[0], series[1], series[6]] };
}

/** The values that held most processor time have colours of their own. */
function byWord(run, name) {
  const { series, muted } = colours();
  const values = run.facts[name];
  const held = new Map();
  run.stints.job_id.forEach((id, at) => {
    const value = wordAt(values, run.rowOf.get(id));
    const seconds = run.stints.end[at] - run.stints.start[at];
    held.set(value, (held.get(value) ?? 0) + run.stints.processors[at] * (seconds === seconds ? seconds : 0));
  });
  const named = [...held].sort((one, other) => other[1] - one[1]).slice(0, NAMED).map(([value]) => value);
  const numbers = new Map(named.map((value, number) => [value, number]));
  const of = Uint8Array.from(run.stints.job_id, (id) => numbers.get(wordAt(values, run.rowOf.get(id))) ?? named.length);
  const names = named.map((value) => value || "(none)");
  return { of, names: held.size > NAMED ? [...names, "others"] : names, colours: [...series.slice(0, named.length), muted] };
}

/** Write what the colours mean below the chart. */
export function writeLegend(host, run, by) {
  const kinds = kindsOf(run, by);
  const entry = (name, colour) => {
    const block = element("span", { className: "swatch block" });
    block.style.background = colour;
    return element("span", {}, block, ` ${name}`);
  };
  const states = [...new Set((run.nodes?.spells ?? []).map(([state]) => state))];
  host.replaceChildren(
    ...kinds.names.map((name, number) => entry(name, kinds.colours[number])),
    ...states.map((state) => entry(`nodes ${state.toLowerCase()}`, spellColour(state, colours())))
  );
}

/** Fill the choice of colours. */
export function offerColours(select, run) {
  fill(select, colourings(run), colourings(run).some(([name]) => name === select.value) ? select.value : "start");
}
