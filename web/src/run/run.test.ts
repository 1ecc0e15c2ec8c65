import { describe, expect, test } from "vitest";

import { commandOf, gitOf, openCode, otherEnvironment, packagesOf, resumeCode } from "./about";
import { marked, pieces, plain, settled } from "./ansi";
import { labelsOf } from "./labels";
import { allSteps, mediaKeys, placeAt } from "./mediaKeys";
import { whereNamed } from "./picking";
import { appended, lineOf, pointsOf, refined, timeAtX, xAtTime, type LineLook, type Points } from "./points";
import { prefixOf, searchOf, sectionsOf } from "./sections";
import { textOf, treeRows } from "./tree";
import type { MediaItem } from "./types";
import { pagesOf, spanOf } from "./virtual";

function points(steps: number[], values: (number | null)[], more: Partial<Points> = {}): Points {
  return { stage: null, part: 1, total: steps.length, isSampled: false, steps, times: steps.map((step) => step * 10), values, ...more };
}

const LOOK: LineLook = { key: "a", label: "a", colour: "red", x: "step", origin: 1000, smoothing: 0 };

describe("points", () => {
  test("words for infinity become infinity, null stays a gap", () => {
    const answer = { name: "a", stage: null, part: 1, total: 3, is_sampled: false, steps: [0, 1, 2], times: [0, 1, 2], values: ["Infinity" as const, null, "-Infinity" as const], last_ns: "3" };
    expect(pointsOf(answer).values).toEqual([Infinity, null, -Infinity]);
  });

  test("the tail goes behind, without what is there", () => {
    const [all] = appended([points([0, 1], [5, 6], { total: 100 })], [points([1, 2, 3], [6, 7, 8])]);
    expect(all?.steps).toEqual([0, 1, 2, 3]);
    expect(all?.values).toEqual([5, 6, 7, 8]);
    expect(all?.total).toBe(102);
  });

  test("nothing new is the same as before, so nothing is drawn again", () => {
    const before = [points([0, 1], [5, 6])];
    expect(appended(before, [points([1], [6])])).toBe(before);
    expect(appended(before, [])).toBe(before);
  });

  test("a part that begins later is a line of its own", () => {
    const all = appended([points([0], [1])], [points([0], [2], { part: 2 }), points([], [], { part: 3 })]);
    expect(all.map((one) => one.part)).toEqual([1, 2]);
  });

  test("finer points replace the coarse ones of their stretch alone", () => {
    const whole = points([0, 10, 20, 30, 40], [0, 1, 2, 3, 4], { isSampled: true, total: 41 });
    const finer = points([10, 15, 20, 25, 30], [1, 1.5, 2, 2.5, 3]);
    const both = refined(whole, finer, [10, 30], false);
    expect(both.steps).toEqual([0, 10, 15, 20, 25, 30, 40]);
    expect(both.values).toEqual([0, 1, 1.5, 2, 2.5, 3, 4]);
    expect(both.total).toBe(41);
    expect(refined(whole, undefined, [10, 30], false)).toBe(whole);
  });

  test("lines follow the chosen x and are put in its order", () => {
    const resumed = points([5, 6, 3], [1, 2, 9], { times: [0, 1, 2] });
    expect(lineOf(resumed, LOOK)).toMatchObject({ x: [3, 5, 6], y: [9, 1, 2], times: [2, 0, 1] });
    expect(lineOf(resumed, { ...LOOK, x: "relative" }).x).toEqual([0, 1, 2]);
    expect(lineOf(resumed, { ...LOOK, x: "wall" }).x).toEqual([1000, 1001, 1002]);
    expect(lineOf(resumed, { ...LOOK, smoothing: 0.5 }).raw).toEqual([9, 1, 2]);
  });

  test("a moment has a place on every x, and back", () => {
    const line = lineOf(points([0, 1, 2], [1, 2, 3]), LOOK);
    expect(xAtTime(line, "step", 11, 1000)).toBe(1);
    expect(xAtTime(line, "relative", 11, 1000)).toBe(11);
    expect(xAtTime(line, "wall", 11, 1000)).toBe(1011);
    expect(timeAtX(line, "step", 1.4, 1000)).toBe(10);
    expect(timeAtX(line, "step", 99, 1000)).toBe(20);
    expect(timeAtX(line, "wall", 1011, 1000)).toBe(11);
    expect(xAtTime(lineOf(points([], []), LOOK), "step", 1, 0)).toBeNull();
  });
});

describe("sections", () => {
  const all = () => true;
  test("metrics come under their prefix, numbers in order, pinned ones first", () => {
    const sections = sectionsOf(["train/loss", "layer/10", "layer/2", "loss", "a/b/c"], ["train/loss", "gone"], all);
    expect(sections).toEqual([
      { title: "Pinned", names: ["train/loss"] },
      { title: "", names: ["loss"] },
      { title: "a", names: ["a/b/c"] },
      { title: "layer", names: ["layer/2", "layer/10"] },
    ]);
  });

  test("the search is a regular expression, or plain text where it is none", () => {
    const regex = searchOf("^train/.*s$");
    expect(["train/loss", "eval/loss"].filter(regex.matches)).toEqual(["train/loss"]);
    const broken = searchOf("loss(");
    expect(broken.problem).not.toBeNull();
    expect(["loss(a)", "loss"].filter(broken.matches)).toEqual(["loss(a)"]);
  });

  test("prefixes", () => expect(["a/b/c", "a", "/a"].map(prefixOf)).toEqual(["a", "", ""]));
});

describe("terminal text", () => {
  test("colours become styles, everything else of a terminal goes", () => {
    expect(pieces("\x1b[1;31mbad\x1b[0m ok")).toEqual([
      { text: "bad", style: "color:var(--ansi-red);font-weight:600" },
      { text: " ok", style: "" },
    ]);
    expect(plain("\x1b[2K\x1b]0;title\x07a\x1b[1Ab")).toBe("ab");
    expect(pieces("\x1b[38;5;196mx\x1b[38;2;1;2;300my")).toMatchObject([{ style: "color:rgb(255 0 0)" }, { style: "color:rgb(1 2 255)" }]);
  });

  test("a bar that was drawn over itself shows its last state", () => {
    expect(settled("10%\r50%\r100%")).toBe("100%");
    expect(settled("line\r")).toBe("line");
  });

  test("matches are marked across colours", () => {
    const cut = marked(pieces("\x1b[31mab\x1b[0mcd"), /bc/g);
    expect(cut.map(({ text, isHit }) => [text, isHit])).toEqual([["a", false], ["b", true], ["c", true], ["d", false]]);
    expect(marked(pieces("abc"), null)).toEqual([{ text: "abc", style: "", isHit: false }]);
  });

  test("an expression that matches nothing at all places ends", () => {
    expect(marked(pieces("abc"), /x*/g).map(({ text }) => text).join("")).toBe("abc");
  });
});

describe("values", () => {
  const tree = { lr: 0.1, model: { depth: 3, layers: [64, 64], heads: [{ size: 1 }] }, empty: {} };

  test("a tree as rows", () => {
    expect(treeRows(tree, "", new Set()).map((row) => [row.path, row.depth, row.children])).toEqual([
      ["lr", 0, null], ["model", 0, 3], ["model.depth", 1, null], ["model.layers", 1, null], ["model.heads", 1, 1],
      ["model.heads.0", 2, 1], ["model.heads.0.size", 3, null], ["empty", 0, null],
    ]);
    expect(treeRows(tree, "", new Set(["model"])).map((row) => row.path)).toEqual(["lr", "model", "empty"]);
  });

  test("a search shows what matches and what it lies in, also when folded", () => {
    expect(treeRows(tree, "depth", new Set(["model"])).map((row) => row.path)).toEqual(["model", "model.depth"]);
    expect(treeRows(tree, "0.1", new Set()).map((row) => row.path)).toEqual(["lr"]);
  });

  test("texts", () => expect([textOf("a"), textOf(null), textOf([1, "b"])]).toEqual(["a", "null", '[1,"b"]']));
});

describe("about a run", () => {
  test("the command is one that a shell takes", () => {
    expect(commandOf({ argv: ["train.py", "--name", "it's a b"] })).toBe(`python train.py --name 'it'\\''s a b'`);
    expect(commandOf({})).toBe("");
  });

  test("Python to take away", () => {
    expect(openCode("store", "run_1")).toContain('store.runs["run_1"]');
    expect(resumeCode({ project: "p", name: 'a"b', id: "i" })).toBe('store.run("p", "a\\"b", run_id="i", resume=True)');
  });

  test("git, packages and the rest", () => {
    const environment = { git: { commit: "abc", dirty: true, diff: "+1" }, packages: { numpy: "2.0" }, python: "3.11" };
    expect(gitOf(environment)).toEqual({ commit: "abc", isDirty: true, diff: "+1" });
    expect(gitOf({ git: null })).toBeNull();
    expect(otherEnvironment(environment)).toEqual({ git: { commit: "abc", dirty: true }, python: "3.11" });
    expect(packagesOf(environment)).toEqual([["numpy", "2.0"]]);
  });
});

test("runs that share a name are told apart by their ids", () => {
  const labels = labelsOf([{ id: "1_aaaaaa", name: "dqn" }, { id: "2_bbbbbb", name: "dqn" }, { id: "3_cccccc", name: "ppo" }]);
  expect([...labels.values()]).toEqual(["dqn · aaaaaa", "dqn · bbbbbb", "ppo"]);
});

test("a name that was typed becomes a filter that cannot break out of its quotes", () => {
  expect(whereNamed("  ")).toBeNull();
  expect(whereNamed("o'r")).toBe("(name like '%o_r%' or project like '%o_r%' or id like '%o_r%')");
  expect(whereNamed("a b")).toContain(") and (");
});

describe("lists", () => {
  test("rows in sight", () => {
    expect(spanOf(1000, 200, 20, 1000, 5)).toEqual({ start: 45, stop: 65 });
    expect(spanOf(0, 200, 20, 3, 5)).toEqual({ start: 0, stop: 3 });
    expect(spanOf(5000, 200, 20, 0)).toEqual({ start: 0, stop: 0 });
  });

  test("pages of rows", () => {
    expect(pagesOf({ start: 95, stop: 205 }, 100)).toEqual([0, 1, 2]);
    expect(pagesOf({ start: 0, stop: 0 }, 100)).toEqual([]);
  });
});

describe("media", () => {
  const item = (key: string, step: number | null, index: number): MediaItem => ({ index, key, step, time_s: null, caption: null, type: "image/png", url: "" });
  const keys = mediaKeys([item("b", 5, 0), item("a", 10, 1), item("b", 1, 2), item("a", null, 3)]);

  test("by name, in order of steps", () => {
    expect(keys.map(({ key, steps }) => [key, steps])).toEqual([["a", [3, 10]], ["b", [1, 5]]]);
    expect(allSteps(keys)).toEqual([1, 3, 5, 10]);
  });

  test("the newest up to a step", () => {
    expect([0, 1, 4, 5, 99].map((step) => placeAt([1, 5], step))).toEqual([0, 0, 0, 1, 1]);
  });
});
