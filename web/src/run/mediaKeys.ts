// Media of a run under the names they were logged by, each in the order of steps.

import { lowerBound } from "../chart/line";
import { grouped } from "./grouped";
import type { MediaItem } from "./types";

export interface MediaKey {
  key: string;
  items: MediaItem[];
  /** The step of each; its place in the list where it has none. */
  steps: number[];
}

export function mediaKeys(items: readonly MediaItem[]): MediaKey[] {
  return [...grouped(items, (item) => item.key)]
    .sort(([one], [other]) => one.localeCompare(other, "en", { numeric: true }))
    .map(([key, members]) => {
      const sorted = members.toSorted((a, b) => (a.step ?? a.index) - (b.step ?? b.index) || a.index - b.index);
      return { key, items: sorted, steps: sorted.map((item) => item.step ?? item.index) };
    });
}

/** Find the newest that is not later than a step, else the first. */
export function placeAt(steps: readonly number[], step: number): number {
  return Math.max(lowerBound(steps, step + Number.EPSILON * Math.max(Math.abs(step), 1)) - 1, 0);
}

/** All steps at which there is something, in order. */
export function allSteps(keys: readonly MediaKey[]): number[] {
  return [...new Set(keys.flatMap((one) => one.steps))].sort((a, b) => a - b);
}
