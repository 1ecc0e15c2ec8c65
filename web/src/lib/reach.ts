// Whether the server can be reached, and what to do once it can be again.
//
//   throw new Unreachable()                   what `api.ts` throws where there is no answer at all
//   const end = whenBack(() => load());       calls once, as soon as the server answers; `end()` calls it off
//   const page = await part(() => import("./Page.svelte"));      a part of this page, which is a file on the server

import { address } from "./address";

const FIRST_MS = 1000;
const LONGEST_MS = 5000;
const RELOAD_PAUSE_MS = 10_000;
const RELOADED = "playhead-reloaded";

/** The server gave no answer at all. */
export class Unreachable extends Error {
  constructor() {
    super("the page cannot reach the server");
    this.name = "Unreachable";
  }
}

/** A part of the page could not be fetched: the server is gone, or it has another version of the page now. */
export class PartMissing extends Unreachable {
  override name = "PartMissing";
}

/** Give what was asked for; what the browser throws where there is no connection becomes `Unreachable`. */
export async function reached<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof TypeError) throw new Unreachable();
    throw error;
  }
}

/** Load a part of the page. */
export async function part<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch {
    throw new PartMissing(); // The browser's own words are about the file, which says nothing to a reader.
  }
}

/** Load the whole page again: a browser remembers that a part was missing. Not twice in a short time. */
export function reloadPage(): void {
  const last = Number(sessionStorage.getItem(RELOADED) ?? 0);
  if (Date.now() - last < RELOAD_PAUSE_MS) return;
  sessionStorage.setItem(RELOADED, String(Date.now()));
  location.reload();
}

const waiting = new Set<() => void>();
let timer: ReturnType<typeof setTimeout> | undefined;
let pause = FIRST_MS;

/** Have something called once the server answers; the answer calls it off. */
export function whenBack(call: () => void): () => void {
  const one = (): void => call();
  waiting.add(one);
  if (timer === undefined) plan(FIRST_MS);
  return () => {
    waiting.delete(one);
    if (waiting.size > 0 || timer === undefined) return;
    clearTimeout(timer);
    timer = undefined;
  };
}

function plan(wait: number): void {
  pause = wait;
  timer = setTimeout(() => void look(), wait);
}

async function look(): Promise<void> {
  if (!document.hidden && (await isThere())) {
    timer = undefined;
    const calls = [...waiting];
    waiting.clear();
    for (const call of calls) call();
  } else if (waiting.size > 0) {
    plan(Math.min(pause * 1.5, LONGEST_MS));
  } else {
    timer = undefined;
  }
}

async function isThere(): Promise<boolean> {
  try {
    await fetch(address("store"), { cache: "no-store" });
    return true;
  } catch {
    return false;
  }
}
