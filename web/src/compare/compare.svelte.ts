// The runs that are compared: their facts, their metrics and which of them are in sight.

import { get } from "../lib/api";
import { coloursOf } from "../lib/colours";
import { watch } from "../lib/live.svelte";
import { place } from "../lib/router.svelte";
import { MetricFeed } from "../run/feed.svelte";
import { labelsOf } from "../run/labels";
import type { CompareAnswer, RunFacts } from "../run/types";
import { idsOf } from "./table";

const POINTS = 20_000; // That many a chart, over all runs.

export class Comparison {
  facts = $state.raw<ReadonlyMap<string, RunFacts>>(new Map());
  differences = $state.raw<CompareAnswer | null>(null);
  error = $state.raw<unknown>(null);
  /** Runs that were asked for and are not there. */
  missing = $state.raw<readonly string[]>([]);
  hidden = $state.raw<ReadonlySet<string>>(new Set());
  baseline = $state<string | null>(null);
  hasMean = $state(false);
  /** The run that the pointer is on, or that was clicked. */
  pointed = $state<string | null>(null);
  held = $state<string | null>(null);
  readonly colours: ReadonlyMap<string, string>;
  readonly feeds = new Map<string, MetricFeed>();
  readonly #ended = new AbortController();
  #points = new Map<string, number>();

  constructor(
    readonly ids: readonly string[],
    isTime: boolean,
  ) {
    this.colours = coloursOf(ids);
    this.hidden = new Set(idsOf(place.query.get("hide")).filter((id) => ids.includes(id)));
    const base = place.query.get("base");
    this.baseline = base !== null && ids.includes(base) ? base : (ids[0] ?? null);
    this.hasMean = place.query.get("mean") === "1";
    const points = Math.round(Math.min(Math.max(POINTS / Math.max(ids.length, 1), 200), 1000));
    for (const id of ids) this.feeds.set(id, new MetricFeed(id, points, isTime));
  }

  /** The runs in the order of the address, as far as they are known. */
  get runs(): RunFacts[] {
    return this.ids.flatMap((id) => this.facts.get(id) ?? []);
  }

  get shown(): RunFacts[] {
    return this.runs.filter((run) => !this.hidden.has(run.id));
  }

  /** What runs are called here: no two alike. */
  labels = $derived(labelsOf([...this.facts.values()]));

  async load(): Promise<void> {
    const { signal } = this.#ended;
    const found = new Map<string, RunFacts>();
    const missing: string[] = [];
    let last: unknown = null;
    await Promise.all(this.ids.map(async (id) => {
      try {
        found.set(id, await get<RunFacts>(`runs/${encodeURIComponent(id)}`, {}, signal));
      } catch (error) {
        missing.push(id);
        last = error;
      }
    }));
    if (signal.aborted) return;
    this.facts = found;
    this.missing = missing;
    this.error = found.size === 0 && this.ids.length > 0 ? last : null;
    if (found.size < 2) return;
    try {
      this.differences = await get<CompareAnswer>("compare", { id: this.ids.filter((id) => found.has(id)) }, signal);
    } catch (error) {
      if (!signal.aborted) this.error = error;
    }
  }

  follow(): () => void {
    return watch({ runs: this.ids }, (change) => {
      for (const [id, pulse] of Object.entries(change.runs)) {
        const before = this.#points.get(id);
        this.#points.set(id, pulse.points);
        if (before !== undefined && before !== pulse.points) void this.feeds.get(id)?.tail();
      }
    });
  }

  toggle(id: string): void {
    const hidden = new Set(this.hidden);
    if (!hidden.delete(id)) hidden.add(id);
    this.#hide(hidden);
  }

  /** Show this run alone; all again where it is alone already. */
  only(id: string): void {
    const isAlone = !this.hidden.has(id) && this.hidden.size === this.ids.length - 1;
    this.#hide(new Set(isAlone ? [] : this.ids.filter((one) => one !== id)));
  }

  #hide(hidden: ReadonlySet<string>): void {
    this.hidden = hidden;
    place.set({ hide: [...hidden].join(",") || null });
  }

  setBaseline(id: string): void {
    this.baseline = id;
    place.set({ base: id });
  }

  setMean(isOn: boolean): void {
    this.hasMean = isOn;
    place.set({ mean: isOn ? 1 : null });
  }

  destroy(): void {
    this.#ended.abort();
    for (const feed of this.feeds.values()) feed.destroy();
  }
}
