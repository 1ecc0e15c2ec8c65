// A stretch of a run's log: one piece of the file, grown at both ends as one scrolls, never the whole of it.

import { get } from "../lib/api";
import { patternOf } from "../lib/pattern";
import type { LogAnswer, LogLine } from "./types";

const AT_ONCE = 500;
const AT_MOST = 20_000;

export class LogStretch {
  lines = $state.raw<readonly LogLine[]>([]);
  start = $state(0);
  end = $state(0);
  size = $state(0);
  isLoaded = $state(false);
  error = $state.raw<unknown>(null);
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(readonly path: string) {}

  get isAtStart(): boolean {
    return this.start === 0;
  }

  get isAtEnd(): boolean {
    return this.end >= this.size;
  }

  async #ask(query: Record<string, number>): Promise<LogAnswer | null> {
    try {
      const answer = await get<LogAnswer>(`${this.path}/log`, query);
      this.size = answer.size;
      this.error = null;
      return answer;
    } catch (error) {
      this.error = error;
      return null;
    }
  }

  /** Do one thing after the other: they all change the same stretch. */
  async #next<T>(work: () => Promise<T>): Promise<T> {
    this.#waiting += 1;
    const turn = this.#last.then(work).finally(() => (this.#waiting -= 1));
    this.#last = turn;
    return turn;
  }

  #replace(answer: LogAnswer): void {
    this.lines = answer.lines;
    this.start = answer.start;
    this.end = answer.end;
    this.isLoaded = true;
  }

  async openEnd(): Promise<void> {
    return this.#next(async () => {
      const answer = await this.#ask({ tail: AT_ONCE });
      if (answer) this.#replace(answer);
    });
  }

  /** Show the file around a line that begins at `byte`. */
  async openAt(byte: number): Promise<void> {
    return this.#next(async () => {
      const answer = await this.#ask({ from: byte, lines: AT_ONCE });
      if (!answer) return;
      this.#replace(answer);
      await this.#before(100);
    });
  }

  /** Add what lies before; says how many lines that were. Nothing while something else is under way. */
  async older(): Promise<number> {
    return this.#waiting > 0 ? 0 : this.#next(() => this.#before(AT_ONCE));
  }

  async #before(lines: number): Promise<number> {
    if (this.isAtStart) return 0;
    const answer = await this.#ask({ before: this.start, lines });
    if (!answer || answer.lines.length === 0) return 0;
    this.lines = [...answer.lines, ...this.lines];
    this.start = answer.start;
    if (this.lines.length > AT_MOST) {
      this.end = (this.lines[AT_MOST] as LogLine).at;
      this.lines = this.lines.slice(0, AT_MOST);
    }
    return answer.lines.length;
  }

  /** Add what lies behind; says how many lines were dropped at the other end, to keep the list in bounds. */
  async newer(): Promise<number> {
    if (this.#waiting > 0) return 0;
    return this.#next(async () => {
      const answer = await this.#ask({ from: this.end, lines: AT_ONCE });
      if (!answer || answer.lines.length === 0) return 0;
      const all = [...this.lines, ...answer.lines];
      const dropped = Math.max(all.length - AT_MOST, 0);
      this.lines = dropped > 0 ? all.slice(dropped) : all;
      if (dropped > 0) this.start = (this.lines[0] as LogLine).at;
      this.end = answer.end;
      return dropped;
    });
  }
}

/** Make an expression that finds a text, or null where there is nothing to find. */
export function finder(text: string, isRegex: boolean): RegExp | null {
  if (text === "") return null;
  return isRegex ? patternOf(text, "gi") : new RegExp(text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"), "gi");
}
