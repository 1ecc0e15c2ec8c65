import { describe, expect, it, vi } from "vitest";

import { linesOf, summed, usualSignals } from "./curves";
import { columnsFor } from "./grid";
import { Lately } from "./lately";
import { readJump, readView, spellView } from "./link";
import { markNear, neighbour, ordered, toneOf } from "./marks";
import { StepWindows } from "./steps";
import { thumbnailAt } from "./strip";
import { density, Ruler, shares, ticks } from "./timeline";
import type { Mark, SignalFacts, StepRow } from "./types";

function facts(name: string, kind: SignalFacts["kind"], columns = 1): SignalFacts {
  return {
    name, kind, length: 10, dtype: "<f8", shape: [], columns, names: null, start_s: 0, stop_s: 1, rate_hz: 10,
    ref: null, place0: 0, holes: false, is_lossy: false, width: null, height: null,
  };
}

describe("a link", () => {
  it("says the whole view, and nothing that is usual", () => {
    const view = { time: "12.3", speed: 2, loop: { from: 1.5, to: null }, base: "time", signals: ["a,b", "50%"] } as const;
    const text = new URLSearchParams(
      Object.entries(spellView({ ...view, signals: [...view.signals] })).filter((pair): pair is [string, string] => pair[1] !== null),
    ).toString();
    expect(readView(new URLSearchParams(text))).toEqual({ ...view, time: 12.3 });
    expect(Object.values(spellView({ time: null, speed: 1, loop: null, base: null, signals: null })).every((one) => one === null)).toBe(true);
    expect(readView(new URLSearchParams("signals=none")).signals).toEqual([]);
  });

  it("survives nonsense", () => {
    const view = readView(new URLSearchParams("t=soon&speed=-3&loop=x&base=sideways&signals=%25zz"));
    expect(view).toEqual({ time: null, speed: 1, loop: null, base: null, signals: ["%zz"] });
    expect(readView(new URLSearchParams("t=Infinity")).time).toBeNull();
    expect(readView(new URLSearchParams("loop=..")).loop).toEqual({ from: null, to: null });
  });

  it("reads what people type to go to", () => {
    expect(readJump("1200", 60)).toEqual({ step: 1200 });
    expect(readJump("#7", 60)).toEqual({ step: 7 });
    expect(readJump("12.5", 60)).toEqual({ time: 12.5 });
    expect(readJump("3s", 60)).toEqual({ time: 3 });
    expect(readJump("1:02:03.5", 60)).toEqual({ time: 3723.5 });
    expect(readJump("2:05", 60)).toEqual({ time: 125 });
    expect(readJump("75%", 60)).toEqual({ time: 45 });
    expect(readJump("soon", 60)).toBeNull();
    expect(readJump("", 60)).toBeNull();
  });
});

const marks: Mark[] = [
  { kind: "end", time_s: 9, index: 3, text: "terminated" },
  { kind: "reward", time_s: 1, index: 0, text: "+4" },
  { kind: "reward", time_s: 5, index: 2, text: "−1" },
];

describe("marks", () => {
  it("lie in order, at the stamps of their steps", () => {
    const found = ordered({ kind: "replay", marks }, [1.0000001, 3, 5, 9]);
    expect(found.map((one) => one.time_s)).toEqual([1.0000001, 5, 9]);
    expect(ordered({ kind: "dataset", marks }, [0]).map((one) => one.time_s)).toEqual([1, 5, 9]);
  });

  it("have neighbours, never themselves", () => {
    const found = ordered({ kind: "dataset", marks }, []);
    expect(neighbour(found, 5, 1)?.time_s).toBe(9);
    expect(neighbour(found, 5, -1)?.time_s).toBe(1);
    expect(neighbour(found, 9, 1)).toBeNull();
  });

  it("are found near the pointer", () => {
    expect(markNear(marks, (time) => time * 10, 53, 5)?.time_s).toBe(5);
    expect(markNear(marks, (time) => time * 10, 60, 5)).toBeNull();
    expect(marks.map(toneOf)).toEqual(["soft", "good", "bad"]);
  });
});

describe("steps", () => {
  it("come in windows, the next one early, and not twice", async () => {
    const asked: [number, number][] = [];
    const steps = new StepWindows(async (start, stop) => {
      asked.push([start, stop]);
      const rows = Array.from({ length: stop - start }, (_, at) => ({ index: start + at }) as StepRow);
      return { start, stop, rows };
    }, 600);
    expect(steps.row(10)).toBeNull();
    await vi.waitFor(() => expect(steps.row(10)?.index).toBe(10));
    expect(asked).toEqual([[0, 250]]);
    expect(steps.row(200)?.index).toBe(200);
    await vi.waitFor(() => expect(steps.row(260)?.index).toBe(260));
    expect(asked).toEqual([[0, 250], [250, 500]]);
    expect(steps.row(600)).toBeNull();
    steps.grow(700);
    steps.row(599);
    expect(asked[2]).toEqual([500, 700]);
  });

  it("say what went wrong", async () => {
    const steps = new StepWindows(() => Promise.reject(new Error("away")), 10);
    steps.row(0);
    await vi.waitFor(() => expect(steps.error).toBeInstanceOf(Error));
  });
});

describe("asking lately", () => {
  it("asks the newest question only, one at a time", async () => {
    const asked: number[] = [];
    const told: number[] = [];
    let release: () => void = () => {};
    const lately = new Lately<number, number>(
      async (question) => {
        asked.push(question);
        await new Promise<void>((done) => (release = done));
        return question * 2;
      },
      (answer) => told.push(answer),
      () => {},
      0,
    );
    lately.want(1);
    await vi.waitFor(() => expect(asked).toEqual([1]));
    for (const question of [2, 3, 4]) lately.want(question);
    release();
    await vi.waitFor(() => expect(asked).toEqual([1, 4]));
    release();
    await vi.waitFor(() => expect(told).toEqual([2, 8]));
  });
});

describe("asking lately and then no more", () => {
  it("tells nothing that was dropped, and can ask again", async () => {
    const told: number[] = [];
    const lately = new Lately<number, number>((question) => Promise.resolve(question), (answer) => told.push(answer), () => {}, 0);
    lately.want(1);
    lately.close();
    await new Promise((done) => setTimeout(done, 5));
    expect(told).toEqual([]);
    lately.want(2);
    await vi.waitFor(() => expect(told).toEqual([2]));
  });
});

describe("the timeline", () => {
  it("maps pixels and positions both ways", () => {
    const ruler = new Ruler(0, 17_999, 1000, 10);
    for (const position of [0, 1, 9000, 17_999]) expect(ruler.position(ruler.x(position))).toBeCloseTo(position, 6);
    expect(ruler.position(-50)).toBe(0);
    expect(ruler.position(5000)).toBe(17_999);
    expect(new Ruler(0, 0, 100, 10).x(0)).toBe(10);
  });

  it("has round labels", () => {
    expect(ticks(0, 17_999, 10)).toEqual([0, 2000, 4000, 6000, 8000, 10_000, 12_000, 14_000, 16_000]);
    expect(ticks(0, 1, 4)).toEqual([0, 0.5, 1]);
    expect(ticks(0, 2, 10, 1)).toEqual([0, 1, 2]);
    expect(ticks(3, 3, 5)).toEqual([3]);
  });

  it("counts the samples on a pixel", () => {
    expect([...density([0, 0.1, 5, 10], new Ruler(0, 10, 11, 0))]).toEqual([2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0]);
  });

  it("outlines a signal between its ends", () => {
    expect(shares([2, null, 4, "Infinity", 3])).toEqual([0, null, 1, null, 0.5]);
    expect(shares([7, 7])).toEqual([0.5, 0.5]);
  });

  it("picks the thumbnail of a time", () => {
    expect([0, 4.9, 10, 99].map((time) => thumbnailAt([0, 10], 3, time))).toEqual([0, 1, 2, 2]);
    expect(thumbnailAt([5, 5], 1, 5)).toBe(0);
  });
});

describe("cameras", () => {
  it("lie in as many columns as shows them largest", () => {
    const wide = { width: 640, height: 480 };
    expect(columnsFor([wide, wide], { width: 1200, height: 400 })).toBe(2);
    expect(columnsFor([wide, wide], { width: 390, height: 800 })).toBe(1);
    expect(columnsFor([wide, wide, wide, wide], { width: 800, height: 600 })).toBe(2);
    expect(columnsFor([], { width: 800, height: 600 })).toBe(1);
  });
});

describe("curves", () => {
  it("are reward and return for a replay, the first few else", () => {
    const replay = [facts("frame", "picture"), facts("observation", "vector"), facts("reward", "scalar"), facts("return", "scalar")];
    expect(usualSignals(replay, true)).toEqual(["reward", "return"]);
    expect(usualSignals([facts("joints", "vector", 7), facts("phase", "text"), facts("force", "scalar")], false)).toEqual(["joints", "force"]);
  });

  it("draw each column that is not hidden, on the axis of the playhead", () => {
    const values = { total: 2, is_sampled: false, times: [0, 1], columns: [[1, null], [2, "Infinity"]], names: null };
    const lines = linesOf(facts("joints", "vector", 2), values, (time) => time * 60, new Set([0]));
    expect(lines).toHaveLength(1);
    expect([...(lines[0]!.x as number[])]).toEqual([0, 60]);
    expect(lines[0]!.y).toEqual([2, null]);
  });

  it("add up to a return", () => {
    expect(summed({ total: 3, is_sampled: false, times: [0, 1, 2], columns: [[1, null, 2.5]], names: null }).columns).toEqual([[1, 1, 3.5]]);
  });
});
