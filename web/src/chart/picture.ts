// A chart to take away: as a picture and as a table.

import type { Line } from "./line";

/** Put a title and the names of the lines above a drawn chart. */
export function picture(
  chart: HTMLCanvasElement,
  title: string,
  lines: readonly Line[],
  colour: (css: string) => string,
): HTMLCanvasElement {
  const scale = devicePixelRatio;
  const rows = lines.length > 1 ? Math.ceil(Math.min(lines.length, 24) / 3) : 0;
  const head = (30 + rows * 18) * scale;
  const canvas = document.createElement("canvas");
  canvas.width = chart.width;
  canvas.height = chart.height + head;
  const ctx = canvas.getContext("2d");
  if (ctx === null) return canvas;
  const family = getComputedStyle(document.body).fontFamily;
  ctx.fillStyle = colour("var(--ground)");
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  ctx.fillStyle = colour("var(--ink)");
  ctx.font = `600 ${14 * scale}px ${family}`;
  ctx.fillText(title, 10 * scale, 20 * scale, canvas.width - 20 * scale);
  ctx.font = `${11 * scale}px ${family}`;
  const width = canvas.width / 3;
  if (rows > 0) {
    lines.slice(0, 24).forEach((line, index) => {
      const left = (index % 3) * width + 10 * scale;
      const top = (34 + Math.floor(index / 3) * 18) * scale;
      ctx.fillStyle = colour(line.colour);
      ctx.fillRect(left, top, 9 * scale, 9 * scale);
      ctx.fillStyle = colour("var(--ink-soft)");
      ctx.fillText(line.label, left + 14 * scale, top + 9 * scale, width - 30 * scale);
    });
  }
  ctx.drawImage(chart, 0, head);
  return canvas;
}

function cell(text: string): string {
  // A text that a spreadsheet would take for a formula gets a quote in front.
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Write lines as CSV, one row a point. */
export function toCsv(lines: readonly Line[], xName: string): string {
  const rows = [`line,${cell(xName)},value`];
  for (const line of lines) {
    const values = line.raw ?? line.y;
    for (let i = 0; i < line.x.length; i += 1) rows.push(`${cell(line.label)},${line.x[i]},${values[i] ?? "NaN"}`);
  }
  return `${rows.join("\n")}\n`;
}

/** Hand a file to the browser. */
export function download(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name.replaceAll(/[^\w.-]+/g, "_");
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
