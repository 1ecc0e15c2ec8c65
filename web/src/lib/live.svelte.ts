// What changes while the page is open.
//
//   $effect(() => watch({ runs: [id] }, (change) => { … change.runs[id]?.points … }));      // stops with the effect
//   $effect(() => watch({ list: true }, (change) => { … change.list?.total … }));
//   link.state      "connecting" | "open" | "asking" | "lost"
//
// The first call after `watch` says how things are now; later ones come when something of it changed. There is one
// connection however many watchers there are, and one for all tabs: see shared.ts.

import { SharedEvents, type LinkState } from "./shared";
import type { Change, Pulse } from "./types";

export interface Wanted {
  runs?: readonly string[];
  list?: boolean;
}

class Link {
  state = $state<LinkState>("connecting");
}

export const link = new Link();

interface Watcher {
  runs: ReadonlySet<string>;
  list: boolean;
  tell: (change: Change) => void;
}

const watchers = new Set<Watcher>();
const known = new Map<string, Pulse>();
let list: Change["list"];
let events: SharedEvents | null = null;
let isPlanned = false;

function plan(): void {
  if (isPlanned) return;
  isPlanned = true;
  queueMicrotask(() => {
    isPlanned = false;
    const runs = new Set<string>();
    let hasList = false;
    for (const one of watchers) {
      for (const id of one.runs) runs.add(id);
      hasList ||= one.list;
    }
    for (const id of [...known.keys()]) if (!runs.has(id)) known.delete(id);
    events ??= new SharedEvents({ onChange: take, onState: (state) => (link.state = state) });
    events.want({ runs: [...runs], list: hasList });
  });
}

function take(change: Change): void {
  for (const [id, pulse] of Object.entries(change.runs)) known.set(id, pulse);
  if (change.list) list = change.list;
  for (const one of [...watchers]) {
    const runs = Object.fromEntries(Object.entries(change.runs).filter(([id]) => one.runs.has(id)));
    const mine: Change = { runs };
    if (one.list && change.list) mine.list = change.list;
    if (mine.list || Object.keys(runs).length > 0) one.tell(mine);
  }
}

/** Be told of changes; gives the function that ends it. */
export function watch(wanted: Wanted, tell: (change: Change) => void): () => void {
  const watcher: Watcher = { runs: new Set(wanted.runs), list: wanted.list ?? false, tell };
  watchers.add(watcher);
  plan();
  const runs = Object.fromEntries([...watcher.runs].flatMap((id) => (known.has(id) ? [[id, known.get(id) as Pulse]] : [])));
  const now: Change = { runs };
  if (watcher.list && list) now.list = list;
  if (now.list || Object.keys(runs).length > 0) queueMicrotask(() => watchers.has(watcher) && tell(now));
  return () => {
    watchers.delete(watcher);
    plan();
  };
}
