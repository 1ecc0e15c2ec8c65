// Tell an element when it comes into sight and when it leaves. One observer serves all.

type Told = (isInSight: boolean) => void;

const told = new WeakMap<Element, Told>();
let observer: IntersectionObserver | null = null;

/** `use:sight={(isInSight) => …}`: in sight is also what is within a window's half of it. */
export function sight(element: HTMLElement, callback: Told): { destroy: () => void } {
  observer ??= new IntersectionObserver(
    (entries) => {
      for (const entry of entries) told.get(entry.target)?.(entry.isIntersecting);
    },
    { rootMargin: "50% 0px" },
  );
  told.set(element, callback);
  observer.observe(element);
  return {
    destroy: () => {
      observer?.unobserve(element);
      told.delete(element);
    },
  };
}
