// uPlot draws columns over one x; lines come with an x each. Here they are laid over each other.

type Column = ArrayLike<number | null>;

/** A cell that is undefined has no point there and is drawn across; a null is a gap. */
export type Cell = number | null | undefined;

export interface Aligned {
  x: number[];
  columns: Cell[][];
}

function merged(one: ArrayLike<number>, other: ArrayLike<number>): number[] {
  const all: number[] = [];
  let i = 0;
  let j = 0;
  while (i < one.length || j < other.length) {
    const a = i < one.length ? (one[i] as number) : Infinity;
    const b = j < other.length ? (other[j] as number) : Infinity;
    all.push(Math.min(a, b));
    if (a <= b) i += 1;
    if (b <= a) j += 1;
  }
  return all;
}

/** Lay columns with an x each over one x that has them all. An x that a line has twice is there twice. */
export function align(tracks: readonly { x: ArrayLike<number>; columns: readonly Column[] }[]): Aligned {
  const distinct: ArrayLike<number>[] = [];
  for (const { x } of tracks) if (!distinct.includes(x)) distinct.push(x);
  if (distinct.length === 0) return { x: [], columns: [] };
  let x: number[] = Array.from(distinct[0] as ArrayLike<number>);
  for (const more of distinct.slice(1)) x = merged(x, more);
  const columns: Cell[][] = [];
  for (const track of tracks) {
    const cells = track.columns.map(() => new Array<Cell>(x.length));
    let from = 0;
    for (let place = 0; place < x.length && from < track.x.length; place += 1) {
      if (track.x[from] !== x[place]) continue;
      for (let c = 0; c < cells.length; c += 1) (cells[c] as Cell[])[place] = (track.columns[c] as Column)[from] ?? null;
      from += 1;
    }
    columns.push(...cells);
  }
  return { x, columns };
}

/** Put points in the order of x, leaving what is in order as it is. */
export function inOrder(x: readonly number[], ...columns: readonly (readonly (number | null)[])[]): {
  x: readonly number[];
  columns: readonly (readonly (number | null)[])[];
} {
  let isSorted = true;
  for (let i = 1; i < x.length && isSorted; i += 1) isSorted = (x[i - 1] as number) <= (x[i] as number);
  if (isSorted) return { x, columns };
  const order = x.map((_, index) => index).sort((a, b) => (x[a] as number) - (x[b] as number) || a - b);
  return { x: order.map((i) => x[i] as number), columns: columns.map((column) => order.map((i) => column[i] ?? null)) };
}
