// The page: what is chosen, and who is told when it changes.

import { readAddress, writeAddress } from "./address.js";
import { look, onColours } from "./colours.js";
import { jsonOf } from "./columns.js";
import { makeCurves } from "./curves.js";
import { changeOf, makeMap, writeGained } from "./differences.js";
import { byId, element, fill, term } from "./dom.js";
import { makeGantt, offerColours, writeLegend } from "./gantt.js";
import { writeChanges, writeGroups } from "./groups.js";
import { offerMetrics, writeMatrix } from "./matrix.js";
import { instantText } from "./numbers.js";
import { makeNodes, writeNodes } from "./nodes.js";
import { MOVES } from "./picture.js";
import { showJob } from "./panel.js";
import { loadRun } from "./runs.js";
import { writeJobs } from "./search.js";
import { TimeWindow } from "./window.js";

const MOST_DRAWN = 8; // Policies that are laid over each other unless one asks for more.
const PAUSE = 150; // Milliseconds after the last letter until a search begins.

const shown = new TimeWindow();
const chosen = { run: 0, job: null, metric: "", baseline: "", other: null, group: "", search: "", sort: "wait", down: true, left: new Set() };
let index = null;
let run = null; // The chosen run, decoded.
let beside = []; // The runs of the same workload and seed that are decoded, the chosen one among them.
let change = null; // Of each job: its wait less that under the policy that is compared with.
let pictures = [];

start().catch(fail);

async function start() {
  index = await jsonOf(Number(byId("index").textContent));
  const { from, to, ...stated } = readAddress();
  Object.assign(chosen, stated);
  if (!index.runs[chosen.run]) chosen.run = 0;
  makePictures();
  listen();
  offerMetrics(index.matrix, chosen);
  await choose(chosen.run);
  if (to > from) shown.show(from, to);
  if (chosen.job !== null && run) await open(chosen.job);
  document.documentElement.dataset.ready = "yes";
}

function fail(error) {
  byId("trouble").hidden = false;
  byId("trouble").textContent = `This page cannot be shown: ${error.message}. A browser of 2023 or later is needed.`;
  throw error;
}

function makePictures() {
  const hosts = Object.fromEntries(["use", "queue", "waits"].map((name) => [name, byId(name)]));
  const epoch = () => (run ? run.epoch : null);
  const current = () => run;
  const job = () => (run && chosen.job !== null ? run.rowOf.get(chosen.job) ?? null : null);
  pictures = [
    ...makeCurves(hosts, shown, drawn, epoch),
    makeGantt(byId("gantt"), shown, { current, colour: () => byId("colour").value, job, epoch, open }),
    makeNodes(byId("node-plot"), shown, { current: () => (run?.nodes ? run : null), epoch }),
    makeMap(byId("map"), shown, { current: () => (change ? { run, change } : null), epoch, open }),
  ];
}

/** Runs whose curves are drawn, the chosen one last and thickest. */
function drawn() {
  const runs = beside.filter((each) => !chosen.left.has(each.policy) || each === run);
  for (const each of runs) each.chosen = each === run;
  return runs.sort((one, other) => one.chosen - other.chosen || one.policy - other.policy);
}

function redraw() {
  for (const picture of pictures) picture.redraw();
}

/** Look at another run. */
async function choose(number) {
  const last = run;
  chosen.run = number;
  const about = index.runs[number];
  writeMatrix(index.matrix, chosen, (other) => choose(other).catch(fail));
  writeRun(about);
  byId("over-time").hidden = about.count === undefined;
  byId("no-records").hidden = about.count !== undefined;
  run = about.count === undefined ? null : await loadRun(index, number);
  if (chosen.run !== number) return; // Another one was chosen meanwhile.
  beside = run ? [run] : [];
  if (run) await showRun(last);
  remember();
}

async function showRun(last) {
  if (!last || last.workload !== run.workload) shown.setWhole(...run.span);
  offerColours(byId("colour"), run);
  writeGroups(run, chosen);
  writeJobs(run, chosen, open);
  writeGantt();
  writeNodes(run);
  shown.tell();
  await loadBeside();
  if (!byId("panel").hidden && chosen.job !== null) await open(chosen.job);
}

/** The same workload and seed under the other policies, one after the other. */
async function loadBeside() {
  const mine = run;
  const same = index.runs.map((each, number) => [each, number]).filter(([each]) =>
    each.count !== undefined && each.workload === mine.workload && each.seed === mine.seed);
  writeOverlay(same.map(([each]) => each.policy));
  for (const [each, number] of same.slice(0, 4 * MOST_DRAWN)) {
    if (each.policy === mine.policy) continue;
    const other = await loadRun(index, number);
    if (run !== mine) return;
    beside.push(other);
    shown.extend(...other.span);
    redraw();
  }
  fillOther();
}

function writeOverlay(policies) {
  const host = byId("overlay");
  host.hidden = policies.length < 2;
  if (policies.length > MOST_DRAWN) for (const policy of policies.slice(MOST_DRAWN)) if (!chosen.touched) chosen.left.add(policy);
  host.replaceChildren(...policies.map(overlayBox));
}

function overlayBox(policy) {
  const box = element("input", { type: "checkbox", checked: !chosen.left.has(policy) || policy === run.policy, disabled: policy === run.policy });
  box.addEventListener("change", () => {
    chosen.touched = true;
    if (box.checked) chosen.left.delete(policy);
    else chosen.left.add(policy);
    redraw();
  });
  const swatch = element("span", { className: "swatch" });
  swatch.style.borderColor = look(policy).colour;
  swatch.style.borderTopStyle = look(policy).dash.length ? "dashed" : "solid";
  return element("label", {}, box, " ", swatch, ` ${index.matrix.policies[policy]}`);
}

/** With which other policy the chosen one is compared. */
function fillOther() {
  const others = beside.filter((each) => each !== run);
  byId("differences").hidden = !others.length;
  change = null;
  if (!others.length) return;
  const wanted = others.find((each) => each.number === chosen.other) ?? others.find((each) => each.policy === index.matrix.baseline) ?? others[0];
  fill(byId("other"), others.map((each) => [each.number, each.name]), wanted.number);
  compare(wanted);
}

function compare(other) {
  chosen.other = other.number;
  change = changeOf(run, other);
  writeGained(run, other, change, open);
  writeChanges(run, change, chosen.group);
  redraw();
  remember();
}

/** Title, headlines, metrics and facts of the chosen run. */
function writeRun(about) {
  const { matrix } = index;
  byId("run-title").hidden = index.runs.length === 1; // The title of the page says it.
  byId("run-title").textContent = `${matrix.policies[about.policy]} on ${matrix.workloads[about.workload] || "its workload"}`;
  byId("choice").replaceChildren(...seedChoice(about));
  byId("headlines").replaceChildren(...matrix.metrics.filter(({ key }) => index.headlines.includes(key) && about.numbers[key]).map((metric) => headline(metric, about.numbers[metric.key])));
  const groups = inGroups(matrix.metrics);
  byId("metrics").replaceChildren(...[...groups].map(([group, metrics]) => metricCard(group, metrics, about.numbers)));
  for (const section of document.querySelectorAll(".facts")) section.hidden = Number(section.dataset.run) !== chosen.run;
}

function inGroups(metrics) {
  const groups = new Map();
  for (const metric of metrics) groups.set(metric.group, [...(groups.get(metric.group) ?? []), metric]);
  return groups;
}

/** Runs of one policy and workload that differ in their seed. */
function seedChoice(about) {
  const cell = index.matrix.cells.find((each) => each.runs.includes(chosen.run));
  if (cell.runs.length < 2) return [];
  const select = element("select", {});
  fill(select, cell.runs.map((number) => [number, index.runs[number].seed]), chosen.run);
  select.addEventListener("change", () => choose(Number(select.value)).catch(fail));
  return [element("label", {}, "seed ", select)];
}

function headline(metric, [text, clock]) {
  return element("div", { className: "card", title: metric.definition }, element("p", { className: "what" }, term(metric.title, metric.definition)), element("strong", {}, text), element("small", {}, clock));
}

function metricCard(group, metrics, numbers) {
  const rows = metrics.filter(({ key }) => numbers[key]).map((metric) => {
    const [text, clock] = numbers[metric.key];
    const value = element("td", { className: "number" }, text, clock ? element("small", {}, clock) : null);
    return element("tr", {}, element("th", { scope: "row" }, term(metric.title, metric.definition)), value);
  });
  return element("div", { className: "card" }, element("h3", {}, group), element("table", {}, element("tbody", {}, ...rows)));
}

function writeGantt() {
  byId("gantt-note").textContent = run.nodes
    ? "By node, each as high as its CPUs; which CPUs of a node a job had is not known."
    : `The machine counts ${run.unit}: where a bar lies says nothing, its height and length do.`;
  writeLegend(byId("gantt-legend"), run, byId("colour").value);
}

/** Show the panel of a job. */
async function open(id) {
  chosen.job = id;
  await showJob(run, id, [...beside].sort((one, other) => one.policy - other.policy), index.columns, (number) => choose(number).catch(fail));
  writeJobs(run, chosen, open);
  byId("panel").focus({ preventScroll: true });
  redraw();
  remember();
}

function closePanel() {
  byId("panel").hidden = true;
  chosen.job = null;
  writeJobs(run, chosen, open);
  redraw();
  remember();
}

/** Show the time from the chosen job's submission to its end, and a little around. */
function showInPictures() {
  const row = run.rowOf.get(chosen.job);
  if (row === undefined) return;
  const { submit, end } = run.facts;
  const last = end[row] === end[row] ? end[row] : run.span[1];
  const margin = Math.max(0.25 * (last - submit[row]), 60);
  shown.show(submit[row] - margin, last + margin);
  byId("gantt").scrollIntoView({ block: "center" });
}

function remember() {
  const part = shown.isWhole ? { from: null, to: null } : { from: shown.from, to: shown.to };
  writeAddress({ ...chosen, ...part, run: index.runs.length > 1 ? chosen.run : null, metric: index.matrix.cells.length > 1 ? chosen.metric : null, other: change ? chosen.other : null });
}

function listen() {
  byId("metric").addEventListener("change", (event) => rewrite({ metric: event.target.value }));
  byId("baseline").addEventListener("change", (event) => rewrite({ baseline: event.target.value }));
  byId("group").addEventListener("change", (event) => {
    chosen.group = event.target.value;
    writeGroups(run, chosen);
    if (change) writeChanges(run, change, chosen.group);
    remember();
  });
  byId("other").addEventListener("change", (event) => compare(beside.find((each) => each.number === Number(event.target.value))));
  byId("colour").addEventListener("change", () => {
    writeGantt();
    redraw();
  });
  for (const button of document.querySelectorAll("#zoom button")) button.addEventListener("click", () => MOVES[button.dataset.do](shown));
  byId("close").addEventListener("click", closePanel);
  byId("show-job").addEventListener("click", showInPictures);
  listenToSearch();
  addEventListener("keydown", pressed);
  addEventListener("hashchange", () => location.reload());
  onColours(recolour);
  shown.listeners.push(told);
}

function listenToSearch() {
  let waiting = 0;
  byId("search").value = chosen.search;
  byId("search").addEventListener("input", (event) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      chosen.search = event.target.value;
      writeJobs(run, chosen, open);
      remember();
    }, PAUSE);
  });
  byId("search").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !run) return;
    chosen.search = event.target.value;
    const [first] = writeJobs(run, chosen, open);
    if (first !== undefined && chosen.search) open(run.facts.job_id[first]).catch(fail);
  });
}

/** Escape closes the panel, a slash goes to the search. */
function pressed(event) {
  if (event.key === "Escape" && !byId("panel").hidden) closePanel();
  const typing = ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName);
  if (event.key !== "/" || typing || !run) return;
  event.preventDefault();
  byId("search").focus();
}

function rewrite(values) {
  Object.assign(chosen, values);
  writeMatrix(index.matrix, chosen, (other) => choose(other).catch(fail));
  remember();
}

function recolour() {
  if (!run) return;
  writeOverlay(index.runs.filter((each) => each.count !== undefined && each.workload === run.workload && each.seed === run.seed).map((each) => each.policy));
  writeGantt();
  writeNodes(run);
  for (const picture of pictures) picture.drawNow();
}

/** The time window changed. */
function told() {
  const whole = (time) => (shown.length > 100 ? Math.round(time) : time);
  byId("window").textContent = `${instantText(whole(shown.from), run?.epoch)} to ${instantText(whole(shown.to), run?.epoch)}`;
  if (document.documentElement.dataset.ready) remember();
}
