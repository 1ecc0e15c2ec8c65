// A long list of which only the rows in sight exist.

export interface Span {
  start: number;
  stop: number;
}

/** Which rows of equal height are in sight, with some to spare on both sides. */
export function spanOf(scrollTop: number, height: number, row: number, total: number, spare = 10): Span {
  const start = Math.max(Math.floor(scrollTop / row) - spare, 0);
  const stop = Math.min(Math.ceil((scrollTop + height) / row) + spare, total);
  return { start: Math.min(start, Math.max(total - 1, 0)), stop: Math.max(stop, 0) };
}

/** Which pages of `size` rows a span needs. */
export function pagesOf(span: Span, size: number): number[] {
  if (span.stop <= span.start) return [];
  const first = Math.floor(span.start / size);
  const last = Math.floor((span.stop - 1) / size);
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}
