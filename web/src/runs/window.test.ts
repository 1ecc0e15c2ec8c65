import { describe, expect, it } from "vitest";

import { Outline, scrollFor, spanOf } from "./window";

describe("the lines in sight", () => {
  it("are those of the view and a few more, within the list", () => {
    expect(spanOf(0, 320, 32, 1000, 5)).toEqual({ first: 0, last: 15 });
    expect(spanOf(3200, 320, 32, 1000, 5)).toEqual({ first: 95, last: 115 });
    expect(spanOf(31_680, 320, 32, 1000, 5)).toEqual({ first: 985, last: 999 });
  });

  it("are none of an empty list, and the last of one that became shorter", () => {
    expect(spanOf(0, 320, 32, 0)).toEqual({ first: 0, last: -1 });
    expect(spanOf(9000, 320, 32, 10)).toEqual({ first: 9, last: 9 });
  });
});

it("scrolls as little as can be", () => {
  expect(scrollFor(3, 0, 320, 32)).toBe(0);
  expect(scrollFor(10, 0, 320, 32)).toBe(32);
  expect(scrollFor(2, 100, 320, 32)).toBe(64);
});

it("finds the group and the run of a line", () => {
  const outline = new Outline([0, 3, 0, 2]);
  expect(outline.total).toBe(9);
  const places = Array.from({ length: 9 }, (_, line) => outline.at(line));
  expect(places.map(({ group, row }) => `${group}/${row}`)).toEqual(["0/-1", "1/-1", "1/0", "1/1", "1/2", "2/-1", "3/-1", "3/0", "3/1"]);
  expect(outline.start(3)).toBe(6);
});
