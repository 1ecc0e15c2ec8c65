// What is done to chosen runs: tags, deletion, restoring, purging. Each says what came of it.

import { get, send } from "../lib/api";
import { counted } from "../lib/format";
import { advice } from "../lib/problem";
import { toast } from "../lib/toast.svelte";
import type { Done, Runs } from "../lib/types";
import type { Selection } from "./selection";
import { filterQuery, listQuery, type View } from "./view";

const BATCH = 500;
const PAGE = 1000;

/** The ids of what is chosen; where that is "all of the filter", they are asked for. */
export async function idsOf(selection: Selection, view: View): Promise<string[]> {
  if (!selection.isAll) return [...selection.ids];
  const ids: string[] = [];
  for (let offset = 0; ; offset += PAGE) {
    const page = await get<Runs>("runs", { ...filterQuery(view), order: listQuery(view)["order"], offset, limit: PAGE });
    for (const run of page.runs) if (!selection.except.has(run.id)) ids.push(run.id);
    if (page.runs.length === 0 || offset + PAGE >= page.total) return ids;
  }
}

async function sendAll(path: string, ids: readonly string[], more: Record<string, unknown> = {}): Promise<Done> {
  const all: Done = { done: [], failed: [] };
  for (let at = 0; at < ids.length; at += BATCH) {
    const { done, failed } = await send<Done>("POST", path, { ids: ids.slice(at, at + BATCH), ...more });
    all.done.push(...done);
    all.failed.push(...failed);
  }
  return all;
}

/** Do something, say what came of it, and let the page ask again. */
async function perform(work: () => Promise<Done>, said: (runs: string) => string, after: () => void, undo?: (ids: string[]) => unknown): Promise<void> {
  try {
    const { done, failed } = await work();
    if (done.length > 0) {
      const action = undo ? { action: { label: "Undo", run: () => undo(done) } } : {};
      toast(said(counted(done.length, "run")), action);
    }
    const first = failed[0];
    if (first) toast(`${counted(failed.length, "run")} left as they were: ${first.message}`, { kind: "bad" });
  } catch (error) {
    const { title, message } = advice(error);
    toast(`${title}. ${message}`, { kind: "bad" });
  }
  after();
}

export function remove(ids: readonly string[], after: () => void): Promise<void> {
  const undo = (done: string[]): Promise<void> => perform(() => sendAll("runs/restore", done), (runs) => `Brought back ${runs}`, after);
  return perform(() => sendAll("runs/delete", ids), (runs) => `Moved ${runs} to the bin`, after, undo);
}

export function restore(ids: readonly string[], after: () => void): Promise<void> {
  const undo = (done: string[]): Promise<void> => perform(() => sendAll("runs/delete", done), (runs) => `Moved ${runs} to the bin`, after);
  return perform(() => sendAll("runs/restore", ids), (runs) => `Restored ${runs}`, after, undo);
}

export function purge(ids: readonly string[], after: () => void): Promise<void> {
  return perform(() => sendAll("runs/purge", ids), (runs) => `Purged ${runs}`, after);
}

export function tag(ids: readonly string[], add: readonly string[], without: readonly string[], after: () => void): Promise<void> {
  const words = [...add.map((one) => `+${one}`), ...without.map((one) => `−${one}`)].join(" ");
  return perform(() => sendAll("runs/tag", ids, { add, remove: without }), (runs) => `Tagged ${runs}: ${words}`, after);
}
