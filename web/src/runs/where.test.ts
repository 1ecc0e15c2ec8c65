import { describe, expect, it } from "vitest";

import type { Fields } from "../lib/types";
import { both, complete, groupWhere, isBegun, isPlain, named, quoted, tokens, whereOf } from "./where";

const fields: Fields = {
  projects: [{ name: "pong", count: 7 }],
  statuses: [{ name: "running", count: 2 }, { name: "finished", count: 5 }],
  tags: [{ name: "it's", count: 3 }],
  config: ["config.lr", "config.net.layers"],
  summary: ["summary.score"],
  metrics: ["loss", "train/loss"],
};

function options(text: string, caret = text.length): string[] {
  return complete(text, caret, fields).options.map((one) => one.text);
}

describe("plain words and queries", () => {
  it("tells words from a query", () => {
    expect(isPlain("ppo seed-3")).toBe(true);
    expect(isPlain("20261115_081200_a1b2c3")).toBe(true);
    expect(isPlain("lr < 3")).toBe(false);
    expect(isPlain("a and b")).toBe(false);
    expect(isPlain("'x' in tags")).toBe(false);
  });

  it("does not search for the name of a field that waits for its operator", () => {
    expect(isPlain("config.l")).toBe(false);
    expect(isPlain("status")).toBe(false);
    expect(isBegun("config.lr ")).toBe(true);
    expect(isBegun("config.lr<1")).toBe(false);
    expect(isBegun("config.lr < 1 and name")).toBe(false);
  });

  it("looks for every word in names, projects, ids, notes and tags", () => {
    const where = whereOf(" ppo  it ");
    expect(where).toContain("(name like '%ppo%' or project like '%ppo%'");
    expect(where).toContain(") and (name like '%it%'");
    expect(whereOf("config.lr < 1e-3")).toBe("config.lr < 1e-3");
    expect(whereOf("  ")).toBe("");
  });
});

describe("writing the language", () => {
  it("quotes values and names", () => {
    expect(quoted("it's")).toBe("'it''s'");
    expect(quoted(0.001)).toBe("0.001");
    expect(named("config.lr")).toBe("config.lr");
    expect(named("metric.train/loss")).toBe("metric.`train/loss`");
    expect(named("status")).toBe("status");
  });

  it("says what belongs to a group", () => {
    expect(groupWhere("config.lr", 1e-3)).toBe("config.lr = 0.001");
    expect(groupWhere("config.a b", null)).toBe("config.`a b` is null");
    expect(groupWhere("tags", "it's")).toBe("'it''s' in tags");
    expect(both("a or b", "c = 1")).toBe("(a or b) and (c = 1)");
    expect(both("", "c = 1")).toBe("c = 1");
  });
});

describe("tokens", () => {
  it("splits as the server does", () => {
    const text = "config.lr<=1e-3 and not name like 'a''b'";
    expect(tokens(text).map((one) => [one.kind, one.text])).toEqual([
      ["name", "config.lr"], ["symbol", "<="], ["number", "1e-3"], ["word", "and"], ["word", "not"], ["name", "name"],
      ["word", "like"], ["text", "'a''b'"],
    ]);
    for (const one of tokens(text)) expect(text.slice(one.start, one.end).toLowerCase()).toBe(one.text);
  });

  it("keeps what is not closed as one", () => {
    expect(tokens("project = 'po ng").at(-1)).toMatchObject({ kind: "open", text: "'po ng" });
  });
});

describe("completion", () => {
  it("offers real names that fit what was typed, beginnings first", () => {
    expect(options("conf")).toEqual(["config.lr", "config.net.layers"]);
    expect(options("loss")).toEqual(["metric.loss", "metric.`train/loss`", "min.loss", "max.loss", "min.`train/loss`", "max.`train/loss`"]);
    expect(options("config.")).toEqual(["config.lr", "config.net.layers"]);
  });

  it("offers operators after a name", () => {
    expect(options("config.lr ")).toContain("<=");
    expect(options("name l")).toEqual(["like"]);
  });

  it("offers values that there are", () => {
    expect(options("status = ")).toEqual(["'running'", "'finished'"]);
    expect(options("status = 'fi")).toEqual(["'finished'"]);
    expect(options("status in ('running', ")).toEqual(["'running'", "'finished'"]);
    expect(options("project in (")).toEqual(["'pong'"]);
  });

  it("goes on after a comparison, a list and a bracket", () => {
    expect(options("config.lr < 1 ")).toEqual(["and", "or"]);
    expect(options("status in ('running' ")).toEqual([",", ")"]);
    expect(options("(config.lr < 1) ")).toEqual(["and", "or"]);
    expect(options("'x' ")).toEqual(["in tags"]);
    expect(options("'x' in tags ")).toEqual(["and", "or"]);
    expect(options("name is ")).toEqual(["null", "not null"]);
    expect(options("best > 1 and (")).toContain("name");
  });

  it("offers tags by their names", () => {
    expect(options("it")).toContain("'it''s' in tags");
  });

  it("replaces the word at the caret only", () => {
    const text = "conf and best > 1";
    expect(complete(text, 4, fields)).toMatchObject({ from: 0, to: 4 });
    expect(complete("status = 'ru", 12, fields)).toMatchObject({ from: 9, to: 12 });
  });

  it("works before the fields are there", () => {
    expect(complete("conf", 4, null).options.map((one) => one.text)).toEqual(["config."]);
  });
});
