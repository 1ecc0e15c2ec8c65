// One colour a run, the same on every page and every day: it follows from the id alone.
//
//   colourOf(id)          the colour of one run
//   coloursOf(ids)        colours for runs shown together: as above, but no two are equal while there are colours left

const HUES = [255, 35, 150, 320, 90, 195, 5, 285, 60, 120, 225, 345];

/** All colours, as far apart as can be: twelve hues, each in two strengths, readable on light and dark. */
export const PALETTE: readonly string[] = [
  ...HUES.map((hue) => `oklch(0.64 0.16 ${hue})`),
  ...HUES.map((hue) => `oklch(0.54 0.11 ${(hue + 15) % 360})`),
];

function hash(text: string): number {
  let sum = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) sum = Math.imul(sum ^ text.charCodeAt(at), 0x01000193);
  sum = Math.imul(sum ^ (sum >>> 15), 0x2c1b3c6d);
  return (sum ^ (sum >>> 13)) >>> 0;
}

export function colourOf(id: string): string {
  return PALETTE[hash(id) % PALETTE.length] as string;
}

export function coloursOf(ids: readonly string[]): Map<string, string> {
  const taken = new Set<number>();
  const colours = new Map<string, string>();
  for (const id of ids) {
    let place = hash(id) % PALETTE.length;
    for (let tries = 0; taken.has(place) && tries < PALETTE.length; tries += 1) place = (place + 7) % PALETTE.length;
    taken.add(place);
    colours.set(id, PALETTE[place] as string);
  }
  return colours;
}
