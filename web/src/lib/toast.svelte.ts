// A short message at the bottom of the page that goes away by itself.
//
//   toast("Copied")
//   toast("Deleted 3 runs", { action: { label: "Undo", run: () => restore() } })
//   toast("Could not delete", { kind: "bad" })
//
// One with an action stays ten seconds, and as long as the pointer or the focus is on it.

export interface ToastOptions {
  kind?: "info" | "bad";
  action?: { label: string; run: () => unknown };
  seconds?: number;
}

export interface Toast extends ToastOptions {
  id: number;
  text: string;
}

class Toasts {
  shown = $state.raw<Toast[]>([]);
  #next = 1;
  #timers = new Map<number, ReturnType<typeof setTimeout>>();

  add(text: string, options: ToastOptions): number {
    const id = this.#next++;
    this.shown = [...this.shown.slice(-3), { id, text, ...options }];
    this.resume(id);
    return id;
  }

  remove(id: number): void {
    this.pause(id);
    this.shown = this.shown.filter((one) => one.id !== id);
  }

  pause(id: number): void {
    clearTimeout(this.#timers.get(id));
    this.#timers.delete(id);
  }

  resume(id: number): void {
    const one = this.shown.find((each) => each.id === id);
    if (!one) return;
    this.pause(id);
    const seconds = one.seconds ?? (one.action ? 10 : one.kind === "bad" ? 8 : 3);
    this.#timers.set(id, setTimeout(() => this.remove(id), seconds * 1000));
  }
}

export const toasts = new Toasts();

/** Show a message; gives an id for `untoast`. */
export function toast(text: string, options: ToastOptions = {}): number {
  return toasts.add(text, options);
}

export function untoast(id: number): void {
  toasts.remove(id);
}
