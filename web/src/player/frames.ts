// The pictures of one camera: what is wanted now is fetched first, what comes next is fetched ahead, and what nobody
// wants any more is not fetched at all. At most two requests are under way.

import { ApiError } from "../lib/api";
import { BATCH_LIMIT, type Encoded } from "./batch";
import { Shelf, type Closable } from "./shelf";

/** How the playhead moves, in samples of this camera. */
export interface Motion {
  direction: 1 | -1;
  /** Samples a second; 0 when it stands. */
  rate: number;
  /** While a finger drags, nothing is fetched ahead. */
  isDragging: boolean;
}

export const STILL: Motion = { direction: 1, rate: 0, isDragging: false };

/** What there is instead of a picture. */
export interface Trouble {
  kind: "missing" | "damaged" | "failed";
  message: string;
}

export interface Source<T extends Closable> {
  load(start: number, count: number, signal: AbortSignal): Promise<Encoded[]>;
  decode(image: Uint8Array<ArrayBuffer>): Promise<T>;
  /** Whether samples without a picture are to be expected. */
  hasHoles?(): boolean;
  /** Whether it is known otherwise that a sample has no picture. */
  isHole?(index: number): boolean;
  now?(): number;
}

interface Request {
  start: number;
  count: number;
  isAhead: boolean;
  began: number;
  abort: AbortController;
}

const IN_FLIGHT = 2;
/** A request for what is no longer wanted may finish, unless it takes this long. */
const PATIENCE_MS = 250;
const RETRY_MS = 1500;
const AHEAD_S = 1.5;
const AHEAD_STILL = 12;
const BATCH_PLAYING = 24;
const LOOK_BACK = 16;
/** Where a display of 60 Hz would leave out more than this many samples, they are fetched one by one. */
const DENSE = 6;
const DISPLAY_HZ = 60;

export class FrameLoader<T extends Closable> {
  #source: Source<T>;
  #shelf: Shelf<T>;
  #length: number;
  #wanted = -1;
  #motion: Motion = STILL;
  #requests: Request[] = [];
  #troubles = new Map<number, Trouble & { at: number }>();
  #alone = new Set<number>();
  /** Left out of a batch: whether they are missing or damaged only they themselves say. */
  #unsure = new Set<number>();
  #latency = 30;
  #closed = false;
  #timer: ReturnType<typeof setTimeout> | null = null;
  /** Called when more is known than before. */
  onchange: () => void = () => {};

  constructor(source: Source<T>, length: number, budget: number) {
    this.#source = source;
    this.#length = length;
    this.#shelf = new Shelf<T>(budget);
  }

  get inFlight(): number {
    return this.#requests.length;
  }

  get bytes(): number {
    return this.#shelf.bytes;
  }

  /** How many samples there are; more come while it is recorded. */
  grow(length: number): void {
    this.#length = length;
    this.#pump();
  }

  /** Say which sample is to be seen, and what will be next. */
  want(index: number, motion: Motion = STILL): void {
    this.#wanted = index;
    this.#motion = motion;
    this.#pump();
  }

  picture(index: number): T | undefined {
    return this.#shelf.get(index);
  }

  /** As `picture`, but it does not count as used. */
  peek(index: number): T | undefined {
    return this.#shelf.peek(index);
  }

  trouble(index: number): Trouble | undefined {
    return this.#troubles.get(index);
  }

  isKnown(index: number): boolean {
    return this.#shelf.has(index) || this.#troubles.has(index);
  }

  /**
   * The sample that is to be seen: the wanted one, or where nothing was recorded at it, the newest before it. Which that is
   * becomes known bit by bit; -1 when there is none.
   */
  get held(): number {
    let index = this.#wanted;
    while (index >= 0 && this.#troubles.get(index)?.kind === "missing") index -= 1;
    return index;
  }

  /** The sample that is there and lies nearest behind the wanted one, as seen in the direction of travel. */
  nearest(): number | null {
    let best: number | null = null;
    const { direction } = this.#motion;
    for (const index of this.#shelf.indexes()) {
      const behind = (this.#wanted - index) * direction;
      if (behind >= 0 && (best === null || behind < (this.#wanted - best) * direction)) best = index;
    }
    return best;
  }

  /** The samples that are there, as ranges [from, to) in order. */
  ranges(): [number, number][] {
    const found: [number, number][] = [];
    for (const index of [...this.#shelf.indexes()].sort((a, b) => a - b)) {
      const last = found[found.length - 1];
      if (last && last[1] === index) last[1] = index + 1;
      else found.push([index, index + 1]);
    }
    return found;
  }

  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    for (const request of this.#requests) request.abort.abort();
    this.#requests = [];
    this.#shelf.clear();
  }

  #now(): number {
    return this.#source.now?.() ?? performance.now();
  }

  #pump(): void {
    if (this.#closed || this.#wanted < 0 || this.#wanted >= this.#length) return;
    this.#forgetFailures();
    const held = this.held;
    const needed = held === this.#wanted && this.#isSparse() ? this.#predicted() : held;
    if (needed >= 0 && !this.#isComing(needed)) {
      this.#makeRoom();
      if (this.#requests.length < IN_FLIGHT) this.#start(...this.#urgent(needed), false);
    }
    this.#makeSure();
    if (this.#isComing(needed) && !this.#motion.isDragging && !this.#isSparse()) this.#fetchAhead();
  }

  /** Ask what is wrong with the wanted picture, once the playhead stands. */
  #makeSure(): void {
    const index = this.#wanted;
    if (!this.#unsure.has(index) || this.#motion.rate > 0 || this.#requests.length >= IN_FLIGHT) return;
    this.#unsure.delete(index);
    if (!this.#source.isHole?.(index)) this.#start(index, 1, false);
  }

  #isComing(index: number): boolean {
    return this.isKnown(index) || this.#requests.some((r) => index >= r.start && index < r.start + r.count);
  }

  #isSparse(): boolean {
    return this.#motion.rate > DENSE * DISPLAY_HZ;
  }

  /** Where the playhead will be when an answer comes. */
  #predicted(): number {
    const lead = Math.round((this.#motion.rate * (this.#latency * 1.2)) / 1000);
    return Math.min(this.#length - 1, Math.max(0, this.#wanted + lead * this.#motion.direction));
  }

  /** What to ask for to get one sample soon, as [start, count]. */
  #urgent(index: number): [number, number] {
    const { direction, rate, isDragging } = this.#motion;
    if (index < this.#wanted) {
      // Behind a hole: the newest before it may lie further back.
      const count = Math.min(LOOK_BACK, index + 1);
      return this.#alone.has(index) ? [index, 1] : [index - count + 1, count];
    }
    if (rate === 0 || isDragging || this.#isSparse() || this.#alone.has(index) || direction < 0) return [index, 1];
    return [index, Math.min(8, this.#length - index)];
  }

  /** Stop what is fetched ahead elsewhere, and, where there is no room, what takes too long. */
  #makeRoom(): void {
    const now = this.#now();
    this.#stop((r) => r.isAhead && Math.abs(r.start - this.#wanted) > BATCH_LIMIT);
    if (this.#requests.length < IN_FLIGHT) return;
    const idle = this.#requests.find((r) => r.isAhead) ?? this.#requests.find((r) => now - r.began > PATIENCE_MS);
    if (idle) this.#stop((r) => r === idle);
    else this.#later(PATIENCE_MS);
  }

  #stop(which: (request: Request) => boolean): void {
    const stopped = this.#requests.filter(which);
    this.#requests = this.#requests.filter((r) => !stopped.includes(r));
    for (const request of stopped) request.abort.abort();
  }

  #fetchAhead(): void {
    const { direction, rate } = this.#motion;
    const fits = Math.max(2, this.#fitting() >> 1);
    const reach = Math.min(fits, rate > 0 ? Math.max(BATCH_PLAYING, Math.ceil(rate * AHEAD_S)) : AHEAD_STILL / 2);
    const most = Math.min(fits, rate > 0 ? BATCH_PLAYING : AHEAD_STILL);
    while (this.#requests.length < IN_FLIGHT) {
      // One slot stays free while the playhead stands, so that a seek never waits for a guess.
      if (rate === 0 && this.#requests.length > 0) return;
      const back = direction > 0 ? -1 : 1;
      const gap = this.#firstGap(direction, reach, most) ?? (rate === 0 ? this.#firstGap(back, reach, most) : null);
      if (gap === null) return;
      this.#start(gap[0], gap[1], true);
    }
  }

  /** How many pictures of the usual size the budget holds. */
  #fitting(): number {
    const each = this.#shelf.size > 0 ? this.#shelf.bytes / this.#shelf.size : 0;
    return each > 0 ? Math.floor(this.#shelf.limit / each) : 2 * BATCH_LIMIT;
  }

  /** The first samples not yet there, beginning within reach and at most so many, as [start, count]. */
  #firstGap(direction: 1 | -1, reach: number, most: number): [number, number] | null {
    for (let away = 1; away <= reach; away += 1) {
      const index = this.#wanted + away * direction;
      if (!this.#isAbsent(index)) {
        if (index < 0 || index >= this.#length) return null;
        continue;
      }
      let count = 1;
      while (count < most && this.#isAbsent(index + count * direction) && !this.#alone.has(index + count * direction)) count += 1;
      if (this.#alone.has(index)) count = 1;
      return direction > 0 ? [index, count] : [index - count + 1, count];
    }
    return null;
  }

  #isAbsent(index: number): boolean {
    return index >= 0 && index < this.#length && !this.#isComing(index);
  }

  #start(start: number, count: number, isAhead: boolean): void {
    const request: Request = { start, count, isAhead, began: this.#now(), abort: new AbortController() };
    this.#requests.push(request);
    void this.#run(request);
  }

  async #run(request: Request): Promise<void> {
    try {
      const encoded = await this.#source.load(request.start, request.count, request.abort.signal);
      await Promise.all(encoded.map((one) => this.#take(one, request.count > 1)));
      this.#latency = 0.7 * this.#latency + 0.3 * Math.min(1000, this.#now() - request.began);
      this.#missing(request, encoded);
    } catch (error) {
      if (request.abort.signal.aborted) return;
      this.#failed(request, error);
    } finally {
      this.#requests = this.#requests.filter((r) => r !== request);
      if (!this.#closed && !request.abort.signal.aborted) {
        this.onchange();
        this.#pump();
      }
    }
  }

  async #take({ index, image }: Encoded, isOfMany: boolean): Promise<void> {
    if (image === null) {
      if (this.#source.hasHoles?.() ?? true) this.#note(index, "missing", "No picture was recorded here");
      else this.#note(index, "damaged", "This picture cannot be read");
      if (isOfMany) this.#unsure.add(index);
      return;
    }
    try {
      const picture = await this.#source.decode(image);
      if (this.#closed) picture.close();
      else this.#shelf.put(index, picture);
      this.#troubles.delete(index);
    } catch (error) {
      this.#note(index, "damaged", `This frame cannot be decoded: ${words(error)}`);
    }
  }

  /** What was asked for and not answered is not asked for again at once. */
  #missing(request: Request, encoded: Encoded[]): void {
    const there = new Set(encoded.map((one) => one.index));
    for (let index = request.start; index < request.start + request.count; index += 1) {
      if (!there.has(index)) this.#note(index, "failed", "The server sent no picture");
    }
  }

  #failed(request: Request, error: unknown): void {
    if (error instanceof ApiError && request.count > 1 && error.status < 500) {
      // One bad picture spoils a batch: each of these is asked for alone.
      for (let index = request.start; index < request.start + request.count; index += 1) this.#alone.add(index);
      return;
    }
    const kind = error instanceof ApiError ? (KINDS[error.status] ?? "failed") : "failed";
    for (let index = request.start; index < request.start + request.count; index += 1) {
      this.#note(index, kind, words(error));
    }
  }

  #note(index: number, kind: Trouble["kind"], message: string): void {
    this.#troubles.set(index, { kind, message, at: this.#now() });
    if (kind === "failed") this.#later(RETRY_MS);
  }

  #forgetFailures(): void {
    const now = this.#now();
    for (const [index, trouble] of this.#troubles) {
      if (trouble.kind === "failed" && now - trouble.at >= RETRY_MS) this.#troubles.delete(index);
    }
  }

  #later(ms: number): void {
    if (this.#timer !== null) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#pump();
    }, ms);
  }
}

const KINDS: Record<number, Trouble["kind"]> = { 404: "missing", 422: "damaged" };

function words(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
