// The one place that knows uPlot. It only draws: the pointer, the read-out and the playhead are ours.

import uPlot from "uplot";

import { align, type Cell } from "./align";
import { Colours, onTheme } from "./colours";
import { extentOf, isDrawn, lowerBound, type Line, type Range, type XKind } from "./line";
import { yRangeOf } from "./range";
import { elapsed, logTicks, tick, wallTick } from "./ticks";

export interface View {
  lines: readonly Line[];
  xKind: XKind;
  isLogX: boolean;
  isLogY: boolean;
  isClipped: boolean;
  /** Mark the smallest and the largest value of each line. */
  hasMarks: boolean;
  /** The x in sight; null is all there is. */
  range: Range | null;
  /** The y in sight; null is what fits. */
  yRange: Range | null;
  /** All x there is; null is that of the lines. */
  extent: Range | null;
  /** The key or the owner of the lines that stand out; the others fade. */
  focus: string | null;
}

const RELATIVE_GAPS = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400,
  21600, 43200, 86400, 172800, 432000, 864000, 2592000,
];
const STEP_GAPS = Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat();
const FAINT = 0.28;
const MARKED_LINES = 6;

const DENSE = 300;

type Role = "raw" | "low" | "high" | "line";

interface Column {
  line: Line;
  role: Role;
}

/** Thin where there are many points: a wiggling line of one pixel is drawn twenty times quicker than a thicker one. */
function widthOf(line: Line): number {
  return line.raw === undefined && line.x.length > DENSE ? 1 : 1.5;
}

function columnsOf(lines: readonly Line[]): Column[] {
  const columns: Column[] = [];
  for (const line of lines) {
    if (line.low && line.high) columns.push({ line, role: "high" }, { line, role: "low" });
  }
  for (const line of lines) if (line.raw) columns.push({ line, role: "raw" });
  for (const line of lines) columns.push({ line, role: "line" });
  return columns;
}

function valuesOf({ line, role }: Column): ArrayLike<number | null> {
  return (role === "raw" ? line.raw : role === "low" ? line.low : role === "high" ? line.high : line.y) ?? [];
}

export class Plot {
  #plot: uPlot | null = null;
  #shape = "";
  #view: View | null = null;
  #columns: Column[] = [];
  #last: { lines: readonly Line[] } | null = null;
  readonly #colours: Colours;
  readonly #sizes: ResizeObserver;
  readonly #endTheme: () => void;
  readonly #font: string;

  constructor(
    readonly element: HTMLElement,
    readonly onlayout: () => void,
  ) {
    this.#colours = new Colours(element);
    this.#font = `11px ${getComputedStyle(element).fontFamily}`;
    this.#sizes = new ResizeObserver(() => this.#resize());
    this.#sizes.observe(element);
    this.#endTheme = onTheme(() => {
      this.#colours.forget();
      this.#plot?.redraw(false, true);
    });
  }

  /** The element over the plotted area; null before the first update. */
  get over(): HTMLElement | null {
    return this.#plot?.over ?? null;
  }

  get canvas(): HTMLCanvasElement | null {
    return this.#plot?.ctx.canvas ?? null;
  }

  colour(css: string): string {
    return this.#colours.of(css);
  }

  /** The pixel of an x or y, from the edge of the plotted area. */
  pixel(value: number, axis: "x" | "y"): number {
    return this.#plot?.valToPos(value, axis) ?? 0;
  }

  value(pixel: number, axis: "x" | "y"): number {
    return this.#plot?.posToVal(pixel, axis) ?? 0;
  }

  /** The plotted area, in pixels of CSS within the element. */
  get area(): { left: number; top: number; width: number; height: number } {
    const { left, top, width, height } = this.#plot?.bbox ?? { left: 0, top: 0, width: 0, height: 0 };
    const scale = uPlot.pxRatio;
    return { left: left / scale, top: top / scale, width: width / scale, height: height / scale };
  }

  update(view: View): void {
    this.#view = view;
    const columns = columnsOf(view.lines);
    const shape = JSON.stringify([
      view.xKind, view.isLogX, view.isLogY,
      columns.map(({ line, role }) => [role, line.colour, line.isStepped, line.isDashed]),
    ]);
    this.#columns = columns;
    const isNewData = this.#last?.lines !== view.lines;
    if (shape !== this.#shape || this.#plot === null) {
      this.#plot?.destroy();
      this.#shape = shape;
      this.#plot = new uPlot(this.#options(view), this.#data(), this.element);
      if (view.focus !== null) {
        this.#dress();
        this.#plot.redraw(false);
      }
    } else {
      // One drawing, whatever changed: that of the scales.
      const plot = this.#plot;
      plot.batch(() => {
        if (isNewData) plot.setData(this.#data(), false);
        this.#dress();
        const { x, y } = this.#scales(view);
        plot.setScale("x", x);
        plot.setScale("y", y);
      });
    }
    this.#last = { lines: view.lines };
  }

  destroy(): void {
    this.#sizes.disconnect();
    this.#endTheme();
    this.#plot?.destroy();
    this.#plot = null;
    this.#colours.destroy();
  }

  #resize(): void {
    const plot = this.#plot;
    if (plot === null) return;
    const { clientWidth: width, clientHeight: height } = this.element;
    if (width > 0 && height > 0 && (width !== plot.width || height !== plot.height)) plot.setSize({ width, height });
  }

  #data(): uPlot.AlignedData {
    const tracks: { x: ArrayLike<number>; columns: ArrayLike<number | null>[] }[] = this.#columns.map((column) => ({
      x: column.line.x,
      columns: [valuesOf(column)],
    }));
    const { x, columns } = align(tracks);
    for (const cells of columns) hideEndless(cells);
    return [x, ...columns] as uPlot.AlignedData;
  }

  #scales(view: View): Record<"x" | "y", { min: number; max: number }> {
    const xs = this.xRange();
    const ys = view.yRange ?? yRangeOf(view.lines, xs, { isLog: view.isLogY, isClipped: view.isClipped });
    const [min, max] = ys ?? (view.isLogY ? [1, 10] : [0, 1]);
    return { x: { min: xs[0], max: xs[1] }, y: { min, max } };
  }

  /** The stretch of x that is drawn: never empty, positive on a logarithmic axis. */
  xRange(): Range {
    const view = this.#view;
    if (view === null) return [0, 1];
    const all = (view.isLogX ? null : view.extent) ?? extentOf(view.lines, view.isLogX) ?? (view.isLogX ? [1, 10] : [0, 1]);
    let [from, to] = view.range ?? all;
    if (view.isLogX) {
      if (from <= 0) from = Math.min(all[0], to / 10);
      if (!(to > from)) return [from / 2, from * 2];
    }
    if (to > from) return [from, to];
    return view.xKind === "step" ? [from - 1, from + 1] : [from - 0.5, from + 0.5];
  }

  /** Set what changes without a new plot: what stands out, and how thick lines are. */
  #dress(): void {
    const focus = this.#view?.focus ?? null;
    this.#plot?.series.forEach((series, index) => {
      const column = this.#columns[index - 1];
      if (column === undefined) return;
      const base = column.role === "raw" ? FAINT : 1;
      if (column.role === "line") series.width = widthOf(column.line);
      const isOther = focus !== null && column.line.key !== focus && column.line.owner !== focus;
      series.alpha = isOther ? base * 0.15 : base;
    });
  }

  #options(view: View): uPlot.Options {
    const bands: uPlot.Band[] = [];
    const series: uPlot.Series[] = [{}];
    this.#columns.forEach(({ line, role }, index) => {
      const isEdge = role === "low" || role === "high";
      if (role === "high") {
        bands.push({ series: [index + 1, index + 2], fill: () => this.colour(`color-mix(in srgb, ${line.colour} 18%, transparent)`) });
      }
      series.push({
        scale: "y",
        stroke: isEdge ? "transparent" : () => this.colour(line.colour),
        pxAlign: 0,
        width: isEdge ? 0 : role === "raw" ? 1 : widthOf(line),
        alpha: role === "raw" ? FAINT : 1,
        ...(line.isDashed ? { dash: [5, 4] } : {}),
        ...(line.isStepped && uPlot.paths.stepped ? { paths: uPlot.paths.stepped({ align: 1 }) } : {}),
        points: isEdge ? { show: false } : { show: true, size: 4, fill: () => this.colour(line.colour), width: 0, filter: lonely },
      });
    });
    const soft = (): string => this.colour("var(--ink-faint)");
    const grid = { stroke: () => this.colour("var(--line)"), width: 1 };
    const { clientWidth, clientHeight } = this.element;
    const { x, y } = this.#scales(view);
    return {
      width: Math.max(clientWidth, 50),
      height: Math.max(clientHeight, 50),
      ms: 1e-3,
      padding: [8, 16, 0, 0],
      legend: { show: false },
      cursor: { show: false },
      select: { show: false, left: 0, top: 0, width: 0, height: 0 },
      scales: {
        x: { ...x, time: view.xKind === "wall", auto: false, ...(view.isLogX ? { distr: 3 as const } : {}) },
        y: { ...y, auto: false, ...(view.isLogY ? { distr: 3 as const } : {}) },
      },
      bands,
      series,
      axes: [
        {
          stroke: soft, grid: { show: false }, ticks: { show: true, size: 4, stroke: grid.stroke, width: 1 },
          font: this.#font, size: 26, gap: 3, space: view.xKind === "wall" ? 90 : 60,
          values: (_plot: uPlot, splits: number[], _axis: number, _space: number, gap: number) =>
            splits.map((value) => (value === null ? "" : xTick(value, view, gap))),
          ...(view.isLogX ? logAxis(90) : {}),
          ...(view.isLogX || view.xKind === "wall" ? {} : { incrs: view.xKind === "relative" ? RELATIVE_GAPS : STEP_GAPS }),
        },
        {
          scale: "y", stroke: soft, grid, ticks: { show: false }, font: this.#font, gap: 6, space: 34,
          ...(view.isLogY ? logAxis(30) : {}),
          size: (_plot, values) => Math.max(34, ...(values ?? []).map((text) => this.#measure(text) + 14)),
          values: (_plot, splits, _axis, _space, gap) =>
            splits.map((value) => (value === null ? "" : tick(value, view.isLogY ? Math.abs(value) : gap))),
        },
      ],
      hooks: { draw: [(plot) => this.#mark(plot)], drawClear: [() => this.onlayout()] },
    };
  }

  #measure(text: string): number {
    const ctx = this.#plot?.ctx;
    if (ctx === undefined) return text.length * 6.5;
    ctx.save();
    ctx.font = this.#font;
    const { width } = ctx.measureText(text);
    ctx.restore();
    return Math.ceil(width);
  }

  /** Mark the extremes in sight with small triangles. */
  #mark(plot: uPlot): void {
    const view = this.#view;
    if (!view?.hasMarks || view.lines.length > MARKED_LINES) return;
    const { ctx } = plot;
    const [from, to] = this.xRange();
    const size = 4 * devicePixelRatio;
    for (const line of view.lines) {
      let min = -1;
      let max = -1;
      for (let i = lowerBound(line.x, from); i < line.x.length && (line.x[i] as number) <= to; i += 1) {
        const value = line.y[i];
        if (!isDrawn(value)) continue;
        if (min < 0 || value < (line.y[min] as number)) min = i;
        if (max < 0 || value > (line.y[max] as number)) max = i;
      }
      if (min < 0 || line.y[min] === line.y[max]) continue;
      ctx.save();
      ctx.fillStyle = this.colour(line.colour);
      for (const [index, way] of [[min, 1], [max, -1]] as const) {
        const left = plot.valToPos(line.x[index] as number, "x", true);
        const top = plot.valToPos(line.y[index] as number, "y", true) + way * size * 0.6;
        if (top < plot.bbox.top - size || top > plot.bbox.top + plot.bbox.height + size) continue;
        ctx.beginPath();
        ctx.moveTo(left, top);
        ctx.lineTo(left - size, top + way * size * 1.5);
        ctx.lineTo(left + size, top + way * size * 1.5);
        ctx.fill();
      }
      ctx.restore();
    }
  }
}

/** Our own ticks for a logarithmic axis, one in so many pixels, all of them labelled. */
function logAxis(space: number): Pick<uPlot.Axis, "splits" | "filter"> {
  return {
    splits: (plot, axis, min, max) => logTicks(min, max, Math.max(Math.floor((axis === 0 ? plot.width : plot.height) / space), 2)),
    filter: (_plot, splits) => splits,
  };
}

function xTick(value: number, view: View, gap: number): string {
  if (view.xKind === "wall") return wallTick(value, gap || 60);
  if (view.xKind === "relative") return elapsed(value, view.isLogX ? Math.min(value, 60) : gap);
  return tick(value, view.isLogX ? value : gap);
}

function hideEndless(cells: Cell[]): void {
  for (let i = 0; i < cells.length; i += 1) {
    const value = cells[i];
    if (value === Infinity || value === -Infinity || Number.isNaN(value)) cells[i] = null;
  }
}

/** Choose the points that get a dot: all where they are sparse, else those between two gaps, which no line reaches. */
function lonely(plot: uPlot, series: number, _show: boolean): number[] {
  const cells = plot.data[series] as Cell[];
  const xs = plot.data[0];
  const from = Math.max(lowerBound(xs, plot.scales.x?.min ?? 0) - 1, 0);
  const to = Math.min(lowerBound(xs, plot.scales.x?.max ?? 0) + 1, cells.length);
  const all: number[] = [];
  const alone: number[] = [];
  let isOpen = false; // The last point had a neighbour before it.
  let last = -1;
  for (let i = from; i < to; i += 1) {
    const value = cells[i];
    if (value === undefined) continue;
    if (value === null) {
      if (last >= 0 && !isOpen) alone.push(last);
      last = -1;
      isOpen = false;
    } else {
      all.push(i);
      isOpen = last >= 0;
      last = i;
    }
  }
  if (last >= 0 && !isOpen) alone.push(last);
  return all.length * 14 * devicePixelRatio < plot.bbox.width ? all : alone;
}
