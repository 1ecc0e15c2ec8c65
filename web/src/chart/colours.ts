// Canvases know no CSS variables: here a CSS colour becomes one that they know, anew when the theme changes.

export class Colours {
  readonly #probe: HTMLElement;
  readonly #known = new Map<string, string>();

  constructor(parent: HTMLElement) {
    this.#probe = document.createElement("span");
    this.#probe.hidden = true;
    parent.append(this.#probe);
  }

  of(css: string): string {
    let colour = this.#known.get(css);
    if (colour === undefined) {
      this.#probe.style.color = "";
      this.#probe.style.color = css;
      colour = getComputedStyle(this.#probe).color;
      this.#known.set(css, colour);
    }
    return colour;
  }

  forget(): void {
    this.#known.clear();
  }

  destroy(): void {
    this.#probe.remove();
  }
}

const watchers = new Set<() => void>();
let isWatching = false;

function tell(): void {
  for (const watcher of watchers) watcher();
}

/** Call back when light becomes dark or the other way; the answer ends it. */
export function onTheme(callback: () => void): () => void {
  if (!isWatching) {
    isWatching = true;
    new MutationObserver(tell).observe(document.documentElement, { attributeFilter: ["data-theme", "style", "class"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", tell);
  }
  watchers.add(callback);
  return () => void watchers.delete(callback);
}
