// Light, dark, or as the system says. Remembered in this browser. `public/theme.js` sets it before the first paint.

export type Theme = "system" | "light" | "dark";

const KEY = "playhead-theme";

export function theme(): Theme {
  const kept = localStorage.getItem(KEY);
  return kept === "light" || kept === "dark" ? kept : "system";
}

export function setTheme(next: Theme): void {
  if (next === "system") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, next);
  apply(next);
}

/** Put the theme on the page. Charts listen to "playhead-theme" to draw again in the new colours. */
export function apply(next: Theme): void {
  if (next === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = next;
  dispatchEvent(new Event("playhead-theme"));
}
