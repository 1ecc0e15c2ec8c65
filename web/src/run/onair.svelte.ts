// The newest frame of what a run shows live, asked for again and again: at most ten times a second, one request at a time,
// and not while the page is out of sight.

import { address } from "../lib/api";
import type { Num } from "../lib/types";

const EVERY_MS = 100;
const AFTER_TROUBLE_MS = 1000;

export interface Figures {
  env_id: string | null;
  reward: Num;
  rolling_return: Num;
  step_rate: Num;
  step: number | null;
  episode: number | null;
}

export class OnAir {
  figures = $state.raw<Figures | null>(null);
  /** Width and height of the newest frame; null before the first. */
  size = $state.raw<readonly [number, number] | null>(null);
  /** Nobody publishes it any more; the last frame stays. */
  isOver = $state(false);
  #tag = "";

  constructor(
    readonly id: string,
    readonly draw: (frame: ImageBitmap) => void,
  ) {}

  /** Follow it; the answer ends that. */
  follow(width: number): () => void {
    const ending = new AbortController();
    void this.#follow(width, ending.signal);
    return () => ending.abort();
  }

  async #follow(width: number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const began = performance.now();
      let isFine = true;
      try {
        if (!document.hidden) isFine = await this.#next(width, signal);
      } catch {
        isFine = false; // the server is away, or this was ended: both show by themselves
      }
      await pause(isFine ? EVERY_MS - (performance.now() - began) : AFTER_TROUBLE_MS);
    }
  }

  /** Draw the newest frame if it is another one; tell whether there is one. */
  async #next(width: number, signal: AbortSignal): Promise<boolean> {
    const path = `live/${encodeURIComponent(this.id)}/frame`;
    const answer = await fetch(address(path, { width }), { cache: "no-store", headers: { "If-None-Match": this.#tag }, signal });
    if (answer.status === 304) return true;
    this.isOver = answer.status === 204;
    if (answer.status !== 200) return false;
    this.#tag = answer.headers.get("ETag") ?? "";
    const figures = answer.headers.get("X-Playhead-Figures");
    if (figures) this.figures = JSON.parse(figures) as Figures;
    const frame = await createImageBitmap(await answer.blob());
    this.size = [frame.width, frame.height];
    this.draw(frame);
    frame.close();
    return true;
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(milliseconds, 0)));
}
