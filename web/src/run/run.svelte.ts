// One run, as its page knows it: its facts, what changes while it runs, and the moment that is looked at.

import { get, send } from "../lib/api";
import { watch } from "../lib/live.svelte";
import { place } from "../lib/router.svelte";
import { toast } from "../lib/toast.svelte";
import type { Done, Pulse } from "../lib/types";
import type { RunFacts } from "./types";

const REFRESH_MS = 3000;

export class RunState {
  facts = $state.raw<RunFacts | null>(null);
  error = $state.raw<unknown>(null);
  pulse = $state.raw<Pulse | null>(null);
  /** Nothing new is drawn while it is paused. */
  isPaused = $state(false);
  /** The moment that is looked at, in seconds since the run began; null while there is none. */
  time = $state<number | null>(null);
  #refreshed = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #shareTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly id: string) {
    const time = Number(place.query.get("t") ?? NaN);
    if (Number.isFinite(time)) this.time = time;
  }

  get path(): string {
    return `runs/${encodeURIComponent(this.id)}`;
  }

  get isLive(): boolean {
    const status = this.pulse?.status ?? this.facts?.status;
    return status === "running" && !(this.pulse?.is_stale ?? this.facts?.is_stale ?? false);
  }

  /** What it shows live, as the server names it. */
  get shown(): readonly string[] {
    return this.pulse?.live ?? this.facts?.live ?? [];
  }

  async load(): Promise<void> {
    this.#refreshed = performance.now();
    try {
      this.facts = await get<RunFacts>(this.path);
      this.error = null;
    } catch (error) {
      if (this.facts === null) this.error = error;
    }
  }

  /** Follow the run; the answer ends it. */
  follow(): () => void {
    const end = watch({ runs: [this.id] }, (change) => {
      const pulse = change.runs[this.id];
      if (pulse === undefined) return;
      const before = this.pulse;
      this.pulse = pulse;
      if (before !== null && before.status !== pulse.status) void this.load();
      else if (before !== null) this.#refreshSoon();
    });
    return () => {
      end();
      clearTimeout(this.#timer);
      clearTimeout(this.#shareTimer);
    };
  }

  #refreshSoon(): void {
    if (this.#timer !== undefined || this.isPaused) return;
    const wait = Math.max(REFRESH_MS - (performance.now() - this.#refreshed), 0);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.load();
    }, wait);
  }

  /** Look at a moment of the run; null at none. */
  seek(time: number | null): void {
    this.time = time;
    clearTimeout(this.#shareTimer);
    const path = location.pathname;
    this.#shareTimer = setTimeout(() => {
      if (location.pathname === path) place.set({ t: time === null ? null : Number(time.toFixed(3)) });
    }, 200);
  }

  #failed(what: string, error: unknown): void {
    toast(`${what}: ${error instanceof Error ? error.message : String(error)}`, { kind: "bad" });
  }

  async #change(what: string, path: string, body: Record<string, unknown>): Promise<boolean> {
    try {
      const { failed } = await send<Done>("POST", `runs/${path}`, { ids: [this.id], ...body });
      if (failed[0]) throw new Error(failed[0].message);
      await this.load();
      return true;
    } catch (error) {
      this.#failed(what, error);
      return false;
    }
  }

  async tag(add: readonly string[], remove: readonly string[]): Promise<boolean> {
    return this.#change("The tags were not changed", "tag", { add, remove });
  }

  async delete(): Promise<void> {
    if (!(await this.#change("The run was not deleted", "delete", {}))) return;
    toast(`Deleted ${this.facts?.name ?? this.id}`, { action: { label: "Undo", run: () => this.restore() } });
  }

  async restore(): Promise<void> {
    if (await this.#change("The run was not restored", "restore", {})) toast(`Restored ${this.facts?.name ?? this.id}`);
  }

  async note(notes: string): Promise<boolean> {
    try {
      await send("PATCH", this.path, { notes });
      if (this.facts) this.facts = { ...this.facts, notes };
      return true;
    } catch (error) {
      this.#failed("The notes were not saved", error);
      return false;
    }
  }
}
