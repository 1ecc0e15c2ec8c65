// Cameras side by side: the number of columns that shows them largest.

export interface Size {
  width: number;
  height: number;
}

/** How many columns show pictures of these shapes largest within a space, with `extra` pixels of labels each. */
export function columnsFor(pictures: readonly Size[], space: Size, gap = 8, extra = 0): number {
  let best = 1;
  let largest = -1;
  for (let columns = 1; columns <= pictures.length; columns += 1) {
    const rows = Math.ceil(pictures.length / columns);
    const cell = {
      width: (space.width - gap * (columns - 1)) / columns,
      height: (space.height - gap * (rows - 1)) / rows - extra,
    };
    const area = pictures.reduce((sum, picture) => sum + shownArea(picture, cell), 0);
    if (area > largest + 1e-6) {
      largest = area;
      best = columns;
    }
  }
  return best;
}

function shownArea(picture: Size, cell: Size): number {
  const scale = Math.max(0, Math.min(cell.width / picture.width, cell.height / picture.height));
  return picture.width * scale * picture.height * scale;
}
