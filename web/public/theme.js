// Before the first paint, so that nobody who chose dark sees a white flash. See src/lib/theme.ts.
(() => {
  try {
    const kept = localStorage.getItem("playhead-theme");
    if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
  } catch {
    // Storage is switched off: the system's choice holds.
  }
})();
