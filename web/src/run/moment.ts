// The pictures of an episode at a moment, by ref.

import { address, get } from "../lib/api";

interface Signal {
  name: string;
  kind: string;
  ref: string;
  place0: number;
}

interface EpisodeFacts {
  signals: Signal[];
}

interface At {
  signals: Record<string, { index: number | null; age_s: number | null }>;
}

export interface Picture {
  name: string;
  url: string;
}

const known = new Map<string, EpisodeFacts>();

/** Find the pictures that an episode's cameras showed at a time of it. */
export async function picturesAt(episode: string, time: number, signal: AbortSignal): Promise<Picture[]> {
  let facts = known.get(episode);
  if (facts === undefined) {
    facts = await get<EpisodeFacts>(`episodes/${episode}`, {}, signal);
    if (known.size > 50) known.clear();
    known.set(episode, facts);
  }
  const cameras = facts.signals.filter((one) => one.kind === "picture").slice(0, 4);
  if (cameras.length === 0) return [];
  const at = await get<At>(`episodes/${episode}/at`, { time_s: time }, signal);
  return cameras.flatMap((camera) => {
    const index = at.signals[camera.name]?.index;
    if (index === null || index === undefined) return [];
    return [{ name: camera.name, url: address("frame", { ref: `${camera.ref}${camera.place0 + index}`, width: 640 }) }];
  });
}
