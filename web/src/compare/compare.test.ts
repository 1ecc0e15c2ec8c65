import { describe, expect, test } from "vitest";

import type { MetricFacts, RunFacts } from "../run/types";
import { bandOf, gridOf, valueAt } from "./band";
import { idsOf, pick, rowsOf } from "./table";

describe("mean and band", () => {
  test("a line between its points, and nothing outside or in gaps", () => {
    const line = { x: [0, 10, 20], y: [0, 100, null] };
    expect([-1, 0, 5, 10, 15, 20, 21].map((x) => valueAt(line, x))).toEqual([null, 0, 50, 100, null, null, null]);
  });

  test("runs of the same steps keep them", () => {
    expect(gridOf([{ x: [0, 1, 5] }, { x: [0, 1, 5] }])).toEqual([0, 1, 5]);
    expect(gridOf([{ x: [0, 1, 2] }, { x: [0, 4] }], 5)).toEqual([0, 1, 2, 3, 4]);
    expect(gridOf([{ x: [] }])).toEqual([]);
  });

  test("mean and one standard deviation of those that are there", () => {
    const band = bandOf([{ x: [0, 1, 2], y: [1, 1, 1] }, { x: [0, 1, 2], y: [3, 3, null] }]);
    expect(band.mean).toEqual([2, 2, 1]);
    expect(band.counts).toEqual([2, 2, 1]);
    expect(band.high[0]).toBeCloseTo(2 + Math.SQRT2);
    expect(band.low[2]).toBe(1);
  });

  test("nothing at all", () => expect(bandOf([])).toEqual({ x: [], mean: [], low: [], high: [], counts: [] }));
});

function facts(name: string, last: number | null, more: Partial<MetricFacts> = {}): MetricFacts {
  return {
    key: name, name, stage: null, part: 1, points: 1, last_value: last, last_step: 1, last_s: 1, min_value: last, min_step: 1,
    max_value: last, max_step: 1, ...more,
  };
}

function run(id: string, metrics: MetricFacts[]): RunFacts {
  return { id, metrics } as RunFacts;
}

describe("numbers", () => {
  test("the newest, smallest and largest over stages", () => {
    const two = [facts("a", 1, { last_s: 5, min_value: 0, max_value: 9, max_step: 7 }), facts("a", 2, { stage: "eval", last_s: 3, min_value: -1, max_value: 3 })];
    expect(pick(two, "last")?.value).toBe(1);
    expect(pick(two, "min")?.value).toBe(-1);
    expect(pick(two, "max")).toEqual({ value: 9, step: 7 });
    expect(pick([], "last")).toBeNull();
  });

  test("differences to the baseline, where there are two numbers", () => {
    const runs = [run("base", [facts("a", 10)]), run("more", [facts("a", 12)]), run("none", []), run("nan", [facts("a", null)]), run("inf", [facts("a", null, { last_value: "Infinity" })])];
    const [row] = rowsOf(runs, ["a"], "last", "base");
    expect(row?.cells.map((cell) => cell?.difference ?? null)).toEqual([null, 2, null, null, null]);
    expect(row?.cells[2]).toBeNull();
    expect(row?.cells[4]?.value).toBe(Infinity);
    expect(rowsOf(runs, ["a"], "last", "gone")[0]?.cells[1]?.difference).toBeNull();
  });

  test("ids of the address", () => {
    expect(idsOf("a, b,,a")).toEqual(["a", "b"]);
    expect(idsOf(null)).toEqual([]);
    expect(idsOf(Array.from({ length: 80 }, (_, i) => `r${i}`).join(","))).toHaveLength(50);
  });
});
