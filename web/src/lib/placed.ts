// Keep a floating panel beside the thing that opened it, and inside the window.
//
//   <div use:placed={{ button, align: "end" }}>     (position: fixed)

interface Anchor {
  button: Element;
  align?: "start" | "end";
}

const GAP = 4;
const EDGE = 8;

/** Where a panel goes: below its anchor where there is room, above it otherwise. */
export function spot(
  anchor: { left: number; right: number; top: number; bottom: number },
  panel: { width: number; height: number },
  view: { width: number; height: number },
  align: "start" | "end",
): { left: number; top: number } {
  const wanted = align === "start" ? anchor.left : anchor.right - panel.width;
  const left = Math.max(EDGE, Math.min(wanted, view.width - panel.width - EDGE));
  const below = anchor.bottom + GAP;
  const above = anchor.top - GAP - panel.height;
  const top = below + panel.height <= view.height - EDGE || above < EDGE ? below : above;
  return { left, top };
}

export function placed(element: HTMLElement, anchor: Anchor): { update: (next: Anchor) => void; destroy: () => void } {
  let now = anchor;
  const move = (): void => {
    const { left, top } = spot(
      now.button.getBoundingClientRect(),
      { width: element.offsetWidth, height: element.offsetHeight },
      { width: document.documentElement.clientWidth, height: innerHeight },
      now.align ?? "start",
    );
    element.style.left = `${left}px`;
    element.style.top = `${top}px`;
  };
  const watcher = new ResizeObserver(move);
  watcher.observe(element);
  addEventListener("resize", move);
  document.addEventListener("scroll", move, true);
  move();
  return {
    update: (next) => {
      now = next;
      move();
    },
    destroy: () => {
      watcher.disconnect();
      removeEventListener("resize", move);
      document.removeEventListener("scroll", move, true);
    },
  };
}
