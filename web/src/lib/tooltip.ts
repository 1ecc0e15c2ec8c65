// A short explanation beside a thing, when the pointer rests on it or the focus reaches it.
//
//   <button use:tip={"Delete (Del)"}>…</button>
//
// It adds to a label and never replaces one: a button still needs its text or aria-label.

import { spot } from "./placed";

let bubble: HTMLElement | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;

function show(target: Element, text: string): void {
  hide();
  bubble = document.createElement("div");
  bubble.className = "tip";
  bubble.setAttribute("role", "tooltip");
  bubble.textContent = text;
  document.body.append(bubble);
  const view = { width: document.documentElement.clientWidth, height: innerHeight };
  const size = { width: bubble.offsetWidth, height: bubble.offsetHeight };
  const { left, top } = spot(target.getBoundingClientRect(), size, view, "start");
  bubble.style.left = `${left}px`;
  bubble.style.top = `${top}px`;
}

function hide(): void {
  clearTimeout(timer);
  bubble?.remove();
  bubble = null;
}

export function tip(element: HTMLElement, text: string | null): { update: (next: string | null) => void; destroy: () => void } {
  let now = text;
  const soon = (wait: number) => (): void => {
    hide();
    if (now) timer = setTimeout(() => now && element.isConnected && show(element, now), wait);
  };
  const [enter, focus] = [soon(450), soon(0)];
  const focused = (): void => {
    if (element.matches(":focus-visible")) focus();
  };
  element.addEventListener("pointerenter", enter);
  element.addEventListener("focus", focused);
  for (const name of ["pointerleave", "pointerdown", "blur"]) element.addEventListener(name, hide);
  return {
    update: (next) => {
      now = next;
    },
    destroy: () => {
      hide();
      element.removeEventListener("pointerenter", enter);
      element.removeEventListener("focus", focused);
      for (const name of ["pointerleave", "pointerdown", "blur"]) element.removeEventListener(name, hide);
    },
  };
}
