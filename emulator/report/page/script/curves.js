// Curves over time: processors in use, jobs waiting, and waits, of one policy or of several.

import { look } from "./colours.js";
import { durationText, instantText, numberText, shareText } from "./numbers.js";
import { drawHeights, Picture } from "./picture.js";
import { lastAt, meanBetween, peakBetween, valueAt } from "./steps.js";
import { roundTicks } from "./ticks.js";

const HEIGHT = 190;
const BIN = 5; // Pixels over which waits are averaged.

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
  const shares = runs.map((run) => eachPixel(area, (from, to) => meanBetween(run.use, from, to) / run.processors));
  const top = Math.max(1.04, ...shares.map((each) => 1.04 * largest(each))); // A log may say more than the machine has.
  const scale = (share) => plot.y + plot.h * (1 - share / top);
  drawHeights(area, [0, 0.25, 0.5, 0.75, 1].map((share) => [scale(share), `${100 * share} %`]));
  runs.forEach((run, place) => drawLine(area, run, shares[place].map(scale), runs.length === 1 ? scale(0) : null));
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
  const width = area.length / area.plot.w;
  return Array.from({ length: Math.ceil(area.plot.w) }, (_, at) => value(area.from + at * width, area.from + (at + 1) * width));
}

function largest(values) {
  return values.reduce((most, value) => (value > most ? value : most), 0);
}

/** A line through a value a pixel; with `base` it is filled down to there. */
function drawLine(area, run, values, base) {
  const { context, plot } = area;
  const { colour, dash } = look(run.look);
  if (base !== null) {
    fillBelow(area, values, base, colour);
    return;
  }
  context.beginPath();
  values.forEach((y, at) => context.lineTo(plot.x + at, y));
  stroke(context, colour, dash, run.chosen);
}

function stroke(context, colour, dash, chosen) {
  context.strokeStyle = colour;
  context.lineWidth = chosen ? 2.4 : 1.3;
  context.setLineDash(dash);
  context.lineJoin = "round";
  context.stroke();
  context.setLineDash([]);
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
function drawBins({ context }, run, bins) {
  const { colour, dash } = look(run.look);
  context.beginPath();
  bins.forEach(([x, y], at) => {
    if (at && x - bins[at - 1][0] <= BIN) context.lineTo(x, y);
    else context.moveTo(x, y);
    context.lineTo(x + BIN, y);
  });
  stroke(context, colour, dash, run.chosen);
}
