// The player's state: one episode, one clock, its cameras, and what the page shows of them.

import { Camera } from "./camera.svelte";
import { Clock, type Loop } from "./clock";
import type { Motion } from "./frames";
import type { View } from "./link";
import { neighbour, ordered } from "./marks";
import { mastersOf, merged, picturesOf, quickest } from "./masters";
import { EpisodeServer } from "./server";
import { spellTime } from "./stamps";
import { StepWindows } from "./steps";
import { evenSteps, realTime, type Timebase } from "./timebase";
import type { Episode, Mark, SignalFacts } from "./types";

/** All decoded pictures of all cameras together. */
const PICTURE_BYTES = 128e6;
const USUAL_RATE = 30;

export class Player {
  readonly server: EpisodeServer;
  readonly clock: Clock;
  readonly steps: StepWindows | null;

  episode = $state.raw() as Episode;
  cameras = $state.raw<Camera[]>([]);
  /** The times that a step of the playhead goes to. */
  stamps = $state.raw<Float64Array>(new Float64Array());

  time = $state(0);
  position = $state(0);
  index = $state(0);
  isPlaying = $state(false);
  speed = $state(1);
  loop = $state.raw<Readonly<Loop>>({ from: null, to: null, isOn: false });
  base = $state.raw() as Timebase;
  baseKind = $state<"time" | "steps">("time");
  isDragging = $state(false);
  /** While an episode is recorded: keep to its end. */
  isFollowing = $state(false);
  /** Whether the first picture is there: all else comes after it. */
  hasPainted = $state(false);
  /** The camera that is shown alone. */
  enlarged = $state<string | null>(null);

  marks = $derived<Mark[]>(ordered(this.episode, this.stamps));
  isReplay = $derived(this.episode.kind === "replay");
  rate = $derived(this.#rateOf(this.episode));
  usualBase = $derived<"time" | "steps">(this.isReplay ? "steps" : "time");

  #direction: 1 | -1 = 1;
  #frame = 0;

  static async open(where: string, view: View): Promise<Player> {
    const server = new EpisodeServer(where);
    const episode = await server.manifest();
    const names = [...picturesOf(episode), ...mastersOf(episode)].map((one) => one.name);
    return new Player(server, episode, await stampsOf(server, names), view);
  }

  constructor(server: EpisodeServer, episode: Episode, stamps: Map<string, Float64Array>, view: View) {
    this.server = server;
    this.episode = episode;
    this.stamps = merged(mastersOf(episode).flatMap((one) => stamps.get(one.name) ?? []));
    this.#addCameras(stamps);
    this.steps = episode.kind === "replay" ? new StepWindows((a, b) => server.steps(a, b), episode.steps ?? 0) : null;
    this.baseKind = view.base ?? this.usualBase;
    this.base = this.#makeBase();
    this.clock = new Clock(this.base, this.stamps);
    this.clock.onchange = () => this.#read();
    this.clock.setSpeed(view.speed);
    if (view.loop) this.clock.setLoop({ ...view.loop, isOn: true });
    this.hasPainted = this.cameras.length === 0;
    if (view.time !== null) this.clock.seek(view.time);
    else this.clock.seekPosition(this.base.start);
    this.#read();
  }

  get duration(): number {
    return Math.max(this.episode.duration_s ?? 0, this.stamps[this.stamps.length - 1] ?? 0);
  }

  /** What a sample of the master is called. */
  get unit(): "step" | "frame" | "sample" {
    if (this.isReplay) return "step";
    return this.cameras.length > 0 ? "frame" : "sample";
  }

  /** The camera whose small pictures stand for all. */
  get leading(): Camera | null {
    const [name] = quickest(this.cameras.map((one) => one.facts)).map((one) => one.name);
    return this.cameras.find((one) => one.facts.name === name) ?? null;
  }

  get signals(): SignalFacts[] {
    return this.episode.signals;
  }

  toggle(): void {
    if (this.clock.isPlaying) this.clock.pause();
    else this.play();
  }

  play(): void {
    this.#direction = 1;
    this.clock.play();
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#beat());
  }

  seek(time: number): void {
    this.#turn(() => this.clock.seek(time));
  }

  seekPosition(position: number): void {
    this.#turn(() => this.clock.seekPosition(position));
  }

  seekIndex(index: number): void {
    this.#turn(() => this.clock.seekIndex(index));
  }

  step(count: number): void {
    this.isFollowing = false;
    this.#direction = count < 0 ? -1 : 1;
    this.clock.step(count);
  }

  toStart(): void {
    this.seekPosition(this.base.start);
  }

  toEnd(): void {
    this.seekPosition(this.base.end);
  }

  /** Go to the next mark or the one before. Says whether there is one. */
  toMark(direction: 1 | -1): boolean {
    const mark = neighbour(this.marks, this.time, direction);
    if (mark) this.seek(mark.time_s);
    return mark !== null;
  }

  setLoopEnd(which: "from" | "to"): void {
    this.clock.setLoop({ [which]: this.time, isOn: true });
  }

  toggleLoop(): void {
    this.clock.setLoop({ isOn: !this.loop.isOn });
  }

  clearLoop(): void {
    this.clock.setLoop({ from: null, to: null, isOn: false });
  }

  setBase(kind: "time" | "steps"): void {
    this.baseKind = kind;
    this.base = this.#makeBase();
    this.clock.rebase(this.base, this.stamps);
  }

  follow(): void {
    this.isFollowing = true;
    this.clock.pause();
    this.clock.seekPosition(this.base.end);
  }

  /** How the playhead moves as one camera sees it. */
  motion(camera: Camera): Motion {
    if (!this.isPlaying) return { direction: this.#direction, rate: 0, isDragging: this.isDragging };
    const share = this.stamps.length > 0 ? camera.stamps.length / this.stamps.length : 1;
    const natural = this.baseKind === "steps" ? this.base.perSecond * share : camera.interval > 0 ? 1 / camera.interval : 0;
    return { direction: 1, rate: natural * this.speed, isDragging: this.isDragging };
  }

  /** The range that exports and downloads mean: the loop, or all. */
  chosenRange(): [number, number] | null {
    const { from, to } = this.loop;
    return from === null && to === null ? null : [from ?? 0, to ?? this.duration];
  }

  /** This state as a link says it. */
  view(): Omit<View, "time" | "signals"> & { time: string | null } {
    const spell = (time: number | null): number | null => (time === null ? null : Number(spellTime(this.stamps, time)));
    return {
      time: this.position <= this.base.start ? null : spellTime(this.stamps, this.time),
      speed: this.speed,
      loop: this.loop.isOn ? { from: spell(this.loop.from), to: spell(this.loop.to) } : null,
      base: this.baseKind === this.usualBase ? null : this.baseKind,
    };
  }

  /** Read again what grows while the episode is recorded. The playhead stays unless it follows. */
  async refresh(): Promise<void> {
    const episode = await this.server.manifest();
    const masters = mastersOf(episode);
    const hasGrown = episode.signals.some((one) => this.#lengthOf(one.name) !== one.length);
    const wanted = hasGrown ? [...picturesOf(episode), ...masters] : [];
    const stamps = await stampsOf(this.server, wanted.map((one) => one.name));
    this.episode = episode;
    for (const camera of this.cameras) {
      const facts = episode.signals.find((one) => one.name === camera.facts.name);
      const times = stamps.get(camera.facts.name);
      if (facts && times) camera.grow(facts, times);
    }
    if (hasGrown) this.stamps = merged(masters.flatMap((one) => stamps.get(one.name) ?? []));
    this.#addCameras(stamps);
    this.steps?.grow(episode.steps ?? 0);
    this.base = this.#makeBase();
    this.clock.rebase(this.base, this.stamps);
    if (this.isFollowing) this.clock.seekPosition(this.base.end);
  }

  close(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = -1;
    this.clock.pause();
    for (const camera of this.cameras) camera.loader.close();
  }

  /** What was not there before: a camera may send its first picture late. */
  #addCameras(stamps: Map<string, Float64Array>): void {
    const pictures = picturesOf(this.episode);
    const added = pictures.filter((one) => !this.cameras.some((camera) => camera.facts.name === one.name));
    if (added.length === 0) return;
    const budget = PICTURE_BYTES / pictures.length;
    // The steps say which of them have a frame.
    const isHole = (index: number): boolean => this.steps?.known(index)?.has_frame === false;
    const made = added.map((one) => {
      const times = stamps.get(one.name) ?? new Float64Array();
      return new Camera(this.server, one, times, budget, one.name === "frame" ? isHole : undefined);
    });
    this.cameras = [...this.cameras, ...made];
  }

  #lengthOf(name: string): number | undefined {
    return this.episode.signals.find((one) => one.name === name)?.length;
  }

  #rateOf(episode: Episode): number {
    if (episode.rate_hz) return episode.rate_hz;
    return mastersOf(episode)[0]?.rate_hz || USUAL_RATE;
  }

  #makeBase(): Timebase {
    if (this.baseKind === "steps" && this.stamps.length > 0) return evenSteps(this.stamps, this.rate);
    return realTime(0, this.duration);
  }

  #turn(move: () => void): void {
    const before = this.clock.position;
    this.isFollowing = false;
    move();
    if (this.clock.position !== before) this.#direction = this.clock.position < before ? -1 : 1;
  }

  #beat(): void {
    if (this.#frame < 0) return;
    this.clock.tick();
    this.#frame = this.clock.isPlaying ? requestAnimationFrame(() => this.#beat()) : 0;
  }

  #read(): void {
    this.position = this.clock.position;
    this.time = this.clock.time;
    this.index = this.clock.index;
    this.isPlaying = this.clock.isPlaying;
    this.speed = this.clock.speed;
    this.loop = this.clock.loop;
  }
}

async function stampsOf(server: EpisodeServer, names: readonly string[]): Promise<Map<string, Float64Array>> {
  const distinct = [...new Set(names)];
  return new Map(await Promise.all(distinct.map(async (name) => [name, await server.stamps(name)] as const)));
}
