import { expect, it } from "vitest";

import { sparkPath } from "./spark";

it("fills its box from the smallest to the largest value", () => {
  expect(sparkPath([0, 10, 5], 100, 20)).toBe("M0.0 20.0h.01L50.0 0.0L100.0 10.0");
});

it("has gaps where values are missing or have no size", () => {
  expect(sparkPath([0, null, "Infinity", 10], 30, 10)).toBe("M0.0 10.0h.01M30.0 0.0h.01");
});

it("is flat for a constant and empty for nothing", () => {
  expect(sparkPath([3, 3], 10, 10)).toBe("M0.0 5.0h.01L10.0 5.0");
  expect(sparkPath([null], 10, 10)).toBe("");
  expect(sparkPath([], 10, 10)).toBe("");
});
