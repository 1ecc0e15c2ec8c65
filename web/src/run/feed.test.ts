import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import { MetricFeed } from "./feed.svelte";

interface Asked {
  names: string[];
  x: string;
  from: number | null;
  after: bigint | null;
}

const ORIGIN = 1_700_000_000_000_000_000n;
let asked: Asked[] = [];
let logged: Record<string, number> = {};
const SHOWN = 100;

/** A server in small: a point a second, sampled to a hundred. */
function answer(url: string): unknown {
  const query = new URL(url, "http://here").searchParams;
  const names = query.getAll("name");
  const from = query.get("from");
  const after = query.get("after_ns");
  asked.push({ names, x: query.get("x") ?? "", from: from === null ? null : Number(from), after: after === null ? null : BigInt(after) });
  const series = names.map((name) => {
    let steps = Array.from({ length: logged[name] ?? 0 }, (_, index) => index);
    if (from !== null) steps = steps.filter((step) => step >= Number(from) && step <= Number(query.get("to")));
    if (after !== null) steps = steps.filter((step) => ORIGIN + BigInt(step) * 1_000_000_000n > BigInt(after));
    const total = steps.length;
    const isSampled = after === null && total > SHOWN;
    if (isSampled) steps = steps.filter((_, index) => index % Math.ceil(total / SHOWN) === 0 || index === total - 1);
    const last = steps.at(-1);
    return {
      name, stage: "", part: 1, total, is_sampled: isSampled, steps, times: steps, values: steps.map((step) => step * 2),
      last_ns: last === undefined ? null : String(ORIGIN + BigInt(last) * 1_000_000_000n),
    };
  });
  return { origin_ns: String(ORIGIN), series };
}

beforeEach(() => {
  asked = [];
  logged = { a: 1000, b: 1000, c: 50 };
  vi.useFakeTimers();
  vi.stubGlobal("fetch", async (url: string) => new Response(JSON.stringify(answer(url))));
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("the metrics in sight", () => {
  test("are asked for together, once", async () => {
    const feed = new MetricFeed("run", SHOWN, false);
    feed.look("a");
    feed.look("b");
    const gone = feed.look("c");
    gone();
    await vi.advanceTimersByTimeAsync(20);
    expect(asked).toEqual([{ names: ["a", "b"], x: "step", from: null, after: null }]);
    expect(feed.entry("a").points()?.[0]).toMatchObject({ total: 1000, isSampled: true });
    expect(feed.entry("c").points()).toBeNull();
    feed.look("a");
    feed.look("c");
    await vi.advanceTimersByTimeAsync(20);
    expect(asked[1]?.names).toEqual(["c"]);
    feed.destroy();
  });

  test("grow by what was logged since, and only those in sight", async () => {
    const feed = new MetricFeed("run", SHOWN, false);
    const leave = feed.look("a");
    feed.look("b");
    await vi.advanceTimersByTimeAsync(20);
    const before = feed.entry("b").points()?.[0]?.steps ?? [];
    leave();
    logged = { a: 1005, b: 1003 };
    await feed.tail();
    expect(asked[1]).toMatchObject({ names: ["b"] });
    expect(asked[1]?.after).not.toBeNull();
    const points = feed.entry("b").points()?.[0];
    expect(points?.total).toBe(1003);
    expect(points?.steps).toEqual([...before, 1000, 1001, 1002]);
    feed.look("a"); // Back in sight: what it missed comes now.
    await vi.advanceTimersByTimeAsync(20);
    expect(feed.entry("a").points()?.[0]?.steps.at(-1)).toBe(1004);
    feed.destroy();
  });

  test("are sampled anew before the tail grows without bound", async () => {
    const feed = new MetricFeed("run", SHOWN, false);
    feed.look("c");
    await vi.advanceTimersByTimeAsync(20);
    for (let size = 100; size <= 2000; size += 100) {
      logged = { c: size };
      await feed.tail();
    }
    expect(feed.entry("c").points()?.[0]?.steps.length).toBeLessThan(5 * SHOWN);
    expect(feed.entry("c").points()?.[0]?.steps.at(-1)).toBe(1999);
    expect(feed.entry("c").points()?.[0]?.total).toBe(2000);
    feed.destroy();
  });

  test("are finer where one looks, if they were sampled at all", async () => {
    const feed = new MetricFeed("run", SHOWN, false);
    feed.look("a");
    feed.look("c");
    await vi.advanceTimersByTimeAsync(20);
    feed.zoom([480, 500]);
    feed.zoom([500, 520]);
    await vi.advanceTimersByTimeAsync(200);
    expect(asked.slice(1)).toEqual([{ names: ["a"], x: "step", from: 490, after: null }]);
    const steps = feed.entry("a").points()?.[0]?.steps ?? [];
    expect(steps.filter((step) => step >= 500 && step <= 520)).toHaveLength(21);
    expect(steps[0]).toBe(0);
    expect(steps.at(-1)).toBe(999);
    expect([...steps].sort((one, other) => one - other)).toEqual(steps);
    feed.zoom([505, 515]); // Within what is there: nothing to ask for.
    await vi.advanceTimersByTimeAsync(200);
    expect(asked).toHaveLength(2);
    feed.destroy();
  });

  test("are sampled over time when x is time", async () => {
    const feed = new MetricFeed("run", SHOWN, false);
    feed.look("a");
    await vi.advanceTimersByTimeAsync(20);
    feed.along(true);
    await vi.advanceTimersByTimeAsync(20);
    expect(asked.map(({ x }) => x)).toEqual(["step", "time"]);
    feed.destroy();
  });

  test("an error is kept until someone asks again", async () => {
    vi.stubGlobal("fetch", async () => new Response(JSON.stringify({ error: { type: "Busy", message: "busy" } }), { status: 503 }));
    const feed = new MetricFeed("run", SHOWN, false);
    feed.look("a");
    await vi.advanceTimersByTimeAsync(20);
    expect(feed.entry("a").error).toMatchObject({ status: 503, message: "busy" });
    vi.stubGlobal("fetch", async (url: string) => new Response(JSON.stringify(answer(url))));
    feed.retry();
    await vi.advanceTimersByTimeAsync(20);
    expect(feed.entry("a").error).toBeNull();
    expect(feed.entry("a").points()).not.toBeNull();
    feed.destroy();
  });
});
