// Decoded pictures, as many as fit into so many bytes. What was used longest ago goes first.

export interface Closable {
  width: number;
  height: number;
  close(): void;
}

export class Shelf<T extends Closable> {
  #items = new Map<number, T>();
  #bytes = 0;

  constructor(readonly limit: number) {}

  get bytes(): number {
    return this.#bytes;
  }

  get size(): number {
    return this.#items.size;
  }

  has(index: number): boolean {
    return this.#items.has(index);
  }

  get(index: number): T | undefined {
    const item = this.#items.get(index);
    if (item !== undefined) {
      this.#items.delete(index);
      this.#items.set(index, item);
    }
    return item;
  }

  /** As `get`, but it does not count as used. */
  peek(index: number): T | undefined {
    return this.#items.get(index);
  }

  put(index: number, item: T): void {
    this.#drop(index);
    this.#items.set(index, item);
    this.#bytes += bytesOf(item);
    for (const oldest of this.#items.keys()) {
      if (this.#bytes <= this.limit || oldest === index) break;
      this.#drop(oldest);
    }
  }

  indexes(): Iterable<number> {
    return this.#items.keys();
  }

  clear(): void {
    for (const item of this.#items.values()) item.close();
    this.#items.clear();
    this.#bytes = 0;
  }

  #drop(index: number): void {
    const item = this.#items.get(index);
    if (item === undefined) return;
    this.#items.delete(index);
    this.#bytes -= bytesOf(item);
    item.close();
  }
}

function bytesOf(item: Closable): number {
  return item.width * item.height * 4;
}
