import { expect, it } from "vitest";

import { ago, bytes, clock, counted, date, duration, number, short, stampSeconds, value } from "./format";

it("writes numbers so that they can be compared at a glance", () => {
  expect([0, 1, -2, 0.03125, 1 / 3, 1234.5678, 1e-7, 2.5e12, -1e-5].map(number)).toEqual(["0", "1", "−2", "0.03125", "0.33333", "1,234.57", "1e−7", "2,500,000,000,000", "−1e−5"]);
  expect([null, undefined, "Infinity", "-Infinity", Number.NaN].map((one) => number(one as null))).toEqual(["–", "–", "∞", "−∞", "NaN"]);
});

it("writes counts", () => {
  expect([counted(1, "run"), counted(12345, "run"), counted(0, "entry", "entries")]).toEqual(["1 run", "12,345 runs", "0 entries"]);
  expect([999, 1000, 12_345, 4_100_000, 999_950].map(short)).toEqual(["999", "1k", "12.3k", "4.1M", "1M"]);
});

it("writes durations in the units that matter", () => {
  expect([0, 0.0123, 3.25, 59.97, 245, 7980, 276_000, -3].map(duration)).toEqual(["0 s", "12.3 ms", "3.3 s", "1m 00s", "4m 05s", "2h 13m", "3d 4h", "−3 s"]);
  expect([null, undefined, Number.NaN].map(duration)).toEqual(["–", "–", "–"]);
});

it("writes a place in time as a clock", () => {
  expect([clock(3.25, 3), clock(59.96), clock(3723.4), clock(0, 0), clock(-0.04), clock(-2.5)]).toEqual(["0:03.250", "1:00.0", "1:02:03.4", "0:00", "0:00.0", "−0:02.5"]);
});

it("says how long ago, in one unit", () => {
  const now = 1_800_000_000;
  expect([now - 3, now + 5, now - 100, now - 7200, now - 86_400, now - 20 * 86_400].map((at) => ago(at, now))).toEqual(["just now", "just now", "2 min ago", "2 h ago", "1 day ago", "20 days ago"]);
  expect(ago(now - 90 * 86_400, now)).toBe(date(now - 90 * 86_400));
});

it("keeps the digits of a stamp that doubles lose", () => {
  expect(stampSeconds("1763200000123456789", 0.5)).toBeCloseTo(1763200000.623456, 5);
});

it("writes sizes", () => {
  expect([0, 999, 1000, 1_234_567, 999_600_000].map(bytes)).toEqual(["0 B", "999 B", "1 kB", "1.23 MB", "1 GB"]);
});

it("writes any value on one line", () => {
  expect([null, true, "text", 0.5, "Infinity", [1, 2], { a: 1 }].map((one) => value(one))).toEqual(["–", "true", "text", "0.5", "∞", "[1,2]", '{"a":1}']);
});
