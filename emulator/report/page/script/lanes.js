// Which lanes of a Gantt chart each run is drawn on: as slurm_sim_plugins/lanes.py, the first free ones at its start.

import { sortedOrder } from "./steps.js";

/** Lanes that are free, as ranges from low to high. */
class Free {
  constructor(low, high) {
    this.lows = [low];
    this.highs = [high];
  }

  /** Take the first so many lanes; `taken(low, high)` is told of each range. What lacks is taken beyond the end. */
  take(count, taken) {
    let used = 0;
    while (count > 0 && used < this.lows.length) {
      const low = this.lows[used];
      const high = Math.min(this.highs[used], low + count);
      taken(low, high);
      count -= high - low;
      if (high < this.highs[used]) this.lows[used] = high;
      else used += 1;
    }
    this.lows.splice(0, used);
    this.highs.splice(0, used);
  }

  /** Give a range back, joined to its neighbours. */
  give(low, high) {
    let at = this.lows.length;
    while (at > 0 && this.lows[at - 1] > low) at -= 1;
    const joinsBefore = at > 0 && this.highs[at - 1] === low;
    const joinsAfter = at < this.lows.length && this.lows[at] === high;
    if (joinsBefore && joinsAfter) {
      this.highs[at - 1] = this.highs[at];
      this.lows.splice(at, 1);
      this.highs.splice(at, 1);
    } else if (joinsBefore) this.highs[at - 1] = high;
    else if (joinsAfter) this.lows[at] = low;
    else {
      this.lows.splice(at, 0, low);
      this.highs.splice(at, 0, high);
    }
  }
}

/** Ranges of lanes by run: those of run r are `first[r]` to `first[r + 1]` of `lows` and `highs`. */
class Ranges {
  constructor(runs) {
    this.first = new Uint32Array(runs + 1);
    this.lows = new Int32Array(4 * runs + 16);
    this.highs = new Int32Array(4 * runs + 16);
    this.count = 0;
  }

  add(low, high) {
    if (this.count === this.lows.length) {
      this.lows = grown(this.lows);
      this.highs = grown(this.highs);
    }
    this.lows[this.count] = low;
    this.highs[this.count] = high;
    this.count += 1;
  }
}

function grown(values) {
  const larger = new Int32Array(2 * values.length);
  larger.set(values);
  return larger;
}

/**
 * Give each run its lanes. `starts` ascend; `ends` are not before them; `parts(run)` lists what it holds as pairs of pool
 * and count; `pools` are pairs of the first lane and the one behind the last.
 */
export function assignLanes(starts, ends, parts, pools) {
  const free = pools.map(([low, high]) => new Free(low, high));
  const ranges = new Ranges(starts.length);
  const owner = [];
  const byEnd = sortedOrder(ends);
  let over = 0;
  for (let run = 0; run < starts.length; run += 1) {
    while (over < byEnd.length && byEnd[over] < run && ends[byEnd[over]] <= starts[run]) {
      release(ranges, owner, free, byEnd[over]);
      over += 1;
    }
    ranges.first[run] = ranges.count;
    for (const [pool, count] of parts(run)) {
      free[pool].take(count, (low, high) => {
        owner[ranges.count] = pool;
        ranges.add(low, high);
      });
    }
    ranges.first[run + 1] = ranges.count;
  }
  return ranges;
}

function release(ranges, owner, free, run) {
  for (let at = ranges.first[run]; at < ranges.first[run + 1]; at += 1) free[owner[at]].give(ranges.lows[at], ranges.highs[at]);
}
