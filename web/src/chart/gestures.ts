// Pointer, touch and wheel on a chart, as what the user means by them. All places are pixels within the element.

export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

export interface Gestures {
  hover(left: number, top: number): void;
  leave(): void;
  /** A box is being drawn; null when it is given up. */
  select(box: Box | null): void;
  selected(box: Box): void;
  /** The plot is dragged by so many pixels since the last call. */
  pan(dx: number): void;
  /** More than 1 shows more, less than 1 shows less, around `left`. */
  zoom(left: number, factor: number): void;
  click(left: number, top: number): void;
  reset(): void;
  /** Whether a double click would do something: then a click waits for a second one. */
  canReset(): boolean;
}

const SLACK = 4; // Pixels that a hand trembles.
const DOUBLE_MS = 250;

export function boxOf(x0: number, y0: number, x1: number, y1: number): Box {
  return { left: Math.min(x0, x1), top: Math.min(y0, y1), width: Math.abs(x1 - x0), height: Math.abs(y1 - y0) };
}

/** Listen on an element; the answer ends it. */
export function listen(element: HTMLElement, on: Gestures): () => void {
  const ended = new AbortController();
  const { signal } = ended;
  const touches = new Map<number, number>();
  let mode: "none" | "select" | "pan" | "scrub" | "pinch" = "none";
  let start = { left: 0, top: 0 };
  let last = { left: 0, top: 0 };
  let hasMoved = false;
  let waiting: ReturnType<typeof setTimeout> | undefined;
  let clickedAt = -Infinity;

  function place(event: PointerEvent | WheelEvent): { left: number; top: number } {
    const box = element.getBoundingClientRect();
    return {
      left: Math.min(Math.max(event.clientX - box.left, 0), box.width),
      top: Math.min(Math.max(event.clientY - box.top, 0), box.height),
    };
  }

  function clicked(at: { left: number; top: number }, time: number): void {
    clearTimeout(waiting);
    if (time - clickedAt < DOUBLE_MS) {
      clickedAt = -Infinity;
      on.reset();
      return;
    }
    clickedAt = time;
    if (on.canReset()) waiting = setTimeout(() => on.click(at.left, at.top), DOUBLE_MS);
    else on.click(at.left, at.top);
  }

  function pinchOf(): { centre: number; width: number } {
    const [one = 0, other = 0] = touches.values();
    return { centre: (one + other) / 2, width: Math.max(Math.abs(one - other), 10) };
  }
  let pinch = { centre: 0, width: 10 };

  element.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse" && event.button !== 0) return;
    start = last = place(event);
    element.setPointerCapture(event.pointerId);
    if (event.pointerType === "touch") {
      touches.set(event.pointerId, start.left);
      mode = touches.size > 1 ? "pinch" : "scrub";
      pinch = pinchOf();
      hasMoved = touches.size > 1;
      on.hover(start.left, start.top);
    } else {
      mode = event.shiftKey ? "pan" : "select";
      hasMoved = false;
    }
  }, { signal });

  element.addEventListener("pointermove", (event) => {
    const at = place(event);
    if (Math.hypot(at.left - start.left, at.top - start.top) > SLACK) hasMoved = true;
    if (mode === "none" || mode === "scrub") on.hover(at.left, at.top);
    else if (mode === "select" && hasMoved) on.select(boxOf(start.left, start.top, at.left, at.top));
    else if (mode === "pan") on.pan(at.left - last.left);
    else if (mode === "pinch" && touches.has(event.pointerId)) {
      touches.set(event.pointerId, at.left);
      const now = pinchOf();
      on.zoom(now.centre, pinch.width / now.width);
      on.pan(now.centre - pinch.centre);
      pinch = now;
    }
    last = at;
  }, { signal });

  function finish(event: PointerEvent, isKept: boolean): void {
    const at = place(event);
    const was = mode;
    touches.delete(event.pointerId);
    mode = "none";
    if (was === "select" && hasMoved) {
      on.select(null);
      if (isKept) on.selected(boxOf(start.left, start.top, at.left, at.top));
    } else if (isKept && !hasMoved && was !== "none") clicked(at, event.timeStamp);
    if (event.pointerType === "touch" && (hasMoved || !isKept) && touches.size === 0) on.leave();
  }
  element.addEventListener("pointerup", (event) => finish(event, true), { signal });
  element.addEventListener("pointercancel", (event) => finish(event, false), { signal });
  element.addEventListener("pointerleave", (event) => {
    if (event.pointerType !== "touch" && mode === "none") on.leave();
  }, { signal });

  element.addEventListener("wheel", (event) => {
    if (!event.altKey && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    on.zoom(place(event).left, Math.exp(Math.min(Math.max(event.deltaY, -200), 200) * 0.003));
  }, { signal, passive: false });

  return () => {
    clearTimeout(waiting);
    ended.abort();
  };
}
