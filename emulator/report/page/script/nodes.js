// Nodes over time: how many run jobs, how many are out of service, and what each of them did.

import { colours } from "./colours.js";
import { wordAt } from "./columns.js";
import { byId, element, head, row, term } from "./dom.js";
import { durationText, instantText, numberText, shareText } from "./numbers.js";
import { drawHeights, Picture } from "./picture.js";
import { makeSortable } from "./sort.js";
import { accumulate, meanBetween, sortedOrder, valueAt } from "./steps.js";
import { roundTicks } from "./ticks.js";

const HEIGHT = 160;
const MOST = 1000; // Nodes in the table.
const IDLE = 0;
const BUSY = 1; // Runs a job, be it drained.
const AWAY = 2; // Runs none, and is down, drained or reserved.

/** What the nodes of a run did, worked out once: steps of how many were busy and away, and facts of each. */
export function historyOf(run) {
  run.history ??= tell(run);
  return run.history;
}

/** One pass over all that happens to nodes. */
function tell(run) {
  const [first, last] = run.span;
  const { times, places, jobs, away } = changesOf(run);
  const count = run.nodes.names.length;
  const held = new Int32Array(count);
  const kept = new Int32Array(count);
  const state = new Uint8Array(count);
  const since = new Float64Array(count).fill(first);
  const spent = [IDLE, BUSY, AWAY].map(() => new Float64Array(count));
  const starts = new Int32Array(count);
  const steps = { times: [], busy: [], away: [] };
  for (const at of sortedOrder(times)) {
    const time = Math.min(Math.max(times[at], first), last);
    const change = { busy: 0, away: 0 };
    for (const place of places[at]) {
      held[place] += jobs[at];
      kept[place] += away[at];
      if (jobs[at] > 0) starts[place] += 1;
      const now = held[place] ? BUSY : kept[place] ? AWAY : IDLE;
      if (now === state[place]) continue;
      change.busy += (now === BUSY) - (state[place] === BUSY);
      change.away += (now === AWAY) - (state[place] === AWAY);
      spent[state[place]][place] += time - since[place];
      [state[place], since[place]] = [now, time];
    }
    steps.times.push(time);
    steps.busy.push(change.busy);
    steps.away.push(change.away);
  }
  state.forEach((each, place) => {
    spent[each][place] += last - since[place];
  });
  return { busy: accumulate(steps.times, steps.busy), away: accumulate(steps.times, steps.away), spent, starts };
}

/** Instants at which nodes get or lose a job, or a reason to be left alone. */
function changesOf({ stints, nodes, span }) {
  const changes = { times: [], places: [], jobs: [], away: [] };
  const add = (time, places, jobs, away) => {
    changes.times.push(time);
    changes.places.push(places);
    changes.jobs.push(jobs);
    changes.away.push(away);
  };
  stints.start.forEach((start, at) => {
    const places = nodes.lists[wordAt(stints.nodes, at)] ?? [];
    const end = stints.end[at];
    if (end === start) return; // It held them for no time.
    add(start, places, 1, 0);
    add(end === end ? end : span[1], places, -1, 0);
  });
  for (const [, from, to, places] of nodes.spells) {
    if (from >= span[1]) continue;
    add(from, places, 0, 1);
    add(to ?? span[1], places, 0, -1);
  }
  return changes;
}

/** The picture. `current()` gives the chosen run, or null where its nodes are not known. */
export function makeNodes(host, shown, { current, epoch }) {
  return new Picture(host, shown, {
    height: HEIGHT,
    label: "Nodes over time: below those that run jobs, above those out of service; the table below says it by node",
    epoch,
    draw: (area) => current() && drawNodes(area, current()),
    read: (time) => (current() ? readNodes(current(), time, epoch()) : ""),
  });
}

function drawNodes(area, run) {
  const { context, plot, colours: look } = area;
  const total = run.nodes.names.length;
  const { busy, away } = historyOf(run);
  const y = (nodes) => plot.y + plot.h * (1 - nodes / total);
  const width = area.length / area.plot.w;
  drawHeights(area, roundTicks(0, total, 4, true).map((nodes) => [y(nodes), numberText(nodes)]));
  for (let x = 0; x < plot.w; x += 1) {
    const [from, to] = [area.from + x * width, area.from + (x + 1) * width];
    context.fillStyle = look.series[0];
    const top = y(meanBetween(busy, from, to));
    context.fillRect(plot.x + x, top, 1.05, plot.y + plot.h - top);
    context.fillStyle = `${look.bad}99`;
    context.fillRect(plot.x + x, plot.y, 1.05, y(total - meanBetween(away, from, to)) - plot.y);
  }
}

function readNodes(run, time, epoch) {
  const { busy, away } = historyOf(run);
  const [runs, gone] = [valueAt(busy, time), valueAt(away, time)];
  const idle = run.nodes.names.length - runs - gone;
  return `${instantText(Math.round(time), epoch)} \u00b7 ${runs} run jobs \u00b7 ${gone} out of service \u00b7 ${idle} idle`;
}

function writeLegend() {
  const entry = (name, colour) => {
    const block = element("span", { className: "swatch block" });
    block.style.background = colour;
    return element("span", {}, block, ` ${name}`);
  };
  const { series, bad } = colours();
  byId("node-legend").replaceChildren(entry("run jobs", series[0]), entry("out of service, without jobs", `${bad}99`));
}

/** Write the table of nodes; without nodes both are hidden. */
export function writeNodes(run) {
  byId("nodes").hidden = !run.nodes;
  if (!run.nodes) return;
  writeLegend();
  const { spent, starts } = historyOf(run);
  const length = run.span[1] - run.span[0];
  const titles = [
    "node",
    term("CPUs", "Processors of the node."),
    term("runs", "Runs of jobs that were on the node."),
    term("ran jobs", "Part of the time, from the first submission to the last end, in which the node ran a job."),
    term("idle", "Part of the time in which the node ran no job and could have been given one."),
    term("out of service", "Time in which the node ran no job and was down, drained or reserved (h:mm:ss)."),
  ];
  const rows = run.nodes.names.slice(0, MOST).map((name, place) =>
    row([name, numberText(run.nodes.cpus[place]), numberText(starts[place]), shareText(spent[BUSY][place] / length),
      shareText(spent[IDLE][place] / length), durationText(spent[AWAY][place])], 1));
  const table = byId("node-table");
  table.replaceChildren(head(titles, 1), element("tbody", {}, ...rows));
  makeSortable(table);
  byId("node-note").textContent = run.nodes.names.length > MOST ? `The first ${MOST} of ${numberText(run.nodes.names.length)} nodes are shown.` : "";
}
