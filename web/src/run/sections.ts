// Which charts a run page shows, and under which headings.

import { isBounded, patternOf } from "../lib/pattern";
import { grouped } from "./grouped";

export interface Section {
  title: string;
  names: string[];
}

/** A metric's heading: what stands before its first slash; those without one come together. */
export function prefixOf(name: string): string {
  const cut = name.indexOf("/");
  return cut > 0 ? name.slice(0, cut) : "";
}

export function isSystem(name: string): boolean {
  return name.startsWith("system/");
}

export type Search = { matches: (name: string) => boolean; problem: string | null };

/** Read a search: a regular expression, or, where it is none yet, the text as it stands. */
export function searchOf(text: string): Search {
  if (text === "") return { matches: () => true, problem: null };
  const expression = patternOf(text, "i");
  if (expression !== null) return { matches: (name) => expression.test(name), problem: null };
  const plain = text.toLowerCase();
  const why = isBounded(text) ? "not a regular expression" : "an expression that could take for ever";
  return { matches: (name) => name.toLowerCase().includes(plain), problem: `${why}: taken as plain text` };
}

/** Sort names as people do: step_2 before step_10. */
const byName = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** Put metrics under headings: pinned ones first, then those without a prefix, then by prefix. */
export function sectionsOf(names: Iterable<string>, pinned: readonly string[], matches: (name: string) => boolean): Section[] {
  const all = [...new Set(names)].filter(matches);
  const there = new Set(all);
  const sections: Section[] = [];
  const top = pinned.filter((name) => there.has(name));
  if (top.length > 0) sections.push({ title: "Pinned", names: top });
  const pins = new Set(top);
  const rest = grouped(all.filter((name) => !pins.has(name)), prefixOf);
  for (const prefix of [...rest.keys()].sort(byName.compare)) {
    sections.push({ title: prefix, names: (rest.get(prefix) ?? []).sort(byName.compare) });
  }
  return sections;
}
