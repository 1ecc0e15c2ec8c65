// Small pictures of a stretch of time in one image, for what is shown while the exact picture is still on its way.

export interface Thumbnail {
  image: HTMLImageElement;
  x: number;
  width: number;
  height: number;
}

/** Which of `count` thumbnails, spread evenly over a range, shows a time. */
export function thumbnailAt(range: readonly [number, number], count: number, time: number): number {
  const span = range[1] - range[0];
  if (span <= 0 || count <= 1) return 0;
  return Math.min(count - 1, Math.max(0, Math.round(((time - range[0]) / span) * (count - 1))));
}

export class Strip {
  #image: HTMLImageElement | null = null;
  #isAsked = false;
  #isThere = false;

  constructor(
    readonly address: string,
    readonly range: readonly [number, number],
    readonly count: number,
  ) {}

  /** Fetch it, once. */
  load(): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    const image = new Image();
    image.onload = () => (this.#isThere = true);
    image.src = this.address;
    this.#image = image;
  }

  /** The thumbnail of a time, as a piece of the image; null while it is not there. */
  at(time: number): Thumbnail | null {
    const image = this.#image;
    if (!this.#isThere || image === null) return null;
    const width = image.naturalWidth / this.count;
    const place = thumbnailAt(this.range, this.count, time);
    return { image, x: place * width, width, height: image.naturalHeight };
  }
}
