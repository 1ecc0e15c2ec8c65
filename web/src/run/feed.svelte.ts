// The metrics of one run for the charts in sight: asked for together, followed while the run logs, finer where one zooms in.

import { get } from "../lib/api";
import type { Range } from "../chart/line";
import { appended, pointsOf, refined, type Points } from "./points";
import type { MetricsAnswer } from "./types";

const NAMES_AT_ONCE = 16;
const SLACK_NS = 10_000_000_000n; // Processes of a job are indexed one after the other: look back a little.

/** What is known of one metric. */
export class Entry {
  whole = $state.raw<readonly Points[] | null>(null);
  finer = $state.raw<{ stretch: Range; isTime: boolean; points: readonly Points[] } | null>(null);
  error = $state.raw<unknown>(null);
  watchers = 0;
  cursor: bigint | null = null;
  isTime = false;
  isAsked = false;
  startsWith = 0;
  /** Something was logged while no chart of it was in sight. */
  isBehind = false;

  /** What to draw: all of it, finer where someone looked. */
  points(): readonly Points[] | null {
    const { whole, finer } = this;
    if (whole === null || finer === null) return whole;
    return whole.map((one) => refined(one, finer.points.find((other) => other.stage === one.stage && other.part === one.part), finer.stretch, finer.isTime));
  }
}

export class MetricFeed {
  /** Whether points are sampled over time; else over steps. */
  #isTime: boolean;
  readonly #entries = new Map<string, Entry>();
  readonly #ended = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #zoomTimer: ReturnType<typeof setTimeout> | undefined;
  #stretch: Range | null = null;
  #isTailing = false;
  #isBehind = false;

  constructor(
    readonly id: string,
    readonly pointsWanted: number,
    isTime: boolean,
  ) {
    this.#isTime = isTime;
  }

  entry(name: string): Entry {
    let entry = this.#entries.get(name);
    if (entry === undefined) {
      entry = new Entry();
      this.#entries.set(name, entry);
    }
    return entry;
  }

  /** Say that a chart of this metric is in sight; the answer says that it is gone. */
  look(name: string): () => void {
    const entry = this.entry(name);
    entry.watchers += 1;
    this.#plan();
    if (entry.isBehind) void this.tail();
    if (this.#stretch) this.zoom(this.#stretch);
    return () => {
      entry.watchers -= 1;
    };
  }

  /** Sample over time or over steps from now on. */
  along(isTime: boolean): void {
    if (this.#isTime === isTime) return;
    this.#isTime = isTime;
    this.#stretch = null;
    for (const entry of this.#entries.values()) entry.finer = null;
    this.#plan();
  }

  retry(): void {
    for (const entry of this.#entries.values()) entry.error = null;
    this.#plan();
  }

  destroy(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#zoomTimer);
    this.#ended.abort();
  }

  #seen(): [string, Entry][] {
    return [...this.#entries].filter(([, entry]) => entry.watchers > 0);
  }

  #plan(): void {
    if (this.#timer !== undefined) return;
    // Charts come into sight one after the other: wait for the rest of them.
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      const wanted = this.#seen().filter(([, entry]) => !entry.isAsked && !entry.error && (entry.whole === null || entry.isTime !== this.#isTime));
      for (let i = 0; i < wanted.length; i += NAMES_AT_ONCE) void this.#load(wanted.slice(i, i + NAMES_AT_ONCE));
    }, 10);
  }

  async #ask(names: readonly string[], more: Record<string, string | number>): Promise<MetricsAnswer> {
    const query = { name: names, x: this.#isTime ? "time" : "step", points: this.pointsWanted, ...more };
    return get<MetricsAnswer>(`runs/${encodeURIComponent(this.id)}/metrics`, query, this.#ended.signal);
  }

  async #load(wanted: [string, Entry][]): Promise<void> {
    const isTime = this.#isTime;
    for (const [, entry] of wanted) entry.isAsked = true;
    try {
      const answer = await this.#ask(wanted.map(([name]) => name), {});
      const newest = newestOf(answer);
      for (const [name, entry] of wanted) {
        const points = answer.series.filter((one) => one.name === name).map(pointsOf);
        entry.whole = points;
        entry.startsWith = lengthOf(points);
        entry.isTime = isTime;
        entry.error = null;
        entry.cursor = newest === null ? null : newest - SLACK_NS;
      }
    } catch (error) {
      if (this.#ended.signal.aborted) return;
      for (const [, entry] of wanted) entry.error = error;
    } finally {
      for (const [, entry] of wanted) entry.isAsked = false;
    }
    if (isTime !== this.#isTime) this.#plan();
  }

  /** Fetch what was logged since. */
  async tail(): Promise<void> {
    if (this.#isTailing) {
      this.#isBehind = true;
      return;
    }
    this.#isTailing = true;
    try {
      do {
        this.#isBehind = false;
        await this.#follow();
      } while (this.#isBehind && !this.#ended.signal.aborted);
    } catch {
      // The next change asks again from the same place; that the server is gone, the page's header says.
    } finally {
      this.#isTailing = false;
    }
  }

  async #follow(): Promise<void> {
    const groups = new Map<bigint, [string, Entry][]>();
    const anew: [string, Entry][] = [];
    for (const entry of this.#entries.values()) entry.isBehind = entry.watchers === 0;
    for (const [name, entry] of this.#seen()) {
      if (entry.whole === null || entry.isAsked) continue;
      if (entry.cursor === null || lengthOf(entry.whole) > entry.startsWith + 2 * this.pointsWanted) anew.push([name, entry]);
      else groups.set(entry.cursor, [...(groups.get(entry.cursor) ?? []), [name, entry]]);
    }
    for (let i = 0; i < anew.length; i += NAMES_AT_ONCE) await this.#load(anew.slice(i, i + NAMES_AT_ONCE));
    for (const [cursor, members] of groups) {
      const answer = await this.#ask(members.map(([name]) => name), { after_ns: String(cursor > 0n ? cursor : 0n) });
      const newest = newestOf(answer);
      const lost: [string, Entry][] = [];
      for (const [name, entry] of members) {
        const news = answer.series.filter((one) => one.name === name);
        if (news.some((one) => one.is_sampled)) lost.push([name, entry]);
        else if (entry.whole) entry.whole = appended(entry.whole, news.map((one) => pointsOf(one)));
        if (newest !== null && newest - SLACK_NS > cursor) entry.cursor = newest - SLACK_NS;
      }
      if (lost.length > 0) await this.#load(lost);
    }
  }

  /** Look closer at a stretch (in steps, or seconds since the run began); null is all again. */
  zoom(stretch: Range | null): void {
    clearTimeout(this.#zoomTimer);
    this.#stretch = stretch;
    if (stretch === null) return;
    this.#zoomTimer = setTimeout(() => void this.#refine(stretch), 160);
  }

  async #refine(stretch: Range): Promise<void> {
    const margin = (stretch[1] - stretch[0]) / 2;
    const wide: Range = [stretch[0] - margin, stretch[1] + margin];
    const isTime = this.#isTime;
    const wanted = this.#seen().filter(([, entry]) => {
      if (entry.whole === null || !entry.whole.some((one) => one.isSampled)) return false;
      const had = entry.finer;
      const isCovered = had !== null && had.isTime === isTime && had.stretch[0] <= stretch[0] && had.stretch[1] >= stretch[1];
      // What was fetched for a stretch four times as wide is too coarse, unless it was all there is.
      return !isCovered || (had.points.some((one) => one.isSampled) && had.stretch[1] - had.stretch[0] > 4 * (stretch[1] - stretch[0]));
    });
    for (let i = 0; i < wanted.length; i += NAMES_AT_ONCE) {
      const some = wanted.slice(i, i + NAMES_AT_ONCE);
      const [from, to] = isTime ? wide : [Math.floor(wide[0]), Math.ceil(wide[1])];
      try {
        const answer = await this.#ask(some.map(([name]) => name), { from, to });
        if (isTime !== this.#isTime) return;
        for (const [name, entry] of some) {
          entry.finer = { stretch: [from, to], isTime, points: answer.series.filter((one) => one.name === name).map(pointsOf) };
        }
      } catch {
        return; // The coarse points stay in sight.
      }
    }
  }
}

function newestOf(answer: MetricsAnswer): bigint | null {
  let newest: bigint | null = null;
  for (const { last_ns: stamp } of answer.series) {
    if (stamp === null) continue;
    const at = BigInt(stamp);
    if (newest === null || at > newest) newest = at;
  }
  return newest;
}

function lengthOf(points: readonly Points[]): number {
  return points.reduce((sum, one) => sum + one.times.length, 0);
}
