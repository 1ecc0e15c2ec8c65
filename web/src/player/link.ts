// The player's state as the address bar holds it: ?t=12.3&speed=2&loop=1.5..3&base=time&signals=reward,joints

export interface View {
  time: number | null;
  speed: number;
  /** The range that is repeated; null when nothing is. Its ends are null where they are the episode's. */
  loop: { from: number | null; to: number | null } | null;
  /** Null is the usual one for this kind of episode. */
  base: "time" | "steps" | null;
  /** The charts; null are the usual ones. */
  signals: string[] | null;
}

/** Read it; what makes no sense is left out. */
export function readView(query: URLSearchParams): View {
  const base = query.get("base");
  const speed = amount(query.get("speed"));
  const signals = query.get("signals");
  return {
    time: amount(query.get("t")),
    speed: speed !== null && speed > 0 ? speed : 1,
    loop: readLoop(query.get("loop")),
    base: base === "time" || base === "steps" ? base : null,
    signals: signals === null ? null : signals.split(",").filter((name) => name && name !== "none").map(decoded),
  };
}

/** Spell it as changes of a query string; null leaves a part out. */
export function spellView(view: Omit<View, "time"> & { time: string | null }): Record<string, string | null> {
  return {
    t: view.time,
    speed: view.speed === 1 ? null : String(view.speed),
    loop: view.loop === null ? null : `${view.loop.from ?? ""}..${view.loop.to ?? ""}`,
    base: view.base,
    signals: view.signals === null ? null : view.signals.map(encoded).join(",") || "none",
  };
}

function readLoop(text: string | null): View["loop"] {
  const match = text === null ? null : /^(.*?)\.\.(.*)$/.exec(text);
  if (!match) return null;
  return { from: amount(match[1] || null), to: amount(match[2] || null) };
}

function amount(text: string | null): number | null {
  if (text === null || text.trim() === "") return null;
  const value = Number(text);
  return Number.isFinite(value) ? value : null;
}

function encoded(name: string): string {
  return name.replace(/[%,]/g, encodeURIComponent);
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

export type Jump = { step: number } | { time: number };

/** Read what someone typed to go to: "1200" or "#1200" is a step, "12.5s", "1:02.5" and "75%" are times. */
export function readJump(text: string, duration: number): Jump | null {
  const trimmed = text.trim();
  let match = /^#?(\d+)$/.exec(trimmed);
  if (match) return { step: Number(match[1]) };
  match = /^(\d+(?:\.\d+)?)%$/.exec(trimmed);
  if (match) return { time: (Number(match[1]) / 100) * duration };
  match = /^(\d*\.?\d+)\s*s?$/.exec(trimmed);
  if (match) return { time: Number(match[1]) };
  match = /^(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)$/.exec(trimmed);
  if (match) return { time: Number(match[1] ?? 0) * 3600 + Number(match[2]) * 60 + Number(match[3]) };
  return null;
}
