// The store that this page shows: its name, whether it may be changed, and how much is in it.
//
//   store.facts?.mode === "r"    nothing can be changed
//   store.load()                 ask again

import { get } from "./api";
import type { Store } from "./types";

class StoreFacts {
  facts = $state.raw<Store | null>(null);
  error = $state.raw<unknown>(null);

  async load(): Promise<void> {
    try {
      this.facts = await get<Store>("store");
      this.error = null;
    } catch (error) {
      this.error = error;
    }
  }

  get isReadOnly(): boolean {
    return this.facts?.mode === "r";
  }
}

export const store = new StoreFacts();
