// Step functions of time, as emulator/metrics/steps.py has them: values[i] holds from times[i] until times[i + 1].

/** The step function that changes by these amounts at these instants. */
export function accumulate(instants, changes) {
  const order = sortedOrder(instants);
  const times = new Float64Array(order.length);
  const values = new Float64Array(order.length);
  let count = 0;
  let level = 0;
  for (const at of order) {
    level += changes[at];
    if (count && times[count - 1] === instants[at]) count -= 1;
    times[count] = instants[at];
    values[count] = level;
    count += 1;
  }
  return withArea(times.subarray(0, count), values.subarray(0, count));
}

/** The order of numbers, ascending: each is sorted together with its place. */
export function sortedOrder(numbers) {
  const order = new Uint32Array(numbers.length);
  for (let at = 0; at < order.length; at += 1) order[at] = at;
  return order.sort((one, other) => numbers[one] - numbers[other]);
}

/** With the area below it up to each instant, from which means follow. */
function withArea(times, values) {
  const area = new Float64Array(times.length);
  for (let at = 1; at < times.length; at += 1) area[at] = area[at - 1] + values[at - 1] * (times[at] - times[at - 1]);
  return { times, values, area };
}

/** The place of the last instant at or before a time; -1 if there is none. */
export function lastAt(times, time) {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The value at a time. */
export function valueAt(steps, time) {
  const at = lastAt(steps.times, time);
  return at < 0 ? 0 : steps.values[at];
}

function areaUntil(steps, time) {
  const at = lastAt(steps.times, time);
  return at < 0 ? 0 : steps.area[at] + steps.values[at] * (time - steps.times[at]);
}

/** Mean between two times. */
export function meanBetween(steps, from, to) {
  return to > from ? (areaUntil(steps, to) - areaUntil(steps, from)) / (to - from) : valueAt(steps, from);
}

/** Largest value between two times. */
export function peakBetween(steps, from, to) {
  let peak = valueAt(steps, from);
  for (let at = lastAt(steps.times, from) + 1; at < steps.times.length && steps.times[at] < to; at += 1) {
    if (steps.values[at] > peak) peak = steps.values[at];
  }
  return peak;
}
