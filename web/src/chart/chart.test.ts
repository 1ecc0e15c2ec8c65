import { describe, expect, test } from "vitest";

import { align, inOrder } from "./align";
import { FrameQueue } from "./frames";
import { boxOf } from "./gestures";
import { extentOf, lowerBound, nearest, within, type Line } from "./line";
import { toCsv } from "./picture";
import { padded, quantile, yRangeOf } from "./range";
import { closest, listed, readAt } from "./readout";
import { smooth, unitOf } from "./smooth";
import { elapsed, logTicks, tick, valueText, wallTick, xText } from "./ticks";

function line(key: string, x: number[], y: (number | null)[], more: Partial<Line> = {}): Line {
  return { key, label: key, colour: "red", x, y, ...more };
}

describe("align", () => {
  test("one x is taken as it is", () => {
    const x = [1, 2, 3];
    expect(align([{ x, columns: [[4, null, 6]] }, { x, columns: [[7, 8, 9]] }])).toEqual({ x, columns: [[4, null, 6], [7, 8, 9]] });
  });

  test("lines of different x have holes, not gaps, where the other has points", () => {
    const { x, columns } = align([{ x: [0, 2, 4], columns: [[10, null, 14]] }, { x: [1, 2], columns: [[21, 22]] }]);
    expect(x).toEqual([0, 1, 2, 4]);
    expect(columns[0]).toEqual([10, undefined, null, 14]);
    expect([...(columns[1] ?? [])]).toEqual([undefined, 21, 22, undefined]);
  });

  test("an x that a line has twice keeps both values", () => {
    const { x, columns } = align([{ x: [1, 1, 2], columns: [[5, 6, 7]] }, { x: [1, 2, 2], columns: [[8, 9, 10]] }]);
    expect(x).toEqual([1, 1, 2, 2]);
    expect([...(columns[0] ?? [])]).toEqual([5, 6, 7, undefined]);
    expect([...(columns[1] ?? [])]).toEqual([8, undefined, 9, 10]);
  });

  test("no lines", () => expect(align([])).toEqual({ x: [], columns: [] }));

  test("points out of order are put in order, stably", () => {
    expect(inOrder([3, 1, 1], [30, 10, 11])).toEqual({ x: [1, 1, 3], columns: [[10, 11, 30]] });
    const sorted = [1, 2];
    expect(inOrder(sorted, [1, 2]).x).toBe(sorted);
  });
});

describe("smoothing", () => {
  test("weight 0 changes nothing", () => expect(smooth([0, 1, 2], [3, 1, 2], 0, 1)).toEqual([3, 1, 2]));

  test("a constant stays the same from the first point", () => {
    for (const value of smooth([0, 1, 5, 6], [2, 2, 2, 2], 0.9, 1)) expect(value).toBeCloseTo(2, 12);
  });

  test("evenly spaced it is the corrected exponential average", () => {
    const [first, second, third] = smooth([0, 1, 2], [1, 2, 4], 0.5, 1);
    expect(first).toBe(1);
    expect(second).toBeCloseTo((0.5 + 2) / 1.5);
    expect(third).toBeCloseTo((0.25 + 1 + 4) / 1.75);
  });

  test("what is far away counts less than what is near", () => {
    const near = smooth([0, 1], [0, 1], 0.9, 1)[1] as number;
    const far = smooth([0, 100], [0, 1], 0.9, 1)[1] as number;
    expect(near).toBeLessThan(0.6);
    expect(far).toBeGreaterThan(0.99);
  });

  test("gaps stay gaps and do not spoil what follows", () => {
    expect(smooth([0, 1, 2], [1, null, 1], 0.9, 1)).toEqual([1, null, 1]);
    expect(smooth([0, 1], [1, Infinity], 0.9, 1)[1]).toBeNull();
  });

  test("a million points are smoothed as a thousand are", () => {
    expect(unitOf(999, 1000)).toBe(1);
    expect(unitOf(999, 1_000_000)).toBe(1);
    expect(unitOf(10, 3)).toBe(5);
    expect(unitOf(0, 1)).toBe(1);
  });
});

describe("ranges", () => {
  test("only what is in sight counts, with the neighbour that the slope comes from", () => {
    const lines = [line("a", [0, 1, 2, 3, 4], [100, 1, 2, 3, 100])];
    const [min, max] = yRangeOf(lines, [1.5, 2.5], { isLog: false, isClipped: false }) ?? [0, 0];
    expect([min, max]).toEqual([1 - 0.12, 3 + 0.12]);
  });

  test("outliers are left out on demand", () => {
    const y = Array.from({ length: 1000 }, (_, i) => (i === 500 ? 1e6 : i / 1000));
    const lines = [line("a", y.map((_, i) => i), y)];
    expect((yRangeOf(lines, [0, 999], { isLog: false, isClipped: false }) ?? [0, 0])[1]).toBeGreaterThan(1e6);
    expect((yRangeOf(lines, [0, 999], { isLog: false, isClipped: true }) ?? [0, 0])[1]).toBeLessThan(2);
  });

  test("what is not positive is no part of a logarithmic range; nothing at all is null", () => {
    const lines = [line("a", [0, 1, 2], [-1, 0, 10])];
    const [min] = yRangeOf(lines, [0, 2], { isLog: true, isClipped: false }) ?? [0, 0];
    expect(min).toBeGreaterThan(0);
    expect(yRangeOf([line("a", [0], [null])], [0, 1], { isLog: false, isClipped: false })).toBeNull();
  });

  test("a flat line lies in the middle", () => {
    expect(padded(0, 0, false)).toEqual([-1, 1]);
    expect(padded(5, 5, true)).toEqual([2.5, 10]);
  });

  test("quantiles lie between values", () => expect(quantile([0, 10], 0.5)).toBe(5));

  test("a place within a range, and beyond it", () => {
    expect([0, 0.5, 1, -0.5].map((share) => within([10, 20], share, false))).toEqual([10, 15, 20, 5]);
    expect(within([1, 100], 0.5, true)).toBeCloseTo(10);
    expect(within([1, 100], 1.5, true)).toBeCloseTo(1000);
  });

  test("the x of all lines", () => {
    expect(extentOf([line("a", [3, 9], [1, 1]), line("b", [], []), line("c", [0, 5], [1, 1])])).toEqual([0, 9]);
    expect(extentOf([line("c", [0, 5], [1, 1])], true)).toEqual([5, 5]);
    expect(extentOf([])).toBeNull();
  });
});

describe("reading out", () => {
  test("finds the nearest point", () => {
    expect([-5, 0, 1.4, 1.6, 99].map((x) => nearest([0, 1, 2], x))).toEqual([0, 0, 1, 2, 2]);
    expect(nearest([], 1)).toBe(-1);
    expect(lowerBound([1, 1, 2], 1)).toBe(0);
  });

  test("lists all lines, the largest first, gaps last, those that ended not at all", () => {
    const lines = [
      line("low", [0, 1, 2], [1, 1, 1]),
      line("gap", [0, 1, 2], [9, null, 9]),
      line("high", [0, 1, 2], [1, 8, 1], { raw: [1, 7, 1] }),
      line("ended", [0, 0.5], [50, 50]),
    ];
    const readings = readAt(lines, 1, 0.1);
    expect(readings.map((one) => one.line.key)).toEqual(["high", "low", "gap"]);
    expect(readings[0]?.raw).toBe(7);
  });

  test("of many lines those around the pointer are listed, and main ones always", () => {
    const lines = Array.from({ length: 20 }, (_, i) => line(String(i), [0], [i], i === 3 ? { isMain: true } : {}));
    const readings = readAt(lines, 0, 1);
    expect(readings[0]?.line.key).toBe("3");
    const chosen = readings.find((one) => one.line.key === "8") ?? null;
    expect(listed(readings, chosen, 5).map((one) => one.line.key)).toEqual(["3", "10", "9", "8", "7"]);
    expect(listed(readings, null, 3).map((one) => one.line.key)).toEqual(["3", "19", "18"]);
    expect(listed(readings.slice(0, 3), null, 3)).toHaveLength(3);
  });

  test("chooses what is under the pointer", () => {
    const readings = readAt([line("a", [0], [1]), line("b", [0], [5])], 0, 1);
    expect(closest(readings, (one) => ({ left: 0, top: one.y ?? 0 }), 0, 4)?.line.key).toBe("b");
    expect(closest([], () => ({ left: 0, top: 0 }), 0, 0)).toBeNull();
  });
});

describe("words", () => {
  test("ticks", () => {
    expect([tick(0, 1), tick(0.25, 0.05), tick(1500, 500), tick(2e6, 1e6), tick(2e-7, 1e-7), tick(-3, 1)]).toEqual([
      "0", "0.25", "1.5k", "2M", "2e−7", "−3",
    ]);
    expect(tick(1001, 1)).toBe("1.001k");
    expect([0.25, 0.5, 0.75].map((value) => tick(value, 0.25))).toEqual(["0.25", "0.5", "0.75"]);
    expect(tick(0.30000000000000004, 0.1)).toBe("0.3");
  });

  test("ticks of a logarithmic axis", () => {
    expect(logTicks(0.016, 1.2, 6)).toEqual([0.02, 0.05, 0.1, 0.2, 0.5, 1]);
    expect(logTicks(1e-9, 1e3, 6)).toEqual([1e-8, 1e-6, 1e-4, 1e-2, 1, 100]);
    expect(logTicks(0.91, 1.1, 5)).toEqual([0.95, 1, 1.05, 1.1]);
    expect(logTicks(3, 500, 4)).toEqual([10, 100]);
  });

  test("values", () => {
    expect([valueText(null), valueText(Infinity), valueText(0.123456), valueText(1234567), valueText(-2.5e-8)]).toEqual([
      "NaN", "∞", "0.12346", "1,234,567", "−2.500e−8",
    ]);
  });

  test("elapsed time", () => {
    expect([elapsed(3.5, 0.5), elapsed(125), elapsed(3725), elapsed(90000, 3600), elapsed(60, 30), elapsed(-5)]).toEqual([
      "3.5s", "2:05", "1:02:05", "1d 01:00", "1:00", "−5s",
    ]);
  });

  test("x", () => {
    expect(xText(1234, "step")).toBe("step 1,234");
    expect(xText(-1234, "step")).toBe("step −1,234");
    expect(xText(3, "step", 1, "episode")).toBe("episode 3");
    expect(xText(61.25, "relative")).toBe("1:01.25");
    const noon = new Date(2026, 0, 2, 12, 30, 5).getTime() / 1000;
    expect(xText(noon, "wall")).toBe("2026-01-02 12:30:05");
    expect([wallTick(noon, 10), wallTick(noon, 600), wallTick(noon, 86400)]).toEqual(["12:30:05", "12:30", "Jan 2"]);
  });

  test("CSV keeps texts whole and harmless", () => {
    const text = toCsv([line('a,"b"', [1], [2]), line("=cmd()", [1], [null])], "step");
    expect(text).toBe('line,step,value\n"a,""b""",1,2\n\'=cmd(),1,NaN\n');
  });

  test("boxes", () => expect(boxOf(5, 9, 2, 4)).toEqual({ left: 2, top: 4, width: 3, height: 5 }));
});

describe("frames", () => {
  function queue(): { frames: FrameQueue; tick: () => void; spend: (ms: number) => void; asked: () => number } {
    let now = 0;
    const waiting: (() => void)[] = [];
    const frames = new FrameQueue((callback) => waiting.push(callback), () => now);
    return { frames, tick: () => waiting.shift()?.(), spend: (ms) => (now += ms), asked: () => waiting.length };
  }

  test("the chart under the pointer is drawn first, the others as time allows, each in its latest state", () => {
    const { frames, tick, spend, asked } = queue();
    const drawn: string[] = [];
    const [one, two, three] = [Symbol("1"), Symbol("2"), Symbol("3")];
    const draw = (name: string) => () => { drawn.push(name); spend(6); };
    frames.add(one, draw("1 old"), false);
    frames.add(two, draw("2"), false);
    frames.add(three, draw("3"), true);
    frames.add(one, draw("1 new"), false);
    expect(asked()).toBe(1);
    tick();
    expect(drawn).toEqual(["3", "1 new"]);
    tick();
    expect(drawn).toEqual(["3", "1 new", "2"]);
    expect(asked()).toBe(0);
  });

  test("a chart that is gone is not drawn", () => {
    const { frames, tick } = queue();
    const gone = Symbol("gone");
    frames.add(gone, () => expect.unreachable(), false);
    frames.drop(gone);
    tick();
  });
});
