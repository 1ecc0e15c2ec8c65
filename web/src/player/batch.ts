// Several encoded pictures in one answer: [u32 index][u32 size][bytes] again and again, little-endian. Size 0 is a hole.

export const BATCH_LIMIT = 64;

export interface Encoded {
  index: number;
  /** Null where nothing was recorded. */
  image: Uint8Array<ArrayBuffer> | null;
}

const HEAD = 8;

/** Take a batch apart. An answer that was cut off is an error, not a shorter batch. */
export function readBatch(bytes: ArrayBuffer): Encoded[] {
  const view = new DataView(bytes);
  const found: Encoded[] = [];
  let at = 0;
  while (at < bytes.byteLength) {
    if (at + HEAD > bytes.byteLength) throw new Error("a batch of pictures ends within a head");
    const index = view.getUint32(at, true);
    const size = view.getUint32(at + 4, true);
    at += HEAD;
    if (at + size > bytes.byteLength) throw new Error(`a batch of pictures ends within picture ${index}`);
    found.push({ index, image: size > 0 ? new Uint8Array(bytes, at, size) : null });
    at += size;
  }
  return found;
}
