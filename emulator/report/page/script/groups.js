// Waits of groups of jobs: by partition, quality of service, account, user, size and state.

import { wordAt } from "./columns.js";
import { byId, element, fill, head, row, term } from "./dom.js";
import { changeText, durationText, numberText, shareText } from "./numbers.js";
import { meanOf, quantile } from "./runs.js";
import { makeSortable } from "./sort.js";

const MOST = 100; // Groups in the table; the others are counted.
const NAMES = [["partition", "partition"], ["qos", "QOS"], ["account", "account"], ["user", "user"], ["group", "group"], ["queue", "queue"], ["state", "state"]];

const ORDERS = {
  size: ({ facts }) => (one, other) => facts.processors[one[1][0]] - facts.processors[other[1][0]],
  hour: () => (one, other) => (one[0] < other[0] ? -1 : 1),
}; // Others: the largest group first.

/** Groupings that a run has. */
export function groupings(run) {
  const hours = run.epoch === null ? [] : [["hour", "hour of submission (UTC)"]];
  return [["size", "size"], ...NAMES.filter(([name]) => run.facts[name]), ...hours];
}

/** Of each job the name of its group. */
export function groupOf(run, by) {
  if (by === "size") return sizeGroups(run);
  if (by === "hour") return (at) => hourOf(run.epoch + run.facts.submit[at]);
  const column = run.facts[by];
  if (column.words) return (at) => wordAt(column, at) || "(none)";
  return (at) => (column[at] === column[at] && column[at] !== -1 ? String(column[at]) : "(unknown)");
}

/** The names of classes are made once for each power of two: there may be as many jobs as one likes. */
function sizeGroups({ facts, processors }) {
  const names = new Map();
  return (at) => {
    const power = Math.ceil(Math.log2(facts.processors[at]));
    if (!names.has(power)) names.set(power, sizeClass(power, Math.max(processors, facts.processors[at])));
    return names.get(power);
  };
}

/** The hour of the day of a Unix time. */
function hourOf(time) {
  return `${String(Math.floor(time / 3600) % 24).padStart(2, "0")}:00`;
}

/** Sizes from above the power of two before to this one, or to the machine. */
function sizeClass(power, most) {
  const low = power > 0 ? 2 ** (power - 1) + 1 : 1;
  const high = Math.min(2 ** power, most);
  return low >= high ? numberText(high) : `${numberText(low)}\u2013${numberText(high)}`;
}

/** Jobs by group: rows of each. */
export function grouped(run, by) {
  const name = groupOf(run, by);
  const groups = new Map();
  run.facts.submit.forEach((_, at) => {
    const group = name(at);
    if (!groups.has(group)) groups.set(group, []);
    groups.get(group).push(at);
  });
  return [...groups].sort(ORDERS[by]?.(run) ?? ((one, other) => other[1].length - one[1].length));
}

/** Write the table of a run. */
export function writeGroups(run, chosen) {
  const choices = groupings(run);
  chosen.group = choices.some(([name]) => name === chosen.group) ? chosen.group : choices[0][0];
  fill(byId("group"), choices, chosen.group);
  const all = grouped(run, chosen.group);
  const titles = [
    chosen.group === "size" ? `size (${run.unit})` : chosen.group,
    term("jobs", "Jobs of the group, also those that did not run."),
    term("share", "The group's part of all processor time that was used."),
    term("mean wait", "Mean of end - submit - run over jobs that ended (h:mm:ss)."),
    term("median", "Half of the jobs waited no longer."),
    term("95 %", "95 % of the jobs waited no longer."),
    term("longest", "Longest wait of any job of the group."),
  ];
  const total = all.reduce((sum, [, rows]) => sum + heldBy(run, rows), 0);
  const body = element("tbody", {}, ...all.slice(0, MOST).map(([name, rows]) => groupRow(run, name, rows, total)));
  byId("groups").replaceChildren(head(titles, 1), body);
  makeSortable(byId("groups"));
  byId("groups-note").textContent = all.length > MOST ? `The ${MOST} largest of ${numberText(all.length)} groups are shown.` : "";
}

function heldBy(run, rows) {
  return rows.reduce((sum, at) => sum + run.facts.processors[at] * (run.facts.occupied[at] || 0), 0);
}

function groupRow(run, name, rows, total) {
  const waits = Float64Array.from(rows, (at) => run.wait[at]).filter((wait) => wait === wait).sort();
  const times = [meanOf(waits), quantile(waits, 0.5), quantile(waits, 0.95), quantile(waits, 1)].map(durationText);
  return row([name, numberText(rows.length), shareText(heldBy(run, rows) / total), ...times], 1);
}

/** Write who waits longer or less than under another policy, by the same groups. */
export function writeChanges(run, change, by) {
  const rows = grouped(run, by).map(([name, members]) => [name, Array.from(members, (at) => change[at]).filter((each) => each === each)]);
  const titles = [
    by === "size" ? `size (${run.unit})` : by,
    term("jobs", "Jobs that ended under both policies."),
    term("waited less", "Jobs whose wait is shorter under the chosen policy."),
    term("waited longer", "Jobs whose wait is longer under the chosen policy."),
    term("mean change", "Mean of the wait under the chosen policy less that under the other (h:mm:ss)."),
  ];
  const body = rows.slice(0, MOST).map(([name, changes]) => {
    const less = changes.filter((each) => each < 0).length;
    const more = changes.filter((each) => each > 0).length;
    const mean = meanOf(changes);
    const colour = mean < 0 ? "good" : mean > 0 ? "bad" : "";
    return row([name, numberText(changes.length), numberText(less), numberText(more), element("span", { className: colour }, changeText(mean))], 1);
  });
  byId("changes").replaceChildren(head(titles, 1), element("tbody", {}, ...body));
  makeSortable(byId("changes"));
}
