import { describe, expect, it } from "vitest";

import { address, ApiError } from "./api";
import { colourOf, coloursOf, PALETTE } from "./colours";
import { spot } from "./placed";
import { advice } from "./problem";
import { Unreachable } from "./reach";
import { covers, joined } from "./shared";

it("spells addresses", () => {
  expect(address("runs", { where: "a < 1 & b", tag: ["x", "y"], none: null, empty: "", no: undefined, list: [] })).toBe("/api/runs?where=a+%3C+1+%26+b&tag=x&tag=y");
});

describe("colours", () => {
  it("follow from the id alone", () => {
    expect(colourOf("20261115_081200_a1b2c3")).toBe(colourOf("20261115_081200_a1b2c3"));
    const used = new Set(Array.from({ length: 500 }, (_, at) => colourOf(`run-${at}`)));
    expect(used.size).toBe(PALETTE.length);
  });

  it("differ between runs that are shown together", () => {
    const ids = Array.from({ length: PALETTE.length }, (_, at) => `run-${at}`);
    expect(new Set(coloursOf(ids).values()).size).toBe(PALETTE.length);
    expect(coloursOf([...ids, "one-more"]).size).toBe(PALETTE.length + 1);
    expect(coloursOf(["a"]).get("a")).toBe(colourOf("a"));
  });
});

describe("a panel beside its button", () => {
  const view = { width: 1000, height: 800 };
  const button = { left: 100, right: 150, top: 50, bottom: 80 };

  it("lies below it", () => {
    expect(spot(button, { width: 200, height: 300 }, view, "start")).toEqual({ left: 100, top: 84 });
    expect(spot({ ...button, left: 900, right: 950 }, { width: 200, height: 300 }, view, "end")).toEqual({ left: 750, top: 84 });
  });

  it("stays in the window", () => {
    expect(spot({ ...button, left: 950, right: 990 }, { width: 200, height: 300 }, view, "start").left).toBe(792);
    expect(spot(button, { width: 200, height: 300 }, view, "end").left).toBe(8);
    expect(spot({ ...button, top: 700, bottom: 730 }, { width: 200, height: 300 }, view, "start").top).toBe(396);
  });
});

describe("what tabs want", () => {
  it("is joined", () => {
    expect(joined([{ runs: ["a"], list: false }, { runs: ["b", "a"], list: true }])).toEqual({ runs: ["a", "b"], list: true });
    expect(joined([{ runs: Array.from({ length: 500 }, (_, at) => String(at)), list: false }]).runs.length).toBe(200);
  });

  it("needs a new connection only where the old one has less", () => {
    const open = { runs: ["a", "b"], list: true };
    expect(covers(open, { runs: ["a"], list: false })).toBe(true);
    expect(covers(open, { runs: ["a", "c"], list: false })).toBe(false);
    expect(covers({ ...open, list: false }, { runs: [], list: true })).toBe(false);
    expect(covers(null, { runs: [], list: false })).toBe(false);
  });
});

it("says what to do about an error", () => {
  expect(advice(new ApiError(404, "NotFound", "no run 'x'"))).toMatchObject({ title: "Not found", message: "No run 'x'." });
  expect(advice(new ApiError(401, "Refused", "a token is needed")).remedy).toContain("token");
  expect(advice(new Unreachable()).message).toContain("playhead serve");
  expect(advice("odd").message).toBe("Odd.");
});
