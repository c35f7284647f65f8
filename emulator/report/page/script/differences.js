// Which jobs wait less than under another policy, and which longer.

import { byId, element } from "./dom.js";
import { changeText, durationText, instantText, numberText } from "./numbers.js";
import { drawHeights, Picture } from "./picture.js";
import { meanOf } from "./runs.js";
import { lastAt } from "./steps.js";

const HEIGHT = 240;
const NEAR = 6; // Pixels from a dot that count as on it.
const MARKS = [60, 600, 3600, 21600, 86400, 604800, 2592000, 31536000];

/** Of each job of a run: its wait less that in another run; NaN unless it ended in both. */
export function changeOf(run, other) {
  return Float64Array.from(run.facts.job_id, (id, at) => {
    const row = other.rowOf.get(id);
    return row === undefined ? NaN : run.wait[at] - other.wait[row];
  });
}

/** Say how many gained and lost, with the jobs that did most; `open(job)` shows one. */
export function writeGained(run, other, change, open) {
  const known = Array.from(change.keys()).filter((at) => change[at] === change[at]);
  const less = known.filter((at) => change[at] < 0);
  const more = known.filter((at) => change[at] > 0);
  const by = (rows) => `${numberText(rows.length)} jobs (by ${durationText(Math.abs(meanOf(rows.map((at) => change[at]))))} on average)`;
  const parts = [`Under ${run.name}, compared with ${other.name}, `, by(less), " wait less and ", by(more), ` wait longer, ${numberText(known.length - less.length - more.length)} as long. `];
  const extreme = (rows, sign) => rows.reduce((most, at) => (sign * change[at] > sign * change[most] ? at : most), rows[0]);
  const most = [];
  if (less.length) most.push("Gained most: ", jobLink(run, change, extreme(less, -1), open), ". ");
  if (more.length) most.push("Lost most: ", jobLink(run, change, extreme(more, 1), open), ".");
  byId("gained").replaceChildren(...parts.map((each) => (each === "0 jobs (by \u2013 on average)" ? "no job" : each)), ...most);
}

function jobLink(run, change, at, open) {
  const id = run.facts.job_id[at];
  const link = element("button", { type: "button", className: "link" }, `job ${id} (${changeText(change[at])})`);
  link.addEventListener("click", () => open(id));
  return link;
}

/** The map: each job a dot, across its submission, up the change of its wait. `current()` gives run and changes. */
export function makeMap(host, shown, { current, epoch, open }) {
  return new Picture(host, shown, {
    height: HEIGHT,
    label: "Change of each job's wait by its submission; the table below says it by groups",
    epoch,
    draw: (area) => current() && drawMap(area, current()),
    read: (time, area, y) => (current() ? readDot(current(), dotAt(current(), time, area, y), epoch()) : ""),
    click: (time, area, y) => {
      const at = current() ? dotAt(current(), time, area, y) : -1;
      if (at >= 0) open(current().run.facts.job_id[at]);
    },
  });
}

/** Where a change stands: straight up to a minute, logarithmic beyond. */
function bent(seconds) {
  return Math.sign(seconds) * Math.log10(1 + Math.abs(seconds) / 60);
}

function scaleOf(area, { change }) {
  const { plot } = area;
  let most = 60;
  for (const each of change) if (Math.abs(each) > most) most = Math.abs(each);
  const top = 1.05 * bent(most);
  return { most, y: (seconds) => plot.y + (plot.h / 2) * (1 - bent(seconds) / top) };
}

function drawMap(area, { run, change }) {
  const { context, colours: look } = area;
  const { most, y } = scaleOf(area, { change });
  const marks = [0, ...MARKS.filter((mark) => mark <= most)];
  const apart = marks.filter((mark, at) => !at || (y(marks[at - 1]) - y(mark) > 13 && y(0) - y(mark) > 13));
  drawHeights(area, [...apart, ...apart.slice(1).map((mark) => -mark)].map((mark) => [y(mark), mark ? shortText(mark) : "0"]));
  const dots = visible(run, area);
  const size = dots.length > 20000 ? 1.5 : dots.length > 2000 ? 2 : 4;
  for (const [sign, colour] of [[-1, look.good], [1, look.bad]]) {
    context.fillStyle = colour;
    for (const at of dots) {
      if (sign * change[at] > 0) context.fillRect(area.x(run.facts.submit[at]) - size / 2, y(change[at]) - size / 2, size, size);
    }
  }
}

function shortText(seconds) {
  const sign = seconds > 0 ? "+" : "\u2212";
  const [unit, name] = [[86400, "d"], [3600, "h"], [60, "min"]].find(([each]) => Math.abs(seconds) >= each);
  return `${sign}${numberText(Math.abs(seconds) / unit)} ${name}`;
}

function visible(run, area) {
  const from = lastAt(run.facts.submit, area.from);
  const to = lastAt(run.facts.submit, area.to);
  return Array.from({ length: to - Math.max(from, 0) + 1 }, (_, at) => Math.max(from, 0) + at);
}

function dotAt({ run, change }, time, area, y) {
  if (y === null) return -1;
  const scale = scaleOf(area, { change }).y;
  const near = (NEAR * area.length) / area.plot.w;
  const { submit } = run.facts;
  let best = -1;
  let least = NEAR;
  for (let at = Math.max(lastAt(submit, time - near), 0); at < submit.length && submit[at] <= time + near; at += 1) {
    const away = Math.hypot(area.x(submit[at]) - area.x(time), scale(change[at]) - y);
    if (change[at] && away < least) [best, least] = [at, away];
  }
  return best;
}

function readDot({ run, change }, at, epoch) {
  if (at < 0) return "";
  const { job_id: ids, submit } = run.facts;
  return `job ${ids[at]}, submitted ${instantText(submit[at], epoch)}: waits ${changeText(change[at])}`;
}
