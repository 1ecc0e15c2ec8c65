// Nested values as rows: a config, an environment, a summary.

import type { Value } from "../lib/types";

export interface TreeRow {
  /** The whole name, with dots. */
  path: string;
  name: string;
  depth: number;
  /** How many there are below; null for a value. */
  children: number | null;
  value: Value;
}

function isBranch(value: Value): value is readonly Value[] | { readonly [name: string]: Value } {
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some((one) => typeof one === "object" && one !== null);
  return Object.keys(value).length > 0;
}

function members(value: readonly Value[] | { readonly [name: string]: Value }): [string, Value][] {
  return Array.isArray(value) ? value.map((one, index) => [String(index), one]) : Object.entries(value);
}

function fits(path: string, value: Value, search: string): boolean {
  if (path.toLowerCase().includes(search)) return true;
  return !isBranch(value) && textOf(value).toLowerCase().includes(search);
}

/** A value on one line, as Python's users know it from JSON. */
export function textOf(value: Value): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function hasMatch(path: string, value: Value, search: string): boolean {
  if (fits(path, value, search)) return true;
  return isBranch(value) && members(value).some(([name, one]) => hasMatch(`${path}.${name}`, one, search));
}

/** List what is in sight: all but what is folded, or, while searching, what matches and what it lies in. */
export function treeRows(
  tree: { readonly [name: string]: Value },
  search: string,
  folded: ReadonlySet<string>,
  parent = "",
  depth = 0,
): TreeRow[] {
  const wanted = search.trim().toLowerCase();
  const rows: TreeRow[] = [];
  for (const [name, value] of Object.entries(tree)) {
    const path = parent ? `${parent}.${name}` : name;
    if (wanted && !hasMatch(path, value, wanted)) continue;
    if (!isBranch(value)) {
      rows.push({ path, name, depth, children: null, value });
      continue;
    }
    const below = Object.fromEntries(members(value));
    rows.push({ path, name, depth, children: Object.keys(below).length, value });
    if (wanted || !folded.has(path)) rows.push(...treeRows(below, wanted, folded, path, depth + 1));
  }
  return rows;
}
