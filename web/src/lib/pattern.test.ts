import { describe, expect, it } from "vitest";

import { isBounded, patternOf } from "./pattern";

describe("patterns", () => {
  it.each(["loss", "^train/.*loss$", "(train|eval)/loss", "layer/[0-9]+", "a{2}", "[(+*]+", "\\(a+\\)", "(?:ab)+", "x?y*"])("runs %s", (text) => {
    expect(patternOf(text, "i")).not.toBeNull();
  });

  it.each(["(a+)+$", "(a|a)*b", "(.*)*", "((a*)b)+", "(a{1,9}){2,}", ".*.*.*.*.*x", "(x|[a-z]+)+y"])("does not run %s", (text) => {
    expect(isBounded(text)).toBe(false);
    expect(patternOf(text, "i")).toBeNull();
  });

  it("gives nothing for what is no expression", () => {
    expect(patternOf("(", "i")).toBeNull();
    expect(patternOf("[", "i")).toBeNull();
    expect(patternOf("a)", "i")).toBeNull();
  });

  it("is quick where a bounded one meets a long line", () => {
    const pattern = patternOf("a.*b.*c.*d", "i") as RegExp;
    const start = performance.now();
    pattern.test("a".repeat(400));
    expect(performance.now() - start).toBeLessThan(500);
  });
});
