// The numbers of several runs beside each other.

import type { Num } from "../lib/types";
import { grouped } from "../run/grouped";
import { numberOf } from "../run/points";
import type { MetricFacts, RunFacts } from "../run/types";

export type Which = "last" | "min" | "max";

export interface Cell {
  value: number | null;
  step: number | null;
  /** The difference to the baseline; null for itself, and where one of both has no number. */
  difference: number | null;
}

export interface Row {
  name: string;
  cells: (Cell | null)[];
}

function better(which: Which, one: number, other: number): boolean {
  return which === "min" ? one < other : one > other;
}

/** Choose one number of a metric: over stages and parts, the newest, smallest or largest. */
export function pick(facts: readonly MetricFacts[], which: Which): { value: number | null; step: number | null } | null {
  let best: { value: number | null; step: number | null } | null = null;
  let newest = -Infinity;
  for (const one of facts) {
    const raw: Num = which === "last" ? one.last_value : which === "min" ? one.min_value : one.max_value;
    const step = which === "last" ? one.last_step : which === "min" ? one.min_step : one.max_step;
    const value = numberOf(raw);
    if (which === "last") {
      if (best !== null && (one.last_s ?? 0) < newest) continue;
      newest = one.last_s ?? 0;
      best = { value, step };
    } else if (best === null || best.value === null || (value !== null && better(which, value, best.value))) best = { value, step };
  }
  return best;
}

/** Make a row a metric and a cell a run, with the difference to the baseline. */
export function rowsOf(runs: readonly RunFacts[], names: readonly string[], which: Which, baseline: string | null): Row[] {
  const base = runs.find((run) => run.id === baseline) ?? null;
  const byRun = new Map(runs.map((run) => [run.id, grouped(run.metrics, (one) => one.name)]));
  return names.map((name) => {
    const reference = base === null ? null : (pick(byRun.get(base.id)?.get(name) ?? [], which)?.value ?? null);
    const cells = runs.map((run): Cell | null => {
      const found = pick(byRun.get(run.id)?.get(name) ?? [], which);
      if (found === null) return null;
      const isComparable = run.id !== baseline && found.value !== null && reference !== null && Number.isFinite(found.value - reference);
      return { ...found, difference: isComparable ? (found.value as number) - (reference as number) : null };
    });
    return { name, cells };
  });
}

/** Read ids from the address bar: no doubles, at most fifty. */
export function idsOf(text: string | null): string[] {
  return [...new Set((text ?? "").split(",").map((one) => one.trim()).filter(Boolean))].slice(0, 50);
}
