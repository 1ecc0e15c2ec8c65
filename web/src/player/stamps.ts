// Finding samples by their times. A signal holds its last sample until the next one comes.

/** The place of the last stamp at or before a time; -1 before the first. */
export function indexAt(stamps: ArrayLike<number>, time: number): number {
  let low = 0;
  let high = stamps.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (stamps[middle]! <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The place of a time between the stamps as a fraction: 2.5 lies half-way between stamps 2 and 3. */
export function fractionAt(stamps: ArrayLike<number>, time: number): number {
  const last = stamps.length - 1;
  const index = indexAt(stamps, time);
  if (last < 0 || index < 0) return 0;
  if (index >= last) return last;
  const from = stamps[index]!;
  const to = stamps[index + 1]!;
  return to > from ? index + (time - from) / (to - from) : index;
}

/** The usual time between two stamps: the median of at most a thousand of them, spread over all. */
export function usualInterval(stamps: ArrayLike<number>): number {
  const stride = Math.max(1, Math.floor((stamps.length - 1) / 1000));
  const gaps: number[] = [];
  for (let at = 1; at < stamps.length; at += stride) gaps.push(stamps[at]! - stamps[at - 1]!);
  gaps.sort((a, b) => a - b);
  return gaps[gaps.length >> 1] ?? 0;
}

/** Spell a time with as few digits as still find the sample it stands for. */
export function spellTime(stamps: ArrayLike<number>, time: number): string {
  const wanted = indexAt(stamps, time);
  for (const digits of [3, 4, 5, 6, 9]) {
    const scale = 10 ** digits;
    for (const rounded of [Math.round(time * scale) / scale, Math.ceil(time * scale) / scale]) {
      if (indexAt(stamps, rounded) === wanted) return String(rounded);
    }
  }
  return String(time);
}

/** Read the stamps of a signal as the server sends them: little-endian float64. */
export function readStamps(bytes: ArrayBuffer): Float64Array {
  if (bytes.byteLength % 8 !== 0) throw new Error(`stamps of ${bytes.byteLength} bytes are not whole`);
  const littleEndian = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;
  if (littleEndian) return new Float64Array(bytes);
  const view = new DataView(bytes);
  return Float64Array.from({ length: bytes.byteLength / 8 }, (_, at) => view.getFloat64(at * 8, true));
}
