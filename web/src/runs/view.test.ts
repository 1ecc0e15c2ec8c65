import { describe, expect, it } from "vitest";

import { clicked, columnsText, filterQuery, isDown, isFiltered, listQuery, NEWEST_FIRST, orderText, tagsText, viewOf } from "./view";

function view(text: string, kept = "") {
  return viewOf(new URLSearchParams(text), new URLSearchParams(kept));
}

describe("the address", () => {
  it("says everything of the view", () => {
    const shown = view("q=config.lr<1&project=pong&status=running&tag=a,b%252Cc&order=-best,name&cols=name:300,metric.loss&spark=loss&group=config.lr&deleted=1");
    expect(shown).toEqual({
      text: "config.lr<1",
      project: "pong",
      status: "running",
      tags: ["a", "b,c"],
      order: [{ name: "best", isFalling: true }, { name: "name", isFalling: false }],
      columns: [{ name: "name", width: 300 }, { name: "metric.loss" }],
      spark: "loss",
      group: "config.lr",
      isBin: true,
    });
  });

  it("is read back as it was written", () => {
    const columns = [{ name: "status" }, { name: "metric.a,b:c", width: 120 }, { name: "config.50%" }];
    const query = new URLSearchParams({ cols: columnsText(columns), tag: tagsText(["x,y", "z"]), order: orderText([{ name: "points", isFalling: false }]) });
    const again = viewOf(new URLSearchParams(query.toString()));
    expect(again.columns).toEqual(columns);
    expect(again.tags).toEqual(["x,y", "z"]);
    expect(orderText(again.order)).toBe("points");
  });

  it("goes before what was kept, which goes before the defaults", () => {
    expect(view("", "cols=name,points&spark=acc").columns).toEqual([{ name: "name" }, { name: "points" }]);
    expect(view("cols=name", "cols=name,points&spark=acc")).toMatchObject({ columns: [{ name: "name" }], spark: "acc" });
    expect(view("").columns.length).toBe(9);
    expect(view("").order).toBe(NEWEST_FIRST);
  });

  it("begins the bin with what was deleted last", () => {
    expect(orderText(view("deleted=1").order)).toBe("-deleted_at");
    expect(view("deleted=1").columns.map(({ name }) => name)).toContain("deleted");
  });

  it("ignores columns that cannot be, twins, and silly widths", () => {
    expect(view("cols=nonsense,name:9e9,name,__proto__,status:x,config.").columns).toEqual([{ name: "name", width: 800 }, { name: "status" }]);
  });
});

describe("the question to the server", () => {
  it("asks for what rows do not carry, and for curves only where they are shown", () => {
    expect(listQuery(view("cols=name,config.lr,best,metric.loss&spark=loss"))).toMatchObject({ columns: "config.lr,metric.loss", spark: null, order: "-created_at" });
    expect(listQuery(view("cols=name,spark&spark=loss"))).toMatchObject({ columns: "", spark: "loss" });
  });

  it("turns words into a condition", () => {
    expect(filterQuery(view("q=ppo"))["where"]).toContain("name like '%ppo%'");
    expect(filterQuery(view("q=best > 1"))["where"]).toBe("best > 1");
    expect(listQuery(view("cols=metric.a/b&order=-metric.a/b"))).toMatchObject({ columns: "metric.`a/b`", order: "-metric.`a/b`" });
    expect(isFiltered(view("order=best&deleted=1"))).toBe(false);
    expect(isFiltered(view("tag=a"))).toBe(true);
  });
});

describe("clicks on headers", () => {
  it("turn an order round and then take it back", () => {
    const first = clicked(NEWEST_FIRST, "best", true, false);
    expect(orderText(first)).toBe("best");
    expect(isDown({ name: "best", isFalling: false })).toBe(true);
    expect(isDown({ name: "points", isFalling: false })).toBe(false);
    const second = clicked(first, "best", true, false);
    expect(orderText(second)).toBe("-best");
    expect(orderText(clicked(second, "best", true, false))).toBe("-created_at");
    expect(orderText(clicked(NEWEST_FIRST, "name", false, false))).toBe("name");
    expect(orderText(clicked(NEWEST_FIRST, "created_at", true, false))).toBe("created_at");
  });

  it("add with shift", () => {
    const one = clicked(NEWEST_FIRST, "project", false, false);
    const two = clicked(one, "best", true, true);
    expect(orderText(two)).toBe("project,best");
    expect(orderText(clicked(two, "best", true, true))).toBe("project,-best");
    expect(orderText(clicked(clicked(two, "best", true, true), "best", true, true))).toBe("project");
    expect(orderText(clicked(two, "project", false, false))).toBe("project");
  });
});
