// The table of jobs: those that are searched for, or those that waited longest.

import { wordAt } from "./columns.js";
import { byId, element, head, row } from "./dom.js";
import { durationText, instantText, numberText } from "./numbers.js";
import { slowdownOf } from "./runs.js";

const MOST = 200; // Rows of the table.
const WORDS = ["user", "account", "partition", "qos", "group", "queue", "name", "state", "nodes", "reason"];
const SORTS = {
  job: (run) => (at) => run.facts.job_id[at],
  submitted: (run) => (at) => run.facts.submit[at],
  started: (run) => (at) => run.facts.start[at],
  wait: (run) => (at) => run.wait[at],
  run: (run) => (at) => run.facts.run[at],
  limit: (run) => (at) => run.facts.time_limit[at],
  size: (run) => (at) => run.facts.processors[at],
  "bounded slowdown": (run) => (at) => slowdownOf(run, at),
};
const MEANINGS = {
  job: "The trace's job id.",
  submitted: "First submission.",
  started: "Start of the last run.",
  wait: "end - submit - run; for a job that ran once this is start - submit (h:mm:ss).",
  run: "Seconds of work (h:mm:ss).",
  limit: "Requested time (h:mm:ss).",
  size: "Processors that it took.",
  "bounded slowdown": "max(1, response / max(run time, 10 s)) of this job; their mean is the mean bounded slowdown.",
};

/** Rows of the jobs that a text finds. */
export function find(run, text) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return Array.from(run.facts.job_id.keys());
  const [, name, value] = /^(\w+):(.*)$/.exec(wanted) ?? [];
  if (name && run.facts[name]) return matching(run, [name], value.trim());
  const row = /^\d+$/.test(wanted) ? run.rowOf.get(Number(wanted)) : undefined;
  const others = matching(run, WORDS.filter((each) => run.facts[each]), wanted).filter((at) => at !== row);
  return row === undefined ? others : [row, ...others];
}

/** Jobs of which a column of words holds the text, or one of numbers is this number. */
function matching(run, names, wanted) {
  const tests = names.map((name) => testOf(run.facts[name], wanted));
  return Array.from(run.facts.job_id.keys()).filter((at) => tests.some((test) => test(at)));
}

function testOf(column, wanted) {
  if (!column.words) return (at) => String(column[at]) === wanted;
  const hits = new Set(column.words.flatMap((word, number) => (word.toLowerCase().includes(wanted) ? [number] : [])));
  return (at) => hits.has(column[at]);
}

/** Write the table. `chosen` has `search`, `sort` and `down`; `open(job)` shows one. */
export function writeJobs(run, chosen, open) {
  const hits = find(run, chosen.search);
  const value = SORTS[chosen.sort](run);
  const key = (at) => (Number.isFinite(value(at)) ? value(at) : -Infinity);
  const direct = chosen.search && /^\d+$/.test(chosen.search.trim());
  if (!direct) hits.sort((one, other) => (chosen.down ? key(other) - key(one) : key(one) - key(other)) || one - other);
  const users = ["user", "account"].filter((name) => run.facts[name]);
  const titles = [...Object.keys(SORTS), "state", ...users].map((name) => (SORTS[name] ? sorter(run, name, chosen, open) : name));
  const rows = hits.slice(0, MOST).map((at) => jobRow(run, at, users, chosen, open));
  byId("jobs").replaceChildren(head(titles, 99), element("tbody", {}, ...rows));
  const words = hits.length > MOST ? `${numberText(hits.length)} jobs, of which ${MOST} are shown` : `${numberText(hits.length)} jobs`;
  byId("found").textContent = hits.length ? words : "no job is like that";
  return hits;
}

/** A heading that sorts. */
function sorter(run, name, chosen, open) {
  const arrow = chosen.sort === name ? (chosen.down ? " \u25be" : " \u25b4") : "";
  const button = element("button", { type: "button", className: "link", title: MEANINGS[name] }, name + arrow);
  button.addEventListener("click", () => {
    chosen.down = chosen.sort === name ? !chosen.down : true;
    chosen.sort = name;
    writeJobs(run, chosen, open);
  });
  return button;
}

function jobRow(run, at, users, chosen, open) {
  const { facts, epoch } = run;
  const id = facts.job_id[at];
  const link = element("button", { type: "button", className: "link" }, String(id));
  link.addEventListener("click", () => open(id));
  const cells = [
    link,
    instantText(facts.submit[at], epoch),
    instantText(facts.start[at], epoch),
    durationText(run.wait[at]),
    durationText(facts.run[at]),
    durationText(facts.time_limit[at]),
    numberText(facts.processors[at]),
    numberText(slowdownOf(run, at), 1),
    stateOf(run, at),
    ...users.map((name) => factText(facts[name], at)),
  ];
  const made = row(cells, 99);
  if (chosen.job === id) made.className = "chosen";
  return made;
}

/** A fact of a job in words. */
export function factText(column, at) {
  if (column.words) return wordAt(column, at) || "\u2013";
  return column[at] === column[at] && column[at] !== -1 ? String(column[at]) : "\u2013";
}

/** Its state, whether it went ahead of others, and how often it was sent back. */
export function stateOf({ facts }, at) {
  const words = [wordAt(facts.state, at).toLowerCase()];
  if (facts.backfilled[at]) words.push("backfilled");
  if (facts.requeues[at]) words.push(`requeues: ${facts.requeues[at]}`);
  return words.join(", ");
}
