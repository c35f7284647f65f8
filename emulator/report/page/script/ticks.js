// Where the marks of an axis stand, and what is written there.

import { dateOf, durationText, numberText } from "./numbers.js";

const CLOCK = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800];
const DAYS = [86400 * 7, 86400 * 14];
const MONTHS = [1, 2, 3, 6, 12, 24, 60, 120];
const NAMES = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** Round values that divide a range into at most so many parts. */
export function roundTicks(low, high, most, whole = false) {
  if (!(high > low)) return [low];
  const rough = (high - low) / Math.max(most, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  let step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough);
  if (whole) step = Math.max(step, 1);
  const ticks = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-9; at += step) ticks.push(Math.abs(at) < step * 1e-9 ? 0 : at);
  return ticks;
}

/** Marks of time between two instants: pairs of instant and text. */
export function timeTicks(from, to, epoch, most) {
  return dateOf(from, epoch) && dateOf(to, epoch) ? dateTicks(from, to, epoch, most) : plainTicks(from, to, most);
}

/** Durations since the beginning of the trace's clock. */
function plainTicks(from, to, most) {
  const rough = (to - from) / most;
  const step = [...CLOCK, ...DAYS].find((each) => each >= rough);
  if (rough < 1 || !step) return roundTicks(from, to, most).map((at) => [at, `${numberText(at, rough < 1 ? 3 : 0)} s`]);
  return multiples(from, to, step).map((at) => [at, durationText(at)]);
}

function multiples(from, to, step) {
  const found = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) found.push(at);
  return found;
}

/** Dates in UTC: clock times, days, or months and years. */
function dateTicks(from, to, epoch, most) {
  const rough = (to - from) / most;
  const step = [...CLOCK, ...DAYS].find((each) => each >= rough);
  if (rough < 1) return roundTicks(from, to, most).map((at) => [at, `${numberText(at, 3)} s`]);
  if (step) return multiples(from + epoch, to + epoch, step).map((at) => [at - epoch, dateText(at, step)]);
  return monthTicks(from, to, epoch, rough / (30.4 * 86400));
}

function dateText(at, step) {
  const date = new Date(1000 * at);
  const day = `${date.getUTCDate()} ${NAMES[date.getUTCMonth()]}`;
  const clock = date.toISOString().slice(11, step < 60 ? 19 : 16);
  if (step >= 86400) return `${day} ${date.getUTCFullYear()}`;
  return clock.startsWith("00:00") && !clock.slice(5).replace(":00", "") ? day : clock;
}

function monthTicks(from, to, epoch, rough) {
  const step = MONTHS.find((each) => each >= rough) ?? 12 * Math.ceil(rough / 12);
  const begin = new Date(1000 * (from + epoch));
  const found = [];
  for (let month = Math.ceil((12 * begin.getUTCFullYear() + begin.getUTCMonth()) / step) * step; ; month += step) {
    const at = Date.UTC(Math.floor(month / 12), month % 12) / 1000 - epoch;
    if (at > to) return found;
    const name = `${NAMES[month % 12]} ${Math.floor(month / 12)}`;
    if (at >= from) found.push([at, name]);
  }
}
