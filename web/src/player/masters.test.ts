import { describe, expect, it } from "vitest";

import { returnsOf } from "./curves";
import { mastersOf, merged, picturesOf } from "./masters";
import type { SignalFacts } from "./types";

function facts(name: string, kind: SignalFacts["kind"], length: number, more: Partial<SignalFacts> = {}): SignalFacts {
  return {
    name, kind, length, dtype: "uint8", shape: [], columns: 1, names: null, start_s: 0, stop_s: 1, rate_hz: 10,
    ref: null, place0: 0, holes: false, is_lossy: false, width: 4, height: 4, ...more,
  };
}

describe("what the playhead steps by", () => {
  it("is the steps of a replay", () => {
    const signals = [facts("frame", "picture", 100), facts("action", "scalar", 100), facts("reward", "scalar", 100)];
    expect(mastersOf({ kind: "replay", steps: 100, signals }).map((one) => one.name)).toEqual(["frame"]);
    expect(mastersOf({ kind: "replay", steps: 100, signals: signals.slice(1) }).map((one) => one.name)).toEqual(["reward"]);
  });

  it("is the turns of all agents where several act", () => {
    const signals = [facts("red.reward", "scalar", 60), facts("blue.reward", "scalar", 40)];
    expect(mastersOf({ kind: "replay", steps: 100, signals }).map((one) => one.name)).toEqual(["red.reward", "blue.reward"]);
    expect([...merged([Float64Array.from([0, 2]), Float64Array.from([1, 3])])]).toEqual([0, 1, 2, 3]);
    expect(merged([])).toHaveLength(0);
    expect(returnsOf(signals).map((one) => one.name)).toEqual(["red.return", "blue.return"]);
  });

  it("is the quickest camera of a dataset, or what has most samples", () => {
    const joints = facts("joints", "vector", 900);
    expect(mastersOf({ kind: "dataset", steps: null, signals: [joints, facts("overview", "picture", 40), facts("wrist", "picture", 90)] })[0]?.name).toBe("wrist");
    expect(mastersOf({ kind: "dataset", steps: null, signals: [facts("phase", "text", 3), joints] })[0]?.name).toBe("joints");
    expect(mastersOf({ kind: "dataset", steps: null, signals: [] })).toEqual([]);
  });

  it("shows what is stored once only once, and nothing that cannot be read", () => {
    const signals = [
      facts("frame", "picture", 9),
      facts("observation", "picture", 9, { same_as: "frame" }),
      facts("broken", "picture", 9, { error: "lost" }),
    ];
    expect(picturesOf({ signals }).map((one) => one.name)).toEqual(["frame"]);
  });
});
