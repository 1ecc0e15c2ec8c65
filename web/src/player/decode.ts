// Encoded bytes become a bitmap. ImageDecoder takes them as they are and leaves the page's thread alone; where there is
// none, a Blob is made of each, which costs several times as much.

const TYPES: readonly [type: string, first: readonly number[]][] = [
  ["image/png", [0x89, 0x50, 0x4e, 0x47]],
  ["image/jpeg", [0xff, 0xd8, 0xff]],
  ["image/webp", [0x52, 0x49, 0x46, 0x46]],
];

/** The type of an encoded picture, by its first bytes. */
export function typeOf(bytes: Uint8Array): string | null {
  return TYPES.find(([, first]) => first.every((byte, at) => bytes[at] === byte))?.[0] ?? null;
}

export async function decode(bytes: Uint8Array<ArrayBuffer>): Promise<ImageBitmap> {
  const type = typeOf(bytes);
  if (type === null || typeof ImageDecoder === "undefined") {
    return createImageBitmap(new Blob([bytes]), { colorSpaceConversion: "none", premultiplyAlpha: "none" });
  }
  const decoder = new ImageDecoder({ data: bytes, type, colorSpaceConversion: "none" });
  try {
    const { image } = await decoder.decode();
    const bitmap = await createImageBitmap(image);
    image.close();
    return bitmap;
  } finally {
    decoder.close();
  }
}
