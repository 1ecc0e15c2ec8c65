// Put text on the clipboard and say so. Without a secure context the browser has no clipboard API; the old way is left.

import { toast } from "./toast.svelte";

export async function copy(text: string, what = "Copied"): Promise<void> {
  if (navigator.clipboard !== undefined) await navigator.clipboard.writeText(text);
  else copyBySelection(text);
  toast(what);
}

function copyBySelection(text: string): void {
  const area = document.createElement("textarea");
  area.value = text;
  area.style.cssText = "position:fixed;opacity:0";
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
