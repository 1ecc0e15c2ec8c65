// What is worth stopping at: rewards, ends, missing frames, gaps.

import type { Episode, Mark } from "./types";

export type Tone = "good" | "bad" | "warn" | "soft";

/** How a mark is to be taken. */
export function toneOf(mark: Mark): Tone {
  if (mark.kind === "reward") return /^\s*[-−]/.test(mark.text) ? "bad" : "good";
  if (mark.kind === "missing" || mark.kind === "gap") return "warn";
  if (mark.kind === "life") return "bad";
  return "soft";
}

/** The marks in order of time, at the stamps of their steps where they have one. */
export function ordered(episode: Pick<Episode, "kind" | "marks">, stamps: ArrayLike<number>): Mark[] {
  const isStep = episode.kind === "replay";
  return episode.marks
    .map((mark) => (isStep && mark.index >= 0 && mark.index < stamps.length ? { ...mark, time_s: stamps[mark.index]! } : mark))
    .sort((a, b) => a.time_s - b.time_s);
}

/** The next mark after a time, or the last before it. */
export function neighbour(marks: readonly Mark[], time: number, direction: 1 | -1): Mark | null {
  const found = direction > 0 ? marks.find((mark) => mark.time_s > time) : marks.findLast((mark) => mark.time_s < time);
  return found ?? null;
}

/** The mark drawn nearest to a place, if it lies within reach. */
export function markNear(marks: readonly Mark[], placeOf: (time: number) => number, x: number, reach: number): Mark | null {
  let best: Mark | null = null;
  let distance = reach;
  for (const mark of marks) {
    const away = Math.abs(placeOf(mark.time_s) - x);
    if (away > distance || (away === distance && best !== null)) continue;
    best = mark;
    distance = away;
  }
  return best;
}
