import type { Range } from "./line";

/**
 * Charts that share a cursor and a zoom.
 *
 * Give the same group to every chart with the same x: hovering one reads out all, zooming or panning one moves all.
 */
export class ChartGroup {
  /** The x under the pointer in whichever chart; null while it is outside all of them. */
  cursor = $state<number | null>(null);
  /** The chart that the pointer is in. */
  hovered = $state.raw<symbol | null>(null);
  /** The stretch of x in sight; null is all there is. */
  range = $state.raw<Range | null>(null);

  hover(x: number, chart: symbol): void {
    this.cursor = x;
    this.hovered = chart;
  }

  leave(chart: symbol): void {
    if (this.hovered !== chart) return;
    this.cursor = null;
    this.hovered = null;
  }

  zoom(range: Range | null): void {
    if (range !== null && !(range[1] > range[0])) return;
    this.range = range;
  }
}
