// A run with its columns decoded, and what follows from them: curves, waits, where which job stands.

import { columnsOf, jsonOf } from "./columns.js";
import { accumulate, sortedOrder } from "./steps.js";

const STINTS = ["job_id", "run", "start", "end", "processors", "backfilled", "outcome", "nodes", "cpus"];
const OUTSIDE = new Set(["REJECTED", "FUTURE"]); // States of jobs that never came into the queue.
const loaded = new Map();

/** All of a run of the page; decoded once. */
export function loadRun(index, number) {
  if (!loaded.has(number)) loaded.set(number, decode(index, number));
  return loaded.get(number);
}

async function decode(index, number) {
  const about = index.runs[number];
  const [facts, stints, nodes] = await Promise.all([
    columnsOf(about.jobs, Object.keys(about.jobs).filter((name) => name !== "submit_line")),
    columnsOf(about.stints, STINTS),
    about.nodes === null ? null : jsonOf(about.nodes),
  ]);
  const run = { ...about, number, name: index.matrix.policies[about.policy], look: about.policy, facts, stints, nodes };
  run.rowOf = new Map(Array.from(facts.job_id, (id, at) => [id, at]));
  run.wait = waitsOf(facts);
  run.use = useOf(stints);
  run.queue = queueOf(facts, stints);
  run.span = spanOf(facts, stints);
  run.arrivals = arrivalsOf(facts, run.wait);
  return run;
}

/** end - submit - run of each job that ended, as emulator/metrics/jobs.py has it. */
function waitsOf({ start, end, submit, run }) {
  return Float64Array.from(submit, (at, row) =>
    start[row] === start[row] ? Math.round((end[row] - at - run[row]) * 1e6) / 1e6 : NaN);
}

/** Bounded slowdown of a job, as the mean of it is defined: max(1, response / max(run time, 10 s)). */
export function slowdownOf(run, row) {
  const ran = run.facts.run[row];
  return Math.max(1, (run.wait[row] + ran) / Math.max(ran, 10));
}

/** Whether a job entered the queue. */
function came(facts) {
  const outside = facts.state.words.map((word) => OUTSIDE.has(word));
  return (row) => !outside[facts.state[row]];
}

/** Changes of a step function, gathered in arrays of a fixed size: a long log has half a million of them. */
class Changes {
  constructor(most) {
    this.instants = new Float64Array(most);
    this.amounts = new Float64Array(most);
    this.count = 0;
  }

  add(instant, amount) {
    this.instants[this.count] = instant;
    this.amounts[this.count] = amount;
    this.count += 1;
  }

  steps() {
    return accumulate(this.instants.subarray(0, this.count), this.amounts);
  }
}

function useOf({ start, end, processors }) {
  const changes = new Changes(2 * start.length);
  start.forEach((at, row) => {
    changes.add(at, processors[row]);
    if (end[row] === end[row]) changes.add(end[row], -processors[row]);
  });
  return changes.steps();
}

/** Jobs that wait: from the submission, or from being sent back, to each start. */
function queueOf(facts, { start, end, outcome }) {
  const changes = new Changes(facts.submit.length + 2 * start.length);
  const entered = came(facts);
  facts.submit.forEach((at, row) => entered(row) && changes.add(at, 1));
  const preempted = outcome.words.indexOf("PREEMPTED");
  start.forEach((at, row) => {
    changes.add(at, -1);
    if (outcome[row] === preempted) changes.add(end[row], 1);
  });
  return changes.steps();
}

/** From the first submission to the last end. */
function spanOf(facts, { start, end }) {
  const entered = came(facts);
  let first = Infinity;
  let last = -Infinity;
  facts.submit.forEach((at, row) => {
    if (!entered(row)) return;
    if (at < first) first = at;
    if (at > last) last = at;
  });
  const later = (at) => {
    if (at > last) last = at;
  };
  start.forEach(later);
  end.forEach(later);
  return first <= last ? [first, last] : [0, 1];
}

/** Sums over the jobs in the order of submission, from which means of any stretch of time follow. */
function arrivalsOf(facts, wait) {
  const order = sortedOrder(facts.submit);
  const times = Float64Array.from(order, (row) => facts.submit[row]);
  const waits = new Float64Array(order.length);
  const known = new Float64Array(order.length);
  let sum = 0;
  let count = 0;
  order.forEach((row, at) => {
    if (wait[row] === wait[row]) {
      sum += wait[row];
      count += 1;
    }
    waits[at] = sum;
    known[at] = count;
  });
  return { times, waits, known };
}

/** Quantile of numbers that ascend, as numpy's: between two neighbours in proportion. */
export function quantile(ascending, share) {
  if (!ascending.length) return NaN;
  const at = (ascending.length - 1) * share;
  const low = Math.floor(at);
  const next = ascending[Math.min(low + 1, ascending.length - 1)];
  return ascending[low] + (at - low) * (next - ascending[low]);
}

/** Mean of numbers; NaN of none. */
export function meanOf(numbers) {
  return numbers.length ? numbers.reduce((sum, each) => sum + each, 0) / numbers.length : NaN;
}
