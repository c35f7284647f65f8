// The matrix: policies by workloads, one metric at a time, as values or as differences to one policy.

import { byId, element, fill, term } from "./dom.js";

const FIRST = "mean_wait";

/** Fill the choices of metric and baseline; `chosen` is the state of the page. */
export function offerMetrics(matrix, chosen) {
  const groups = new Map();
  for (const metric of matrix.metrics) {
    if (!groups.has(metric.group)) groups.set(metric.group, []);
    groups.get(metric.group).push([metric.key, `${metric.title} (${metric.unit})`]);
  }
  const known = matrix.metrics.map((metric) => metric.key);
  chosen.metric = [chosen.metric, FIRST, known[0]].find((key) => known.includes(key));
  fill(byId("metric"), [...groups].map(([group, choices]) => ({ group, choices })), chosen.metric);
  const baselines = Object.keys(matrix.differences).map((place) => [place, `difference to ${matrix.policies[place]}`]);
  fill(byId("baseline"), [["", "values"], ...baselines], chosen.baseline);
}

/** Write the matrix; `choose(run)` is called with the number of the run of a cell. */
export function writeMatrix(matrix, chosen, choose) {
  const metric = matrix.metrics.find((each) => each.key === chosen.metric);
  byId("matrix").hidden = matrix.cells.length < 2;
  byId("definition").replaceChildren(term(metric.title, metric.definition), `: ${metric.definition} `, words(metric));
  const corner = element("th", { scope: "col" }, "workload");
  const heads = matrix.policies.map((policy) => element("th", { scope: "col" }, policy));
  const rows = matrix.workloads.map((workload, at) => {
    const cells = matrix.policies.map((_, policy) => element("td", {}, cellOf(matrix, chosen, at, policy, choose)));
    return element("tr", {}, element("th", { scope: "row", className: "any" }, workload), ...cells);
  });
  byId("cells").replaceChildren(element("thead", {}, element("tr", {}, corner, ...heads)), element("tbody", {}, ...rows));
  byId("legend-of-matrix").textContent = legend(matrix, chosen);
}

function words(metric) {
  return `Unit: ${metric.unit}${metric.better ? `; ${metric.better}` : ""}.`;
}

function legend(matrix, chosen) {
  const repeated = matrix.cells.some((cell) => cell.runs.length > 1);
  const interval = repeated
    ? `\u00b1: ${matrix.confidence} confidence interval of the mean over the seeds (Student).`
    : "One run of each: no confidence interval can be stated.";
  const cell = "A cell opens its run below.";
  if (chosen.baseline === "") return `\u2605 best of the row. ${interval} ${cell}`;
  const paired = repeated ? "Differences are taken in pairs, on the same workload with the same seed. " : "";
  return `Less ${matrix.policies[chosen.baseline]}. ${paired}${interval} ${cell}`;
}

/** A button of a cell, or nothing where the policy did not run on the workload. */
function cellOf(matrix, chosen, workload, policy, choose) {
  const here = (each) => each.workload === workload && each.policy === policy;
  const cell = matrix.cells.find(here);
  if (!cell) return "";
  const pressed = cell.runs.includes(chosen.run);
  const name = `${matrix.policies[policy]} on ${matrix.workloads[workload]}`;
  const button = element("button", { type: "button", title: name, "aria-pressed": String(pressed) });
  button.addEventListener("click", () => choose(cell.runs[0]));
  const pair = chosen.baseline === "" ? null : matrix.differences[chosen.baseline].find(here);
  if (chosen.baseline === "") writeValue(button, cell.numbers[chosen.metric]);
  else if (pair) writeDifference(button, pair.numbers[chosen.metric]);
  else button.append("baseline");
  return button;
}

function writeValue(button, [text, clock, best]) {
  button.append(element("span", { className: best ? "best" : "" }, text));
  if (clock) button.append(element("small", { className: "muted" }, clock));
}

/** A difference, in percent too; green or red only if it is sure, or if nothing can be said about that. */
function writeDifference(button, [text, relative, judged, pairs, differs]) {
  const sure = pairs < 2 || differs;
  const colour = !sure || !judged ? "" : judged > 0 ? "good" : "bad";
  button.append(element("span", { className: colour }, text));
  const doubt = sure ? "" : ", may be chance";
  button.append(element("small", { className: "muted" }, `${relative}${doubt}`));
}
