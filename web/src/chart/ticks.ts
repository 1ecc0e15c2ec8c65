// The words on the axes and in the read-out.

import type { XKind } from "./line";

const UNITS: readonly (readonly [number, string])[] = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];

function trimmed(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** Write a tick so that ticks `gap` apart differ: 0.25, −1.5k, 2e−7. */
export function tick(value: number, gap: number): string {
  return signed(plainTick(value, gap));
}

/** Write the minus sign, which is as wide as a digit, where JavaScript writes a hyphen. */
function signed(text: string): string {
  return text.replaceAll("-", "−");
}

function plainTick(value: number, gap: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e15) return trimmed(value.toExponential(2).replace(/\.?0+e/, "e")).replace("e+", "e");
  for (const [unit, letter] of UNITS) {
    if (size >= unit) return `${trimmed((value / unit).toFixed(decimals(gap / unit)))}${letter}`;
  }
  return trimmed(value.toFixed(decimals(gap)));
}

/** How many digits behind the point it takes to tell ticks apart: 2 for a gap of 0.25. */
function decimals(gap: number): number {
  if (!(gap > 0)) return 3;
  for (let digits = 0; digits < 8; digits += 1) {
    const scaled = gap * 10 ** digits;
    if (scaled >= 0.999 && Math.abs(scaled - Math.round(scaled)) < 1e-3 * scaled) return digits;
  }
  return 8;
}

/** Write a value as exactly as one reads it: five digits. */
export function valueText(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "NaN";
  if (value === Infinity) return "∞";
  if (value === -Infinity) return "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text = Number.isInteger(value) && size < 1e7 ? value.toLocaleString("en-US")
    : size >= 1e7 || size < 1e-4 ? value.toExponential(3).replace("e+", "e")
    : String(Number(value.toPrecision(5)));
  return signed(text);
}

/** Write seconds since a start as a clock that fits the distance between ticks: 3.5s, 2:05, 1:02:05, 3d 04:00. */
export function elapsed(seconds: number, gap = 1): string {
  const sign = seconds < 0 ? "−" : "";
  const size = Math.abs(seconds);
  if (size < 60 && gap < 60) return `${sign}${trimmed(size.toFixed(Math.min(decimals(gap), 3)))}s`;
  const fraction = gap < 1 ? Math.min(decimals(gap), 3) : 0;
  const rounded = Number(size.toFixed(fraction));
  const days = Math.floor(rounded / 86400);
  const hours = Math.floor((rounded % 86400) / 3600);
  const minutes = Math.floor((rounded % 3600) / 60);
  const rest = (rounded % 60).toFixed(fraction).padStart(fraction ? 3 + fraction : 2, "0");
  const two = (value: number): string => String(value).padStart(2, "0");
  if (days) return `${sign}${days}d ${two(hours)}:${two(minutes)}`;
  if (hours) return `${sign}${hours}:${two(minutes)}:${rest}`;
  return `${sign}${minutes}:${rest}`;
}

/** Write an x of the read-out. */
export function xText(x: number, kind: XKind, gap = 0.01, word = "step"): string {
  if (kind === "step") return `${word} ${Number.isInteger(x) ? signed(x.toLocaleString("en-US")) : valueText(x)}`;
  if (kind === "relative") return elapsed(x, gap);
  const date = new Date(x * 1000);
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** A step between ticks as people choose it: 1, 2 or 5 times a power of ten. */
function nice(gap: number): number {
  const power = 10 ** Math.floor(Math.log10(gap));
  const digit = gap / power;
  return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
}

/** Choose ticks for a logarithmic axis: powers of ten where there are many, 1-2-5 where few, even steps within one. */
export function logTicks(min: number, max: number, most: number): number[] {
  const decades = Math.log10(max / min);
  const found: number[] = [];
  if (decades < 0.7) {
    const gap = nice((max - min) / Math.max(most - 1, 1));
    for (let at = Math.ceil(min / gap) * gap; at <= max; at += gap) found.push(Number(at.toPrecision(12)));
    return found;
  }
  const digits = decades * 3 <= most ? [1, 2, 5] : [1];
  const every = digits.length > 1 ? 1 : Math.max(Math.ceil(decades / most), 1);
  for (let power = Math.floor(Math.log10(min)); power <= Math.log10(max); power += 1) {
    if (power % every !== 0) continue;
    for (const digit of digits) {
      const at = Number(`${digit}e${power}`);
      if (at >= min && at <= max) found.push(at);
    }
  }
  return found;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** Write seconds since 1970 as a tick: the time of day, or the day where one begins. */
export function wallTick(at: number, gap: number): string {
  const date = new Date(at * 1000);
  const two = (value: number): string => String(value).padStart(2, "0");
  const isMidnight = date.getHours() === 0 && date.getMinutes() === 0 && date.getSeconds() === 0;
  if (gap >= 86400 || isMidnight) return `${MONTHS[date.getMonth()]} ${date.getDate()}`;
  const time = `${two(date.getHours())}:${two(date.getMinutes())}`;
  if (gap < 1) return `${time}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, "0")}`;
  return gap < 60 ? `${time}:${two(date.getSeconds())}` : time;
}
