// Curves over time: processors in use, jobs waiting, and waits, of one policy or of several.

import { look } from "./colours.js";
import { durationText, instantText, numberText, shareText } from "./numbers.js";
import { drawHeights, Picture } from "./picture.js";
import { lastAt, meanBetween, peakBetween, valueAt } from "./steps.js";
import { roundTicks } from "./ticks.js";

const HEIGHT = 190;
const BIN = 5; // Pixels over which waits are averaged, and the use of several policies.

/** The three pictures of curves. `drawn()` gives the runs that are drawn, the chosen one last. */
export function makeCurves(hosts, shown, drawn, epoch) {
  const made = (host, label, draw, read) => new Picture(host, shown, { height: HEIGHT, label, epoch, draw, read });
  return [
    made(hosts.use, "Processors in use over time, in percent of the machine", (area) => drawUse(area, drawn()), (time) =>
      readAll(time, drawn(), epoch(), (run) => shareText(valueAt(run.use, time) / run.processors))),
    made(hosts.queue, "Jobs waiting over time", (area) => drawQueue(area, drawn()), (time) =>
      readAll(time, drawn(), epoch(), (run) => `${numberText(valueAt(run.queue, time))} jobs`)),
    made(hosts.waits, "Mean wait by time of submission", (area) => drawWaits(area, drawn()), (time, area) =>
      readAll(time, drawn(), epoch(), (run) => durationText(waitAround(run, time, area)))),
  ];
}

function readAll(time, runs, epoch, value) {
  const words = [...runs].reverse().map((run) => `${run.name}: ${value(run)}`);
  return [instantText(Math.round(time), epoch), ...words].join(" \u00b7 ");
}

function drawUse(area, runs) {
  const { plot } = area;
  const width = runs.length === 1 ? 1 : BIN; // Of several, wider steps: else each hides the others.
  const shares = runs.map((run) => eachStep(area, width, (from, to) => meanBetween(run.use, from, to) / run.processors));
  const top = Math.max(1.04, ...shares.map((each) => 1.04 * largest(each))); // A log may say more than the machine has.
  const scale = (share) => plot.y + plot.h * (1 - share / top);
  drawHeights(area, [0, 0.25, 0.5, 0.75, 1].map((share) => [scale(share), `${100 * share} %`]));
  runs.forEach((run, place) => drawLine(area, run, shares[place].map(scale), runs.length === 1 ? scale(0) : null, width));
}

function drawQueue(area, runs) {
  const chosen = runs[runs.length - 1];
  if (!chosen) return;
  const peaks = eachPixel(area, (from, to) => peakBetween(chosen.queue, from, to));
  const means = runs.map((run) => eachPixel(area, (from, to) => meanBetween(run.queue, from, to)));
  const most = Math.max(1, largest(peaks), ...means.map(largest));
  const scale = heights(area, most, (value) => numberText(value), true);
  fillBelow(area, peaks.map(scale), scale(0), area.colours["pale-0"]);
  runs.forEach((run, place) => drawLine(area, run, means[place].map(scale), runs.length === 1 ? scale(0) : null));
}

function drawWaits(area, runs) {
  const means = runs.map((run) => eachBin(area, run));
  const most = Math.max(60, ...means.map((bins) => largest(bins.map(([, value]) => value))));
  const unit = most >= 4 * 86400 ? 86400 : most >= 7200 ? 3600 : 60;
  const name = { 60: "min", 3600: "h", 86400: "d" }[unit];
  const scale = heights(area, most / unit, (value) => `${numberText(value, value % 1 ? 1 : 0)} ${name}`, false);
  runs.forEach((run, place) => drawBins(area, run, means[place].map(([x, value]) => [x, scale(value / unit)])));
}

/** An upright axis from 0 to a largest value; gives back the pixel of a value. */
function heights(area, most, text, whole) {
  const { plot } = area;
  const scale = (value) => plot.y + plot.h * (1 - value / (1.05 * most));
  drawHeights(area, roundTicks(0, most, 4, whole).map((value) => [scale(value), text(value)]));
  return scale;
}

function eachPixel(area, value) {
  return eachStep(area, 1, value);
}

/** Values of steps that are so many pixels wide. */
function eachStep(area, width, value) {
  const time = (width * area.length) / area.plot.w;
  return Array.from({ length: Math.ceil(area.plot.w / width) }, (_, at) => value(area.from + at * time, area.from + (at + 1) * time));
}

function largest(values) {
  return values.reduce((most, value) => (value > most ? value : most), 0);
}

/** A line through values, each `width` pixels wide; with `base` it is filled down to there. */
function drawLine(area, run, values, base, width = 1) {
  if (base !== null) fillBelow(area, values, base, look(run.look).colour);
  else drawSteps(area, run, values.map((y, at) => [area.plot.x + width * at, y]), width);
}

/**
 * A line through steps of one width, pairs of pixel and height, joined where they follow each other. It is made of
 * rectangles: without a graphics card a path of a thousand corners takes ten times as long.
 */
function drawSteps({ context }, run, steps, width) {
  const { colour, dash } = look(run.look);
  const thick = run.chosen ? 2.4 : 1.3;
  const isDrawn = dashes(dash);
  context.fillStyle = colour;
  steps.forEach(([x, y], at) => {
    if (!isDrawn(x)) return;
    context.fillRect(x, y - thick / 2, width, thick);
    const [before, last] = at ? steps[at - 1] : [NaN, y];
    if (x - before <= width && last !== y) context.fillRect(x - thick / 2, Math.min(y, last) - thick / 2, thick, Math.abs(y - last) + thick);
  });
}

/** Whether a broken line is seen at a pixel; `pattern` has the lengths of lines and gaps. */
function dashes(pattern) {
  const length = pattern.reduce((sum, each) => sum + each, 0);
  return (x) => {
    if (!length) return true;
    let left = x % length;
    const part = pattern.findIndex((each) => (left -= each) < 0);
    return part % 2 === 0;
  };
}

function fillBelow({ context, plot }, values, base, colour) {
  context.fillStyle = colour;
  values.forEach((y, at) => context.fillRect(plot.x + at, y, 1.05, base - y));
}

/** Means of the waits of those that were submitted in each bin: pairs of pixel and seconds; bins without jobs are left out. */
function eachBin(area, run) {
  const found = [];
  for (let x = 0; x < area.plot.w; x += BIN) {
    const mean = meanWait(run, area.time(area.plot.x + x), area.time(area.plot.x + x + BIN));
    if (mean === mean) found.push([area.plot.x + x, mean]);
  }
  return found;
}

/** Mean wait of the jobs that were submitted from one instant until another; NaN without any. */
function meanWait({ arrivals }, from, to) {
  const low = lastAt(arrivals.times, from) + 1;
  const high = lastAt(arrivals.times, to) + 1;
  const before = (sums, at) => (at ? sums[at - 1] : 0);
  const jobs = before(arrivals.known, high) - before(arrivals.known, low);
  return jobs ? (before(arrivals.waits, high) - before(arrivals.waits, low)) / jobs : NaN;
}

function waitAround(run, time, area) {
  const half = ((BIN / 2) * area.length) / area.plot.w;
  return meanWait(run, time - half, time + half);
}

/** A bar a bin, joined where bins follow each other. */
function drawBins(area, run, bins) {
  drawSteps(area, run, bins, BIN);
}
