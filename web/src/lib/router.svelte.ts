// Where the page is: the path says what is shown, the query string how. Both live in the address bar alone.
//
//   place.path, place.query                     follow the address
//   place.go("/run/x?tab=log")                  another page (links do the same by themselves)
//   place.set({ t: 12.3, loop: null })          change the query string; "back" skips the change unless { push: true }

class Place {
  path = $state(location.pathname);
  query = $state.raw(new URLSearchParams(location.search));

  constructor() {
    addEventListener("popstate", () => this.#read());
    document.addEventListener("click", (event) => this.#follow(event));
  }

  #read(): void {
    this.path = location.pathname;
    this.query = new URLSearchParams(location.search);
  }

  /** Go to another page of ours. */
  go(address: string): void {
    history.pushState(null, "", address);
    this.#read();
    scrollTo(0, 0);
  }

  /** Change parts of the query string; null removes one. Without `push`, "back" skips the change. */
  set(changes: Record<string, string | number | null>, { push = false, path = location.pathname } = {}): void {
    const query = new URLSearchParams(location.search);
    for (const [name, value] of Object.entries(changes)) {
      if (value === null || value === "") query.delete(name);
      else query.set(name, String(value));
    }
    // Commas, colons and slashes may stand in a query string as they are, and read better so.
    const text = query.toString().replace(/%2C/g, ",").replace(/%3A/g, ":").replace(/%2F/g, "/");
    const address = path + (text ? `?${text}` : "") + location.hash;
    if (address === location.pathname + location.search + location.hash) return;
    if (push) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
    this.#read();
  }

  #follow(event: MouseEvent): void {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const link = (event.target as Element | null)?.closest("a");
    if (!link || link.origin !== location.origin || link.target || link.hasAttribute("download")) return;
    if (link.pathname.startsWith("/api/")) return;
    event.preventDefault();
    this.go(link.pathname + link.search + link.hash);
  }
}

export const place = new Place();
