// Colours of terminals: text with escape codes becomes pieces with a style each. Codes that move the cursor are dropped.

export interface Piece {
  text: string;
  /** CSS, made here from numbers alone: never from the text. */
  style: string;
}

const NAMES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"] as const;
// Every other escape sequence: those of the terminal, of its title, and single letters.
const OTHER = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_a-z])/g;
// eslint-disable-next-line no-control-regex
const CODES = /\x1b\[([0-9;]*)m/g;

interface State {
  colour: string | null;
  ground: string | null;
  isBold: boolean;
  isDim: boolean;
  isItalic: boolean;
  isUnderlined: boolean;
}

const PLAIN: State = { colour: null, ground: null, isBold: false, isDim: false, isItalic: false, isUnderlined: false };

function named(index: number): string {
  return `var(--ansi-${NAMES[index % 8]})`;
}

function indexed(index: number): string {
  if (index < 16) return named(index);
  if (index >= 232) {
    const grey = 8 + (index - 232) * 10;
    return `rgb(${grey} ${grey} ${grey})`;
  }
  const level = (value: number): number => (value === 0 ? 0 : 55 + value * 40);
  const cube = index - 16;
  return `rgb(${level(Math.floor(cube / 36))} ${level(Math.floor(cube / 6) % 6)} ${level(cube % 6)})`;
}

function byte(value: number | undefined): number {
  return Math.min(Math.max(Math.trunc(value ?? 0), 0), 255);
}

function applied(state: State, codes: readonly number[]): State {
  let next = { ...state };
  for (let i = 0; i < codes.length; i += 1) {
    const code = codes[i] as number;
    if (code === 0) next = { ...PLAIN };
    else if (code === 1) next.isBold = true;
    else if (code === 2) next.isDim = true;
    else if (code === 3) next.isItalic = true;
    else if (code === 4) next.isUnderlined = true;
    else if (code === 22) next.isBold = next.isDim = false;
    else if (code === 23) next.isItalic = false;
    else if (code === 24) next.isUnderlined = false;
    else if (code >= 30 && code <= 37) next.colour = named(code - 30);
    else if (code >= 90 && code <= 97) next.colour = named(code - 90);
    else if (code === 39) next.colour = null;
    else if (code >= 40 && code <= 47) next.ground = named(code - 40);
    else if (code >= 100 && code <= 107) next.ground = named(code - 100);
    else if (code === 49) next.ground = null;
    else if (code === 38 || code === 48) {
      let colour: string | null = null;
      if (codes[i + 1] === 5) {
        colour = indexed(byte(codes[i + 2]));
        i += 2;
      } else if (codes[i + 1] === 2) {
        colour = `rgb(${byte(codes[i + 2])} ${byte(codes[i + 3])} ${byte(codes[i + 4])})`;
        i += 4;
      }
      if (code === 38) next.colour = colour;
      else next.ground = colour;
    }
  }
  return next;
}

function styleOf(state: State): string {
  const parts: string[] = [];
  if (state.colour) parts.push(`color:${state.colour}`);
  if (state.ground) parts.push(`background:${state.ground}`);
  if (state.isBold) parts.push("font-weight:600");
  if (state.isDim) parts.push("opacity:0.65");
  if (state.isItalic) parts.push("font-style:italic");
  if (state.isUnderlined) parts.push("text-decoration:underline");
  return parts.join(";");
}

/** What a terminal would show of a line at its end: what comes after the last return to its beginning. */
export function settled(text: string): string {
  const whole = text.replace(/\r+$/, "");
  return whole.slice(whole.lastIndexOf("\r") + 1);
}

/** Take a line apart at its colour codes. */
export function pieces(text: string): Piece[] {
  const line = settled(text);
  if (!line.includes("\x1b")) return [{ text: line, style: "" }];
  const found: Piece[] = [];
  let state = PLAIN;
  let from = 0;
  const add = (part: string): void => {
    const clean = part.replace(OTHER, "").replaceAll("\x1b", "");
    if (clean) found.push({ text: clean, style: styleOf(state) });
  };
  for (const match of line.matchAll(CODES)) {
    add(line.slice(from, match.index));
    state = applied(state, match[1] ? match[1].split(";").map(Number) : [0]);
    from = match.index + match[0].length;
  }
  add(line.slice(from));
  return found;
}

/** A line without any codes, as it is searched and copied. */
export function plain(text: string): string {
  return pieces(text).map((piece) => piece.text).join("");
}

export interface Marked extends Piece {
  isHit: boolean;
}

/** Cut pieces where the search matches, so that matches can be marked. */
export function marked(all: readonly Piece[], search: RegExp | null): Marked[] {
  if (search === null) return all.map((piece) => ({ ...piece, isHit: false }));
  const text = all.map((piece) => piece.text).join("");
  const hits: [number, number][] = [];
  for (const match of text.matchAll(search)) {
    if (match[0].length > 0) hits.push([match.index, match.index + match[0].length]);
    if (hits.length >= 200) break;
  }
  if (hits.length === 0) return all.map((piece) => ({ ...piece, isHit: false }));
  const cut: Marked[] = [];
  let at = 0;
  for (const piece of all) {
    const end = at + piece.text.length;
    let from = at;
    for (const [start, stop] of hits) {
      if (stop <= from || start >= end) continue;
      if (start > from) cut.push({ ...piece, text: text.slice(from, start), isHit: false });
      cut.push({ ...piece, text: text.slice(Math.max(start, from), Math.min(stop, end)), isHit: true });
      from = Math.min(stop, end);
    }
    if (from < end) cut.push({ ...piece, text: text.slice(from, end), isHit: false });
    at = end;
  }
  return cut;
}
