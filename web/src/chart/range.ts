// Which stretch of the y axis a chart shows.

import { isDrawn, lowerBound, type Line, type Range } from "./line";

export interface RangeOptions {
  isLog: boolean;
  /** Leave out the lowest and the highest hundredth. */
  isClipped: boolean;
}

function columnsOf(line: Line): ArrayLike<number | null>[] {
  const columns = [line.y];
  for (const more of [line.raw, line.low, line.high]) if (more) columns.push(more);
  return columns;
}

/** The value below which the share `q` of sorted values lies. */
export function quantile(sorted: ArrayLike<number>, q: number): number {
  if (sorted.length === 0) return NaN;
  const place = (sorted.length - 1) * q;
  const low = Math.floor(place);
  const value = sorted[low] as number;
  const next = sorted[Math.min(low + 1, sorted.length - 1)] as number;
  return value + (next - value) * (place - low);
}

/** Choose the y range for what lies within `xs`; null where nothing can be drawn. */
export function yRangeOf(lines: readonly Line[], xs: Range, options: RangeOptions): Range | null {
  const clipped: number[] = [];
  let min = Infinity;
  let max = -Infinity;
  for (const line of lines) {
    // One point further on each side: the slope to it is in sight.
    const start = Math.max(lowerBound(line.x, xs[0]) - 1, 0);
    let stop = lowerBound(line.x, xs[1]);
    while (stop < line.x.length && line.x[stop] === xs[1]) stop += 1;
    for (const column of columnsOf(line)) {
      for (let i = start; i < Math.min(stop + 1, column.length); i += 1) {
        const value = column[i];
        if (!isDrawn(value) || (options.isLog && value <= 0)) continue;
        if (options.isClipped) clipped.push(value);
        if (value < min) min = value;
        if (value > max) max = value;
      }
    }
  }
  if (min > max) return null;
  if (options.isClipped && clipped.length > 4) {
    const sorted = Float64Array.from(clipped).sort();
    min = quantile(sorted, 0.01);
    max = quantile(sorted, 0.99);
  }
  return padded(min, max, options.isLog);
}

/** Give a range some air; a flat line lies in the middle. */
export function padded(min: number, max: number, isLog: boolean): Range {
  if (isLog) {
    if (min === max) return [min / 2, max * 2];
    const air = (max / min) ** 0.05;
    return [min / air, max * air];
  }
  if (min === max) {
    const air = Math.abs(min) * 0.1 || 1;
    return [min - air, max + air];
  }
  const air = (max - min) * 0.06;
  return [min - air, max + air];
}
