import { describe, expect, it } from "vitest";

import { Clock } from "./clock";
import { fractionAt, indexAt, readStamps, spellTime, usualInterval } from "./stamps";
import { evenSteps, realTime } from "./timebase";

const stamps = Float64Array.from([0, 0.1, 0.25, 0.3, 1.3]);

describe("stamps", () => {
  it("give the last sample at or before a time", () => {
    expect([-0.1, 0, 0.05, 0.1, 0.2999, 0.3, 9].map((time) => indexAt(stamps, time))).toEqual([-1, 0, 0, 1, 2, 3, 4]);
    expect(indexAt([], 1)).toBe(-1);
    for (let at = 0; at < stamps.length; at += 1) expect(indexAt(stamps, stamps[at]!)).toBe(at);
  });

  it("place a time between two samples", () => {
    expect(fractionAt(stamps, 0.8)).toBeCloseTo(3.5);
    expect(fractionAt(stamps, -1)).toBe(0);
    expect(fractionAt(stamps, 99)).toBe(4);
  });

  it("know their beat", () => {
    const even = Float64Array.from({ length: 5000 }, (_, at) => at / 30);
    expect(usualInterval(even)).toBeCloseTo(1 / 30);
  });

  it("spell a time so that it finds its sample again", () => {
    const close = Float64Array.from({ length: 1000 }, (_, at) => at * 0.0013377331);
    for (const time of close) expect(indexAt(close, Number(spellTime(close, time)))).toBe(indexAt(close, time));
    expect(spellTime(Float64Array.from([0, 12.3]), 12.3)).toBe("12.3");
  });

  it("are read from little-endian bytes", () => {
    const view = new DataView(new ArrayBuffer(16));
    view.setFloat64(8, 1.5, true);
    expect([...readStamps(view.buffer)]).toEqual([0, 1.5]);
    expect(() => readStamps(new ArrayBuffer(9))).toThrow(/not whole/);
  });
});

function clockOn(base = realTime(0, 10)): { clock: Clock; pass(ms: number): void } {
  let now = 1000;
  const clock = new Clock(base, stamps, () => now);
  return { clock, pass: (ms) => { now += ms; clock.tick(); } };
}

describe("the clock", () => {
  it("follows a monotonic clock without drift, however often it is read", () => {
    const { clock, pass } = clockOn();
    clock.play();
    for (let tick = 0; tick < 300; tick += 1) pass(16.7);
    expect(clock.time).toBeCloseTo(5.01, 9);
    clock.setSpeed(0.1);
    pass(1000);
    expect(clock.time).toBeCloseTo(5.11, 9);
  });

  it("drops what a late display missed", () => {
    const { clock, pass } = clockOn();
    clock.play();
    pass(16);
    pass(4000);
    expect(clock.time).toBeCloseTo(4.016);
  });

  it("stops at the end, and plays again from the start", () => {
    const { clock, pass } = clockOn();
    clock.seek(9.9);
    clock.play();
    pass(500);
    expect([clock.time, clock.isPlaying, clock.isAtEnd]).toEqual([10, false, true]);
    clock.play();
    expect(clock.time).toBe(0);
  });

  it("steps by samples and pauses", () => {
    const { clock } = clockOn();
    clock.play();
    clock.seek(0.26);
    clock.step(1);
    expect([clock.index, clock.time, clock.isPlaying]).toEqual([3, 0.3, false]);
    clock.step(-10);
    expect(clock.index).toBe(0);
    clock.step(10);
    expect(clock.index).toBe(4);
  });

  it("plays steps evenly however long each took", () => {
    const { clock, pass } = clockOn(evenSteps(stamps, 2));
    clock.play();
    const seen: number[] = [];
    for (let tick = 0; tick < 4; tick += 1) { seen.push(clock.index); pass(500); }
    expect(seen).toEqual([0, 1, 2, 3]);
    expect([clock.index, clock.isPlaying]).toEqual([4, false]);
  });

  it("repeats a range, and shows its last step as long as the others", () => {
    const { clock, pass } = clockOn(evenSteps(stamps, 1));
    clock.setLoop({ from: 0.1, to: 0.3, isOn: true });
    clock.play();
    const seen: number[] = [];
    for (let tick = 0; tick < 7; tick += 1) { seen.push(clock.index); pass(1000); }
    expect(seen).toEqual([1, 2, 3, 1, 2, 3, 1]);
  });

  it("repeats a range of time without losing any", () => {
    const { clock, pass } = clockOn();
    clock.setLoop({ from: 2, to: 3, isOn: true });
    clock.play();
    pass(2300);
    expect(clock.time).toBeCloseTo(2.3);
    pass(1000);
    expect(clock.time).toBeCloseTo(2.3);
  });

  it("lets an end of the loop that crosses the other free it", () => {
    const { clock } = clockOn();
    clock.setLoop({ from: 2, to: 3 });
    clock.setLoop({ from: 5 });
    expect([clock.loop.from, clock.loop.to]).toEqual([5, null]);
    clock.setLoop({ to: 1 });
    expect([clock.loop.from, clock.loop.to]).toEqual([null, 1]);
    clock.setLoop({ from: 4, to: 2 });
    expect([clock.loop.from, clock.loop.to]).toEqual([2, 4]);
  });

  it("keeps its place when the episode grows or is measured otherwise", () => {
    const { clock } = clockOn();
    clock.seek(0.3);
    clock.rebase(evenSteps(stamps, 60), stamps);
    expect([clock.position, clock.time]).toEqual([3, 0.3]);
    const longer = Float64Array.from([...stamps, 2, 3]);
    clock.rebase(evenSteps(longer, 60), longer);
    expect(clock.index).toBe(3);
  });

  it("keeps its speed between the slowest and the fastest", () => {
    const { clock } = clockOn();
    clock.setSpeed(99);
    expect(clock.speed).toBe(16);
    clock.shift(1);
    expect(clock.speed).toBe(16);
    clock.setSpeed(0.3);
    clock.shift(-1);
    expect(clock.speed).toBe(0.25);
    clock.setSpeed(Number.NaN);
    expect(clock.speed).toBe(0.25);
  });
});
