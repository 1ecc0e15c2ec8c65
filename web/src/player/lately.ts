// Asking again and again for what changes with the playhead, without a queue: one question at a time, and only the newest
// of those that came up meanwhile is asked next.

export class Lately<Q, A> {
  #busy = false;
  #next: { question: Q } | null = null;
  #abort: AbortController | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #last = -Infinity;

  constructor(
    readonly ask: (question: Q, signal: AbortSignal) => Promise<A>,
    readonly tell: (answer: A, question: Q) => void,
    readonly fail: (error: unknown) => void,
    readonly pauseMs: number,
  ) {}

  want(question: Q): void {
    this.#next = { question };
    if (this.#busy || this.#timer !== undefined) return;
    const wait = Math.max(0, this.#last + this.pauseMs - performance.now());
    this.#timer = setTimeout(() => void this.#go(), wait);
  }

  /** Drop the question that is asked or waits; it can be asked again. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#next = null;
    this.#abort?.abort();
  }

  async #go(): Promise<void> {
    this.#timer = undefined;
    const next = this.#next;
    if (!next) return;
    this.#next = null;
    this.#busy = true;
    this.#last = performance.now();
    const abort = new AbortController();
    this.#abort = abort;
    try {
      const answer = await this.ask(next.question, abort.signal);
      if (!abort.signal.aborted) this.tell(answer, next.question);
    } catch (error) {
      if (!abort.signal.aborted) this.fail(error);
    } finally {
      this.#busy = false;
      const waiting = this.#next as { question: Q } | null;
      if (waiting) this.want(waiting.question);
    }
  }
}
