// Regular expressions that people type, or that a link brings: one that would take for ever is not run at all.

const MOST_REPEATS = 4; // "any number of" in one expression; each multiplies the work by the length of a line

/** Compile an expression; null where it is none, or where its work could grow without bounds. */
export function patternOf(text: string, flags: string): RegExp | null {
  if (!isBounded(text)) return null;
  try {
    return new RegExp(text, flags);
  } catch {
    return null;
  }
}

/** Whether no group that repeats or chooses is itself repeated, and few things are. */
export function isBounded(text: string): boolean {
  const groups = [false]; // for each open group, whether something in it repeats or chooses
  let repeats = 0;
  let closed = false; // the group that just ended repeats or chooses
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at] as string;
    let ended = false;
    if (sign === "\\") {
      at += 1;
    } else if (sign === "[") {
      at = endOfClass(text, at);
    } else if (sign === "(") {
      groups.push(false);
    } else if (sign === ")") {
      ended = groups.length > 1 && (groups.pop() as boolean);
      if (ended) groups[groups.length - 1] = true;
    } else if (sign === "|") {
      groups[groups.length - 1] = true;
    } else if (sign === "*" || sign === "+" || /^\{\d+,\d*\}/.test(text.slice(at))) {
      repeats += 1;
      if (closed || repeats > MOST_REPEATS) return false;
      groups[groups.length - 1] = true;
    }
    closed = ended;
  }
  return true;
}

function endOfClass(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === "]") return at;
  }
  return text.length;
}
