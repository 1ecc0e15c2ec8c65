// Signals as lines of a chart.

import type { Line } from "../chart/line";
import { PALETTE } from "../lib/colours";
import type { SignalFacts, SignalValues } from "./types";

const USUAL = 4;
export const MOST_COLUMNS = 64;

/** The signals that can be drawn. */
export function drawable(signals: readonly SignalFacts[]): SignalFacts[] {
  return signals.filter((one) => (one.kind === "scalar" || one.kind === "vector") && one.length > 0);
}

/** The rewards of each agent added up, as if they were recorded. */
export function returnsOf(signals: readonly SignalFacts[]): SignalFacts[] {
  return signals
    .filter((one) => one.kind === "scalar" && /(^|\.)reward$/.test(one.name))
    .map((one) => ({ ...one, name: one.name.replace(/reward$/, "return"), ref: null }))
    .filter((one) => !signals.some((other) => other.name === one.name));
}

/** What is drawn before anyone chose. */
export function usualSignals(signals: readonly SignalFacts[], isReplay: boolean): string[] {
  const names = drawable(signals).map((one) => one.name);
  if (isReplay) {
    const scores = names.filter((name) => /(^|\.)(reward|return)$/.test(name));
    if (scores.length > 0) return scores.slice(0, USUAL);
  }
  return names.slice(0, USUAL - 1);
}

/** One line a column. `placeOf` says where a time lies on the axis. */
export function linesOf(facts: SignalFacts, values: SignalValues, placeOf: (time: number) => number, hidden: ReadonlySet<number>): Line[] {
  const x = values.times.map(placeOf);
  const isOne = values.columns.length === 1;
  return values.columns.slice(0, MOST_COLUMNS).flatMap((column, at) => {
    if (hidden.has(at)) return [];
    return [{
      key: `${facts.name}/${at}`,
      label: isOne ? facts.name : columnName(facts, values, at),
      colour: isOne ? "var(--link)" : colourOf(at),
      x,
      y: column.map(plain),
      isStepped: true,
    }];
  });
}

export function columnName(facts: Pick<SignalFacts, "names">, values: Pick<SignalValues, "names">, at: number): string {
  return facts.names?.[at] || values.names?.[at] || String(at);
}

export function colourOf(column: number): string {
  return PALETTE[column % PALETTE.length]!;
}

function plain(value: number | string | boolean | null): number | null {
  if (typeof value === "number") return value;
  return typeof value === "boolean" ? Number(value) : null;
}

/** Add up rewards: the return so far. What is not a number adds nothing. */
export function summed(values: SignalValues): SignalValues {
  let sum = 0;
  const column = (values.columns[0] ?? []).map((one) => (sum += plain(one) ?? 0));
  return { ...values, columns: [column], names: null };
}
