// Numbers, durations, dates and sizes as people read them. All of it is plain text in, plain text out.

import type { Num, Value } from "./types";

/** A measured number in at most six digits: 0.03125, 1.2e-7, 1,234.5, ∞; an absent one is "–". */
export function number(value: Num | undefined): string {
  if (value === null || value === undefined) return "–";
  const real = Number(value);
  if (Number.isNaN(real)) return "NaN";
  if (!Number.isFinite(real)) return real > 0 ? "∞" : "−∞";
  if (real === 0) return "0";
  const size = Math.abs(real);
  if (Number.isInteger(real) && size < 1e15) return grouped(real);
  if (size < 1e-4 || size >= 1e9) return real.toExponential(3).replace(/\.?0+e/, "e").replace("e+", "e").replaceAll("-", "−");
  const text = size >= 1000 ? grouped(Number(real.toFixed(2))) : String(Number(real.toPrecision(5)));
  return text.replace("-", "−");
}

/** A whole number with thin groups: 12,345. */
export function count(value: number): string {
  return grouped(value);
}

/** "1 run", "12,345 runs". */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${grouped(value)} ${value === 1 ? one : many}`;
}

const GROUPING = new Intl.NumberFormat("en-US", { maximumFractionDigits: 2 });

function grouped(value: number): string {
  return GROUPING.format(value).replace("-", "−");
}

/** A large count in three digits: 950, 12.3k, 4.1M. */
export function short(value: number): string {
  for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]] as const) {
    if (Math.abs(value) >= size * 0.9995) return `${Number((value / size).toPrecision(3))}${unit}`;
  }
  return String(value);
}

/** Seconds as "12 ms", "3.2 s", "4m 05s", "2h 13m", "3d 4h". */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  const size = Math.abs(seconds);
  const sign = seconds < 0 ? "−" : "";
  if (size === 0) return "0 s";
  if (size < 0.9995) return `${sign}${Number((size * 1000).toPrecision(3))} ms`;
  if (size < 59.95) return `${sign}${size.toFixed(1).replace(/\.0$/, "")} s`;
  const whole = Math.round(size);
  const [days, hours, minutes] = [Math.floor(whole / 86400), Math.floor(whole / 3600) % 24, Math.floor(whole / 60) % 60];
  if (whole < 3600) return `${sign}${minutes}m ${pad(whole % 60)}s`;
  if (whole < 86400) return `${sign}${hours}h ${pad(minutes)}m`;
  return `${sign}${days}d ${hours}h`;
}

/** Seconds as a clock: "0:03.250", "1:02:03.4"; `digits` behind the second. */
export function clock(seconds: number, digits = 1): string {
  const scale = 10 ** digits;
  const ticks = Math.round(Math.abs(seconds) * scale);
  const whole = Math.floor(ticks / scale);
  const rest = digits > 0 ? `.${pad(ticks % scale, digits)}` : "";
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  const head = hours > 0 ? `${hours}:${pad(minutes)}` : String(minutes);
  return `${seconds < 0 && ticks > 0 ? "−" : ""}${head}:${pad(whole % 60)}${rest}`;
}

function pad(value: number, width = 2): string {
  return String(value).padStart(width, "0");
}

/** How long ago, in one unit: "just now", "5 min ago", "3 h ago", "2 days ago"; older than a month as a date. */
export function ago(at: number, now: number): string {
  const past = now - at;
  if (past < 45) return "just now";
  if (past < 3600) return `${Math.max(1, Math.round(past / 60))} min ago`;
  if (past < 86400) return `${Math.round(past / 3600)} h ago`;
  const days = Math.round(past / 86400);
  return days <= 30 ? `${days} day${days === 1 ? "" : "s"} ago` : date(at);
}

/** Local "2026-11-15". */
export function date(at: number): string {
  const when = new Date(at * 1000);
  return `${when.getFullYear()}-${pad(when.getMonth() + 1)}-${pad(when.getDate())}`;
}

/** Local "2026-11-15 08:30:12". */
export function dateTime(at: number | null | undefined): string {
  if (at === null || at === undefined) return "–";
  const when = new Date(at * 1000);
  return `${date(at)} ${pad(when.getHours())}:${pad(when.getMinutes())}:${pad(when.getSeconds())}`;
}

/** An absolute stamp (nanoseconds as text) plus seconds, as seconds since 1970. Precise to a microsecond or so. */
export function stampSeconds(ns: string, plus = 0): number {
  const whole = BigInt(ns);
  return Number(whole / 1_000_000_000n) + Number(whole % 1_000_000_000n) / 1e9 + plus;
}

/** "532 B", "1.2 kB", "3.4 MB" (powers of 1000). */
export function bytes(size: number | null | undefined): string {
  if (size === null || size === undefined) return "–";
  if (size < 1000) return `${size} B`;
  const units = ["kB", "MB", "GB", "TB", "PB"];
  let power = 0;
  let rest = size / 1000;
  while (rest >= 999.5 && power < units.length - 1) {
    rest /= 1000;
    power += 1;
  }
  return `${Number(rest.toPrecision(3))} ${units[power]}`;
}

/** Any value of a config, a summary or a metric on one line. */
export function value(any: Value | undefined): string {
  if (any === null || any === undefined) return "–";
  if (typeof any === "number") return number(any);
  if (any === "Infinity" || any === "-Infinity") return number(any);
  if (typeof any === "string") return any;
  if (typeof any === "boolean") return any ? "true" : "false";
  return JSON.stringify(any);
}
