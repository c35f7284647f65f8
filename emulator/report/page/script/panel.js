// The panel of a job: its facts, its runs, its story, and the same job under every other policy.

import { columnOf, jsonOf, wordAt } from "./columns.js";
import { byId, element, head, row, term } from "./dom.js";
import { changeText, durationText, instantText, numberText } from "./numbers.js";
import { slowdownOf } from "./runs.js";
import { factText, stateOf } from "./search.js";

const INSTANTS = ["submit", "start", "end", "first_start", "reserved", "first_reserved", "could_start", "requeued", "eligible"];
const DURATIONS = ["run", "time_limit", "planned", "occupied", "work", "dies_in"];

/** Show a job of a run. `others` are the loaded runs of the same workload and seed, this one among them. */
export async function showJob(run, id, others, columns, go) {
  const at = run.rowOf.get(id);
  byId("panel-title").textContent = `Job ${id} under ${run.name}`;
  const parts = at === undefined ? [element("p", {}, "This run has no such job.")] : [summary(run, at), ...(await storyOf(run, id))];
  if (others.length > 1) parts.push(heading("Under every policy"), policies(run, id, others, go));
  if (at !== undefined) parts.push(heading("Its runs"), stints(run, id), heading("All that is recorded"), await facts(run, at, columns));
  byId("panel-body").replaceChildren(...parts);
  byId("panel").hidden = false;
}

function heading(text) {
  return element("h3", {}, text);
}

function summary(run, at) {
  const { facts: known } = run;
  const waited = Number.isFinite(run.wait[at]) ? `waited ${durationText(run.wait[at])}, ran ${durationText(known.run[at])}, bounded slowdown ${numberText(slowdownOf(run, at), 2)}` : "did not end";
  return element("p", {}, `${numberText(known.processors[at])} ${known.processors[at] === 1 ? run.unit.slice(0, -1) : run.unit}, ${waited}; ${stateOf(run, at)}.`);
}

/** Its story, if it travels with the page; else how to get it. */
async function storyOf(run, id) {
  const stories = await jsonOf(run.stories);
  const story = stories[String(id)];
  const command = run.place ? `slurm-sim explain ${run.place} ${id}` : "";
  if (!story) {
    const hint = command ? [heading("Story"), element("p", { className: "hint" }, "Why it waited is told by ", element("code", {}, command), ".")] : [];
    return hint;
  }
  const line = ([time, text]) => element("tr", {}, element("td", {}, instantText(time, run.epoch), element("br"), `+${durationText(time - run.facts.submit[run.rowOf.get(id)])}`), element("td", { className: "any" }, text));
  const gap = story.left ? [element("tr", {}, element("td", {}, "\u2026"), element("td", {}, `${numberText(story.left)} more steps; ${command} --all shows them`))] : [];
  const table = element("table", { className: "story" }, element("tbody", {}, ...story.first.map(line), ...gap, ...story.last.map(line)));
  const lacks = story.why ? [] : [element("p", { className: "hint" }, "Why it waited was not recorded: the run was made without --explain.")];
  return [heading("Story"), table, ...lacks];
}

/** The same job in the other runs; the times less those of the run that is looked at. */
function policies(run, id, others, go) {
  const mine = run.wait[run.rowOf.get(id)];
  const rows = others.map((other) => {
    const at = other.rowOf.get(id);
    const link = element("button", { type: "button", className: "link" }, other.name);
    link.addEventListener("click", () => go(other.number));
    if (at === undefined) return row([link, "no such job", "", ""], 1);
    const change = other === run ? "" : changeText(other.wait[at] - mine);
    const made = row([link, instantText(other.facts.start[at], other.epoch), durationText(other.wait[at]), change], 1);
    if (other === run) made.className = "chosen";
    return made;
  });
  return element("div", { className: "scroll" }, element("table", {}, head(["policy", "started", "wait", term("change", "Wait less that under the policy that is looked at.")], 1), element("tbody", {}, ...rows)));
}

function stints(run, id) {
  const { stints: all, epoch } = run;
  const rows = [];
  all.job_id.forEach((each, at) => {
    if (each !== id) return;
    const where = run.nodes ? ` on ${wordAt(all.nodes, at)}` : "";
    rows.push(row([String(all.run[at]), instantText(all.start[at], epoch), instantText(all.end[at], epoch), wordAt(all.outcome, at).toLowerCase() + where], 9));
  });
  if (!rows.length) return element("p", {}, "It never ran.");
  return element("table", {}, head(["run", "start", "end", "outcome"]), element("tbody", {}, ...rows));
}

/** Every column of its record, with what it means on hover. */
async function facts(run, at, columns) {
  const rows = await Promise.all(
    Object.keys(run.jobs).map(async (name) => {
      const column = run.facts[name] ?? (await columnOf(run.jobs, name));
      return row([term(name.replaceAll("_", " "), columns[name] ?? "A fact of the workload."), valueText(run, name, column, at)], 9);
    })
  );
  return element("table", {}, element("tbody", {}, ...rows));
}

function valueText(run, name, column, at) {
  if (INSTANTS.includes(name)) return instantText(column[at], run.epoch);
  if (DURATIONS.includes(name)) return durationText(column[at]);
  if (run.jobs[name].flag) return column[at] ? "yes" : "no";
  return factText(column, at);
}
