// The points of a metric as the page keeps them: sampled over all of it, finer where one looks, longer while it is logged.

import { inOrder } from "../chart/align";
import { lowerBound, type Line, type Range } from "../chart/line";
import { smooth, unitOf } from "../chart/smooth";
import type { Num } from "../lib/types";
import type { SeriesAnswer } from "./types";

export type XChoice = "step" | "relative" | "wall";

/** The points of one metric in one stage of one part. */
export interface Points {
  stage: string | null;
  part: number;
  /** How many there are in the store. */
  total: number;
  isSampled: boolean;
  steps: readonly number[];
  times: readonly number[];
  values: readonly (number | null)[];
}

/** A line that also knows when each of its points was logged, in seconds since the run began. */
export interface MetricLine extends Line {
  times: readonly number[];
}

export function numberOf(value: Num): number | null {
  return value === "Infinity" ? Infinity : value === "-Infinity" ? -Infinity : value;
}

export function pointsOf(answer: SeriesAnswer): Points {
  return {
    stage: answer.stage || null, part: answer.part, total: answer.total, isSampled: answer.is_sampled,
    steps: answer.steps, times: answer.times, values: answer.values.map(numberOf),
  };
}

function isSame(one: Points, other: Points): boolean {
  return one.stage === other.stage && one.part === other.part;
}

/** Put newly logged points behind those that are there; what is there already is left out. */
export function appended(known: readonly Points[], tail: readonly Points[]): readonly Points[] {
  let hasNew = false;
  const all = known.map((one) => {
    const more = tail.find((other) => isSame(one, other));
    if (more === undefined) return one;
    const last = one.times.at(-1) ?? -Infinity;
    let from = 0;
    while (from < more.times.length && (more.times[from] as number) <= last) from += 1;
    if (from === more.times.length) return one;
    hasNew = true;
    return {
      ...one,
      total: one.total + more.times.length - from,
      steps: one.steps.concat(more.steps.slice(from)),
      times: one.times.concat(more.times.slice(from)),
      values: one.values.concat(more.values.slice(from)),
    };
  });
  const fresh = tail.filter((one) => one.times.length > 0 && !known.some((other) => isSame(one, other)));
  return hasNew || fresh.length > 0 ? [...all, ...fresh] : known;
}

/** Replace what lies in a stretch of x by finer points. */
export function refined(whole: Points, finer: Points | undefined, stretch: Range, isTime: boolean): Points {
  if (finer === undefined) return whole;
  const x = isTime ? whole.times : whole.steps;
  const before = lowerBound(x, stretch[0]);
  let after = lowerBound(x, stretch[1]);
  while (after < x.length && x[after] === stretch[1]) after += 1;
  const join = <T>(all: readonly T[], part: readonly T[]): T[] => [...all.slice(0, before), ...part, ...all.slice(after)];
  return {
    ...whole,
    isSampled: finer.isSampled,
    steps: join(whole.steps, finer.steps),
    times: join(whole.times, finer.times),
    values: join(whole.values, finer.values),
  };
}

export interface LineLook {
  key: string;
  label: string;
  colour: string;
  x: XChoice;
  /** Seconds since 1970 when the run began. */
  origin: number;
  /** 0 (as logged) to 1. */
  smoothing: number;
}

/** Make a line of points: along the chosen x, in its order, smoothed with what was logged behind it. */
export function lineOf(points: Points, look: LineLook): MetricLine {
  const along = look.x === "step" ? points.steps : look.x === "relative" ? points.times : points.times.map((time) => time + look.origin);
  const { x, columns } = inOrder(along, points.values, points.times);
  const [values = [], times = []] = columns;
  const base = { key: look.key, label: look.label, colour: look.colour, x, times: times as readonly number[] };
  if (look.smoothing <= 0) return { ...base, y: values };
  const span = x.length > 1 ? (x.at(-1) as number) - (x[0] as number) : 0;
  return { ...base, y: smooth(x, values, look.smoothing, unitOf(span, points.total)), raw: values };
}

/** Find the x of a line at a time of the run; null where the line has no points. */
export function xAtTime(line: MetricLine, x: XChoice, time: number, origin: number): number | null {
  if (x === "relative") return time;
  if (x === "wall") return time + origin;
  let best = -1;
  let least = Infinity;
  for (let i = 0; i < line.times.length; i += 1) {
    const away = Math.abs((line.times[i] as number) - time);
    if (away < least) [best, least] = [i, away];
  }
  return best < 0 ? null : (line.x[best] as number);
}

/** Find the time of the run at an x of a line. */
export function timeAtX(line: MetricLine, x: XChoice, at: number, origin: number): number {
  if (x === "relative") return at;
  if (x === "wall") return at - origin;
  if (line.x.length === 0) return 0;
  const after = Math.min(lowerBound(line.x, at), line.x.length - 1);
  const before = Math.max(after - 1, 0);
  const nearer = at - (line.x[before] as number) < (line.x[after] as number) - at ? before : after;
  return line.times[nearer] as number;
}
