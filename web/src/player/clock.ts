// The playhead: where it is, whether it moves, how fast, and between which ends. It is read off a monotonic clock, so it
// neither drifts nor slows down: a late picture is dropped.

import { indexAt } from "./stamps";
import type { Timebase } from "./timebase";

export const SPEEDS = [0.1, 0.25, 0.5, 1, 1.5, 2, 4, 8, 16] as const;

/** The range that is repeated, in seconds; an end that is null is the episode's own. */
export interface Loop {
  from: number | null;
  to: number | null;
  isOn: boolean;
}

export class Clock {
  #base: Timebase;
  #stamps: Float64Array;
  #position: number;
  #playing = false;
  #speed = 1;
  #loop: Loop = { from: null, to: null, isOn: false };
  #anchor = { now: 0, position: 0 };
  /** Called when anything of it changed. */
  onchange: () => void = () => {};

  /**
   * @param base How the way is measured.
   * @param stamps The times of the samples that a step goes to.
   * @param now A monotonic clock in milliseconds.
   */
  constructor(
    base: Timebase,
    stamps: Float64Array,
    readonly now: () => number = () => performance.now(),
  ) {
    this.#base = base;
    this.#stamps = stamps;
    this.#position = base.start;
  }

  get base(): Timebase {
    return this.#base;
  }

  get position(): number {
    return this.#position;
  }

  /** Seconds from the episode's origin. */
  get time(): number {
    return this.#base.toTime(this.#position);
  }

  /** The step, or the sample of the master picture, at the playhead; -1 before the first. */
  get index(): number {
    return indexAt(this.#stamps, this.time);
  }

  get isPlaying(): boolean {
    return this.#playing;
  }

  get speed(): number {
    return this.#speed;
  }

  get loop(): Readonly<Loop> {
    return this.#loop;
  }

  get isAtEnd(): boolean {
    return this.#position >= this.#base.end;
  }

  /** Measure the way otherwise, or to a new end, without moving the playhead. */
  rebase(base: Timebase, stamps: Float64Array): void {
    const time = this.time;
    this.#base = base;
    this.#stamps = stamps;
    this.#move(base.toPosition(time));
  }

  play(): void {
    if (this.#playing) return;
    const [from, to] = this.range();
    if (this.#position >= to || this.#position < from) this.#position = from;
    this.#playing = true;
    this.#anchorHere();
    this.onchange();
  }

  pause(): void {
    if (!this.#playing) return;
    this.#playing = false;
    this.onchange();
  }

  /** Go to a time; while playing, play on from there. */
  seek(time: number): void {
    this.#move(this.#base.toPosition(time));
  }

  seekPosition(position: number): void {
    this.#move(Math.min(this.#base.end, Math.max(this.#base.start, position)));
  }

  /** Go to a sample by its number, as far as there are any. */
  seekIndex(index: number): void {
    const last = this.#stamps.length - 1;
    if (last < 0) return;
    this.seek(this.#stamps[Math.min(last, Math.max(0, index))]!);
  }

  /** Go some samples on or back, and stop there. */
  step(count: number): void {
    this.#playing = false;
    this.seekIndex(this.index + count);
  }

  setSpeed(speed: number): void {
    if (!Number.isFinite(speed)) return;
    this.#speed = Math.min(SPEEDS[SPEEDS.length - 1]!, Math.max(SPEEDS[0], speed));
    this.#anchorHere();
    this.onchange();
  }

  /** Go to the next faster (+1) or slower (-1) speed. */
  shift(by: 1 | -1): void {
    const next = by > 0 ? SPEEDS.find((s) => s > this.#speed) : SPEEDS.findLast((s) => s < this.#speed);
    if (next !== undefined) this.setSpeed(next);
  }

  /** Set an end of the range that is repeated; ends that cross each other push the other one away. */
  setLoop(change: Partial<Loop>): void {
    const loop = { ...this.#loop, ...change };
    if (loop.from !== null && loop.to !== null && loop.from > loop.to) {
      if (change.from !== undefined && change.to === undefined) loop.to = null;
      else if (change.to !== undefined && change.from === undefined) loop.from = null;
      else [loop.from, loop.to] = [loop.to, loop.from];
    }
    this.#loop = loop;
    this.onchange();
  }

  /** The positions between which it plays. */
  range(): [number, number] {
    const { start, end } = this.#base;
    if (!this.#loop.isOn) return [start, end];
    const from = this.#loop.from === null ? start : this.#base.toPosition(this.#loop.from);
    const to = this.#loop.to === null ? end : this.#base.toPosition(this.#loop.to);
    return to > from ? [from, to] : [start, end];
  }

  /** Move to where it is now. Says whether it moved. */
  tick(): boolean {
    if (!this.#playing) return false;
    const passed = (this.now() - this.#anchor.now) / 1000;
    const [from, to] = this.range();
    let position = this.#anchor.position + passed * this.#base.perSecond * this.#speed;
    // The last step of a loop is shown as long as any other before it starts again.
    const turn = this.#base.kind === "steps" ? to + 1 : to;
    if (this.#loop.isOn && position >= turn) {
      position = from + ((position - from) % (turn - from));
      this.#position = position;
      this.#anchorHere();
    } else if (!this.#loop.isOn && position >= to) {
      position = to;
      this.#playing = false;
    }
    this.#position = position;
    this.onchange();
    return true;
  }

  #move(position: number): void {
    this.#position = position;
    this.#anchorHere();
    this.onchange();
  }

  #anchorHere(): void {
    this.#anchor = { now: this.now(), position: this.#position };
  }
}
