// What a chart draws. A line is data alone; how it is laid out, smoothed or read out lives in the files beside.

/** One line of a chart. `x` never falls; a null (or a value that is not finite) in `y` is a gap. */
export interface Line {
  /** Stays the same while the line's data change. */
  key: string;
  label: string;
  /** What the line belongs to, where lines belong together: `focus` may name it. */
  owner?: string | undefined;
  /** Any CSS colour, also `var(--name)`; it is resolved again when the theme changes. */
  colour: string;
  x: ArrayLike<number>;
  y: ArrayLike<number | null>;
  /** Drawn faintly behind `y`, at the same `x`: the measured values behind smoothed ones. */
  raw?: ArrayLike<number | null> | undefined;
  /** The edges of a band around `y`, at the same `x`; both or none. */
  low?: ArrayLike<number | null> | undefined;
  high?: ArrayLike<number | null> | undefined;
  /** A value holds until the next one, instead of a slope between them. */
  isStepped?: boolean | undefined;
  isDashed?: boolean | undefined;
  /** Read out before all others, whatever its value. */
  isMain?: boolean | undefined;
}

/** What the numbers on the x axis are: steps, seconds since a start, or seconds since 1970. */
export type XKind = "step" | "relative" | "wall";

export type Range = readonly [number, number];

/** What a user points at: a point of a line. */
export interface Point {
  line: Line;
  index: number;
  x: number;
  y: number | null;
}

export function isDrawn(value: number | null | undefined): value is number {
  return value !== null && value !== undefined && Number.isFinite(value);
}

/** Find the place of the first element that is not below `x`. */
export function lowerBound(values: ArrayLike<number>, x: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((values[middle] as number) < x) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Find the element nearest to `x`, -1 where there is none. */
export function nearest(values: ArrayLike<number>, x: number): number {
  if (values.length === 0) return -1;
  const after = lowerBound(values, x);
  if (after === 0) return 0;
  if (after === values.length) return after - 1;
  return x - (values[after - 1] as number) <= (values[after] as number) - x ? after - 1 : after;
}

/** The value at a share of a range: 0 is its beginning, 1 its end, and beyond is allowed. */
export function within([from, to]: Range, share: number, isLog: boolean): number {
  return isLog ? from * (to / from) ** share : from + (to - from) * share;
}

/** The smallest and largest x of all lines, null where there is no point. */
export function extentOf(lines: readonly Line[], isPositive = false): Range | null {
  let from = Infinity;
  let to = -Infinity;
  for (const { x } of lines) {
    const first = isPositive ? lowerBound(x, Number.MIN_VALUE) : 0;
    if (first >= x.length) continue;
    from = Math.min(from, x[first] as number);
    to = Math.max(to, x[x.length - 1] as number);
  }
  return from <= to ? [from, to] : null;
}
