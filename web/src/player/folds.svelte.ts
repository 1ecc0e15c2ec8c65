// Which parts of the side panel are folded; remembered in the browser.

export class Fold {
  #key: string;
  #isOpen = $state(false);

  constructor(name: string, isOpen: boolean) {
    this.#key = `playhead.player.fold.${name}`;
    this.#isOpen = read(this.#key) ?? isOpen;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  set isOpen(next: boolean) {
    this.#isOpen = next;
    write(this.#key, next);
  }
}

function read(key: string): boolean | null {
  try {
    const text = localStorage.getItem(key);
    return text === null ? null : text === "1";
  } catch {
    return null; // Storage is switched off.
  }
}

function write(key: string, isOpen: boolean): void {
  try {
    localStorage.setItem(key, isOpen ? "1" : "0");
  } catch {
    // As above.
  }
}
