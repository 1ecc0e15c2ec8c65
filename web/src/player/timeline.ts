// Where things lie on the timeline, and how its ground is drawn.

import { toneOf, type Tone } from "./marks";
import type { Thumbnail } from "./strip";
import type { Mark } from "./types";

/** Pixels from a position and back. */
export class Ruler {
  constructor(
    readonly start: number,
    readonly end: number,
    readonly width: number,
    readonly pad: number,
  ) {}

  get inner(): number {
    return Math.max(1, this.width - 2 * this.pad);
  }

  x(position: number): number {
    const span = this.end - this.start;
    return this.pad + (span > 0 ? ((position - this.start) / span) * this.inner : 0);
  }

  position(x: number): number {
    const share = Math.min(1, Math.max(0, (x - this.pad) / this.inner));
    return this.start + share * (this.end - this.start);
  }
}

/** Round positions for labels, about `most` of them, at least `least` apart. */
export function ticks(start: number, end: number, most: number, least = 0): number[] {
  const span = end - start;
  if (!(span > 0) || most < 1) return [start];
  const rough = Math.max(least, span / most);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) ?? rough;
  const found: number[] = [];
  for (let at = Math.ceil(start / step); at * step <= end + step * 1e-9; at += 1) found.push(at * step);
  return found;
}

/** How many samples fall on each pixel column. */
export function density(places: Iterable<number>, ruler: Ruler): Uint32Array {
  const columns = new Uint32Array(Math.max(1, Math.ceil(ruler.width)));
  for (const place of places) {
    const column = Math.floor(ruler.x(place));
    if (column >= 0 && column < columns.length) columns[column]! += 1;
  }
  return columns;
}

export interface Ground {
  ruler: Ruler;
  marks: readonly Mark[];
  placeOf: (time: number) => number;
  /** Ranges of positions whose pictures are here already. */
  buffered: readonly (readonly [number, number])[];
  /** Samples on each pixel column; null where they lie evenly anyway. */
  density: Uint32Array | null;
  /** The small picture for a position, if there are any. */
  thumbnail: (position: number) => Thumbnail | null;
  /** What stands in the track where there are no pictures: places and shares of its height. */
  curve: readonly (readonly [place: number, share: number])[];
  /** The repeated range in positions. */
  loop: readonly [number, number] | null;
  label: (position: number) => string;
  /** How far labels are apart at least, in positions. */
  least: number;
  colour: (css: string) => string;
}

export const LANES = { marks: 6, track: 18, trackHeight: 34, buffer: 54, labels: 71, height: 76 } as const;

const TONES: Record<Tone, string> = { good: "var(--good)", bad: "var(--bad)", warn: "var(--warn)", soft: "var(--ink-faint)" };
const FONT = "11px system-ui, sans-serif";

export function drawGround(context: CanvasRenderingContext2D, ground: Ground): void {
  const { ruler, colour } = ground;
  context.clearRect(0, 0, ruler.width, LANES.height);
  context.save();
  context.beginPath();
  context.roundRect(ruler.pad, LANES.track, ruler.inner, LANES.trackHeight, 4);
  context.clip();
  context.fillStyle = colour("var(--sunken)");
  context.fillRect(ruler.pad, LANES.track, ruler.inner, LANES.trackHeight);
  drawThumbnails(context, ground);
  drawCurve(context, ground);
  if (ground.loop) {
    const [from, to] = ground.loop.map((one) => ruler.x(one)) as [number, number];
    context.fillStyle = colour("color-mix(in srgb, var(--ground) 72%, transparent)");
    context.fillRect(ruler.pad, LANES.track, from - ruler.pad, LANES.trackHeight);
    context.fillRect(to, LANES.track, ruler.width - to, LANES.trackHeight);
  }
  context.restore();
  drawSamples(context, ground);
  drawMarks(context, ground);
  drawLabels(context, ground);
}

function drawThumbnails(context: CanvasRenderingContext2D, { ruler, thumbnail }: Ground): void {
  const first = thumbnail(ruler.start);
  if (!first) return;
  const width = (first.width / first.height) * LANES.trackHeight;
  for (let x = ruler.pad; x < ruler.width - ruler.pad; x += width) {
    const one = thumbnail(ruler.position(x + width / 2));
    if (!one) continue;
    context.globalAlpha = 0.55;
    context.drawImage(one.image, one.x, 0, one.width, one.height, x, LANES.track, width, LANES.trackHeight);
  }
  context.globalAlpha = 1;
}

function drawCurve(context: CanvasRenderingContext2D, { ruler, curve, colour }: Ground): void {
  if (curve.length === 0) return;
  context.strokeStyle = colour("var(--ink-faint)");
  context.lineWidth = 1;
  context.beginPath();
  for (const [place, share] of curve) context.lineTo(ruler.x(place), LANES.track + 3 + (1 - share) * (LANES.trackHeight - 6));
  context.stroke();
}

/** Values between their smallest and largest, as shares; what is no number is left out. */
export function shares(values: readonly (number | string | null)[]): (number | null)[] {
  const plain = values.filter((one): one is number => typeof one === "number");
  const low = plain.reduce((a, b) => Math.min(a, b), Infinity);
  const high = plain.reduce((a, b) => Math.max(a, b), -Infinity);
  return values.map((one) => (typeof one !== "number" ? null : high > low ? (one - low) / (high - low) : 0.5));
}

function drawSamples(context: CanvasRenderingContext2D, ground: Ground): void {
  const { ruler, colour } = ground;
  if (ground.density) {
    const most = ground.density.reduce((a, b) => Math.max(a, b), 1);
    context.fillStyle = colour("var(--ink-faint)");
    for (let x = 0; x < ground.density.length; x += 1) {
      const share = ground.density[x]! / most;
      if (share === 0) continue;
      context.globalAlpha = 0.25 + 0.5 * share;
      context.fillRect(x, LANES.buffer, 1, 3);
    }
    context.globalAlpha = 1;
  }
  context.fillStyle = colour("var(--ink-soft)");
  for (const [from, to] of ground.buffered) {
    const x = ruler.x(from);
    context.fillRect(x, LANES.buffer, Math.max(1, ruler.x(to) - x), 3);
  }
}

function drawMarks(context: CanvasRenderingContext2D, { ruler, marks, placeOf, colour }: Ground): void {
  // One of a colour on a pixel is enough; what is rarer is drawn last.
  const order: Tone[] = ["soft", "good", "warn", "bad"];
  for (const tone of order) {
    context.fillStyle = colour(TONES[tone]);
    const drawn = new Set<number>();
    for (const mark of marks) {
      if (toneOf(mark) !== tone) continue;
      const x = Math.round(ruler.x(placeOf(mark.time_s)));
      if (drawn.has(x)) continue;
      drawn.add(x);
      if (mark.kind === "end" || mark.kind === "reset") context.fillRect(x - 1, LANES.marks, 2, LANES.track + LANES.trackHeight - LANES.marks);
      else context.fillRect(x - 1, LANES.marks, 2, 9);
    }
  }
}

function drawLabels(context: CanvasRenderingContext2D, { ruler, label, least, colour }: Ground): void {
  context.font = FONT;
  context.textBaseline = "alphabetic";
  context.fillStyle = colour("var(--ink-faint)");
  let free = 0;
  for (const position of ticks(ruler.start, ruler.end, ruler.inner / 90, least)) {
    const text = label(position);
    const width = context.measureText(text).width;
    const x = Math.min(ruler.width - ruler.pad - width, Math.max(ruler.pad, ruler.x(position) - width / 2));
    if (x < free) continue;
    context.fillText(text, x, LANES.labels);
    free = x + width + 12;
  }
}
