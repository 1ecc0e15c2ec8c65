// One connection to /api/events for all tabs of a browser, since HTTP/1.1 allows six a host.
//
// The tab that holds the Web Lock "playhead-live" is the leader: it has the EventSource, and passes on what comes over a
// BroadcastChannel. The others say what they want. When the leader goes, the browser hands the lock to the next tab.
// Where the server has no room for another connection, the leader asks for /api/changes every few seconds instead.
// Without locks (a page that is not on this machine and has no TLS) each tab in sight has its own connection.

import { address, get } from "./api";
import type { Change } from "./types";

export type LinkState = "connecting" | "open" | "asking" | "lost";

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
const ASK_EVERY = 5_000;
/** So many times it is asked before a connection is tried once more. */
const ASKS = 12;

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
  #turn = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

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
      this.#tell("open");
    };
    source.onerror = () => {
      // The browser tries again after a broken connection, but not after a refusal.
      if (source.readyState !== EventSource.CLOSED) return this.#tell("lost");
      this.#open = null;
      void this.#ask(wants, ASKS, ++this.#turn);
    };
    source.addEventListener("change", (event) => this.#pass(JSON.parse((event as MessageEvent<string>).data) as Change));
  }

  /** Ask how everything is, now and then; a little scattered, since many pages may have been refused at once. */
  async #ask(wants: Wants, left: number, turn: number): Promise<void> {
    try {
      if (!document.hidden) this.#passNews(await get<Change>("changes", { runs: wants.runs.join(","), list: wants.list ? 1 : null }));
      this.#tell("asking");
    } catch {
      this.#tell("lost");
    }
    if (turn !== this.#turn) return; // Another connection has been tried since.
    clearTimeout(this.#timer);
    const wait = ASK_EVERY * (0.8 + 0.4 * Math.random());
    this.#timer = setTimeout(() => (left > 1 ? void this.#ask(wants, left - 1, turn) : this.#connect()), wait);
  }

  #close(): void {
    this.#turn += 1;
    this.#source?.close();
    this.#source = null;
    this.#open = null;
  }

  /** Pass on what is not as it was told last, as the server itself would. */
  #passNews(now: Change): void {
    const isNews = (found: unknown, before: unknown): boolean => JSON.stringify(found) !== JSON.stringify(before);
    const runs = Object.fromEntries(Object.entries(now.runs).filter(([id, pulse]) => isNews(pulse, this.#last.runs[id])));
    const list = now.list && isNews(now.list, this.#last.list) ? now.list : undefined;
    if (list || Object.keys(runs).length > 0) this.#pass(list ? { runs, list } : { runs });
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
