// Small pictures (games) are shown larger with hard edges; a blur would hide their pixels.

/** `<img use:crisp>` */
export function crisp(image: HTMLImageElement): { destroy: () => void } {
  const judge = (): void => {
    image.style.imageRendering = image.naturalWidth > 0 && image.naturalWidth * 1.2 < image.clientWidth ? "pixelated" : "auto";
  };
  image.addEventListener("load", judge);
  if (image.complete) judge();
  return { destroy: () => image.removeEventListener("load", judge) };
}
