// The part of time that all pictures show.

/** What is shown of the time from `first` to `last`; whoever listens is told of each change. */
export class TimeWindow {
  constructor() {
    this.listeners = [];
    this.setWhole(0, 1);
  }

  /** Show all of another stretch of time. */
  setWhole(first, last) {
    this.first = first;
    this.last = last > first ? last : first + 1;
    this.from = this.first;
    this.to = this.last;
  }

  /** Take in another stretch of time; whoever sees all of it goes on seeing all. */
  extend(first, last) {
    const all = this.isWhole;
    this.first = Math.min(this.first, first);
    this.last = Math.max(this.last, last);
    if (all) this.all();
  }

  get length() {
    return this.to - this.from;
  }

  get isWhole() {
    return this.from <= this.first && this.to >= this.last;
  }

  /** Show from one instant to another, at least a thousandth of a second and nothing outside the whole. */
  show(from, to) {
    const length = Math.min(Math.max(to - from, 1e-3), this.last - this.first);
    const begin = Math.min(Math.max(from + (to - from - length) / 2, this.first), this.last - length);
    this.from = begin;
    this.to = begin + length;
    this.tell();
  }

  /** Shrink (below 1) or stretch what is shown; `share` of it from the left stays where it is. */
  zoom(factor, share = 0.5) {
    const still = this.from + share * this.length;
    const length = this.length * factor;
    this.show(still - share * length, still + (1 - share) * length);
  }

  /** Move by a share of what is shown. */
  move(share) {
    const by = Math.min(Math.max(share * this.length, this.first - this.from), this.last - this.to);
    this.show(this.from + by, this.to + by);
  }

  all() {
    this.show(this.first, this.last);
  }

  tell() {
    for (const listener of this.listeners) listener();
  }
}
