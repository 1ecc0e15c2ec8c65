import { beforeAll, expect, it, vi } from "vitest";

type Keys = typeof import("./keys.svelte");

let keys: Keys;
let press: (event: KeyboardEvent) => void;

// No browser here: the page's parts that this file touches are stood in for by the least that can be.
class Element {}

beforeAll(async () => {
  vi.stubGlobal("addEventListener", (_: string, listener: (event: KeyboardEvent) => void) => (press = listener));
  vi.stubGlobal("document", { querySelector: () => null });
  for (const name of ["HTMLElement", "HTMLInputElement", "HTMLTextAreaElement", "HTMLSelectElement"]) vi.stubGlobal(name, Element);
  keys = await import("./keys.svelte");
});

function event(key: string, more: Partial<KeyboardEvent> = {}): KeyboardEvent {
  return { key, shiftKey: false, ctrlKey: false, metaKey: false, altKey: false, defaultPrevented: false, isComposing: false, target: null, preventDefault: () => undefined, ...more } as KeyboardEvent;
}

it("spells what was pressed", () => {
  expect(keys.spelled(event("?", { shiftKey: true }))).toBe("?");
  expect(keys.spelled(event("ArrowLeft", { shiftKey: true }))).toBe("shift+ArrowLeft");
  expect(keys.spelled(event("k", { metaKey: true }))).toBe("ctrl+k");
  expect(keys.spelled(event(" "))).toBe("Space");
});

it("gives a key to the newest that wants it, and back when that one lets go", () => {
  const done: string[] = [];
  const one = keys.bindKeys("One", [{ keys: ["j", "ArrowDown"], does: "a", run: () => done.push("one") }]);
  const two = keys.bindKeys("Two", [{ keys: "j", does: "b", run: () => done.push("two") }]);
  press(event("j"));
  press(event("ArrowDown"));
  two();
  press(event("j"));
  press(event("j", { ctrlKey: true }));
  press(event("j", { defaultPrevented: true }));
  one();
  press(event("j"));
  expect(done).toEqual(["two", "one", "one"]);
  expect(keys.keys.sections).toEqual([]);
});
