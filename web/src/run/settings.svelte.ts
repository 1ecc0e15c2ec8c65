// How charts are shown. What one would share stands in the address bar; the last choice of each is also remembered as taste.

import type { Range } from "../chart/line";
import { place } from "../lib/router.svelte";
import type { XChoice } from "./points";

const TASTE = "playhead-charts";

interface Taste {
  x?: XChoice;
  smoothing?: number;
  pinned?: string[];
  folded?: string[];
  hasMarks?: boolean;
}

function taste(): Taste {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(TASTE) ?? "{}");
    return typeof kept === "object" && kept !== null ? (kept as Taste) : {};
  } catch {
    return {}; // Written by something else.
  }
}

/** Read a stretch of x from the address bar: `12:340`. */
export function rangeFrom(text: string | null): Range | null {
  const [from, to] = (text ?? "").split(":").map(Number);
  return from !== undefined && to !== undefined && Number.isFinite(from) && Number.isFinite(to) && to > from ? [from, to] : null;
}

export function rangeText(range: Range | null): string | null {
  return range === null ? null : range.map((value) => Number(value.toPrecision(12))).join(":");
}

export class ChartSettings {
  x = $state<XChoice>("step");
  smoothing = $state(0);
  isLogX = $state(false);
  isLogY = $state(false);
  isClipped = $state(false);
  hasMarks = $state(false);
  search = $state("");
  pinned = $state.raw<readonly string[]>([]);
  folded = $state.raw<readonly string[]>([]);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #pending: Record<string, string | null> = {};

  constructor() {
    const kept = taste();
    const query = place.query;
    const x = query.get("x") ?? kept.x ?? "step";
    this.x = x === "time" || x === "relative" ? "relative" : x === "wall" ? "wall" : "step";
    const smoothing = Number(query.get("smooth") ?? kept.smoothing ?? 0);
    this.smoothing = smoothing >= 0 && smoothing < 1 ? smoothing : 0;
    const log = query.get("log") ?? "";
    this.isLogX = log.includes("x");
    this.isLogY = log.includes("y");
    this.isClipped = query.get("clip") === "1";
    this.hasMarks = kept.hasMarks ?? false;
    this.search = query.get("q") ?? "";
    this.pinned = Array.isArray(kept.pinned) ? kept.pinned : [];
    this.folded = Array.isArray(kept.folded) ? kept.folded : [];
  }

  /** Put a change into the address bar, a moment later: a slider moves faster than browsers let it change. */
  share(changes: Record<string, string | null>): void {
    Object.assign(this.#pending, changes);
    clearTimeout(this.#timer);
    const path = location.pathname;
    this.#timer = setTimeout(() => {
      if (location.pathname === path) place.set(this.#pending);
      this.#pending = {};
    }, 200);
  }

  #keep(changes: Taste): void {
    localStorage.setItem(TASTE, JSON.stringify({ ...taste(), ...changes }));
  }

  setX(x: XChoice): void {
    this.x = x;
    this.#keep({ x });
    this.share({ x: x === "relative" ? "time" : x, range: null });
  }

  setSmoothing(value: number): void {
    this.smoothing = value;
    this.#keep({ smoothing: value });
    this.share({ smooth: String(value) });
  }

  setLog(axis: "x" | "y", isOn: boolean): void {
    if (axis === "x") this.isLogX = isOn;
    else this.isLogY = isOn;
    this.share({ log: `${this.isLogX ? "x" : ""}${this.isLogY ? "y" : ""}` || null });
  }

  setClipped(isOn: boolean): void {
    this.isClipped = isOn;
    this.share({ clip: isOn ? "1" : null });
  }

  setMarks(isOn: boolean): void {
    this.hasMarks = isOn;
    this.#keep({ hasMarks: isOn });
  }

  setSearch(text: string): void {
    this.search = text;
    this.share({ q: text || null });
  }

  togglePin(name: string): void {
    this.pinned = this.pinned.includes(name) ? this.pinned.filter((one) => one !== name) : [...this.pinned, name];
    this.#keep({ pinned: [...this.pinned] });
  }

  toggleFold(title: string): void {
    this.folded = this.folded.includes(title) ? this.folded.filter((one) => one !== title) : [...this.folded, title];
    this.#keep({ folded: [...this.folded] });
  }

  destroy(): void {
    clearTimeout(this.#timer);
  }
}
