// One connection to /api/events for all tabs of a browser, since HTTP/1.1 allows six a host.
//
// The tab that holds the Web Lock "playhead-live" is the leader: it has the EventSource, and passes on what comes over a
// BroadcastChannel. The others say what they want. When the leader goes, the browser hands the lock to the next tab.
// Without locks (a page that is not on this machine and has no TLS) each tab in sight has its own connection.

import { address } from "./api";
import type { Change } from "./types";

export type LinkState = "connecting" | "open" | "lost";

export interface Wants {
  runs: readonly string[];
  list: boolean;
}

interface Listener {
  onChange: (change: Change) => void;
  onState: (state: LinkState) => void;
}

type Message =
  | { kind: "want"; tab: string; wants: Wants }
  | { kind: "bye"; tab: string }
  | { kind: "lead" }
  | { kind: "change"; change: Change }
  | { kind: "state"; state: LinkState };

const MOST_RUNS = 200;
const ROLL_CALL = 120_000;

/** Join what several tabs want: all of it, the own first, at most as many runs as one address may name. */
export function joined(all: Iterable<Wants>): Wants {
  const runs = new Set<string>();
  let list = false;
  for (const one of all) {
    list ||= one.list;
    for (const id of one.runs) if (runs.size < MOST_RUNS) runs.add(id);
  }
  return { runs: [...runs], list };
}

/** Whether a connection that was opened for `open` also serves `wants`. */
export function covers(open: Wants | null, wants: Wants): boolean {
  if (open === null) return false;
  const there = new Set(open.runs);
  return (open.list || !wants.list) && wants.runs.every((id) => there.has(id));
}

export class SharedEvents {
  readonly #listener: Listener;
  readonly #tab = Math.random().toString(36).slice(2);
  readonly #channel = new BroadcastChannel("playhead-live");
  readonly #wants = new Map<string, Wants>();
  readonly #last: Change = { runs: {} };
  #own: Wants = { runs: [], list: false };
  #isLeader = false;
  #source: EventSource | null = null;
  #open: Wants | null = null;
  #state: LinkState = "connecting";
  #timer: ReturnType<typeof setTimeout> | undefined;
  #failures = 0;

  constructor(listener: Listener) {
    this.#listener = listener;
    this.#channel.onmessage = (event: MessageEvent<Message>) => this.#hear(event.data);
    addEventListener("pagehide", () => {
      this.#say({ kind: "bye", tab: this.#tab });
      this.#close();
    });
    addEventListener("pageshow", (event) => {
      if (event.persisted) this.want(this.#own);
    });
    if ("locks" in navigator) {
      void navigator.locks.request("playhead-live", () => this.#lead());
    } else {
      document.addEventListener("visibilitychange", () => (document.hidden ? this.#close() : this.#plan()));
      this.#isLeader = true;
    }
  }

  /** Say what this tab wants from now on. */
  want(wants: Wants): void {
    this.#own = wants;
    if (this.#isLeader) this.#plan();
    else this.#say({ kind: "want", tab: this.#tab, wants });
  }

  #say(message: Message): void {
    this.#channel.postMessage(message);
  }

  #lead(): Promise<never> {
    this.#isLeader = true;
    this.#say({ kind: "lead" });
    this.#plan();
    setInterval(() => {
      // Tabs that died without a word are not asked for any more.
      this.#wants.clear();
      this.#say({ kind: "lead" });
    }, ROLL_CALL);
    return new Promise(() => undefined); // The lock is held until this tab goes.
  }

  #hear(message: Message): void {
    if (message.kind === "lead") {
      this.#say({ kind: "want", tab: this.#tab, wants: this.#own });
    } else if (message.kind === "change" && !this.#isLeader) {
      this.#listener.onChange(message.change);
    } else if (message.kind === "state" && !this.#isLeader) {
      this.#listener.onState(message.state);
    } else if (message.kind === "want" && this.#isLeader) {
      this.#wants.set(message.tab, message.wants);
      this.#plan();
      this.#say({ kind: "state", state: this.#state });
      this.#say({ kind: "change", change: this.#last });
    } else if (message.kind === "bye") {
      this.#wants.delete(message.tab);
    }
  }

  #plan(wait = 30): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#connect(), wait);
  }

  #connect(): void {
    const wants = joined([this.#own, ...this.#wants.values()]);
    if (this.#source && this.#source.readyState !== EventSource.CLOSED && covers(this.#open, wants)) return;
    this.#close();
    if (wants.runs.length === 0 && !wants.list) return;
    this.#open = wants;
    const source = new EventSource(address("events", { runs: wants.runs.join(","), list: wants.list ? 1 : null }));
    this.#source = source;
    source.onopen = () => {
      this.#failures = 0;
      this.#tell("open");
    };
    source.onerror = () => {
      this.#tell("lost");
      // The browser tries again after a broken connection, but not after a refusal.
      if (source.readyState !== EventSource.CLOSED) return;
      this.#failures += 1;
      this.#open = null;
      this.#plan(Math.min(30_000, 1000 * 2 ** this.#failures));
    };
    source.addEventListener("change", (event) => this.#pass(JSON.parse((event as MessageEvent<string>).data) as Change));
  }

  #close(): void {
    this.#source?.close();
    this.#source = null;
    this.#open = null;
  }

  #pass(change: Change): void {
    const whole: Change = { ...change, runs: change.runs ?? {} };
    Object.assign(this.#last.runs, whole.runs);
    if (whole.list) this.#last.list = whole.list;
    this.#say({ kind: "change", change: whole });
    this.#listener.onChange(whole);
  }

  #tell(state: LinkState): void {
    this.#state = state;
    this.#say({ kind: "state", state });
    this.#listener.onState(state);
  }
}
