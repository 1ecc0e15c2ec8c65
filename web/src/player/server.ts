// What the player asks the server for.

import { address as spell, get, getBytes } from "../lib/api";
import { readBatch, type Encoded } from "./batch";
import { summed } from "./curves";
import { readStamps } from "./stamps";
import type { Episode, Instant, SignalFacts, SignalValues, Steps } from "./types";

/** The most points that the server gives of a signal at once. */
const MOST_POINTS = 20_000;

/** The routes of one episode. `where` is its address, each part percent-encoded. */
export class EpisodeServer {
  /** With the version that the manifest names, the browser keeps pictures without asking again. */
  version: string | undefined;

  constructor(readonly where: string) {}

  async manifest(): Promise<Episode> {
    const episode = await get<Episode>(`episodes/${this.where}`);
    this.version = episode.is_final ? episode.version : undefined;
    return episode;
  }

  async stamps(name: string): Promise<Float64Array> {
    return readStamps(await getBytes(this.#of("times", name)));
  }

  values(name: string, range: readonly [number, number] | null, points: number, signal?: AbortSignal): Promise<SignalValues> {
    return get<SignalValues>(this.#of("values", name), { from_s: range?.[0], to_s: range?.[1], points }, signal);
  }

  /** The rewards of all steps added up, exact however many there are. */
  async returns(name: string, stamps: Float64Array): Promise<SignalValues> {
    const parts: SignalValues[] = [];
    for (let start = 0; start < stamps.length; start += MOST_POINTS) {
      const stop = Math.min(stamps.length, start + MOST_POINTS) - 1;
      parts.push(await this.values(name, stamps.length > MOST_POINTS ? [stamps[start]!, stamps[stop]!] : null, MOST_POINTS));
    }
    const joined = { total: stamps.length, is_sampled: false, names: null };
    return summed({ ...joined, times: parts.flatMap((one) => one.times), columns: [parts.flatMap((one) => one.columns[0] ?? [])] });
  }

  steps(start: number, stop: number): Promise<Steps> {
    return get<Steps>(`episodes/${this.where}/steps`, { start, stop });
  }

  at(time: number, signal?: AbortSignal): Promise<Instant> {
    return get<Instant>(`episodes/${this.where}/at`, { time_s: time }, signal);
  }

  /** Pictures in a row. One that is asked for alone says what is wrong with it; of several, a bad one is left out. */
  async frames(facts: SignalFacts, start: number, count: number, signal: AbortSignal): Promise<Encoded[]> {
    const v = this.version;
    if (count > 1 || !facts.ref) {
      return readBatch(await getBytes(this.#of("frames", facts.name), { start, count, v }, signal));
    }
    const image = await getBytes("frame", { ref: `${facts.ref}${facts.place0 + start}`, v }, signal);
    return [{ index: start, image: new Uint8Array(image) }];
  }

  async small(facts: SignalFacts, index: number, width: number, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
    const query = { ref: `${facts.ref ?? ""}${facts.place0 + index}`, width, hold: 1, v: this.version };
    return new Uint8Array(await getBytes("frame", query, signal));
  }

  stripAddress(name: string, range: readonly [number, number], count: number, height: number): string {
    return spell(this.#of("strip", name), { from_s: range[0], to_s: range[1], count, height, v: this.version });
  }

  exportAddress(format: string, range: readonly [number, number] | null, options: { signals?: string[]; hud?: boolean } = {}): string {
    return spell(`episodes/${this.where}/export`, {
      format,
      from_s: range?.[0],
      to_s: range?.[1],
      signals: options.signals?.join(","),
      hud: options.hud ? 1 : null,
    });
  }

  #of(what: string, name: string): string {
    return `episodes/${this.where}/${what}/${encodeURIComponent(name)}`;
  }
}

/** The address of one picture as an exact PNG. */
export function exactFrame(signal: SignalFacts, index: number): string | null {
  if (!signal.ref) return null;
  return spell("frame", { ref: `${signal.ref}${signal.place0 + index}`, exact: 1 });
}
