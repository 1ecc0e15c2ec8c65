// The steps of an episode for the HUD, fetched in windows around the playhead and kept for a while.

import type { StepRow, Steps } from "./types";

const WINDOW = 250;
const KEPT = 24;

export class StepWindows {
  #windows = new Map<number, StepRow[]>();
  #coming = new Set<number>();
  #failed: unknown = null;
  /** Called when more is known than before. */
  onchange: () => void = () => {};

  constructor(
    readonly load: (start: number, stop: number) => Promise<Steps>,
    private length: number,
  ) {}

  get error(): unknown {
    return this.#failed;
  }

  /** More steps came while it is recorded: the last window is read again when it is needed. */
  grow(length: number): void {
    if (length === this.length) return;
    this.#windows.delete(Math.floor(Math.max(0, this.length - 1) / WINDOW));
    this.length = length;
  }

  /** The row of a step, if it is there; what is not, and what comes next, is fetched. */
  row(index: number): StepRow | null {
    if (index < 0 || index >= this.length) return null;
    const place = Math.floor(index / WINDOW);
    const rows = this.#windows.get(place);
    this.#fetch(place);
    if (rows) this.#fetch(index % WINDOW >= WINDOW / 2 ? place + 1 : place - 1);
    return rows?.[index - place * WINDOW] ?? null;
  }

  /** The row of a step if it is there already. */
  known(index: number): StepRow | null {
    const place = Math.floor(index / WINDOW);
    return this.#windows.get(place)?.[index - place * WINDOW] ?? null;
  }

  #fetch(place: number): void {
    const start = place * WINDOW;
    if (start < 0 || start >= this.length || this.#windows.has(place) || this.#coming.has(place)) return;
    if (this.#coming.size >= 2) return;
    this.#coming.add(place);
    const stop = Math.min(this.length, start + WINDOW);
    this.load(start, stop).then(
      ({ rows }) => this.#keep(place, rows),
      (error: unknown) => this.#fail(place, error),
    );
  }

  #keep(place: number, rows: StepRow[]): void {
    this.#coming.delete(place);
    this.#failed = null;
    this.#windows.set(place, rows);
    for (const oldest of this.#windows.keys()) {
      if (this.#windows.size <= KEPT) break;
      this.#windows.delete(oldest);
    }
    this.onchange();
  }

  #fail(place: number, error: unknown): void {
    this.#failed = error;
    this.onchange();
    // What failed is not asked for at every picture.
    setTimeout(() => this.#coming.delete(place), 2000);
  }
}
