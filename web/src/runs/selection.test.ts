import { expect, it } from "vitest";

import { ALL, chosen, has, NONE, sizeOf } from "./selection";

it("chooses some", () => {
  const two = chosen(NONE, ["a", "b"], true);
  expect([has(two, "a"), has(two, "c"), sizeOf(two, 100)]).toEqual([true, false, 2]);
  const one = chosen(two, ["a"], false);
  expect([has(one, "a"), sizeOf(one, 100)]).toEqual([false, 1]);
  expect(sizeOf(NONE, 100)).toBe(0);
});

it("chooses all but a few", () => {
  const most = chosen(ALL, ["a", "b"], false);
  expect([has(most, "a"), has(most, "c"), sizeOf(most, 100)]).toEqual([false, true, 98]);
  const more = chosen(most, ["a"], true);
  expect([has(more, "a"), sizeOf(more, 100)]).toEqual([true, 99]);
});
