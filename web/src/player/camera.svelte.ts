// One camera: its stamps and its pictures.

import { decode } from "./decode";
import { FrameLoader } from "./frames";
import type { EpisodeServer } from "./server";
import { indexAt, usualInterval } from "./stamps";
import { Strip } from "./strip";
import type { SignalFacts } from "./types";

const THUMBNAILS = 48;
const THUMBNAIL_HEIGHT = 72;

export type Freshness = "fresh" | "stale" | "old";

export class Camera {
  facts = $state.raw() as SignalFacts;
  stamps = $state.raw<Float64Array>(new Float64Array());
  readonly loader: FrameLoader<ImageBitmap>;
  interval = $derived(usualInterval(this.stamps) || (this.facts.rate_hz ? 1 / this.facts.rate_hz : 0));
  /** Games: few pixels, each of which is to be seen. */
  isCrisp = $derived(!this.facts.is_lossy && (this.facts.width ?? 0) <= 400);

  #server: EpisodeServer;
  #strip: Strip | null = null;
  #stripLength = 0;

  constructor(
    server: EpisodeServer,
    facts: SignalFacts,
    stamps: Float64Array,
    budget: number,
    isHole: (index: number) => boolean = () => false,
  ) {
    this.#server = server;
    this.facts = facts;
    this.stamps = stamps;
    this.loader = new FrameLoader<ImageBitmap>(
      {
        load: (start, count, signal) => server.frames(this.facts, start, count, signal),
        hasHoles: () => this.facts.holes,
        isHole,
        decode,
      },
      stamps.length,
      budget,
    );
  }

  /** Small pictures of the whole; fetched when they are first asked for. */
  get strip(): Strip | null {
    const [first, last] = [this.stamps[0], this.stamps[this.stamps.length - 1]];
    if (first === undefined || last === undefined) return null;
    const count = Math.min(THUMBNAILS, this.stamps.length);
    const range = [first, last] as const;
    if (this.#strip === null) {
      this.#strip = new Strip(this.#server.stripAddress(this.facts.name, range, count, THUMBNAIL_HEIGHT), range, count);
      this.#stripLength = this.stamps.length;
      this.#strip.load();
    }
    return this.#strip;
  }

  /** One picture, made smaller where it is wider, or the newest before it where there is none. */
  async small(index: number, width: number, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
    return this.#server.small(this.facts, index, width, signal);
  }

  indexAt(time: number): number {
    return indexAt(this.stamps, time);
  }

  grow(facts: SignalFacts, stamps: Float64Array): void {
    this.facts = facts;
    this.stamps = stamps;
    // While it is recorded, small pictures of what was there are good for a while.
    if (this.#strip !== null && stamps.length > 1.5 * this.#stripLength) this.#strip = null;
    this.loader.grow(stamps.length);
  }

  /** Whether a picture of this age is older than the camera's beat explains. */
  freshness(age: number): Freshness {
    if (this.interval <= 0 || age <= 3 * this.interval) return "fresh";
    return age <= 10 * this.interval ? "stale" : "old";
  }
}
