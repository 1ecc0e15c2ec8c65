// How the playhead's way through an episode is measured: in seconds as recorded, or in even steps.

import { fractionAt, indexAt } from "./stamps";

export interface Timebase {
  readonly kind: "time" | "steps";
  readonly start: number;
  /** The last position there is. */
  readonly end: number;
  /** Positions a second at speed 1. */
  readonly perSecond: number;
  /** Seconds from the episode's origin at a position. */
  toTime(position: number): number;
  /** Where the playhead stands to show a time. */
  toPosition(time: number): number;
  /** Where a time is drawn. */
  toPlace(time: number): number;
}

/** Seconds, as they were recorded. */
export function realTime(start: number, end: number): Timebase {
  const last = Math.max(start, end);
  return {
    kind: "time",
    start,
    end: last,
    perSecond: 1,
    toTime: (position) => position,
    toPosition: (time) => Math.min(last, Math.max(start, time)),
    toPlace: (time) => time,
  };
}

/** One step after the other at an even rate, however long each took. */
export function evenSteps(stamps: Float64Array, rate: number): Timebase {
  const end = Math.max(0, stamps.length - 1);
  const clamp = (index: number): number => Math.min(end, Math.max(0, index));
  return {
    kind: "steps",
    start: 0,
    end,
    perSecond: rate,
    toTime: (position) => stamps[clamp(Math.floor(position))] ?? 0,
    toPosition: (time) => clamp(indexAt(stamps, time)),
    toPlace: (time) => fractionAt(stamps, time),
  };
}
