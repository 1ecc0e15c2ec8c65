// Several lines as one: their mean, and how far they lie around it.

import { isDrawn, lowerBound, type Line } from "../chart/line";

/** The value of a line at x, on the slope between two points; null outside of it and in gaps. */
export function valueAt(line: Pick<Line, "x" | "y">, x: number): number | null {
  const after = lowerBound(line.x, x);
  if (after === line.x.length) return null;
  const right = line.y[after];
  if (line.x[after] === x) return isDrawn(right) ? right : null;
  if (after === 0) return null;
  const left = line.y[after - 1];
  if (!isDrawn(left) || !isDrawn(right)) return null;
  const [from, to] = [line.x[after - 1] as number, line.x[after] as number];
  return left + ((right - left) * (x - from)) / (to - from);
}

export interface Band {
  x: number[];
  mean: (number | null)[];
  low: (number | null)[];
  high: (number | null)[];
  /** How many lines there are at each x. */
  counts: number[];
}

/** Choose x for the mean of lines: those of the lines themselves where they agree, else evenly spread. */
export function gridOf(lines: readonly Pick<Line, "x">[], most = 500): number[] {
  const first = lines[0]?.x;
  if (first === undefined) return [];
  const isSame = lines.every(({ x }) => x.length === first.length && x[0] === first[0] && x[x.length - 1] === first[first.length - 1] && x[x.length >> 1] === first[first.length >> 1]);
  if (isSame && first.length <= most) return Array.from(first);
  let from = Infinity;
  let to = -Infinity;
  for (const { x } of lines) {
    if (x.length === 0) continue;
    from = Math.min(from, x[0] as number);
    to = Math.max(to, x[x.length - 1] as number);
  }
  if (!(to >= from)) return [];
  if (to === from) return [from];
  return Array.from({ length: most }, (_, index) => from + ((to - from) * index) / (most - 1));
}

/** Average lines: the mean of those that have a value at each x, and one standard deviation around it. */
export function bandOf(lines: readonly Pick<Line, "x" | "y">[]): Band {
  const x = gridOf(lines);
  const band: Band = { x, mean: [], low: [], high: [], counts: [] };
  for (const at of x) {
    let count = 0;
    let mean = 0;
    let squares = 0;
    for (const line of lines) {
      const value = valueAt(line, at);
      if (value === null) continue;
      count += 1;
      const away = value - mean;
      mean += away / count;
      squares += away * (value - mean);
    }
    band.counts.push(count);
    if (count === 0) {
      band.mean.push(null);
      band.low.push(null);
      band.high.push(null);
      continue;
    }
    const spread = count > 1 ? Math.sqrt(squares / (count - 1)) : 0;
    band.mean.push(mean);
    band.low.push(mean - spread);
    band.high.push(mean + spread);
  }
  return band;
}
