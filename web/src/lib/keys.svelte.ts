// Keys that do things, and the list of them behind `?`.
//
//   $effect(() => bindKeys("Runs", [
//     { keys: "j", does: "next run", run: () => next() },
//     { keys: ["ArrowLeft", "shift+ArrowLeft"], does: "a frame back", run: (event) => back(event.shiftKey ? 10 : 1) },
//   ]));
//
// A key is written as in KeyboardEvent.key, with shift+, ctrl+ (also ⌘) and alt+ before it; a letter or sign that needs
// shift anyway ("?", "A") is written as it is. Keys are not taken while someone types, nor while a dialog is open, except
// where `always` says so. The newest binding of a key wins.

import { untrack } from "svelte";

export interface Binding {
  keys: string | readonly string[];
  does: string;
  run: (event: KeyboardEvent) => void;
  always?: boolean;
}

export interface Section {
  title: string;
  bindings: readonly Binding[];
}

class Keys {
  sections = $state.raw<Section[]>([]);
}

export const keys = new Keys();

/** Spell what was pressed, as bindings spell it. */
export function spelled(event: Pick<KeyboardEvent, "key" | "shiftKey" | "ctrlKey" | "metaKey" | "altKey">): string {
  const key = event.key === " " ? "Space" : event.key;
  const isSign = key.length === 1;
  return `${event.ctrlKey || event.metaKey ? "ctrl+" : ""}${event.altKey ? "alt+" : ""}${event.shiftKey && !isSign ? "shift+" : ""}${key}`;
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !["checkbox", "radio", "button", "range"].includes(target.type);
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || target.isContentEditable;
}

function press(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return;
  const key = spelled(event);
  const isBusy = isTyping(event.target) || document.querySelector("dialog[open]") !== null;
  for (const section of [...keys.sections].reverse()) {
    for (const one of section.bindings) {
      const all = typeof one.keys === "string" ? [one.keys] : one.keys;
      if (!all.includes(key) || (isBusy && !one.always)) continue;
      event.preventDefault();
      one.run(event);
      return;
    }
  }
}

addEventListener("keydown", press);

/** Take keys; gives the function that lets go of them. */
export function bindKeys(title: string, bindings: readonly Binding[]): () => void {
  const section: Section = { title, bindings };
  keys.sections = [...untrack(() => keys.sections), section]; // An effect that binds keys does not depend on others that do.
  return () => {
    keys.sections = keys.sections.filter((one) => one !== section);
  };
}
