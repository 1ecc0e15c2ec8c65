// A curve the size of a word: an SVG path, with gaps where values are missing.

import type { Num } from "../lib/types";

/** The path of the finite values in a box; single values between gaps become a dot. */
export function sparkPath(values: readonly Num[], width: number, height: number): string {
  const numbers = values.map((one) => (typeof one === "number" ? one : Number.NaN));
  const finite = numbers.filter(Number.isFinite);
  if (finite.length === 0) return "";
  const low = Math.min(...finite);
  const span = Math.max(...finite) - low;
  const step = numbers.length > 1 ? width / (numbers.length - 1) : 0;
  let path = "";
  let isDown = false;
  for (const [at, one] of numbers.entries()) {
    if (!Number.isFinite(one)) {
      isDown = false;
      continue;
    }
    const x = (at * step).toFixed(1);
    const y = (span > 0 ? height - ((one - low) / span) * height : height / 2).toFixed(1);
    path += isDown ? `L${x} ${y}` : `M${x} ${y}h.01`;
    isDown = true;
  }
  return path;
}
