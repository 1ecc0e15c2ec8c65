// The time now, in seconds since 1970, kept up to date once a second while the page is in sight: for "5 min ago" and the
// durations of what runs.
//
//   ticking.now

class Ticking {
  now = $state(Date.now() / 1000);

  constructor() {
    setInterval(() => {
      if (!document.hidden) this.now = Date.now() / 1000;
    }, 1000);
    document.addEventListener("visibilitychange", () => (this.now = Date.now() / 1000));
  }
}

export const ticking = new Ticking();
