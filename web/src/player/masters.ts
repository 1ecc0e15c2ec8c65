// Which signals lead: the cameras, and those whose samples the playhead steps by.

import type { Episode, SignalFacts } from "./types";

/** The cameras; what is stored once with another is shown once. */
export function picturesOf(episode: Pick<Episode, "signals">): SignalFacts[] {
  return episode.signals.filter((one) => one.kind === "picture" && !one.same_as && !one.error && one.length > 0);
}

/**
 * The signals whose samples the playhead steps by: the steps of a replay, the quickest camera, or what has most samples.
 * Where several agents take turns, their rewards together are the steps.
 */
export function mastersOf(episode: Pick<Episode, "kind" | "steps" | "signals">): SignalFacts[] {
  const { signals } = episode;
  const longest = quickest(signals);
  if (episode.kind === "dataset") return quickest(picturesOf(episode)).concat(longest).slice(0, 1);
  const whole = signals.filter((one) => one.length === episode.steps);
  // All of these have the same stamps; those of pictures are needed anyway.
  const any = whole.find((one) => one.kind === "picture" && !one.same_as) ?? whole.find((one) => one.name === "reward") ?? whole[0];
  if (any) return [any];
  const rewards = signals.filter((one) => one.name.endsWith(".reward"));
  return rewards.length > 0 ? rewards : longest;
}

/** The signal with most samples, if there is any. */
export function quickest(signals: readonly SignalFacts[]): SignalFacts[] {
  return signals.reduce<SignalFacts[]>((best, one) => (one.length > (best[0]?.length ?? 0) ? [one] : best), []);
}

/** The stamps of several signals as one, in order. */
export function merged(all: readonly Float64Array[]): Float64Array {
  const [only] = all;
  if (all.length <= 1) return only ?? new Float64Array();
  const joined = new Float64Array(all.reduce((sum, one) => sum + one.length, 0));
  let at = 0;
  for (const one of all) {
    joined.set(one, at);
    at += one.length;
  }
  return joined.sort();
}
