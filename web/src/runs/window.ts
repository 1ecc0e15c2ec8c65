// Which lines of a long list are in sight.

export interface Span {
  first: number;
  /** The last one in sight; below `first` where there is none. */
  last: number;
}

/** The lines in sight, and a few on either side so that quick scrolling finds them drawn. */
export function spanOf(top: number, height: number, line: number, total: number, extra = 8): Span {
  const first = Math.max(0, Math.floor(top / line) - extra);
  const last = Math.min(total - 1, Math.ceil((top + height) / line) + extra);
  return { first: Math.min(first, Math.max(0, total - 1)), last };
}

/** Where to scroll so that a line is wholly in sight: as little as can be. */
export function scrollFor(index: number, top: number, height: number, line: number): number {
  const from = index * line;
  if (from < top) return from;
  if (from + line > top + height) return from + line - height;
  return top;
}

export interface Place {
  group: number;
  /** The place of a run within its group, or -1 for the group's own line. */
  row: number;
}

/** The lines of groups of which some are open: where each begins, so that a line is found by halving. */
export class Outline {
  readonly total: number;
  readonly #starts: number[] = [];

  /** @param sizes How many runs each group shows: 0 where it is closed. */
  constructor(sizes: readonly number[]) {
    let sum = 0;
    for (const size of sizes) {
      this.#starts.push(sum);
      sum += 1 + size;
    }
    this.total = sum;
  }

  at(line: number): Place {
    let [low, high] = [0, this.#starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#starts[middle] as number) <= line) low = middle;
      else high = middle - 1;
    }
    return { group: low, row: line - (this.#starts[low] as number) - 1 };
  }

  start(group: number): number {
    return this.#starts[group] as number;
  }
}
