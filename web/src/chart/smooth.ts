// Smoothing: an exponential moving average whose memory is a distance on the x axis, not a number of points.

const FINEST = 1000; // A unit of memory is never less than a thousandth of the line.

/** The distance over which one factor of `weight` is forgotten, for a line of `total` points over `span`. */
export function unitOf(span: number, total: number): number {
  const parts = Math.min(Math.max(total, 2), FINEST) - 1;
  return span > 0 ? span / parts : 1;
}

/**
 * Smooth `y` over `x`.
 *
 * What lies `d` away counts `weight ** (d / unit)`, so uneven spacing and down-sampling do not change the look. The average is
 * over what there is, so it does not start at zero. Gaps stay gaps and do not enter the average.
 */
export function smooth(
  x: ArrayLike<number>,
  y: ArrayLike<number | null>,
  weight: number,
  unit: number,
): (number | null)[] {
  const smoothed = new Array<number | null>(y.length);
  let sum = 0;
  let count = 0;
  let before = 0;
  for (let i = 0; i < y.length; i += 1) {
    const value = y[i];
    if (value === null || value === undefined || !Number.isFinite(value)) {
      smoothed[i] = null;
      continue;
    }
    const here = x[i] as number;
    const keep = count === 0 ? 0 : weight ** (Math.max(here - before, 0) / unit);
    sum = sum * keep + value;
    count = count * keep + 1;
    before = here;
    smoothed[i] = sum / count;
  }
  return smoothed;
}
