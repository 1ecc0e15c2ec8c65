// Many charts change at once while one of them is dragged. Each frame draws the one that is dragged, and of the others as many
// as there is time for; those that wait are drawn in the next frames, in their latest state.

const BUDGET_MS = 9;

interface Job {
  work: () => void;
  isUrgent: boolean;
}

export class FrameQueue {
  readonly #jobs = new Map<symbol, Job>();
  #frame: number | null = null;

  constructor(
    readonly request: (callback: () => void) => number,
    readonly now: () => number,
  ) {}

  /** Draw in the next frames. What the same chart wanted before is forgotten. */
  add(chart: symbol, work: () => void, isUrgent: boolean): void {
    this.#jobs.set(chart, { work, isUrgent });
    this.#frame ??= this.request(() => this.#run());
  }

  drop(chart: symbol): void {
    this.#jobs.delete(chart);
  }

  #run(): void {
    this.#frame = null;
    const end = this.now() + BUDGET_MS;
    const order = [...this.#jobs].sort(([, one], [, other]) => Number(other.isUrgent) - Number(one.isUrgent));
    for (const [chart, job] of order) {
      this.#jobs.delete(chart);
      job.work();
      if (this.now() >= end) break;
    }
    if (this.#jobs.size > 0) this.#frame ??= this.request(() => this.#run());
  }
}

export const frames = new FrameQueue((callback) => requestAnimationFrame(callback), () => performance.now());
