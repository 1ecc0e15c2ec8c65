// What a chart says about the x under the pointer.

import { nearest, type Line } from "./line";

export interface Reading {
  line: Line;
  index: number;
  x: number;
  /** The drawn value; null in a gap. */
  y: number | null;
  /** The measured value, where the drawn one is smoothed. */
  raw: number | null;
}

/**
 * Read every line at `x`: main lines, then the largest value first, gaps last.
 *
 * A line that ends (or begins) more than `reach` away from `x` has nothing to say there.
 */
export function readAt(lines: readonly Line[], x: number, reach: number): Reading[] {
  const readings: Reading[] = [];
  for (const line of lines) {
    const index = nearest(line.x, x);
    if (index < 0) continue;
    const at = line.x[index] as number;
    if ((index === 0 || index === line.x.length - 1) && Math.abs(at - x) > reach) continue;
    readings.push({ line, index, x: at, y: line.y[index] ?? null, raw: line.raw?.[index] ?? null });
  }
  const rank = (reading: Reading): number => (reading.y === null || Number.isNaN(reading.y) ? -Infinity : reading.y);
  return readings.sort((a, b) => {
    if (a.line.isMain !== b.line.isMain) return a.line.isMain ? -1 : 1;
    const [one, other] = [rank(a), rank(b)];
    return one === other ? 0 : other > one ? 1 : -1;
  });
}

/** Choose which of many readings to list: main ones, and those around the one that is pointed at. */
export function listed(readings: readonly Reading[], chosen: Reading | null, most: number): readonly Reading[] {
  if (readings.length <= most) return readings;
  const main = readings.filter((one) => one.line.isMain);
  const rest = readings.filter((one) => !one.line.isMain);
  const room = Math.max(most - main.length, 0);
  const middle = chosen === null ? 0 : Math.max(rest.indexOf(chosen), 0);
  const start = Math.min(Math.max(middle - Math.floor(room / 2), 0), Math.max(rest.length - room, 0));
  return [...main, ...rest.slice(start, start + room)];
}

/** Choose the reading that is nearest to the pointer, in pixels; null where there is none. */
export function closest(
  readings: readonly Reading[],
  place: (reading: Reading) => { left: number; top: number },
  left: number,
  top: number,
): Reading | null {
  let best: Reading | null = null;
  let least = Infinity;
  for (const reading of readings) {
    if (reading.y === null) continue;
    const at = place(reading);
    const away = (at.left - left) ** 2 + (at.top - top) ** 2;
    if (away < least) [best, least] = [reading, away];
  }
  return best;
}
