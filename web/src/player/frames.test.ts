import { describe, expect, it, vi } from "vitest";

import { ApiError } from "../lib/api";
import { readBatch, type Encoded } from "./batch";
import { typeOf } from "./decode";
import { FrameLoader, STILL, type Source } from "./frames";
import { Shelf } from "./shelf";

class Picture {
  static open = 0;
  width = 10;
  height = 10;
  constructor(readonly text: string) {
    Picture.open += 1;
  }
  close(): void {
    Picture.open -= 1;
  }
}

interface Asked {
  start: number;
  count: number;
  signal: AbortSignal;
  answer(): Promise<void>;
  fail(error: Error): Promise<void>;
}

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
  await new Promise((done) => setTimeout(done, 0));
};

function server(holes: number[] = []): Source<Picture> & { asked: Asked[]; most: number; time: number } {
  const asked: Asked[] = [];
  const open = new Set<Asked>();
  const self = {
    asked,
    most: 0,
    time: 0,
    now: () => self.time,
    decode: (image: Uint8Array) => Promise.resolve(new Picture(new TextDecoder().decode(image))),
    load: (start: number, count: number, signal: AbortSignal) =>
      new Promise<Encoded[]>((resolve, reject) => {
        const one: Asked = {
          start,
          count,
          signal,
          answer: async () => {
            open.delete(one);
            resolve(
              Array.from({ length: count }, (_, at) => start + at).map((index) => ({
                index,
                image: holes.includes(index) ? null : new TextEncoder().encode(`picture ${index}`),
              })),
            );
            await settle();
          },
          fail: async (error) => {
            open.delete(one);
            reject(error);
            await settle();
          },
        };
        signal.addEventListener("abort", () => {
          open.delete(one);
          reject(new DOMException("aborted", "AbortError"));
        });
        asked.push(one);
        open.add(one);
        self.most = Math.max(self.most, open.size);
      }),
  };
  return self;
}

const dragging = { direction: 1, rate: 0, isDragging: true } as const;

describe("a batch", () => {
  it("is taken apart, with its holes", () => {
    const bytes = new Uint8Array([7, 0, 0, 0, 2, 0, 0, 0, 65, 66, 8, 0, 0, 0, 0, 0, 0, 0]);
    const found = readBatch(bytes.buffer);
    expect(found.map((one) => one.index)).toEqual([7, 8]);
    expect([...found[0]!.image!]).toEqual([65, 66]);
    expect(found[1]!.image).toBeNull();
  });

  it("that was cut off is an error", () => {
    expect(() => readBatch(new Uint8Array([7, 0, 0, 0, 9, 0, 0, 0, 65]).buffer)).toThrow(/within picture 7/);
    expect(() => readBatch(new Uint8Array([7, 0, 0]).buffer)).toThrow(/within a head/);
  });
});

describe("an encoded picture", () => {
  it("is known by its first bytes", () => {
    expect(typeOf(Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 13))).toBe("image/png");
    expect(typeOf(Uint8Array.of(0xff, 0xd8, 0xff, 0xe0))).toBe("image/jpeg");
    expect(typeOf(Uint8Array.of(60, 104, 116, 109))).toBeNull();
    expect(typeOf(new Uint8Array())).toBeNull();
  });
});

describe("a shelf", () => {
  it("keeps within its bytes and closes what goes", () => {
    Picture.open = 0;
    const shelf = new Shelf<Picture>(3 * 400);
    for (const index of [1, 2, 3]) shelf.put(index, new Picture(`${index}`));
    shelf.get(1);
    shelf.put(4, new Picture("4"));
    expect([...shelf.indexes()]).toEqual([3, 1, 4]);
    expect(Picture.open).toBe(3);
    expect(shelf.bytes).toBe(1200);
    shelf.clear();
    expect(Picture.open).toBe(0);
  });
});

describe("a loader", () => {
  it("gets what is wanted first, then what lies around it", async () => {
    const source = server();
    const loader = new FrameLoader(source, 1000, 1e6);
    loader.want(500);
    expect(source.asked.map(({ start, count }) => [start, count])).toEqual([[500, 1]]);
    await source.asked[0]!.answer();
    expect(loader.picture(500)?.text).toBe("picture 500");
    expect(source.asked.slice(1).map(({ start, count }) => [start, count])).toEqual([[501, 12]]);
    await source.asked[1]!.answer();
    expect([source.asked[2]!.start, source.asked[2]!.count]).toEqual([488, 12]);
    await source.asked[2]!.answer();
    expect(source.asked).toHaveLength(3);
    expect(loader.ranges()).toEqual([[488, 513]]);
  });

  it("never has more than two requests under way, and ends at the newest position", async () => {
    const source = server();
    const loader = new FrameLoader(source, 1000, 1e6);
    for (let index = 0; index < 200; index += 1) loader.want(index * 4, dragging);
    expect(source.asked.map((one) => one.start)).toEqual([0, 4]);
    await source.asked[0]!.answer();
    await source.asked[1]!.answer();
    expect(source.asked.slice(2).map((one) => one.start)).toEqual([796]);
    await source.asked[2]!.answer();
    expect(loader.picture(796)?.text).toBe("picture 796");
    expect(loader.inFlight).toBe(0);
    expect(source.most).toBe(2);
  });

  it("lets quick requests finish, so that a steady drag shows pictures, and stops slow ones", () => {
    const source = server();
    const loader = new FrameLoader(source, 1000, 1e6);
    for (const index of [1, 2, 3]) loader.want(index, dragging);
    expect(source.asked).toHaveLength(2);
    source.time = 300;
    loader.want(4, dragging);
    expect(source.asked[0]!.signal.aborted).toBe(true);
    expect(source.asked[2]!.start).toBe(4);
    expect(source.most).toBe(2);
  });

  it("stops what it fetches ahead when the playhead jumps away", async () => {
    const source = server();
    const loader = new FrameLoader(source, 10_000, 1e6);
    loader.want(0);
    await source.asked[0]!.answer();
    expect(source.asked[1]!.start).toBe(1);
    loader.want(9000);
    expect(source.asked[1]!.signal.aborted).toBe(true);
    expect(source.asked[2]!.start).toBe(9000);
  });

  it("plays ahead of the playhead in batches, either way", async () => {
    const source = server();
    const loader = new FrameLoader(source, 1000, 1e6);
    loader.want(100, { direction: 1, rate: 60, isDragging: false });
    expect(source.asked.map(({ start, count }) => [start, count])).toEqual([[100, 8], [108, 24]]);
    const back = server();
    const other = new FrameLoader(back, 1000, 1e6);
    other.want(100, { direction: -1, rate: 60, isDragging: false });
    expect(back.asked.map(({ start, count }) => [start, count])).toEqual([[100, 1], [76, 24]]);
  });

  it("fetches single pictures where the playhead will be when it is very fast", async () => {
    const source = server();
    const loader = new FrameLoader(source, 100_000, 1e6);
    loader.want(1000, { direction: 1, rate: 960, isDragging: false });
    expect(source.asked).toHaveLength(1);
    expect(source.asked[0]!.count).toBe(1);
    expect(source.asked[0]!.start).toBeGreaterThan(1010);
  });

  it("says what is missing, and shows the nearest before it", async () => {
    const source = server([501]);
    const loader = new FrameLoader(source, 1000, 1e6);
    loader.want(500);
    await source.asked[0]!.answer();
    await source.asked[1]!.answer();
    loader.want(501);
    expect(loader.picture(501)).toBeUndefined();
    expect(loader.trouble(501)).toMatchObject({ kind: "missing" });
    expect(loader.nearest()).toBe(500);
  });

  it("looks back for the newest picture where every so many steps have one", async () => {
    const holes = Array.from({ length: 100 }, (_, at) => at).filter((at) => at % 40 !== 0);
    const source = server(holes);
    const loader = new FrameLoader(source, 100, 1e6);
    loader.want(75);
    for (let turn = 0; turn < 8 && source.asked[turn]; turn += 1) await source.asked[turn]!.answer();
    expect(loader.held).toBe(40);
    expect(loader.picture(40)?.text).toBe("picture 40");
    expect(source.asked.map(({ start, count }) => [start, count]).slice(0, 4)).toEqual([[75, 1], [59, 16], [43, 16], [27, 16]]);
  });

  it("says that there is none where nothing was recorded before either", async () => {
    const source = server([0, 1, 2, 3]);
    const loader = new FrameLoader(source, 4, 1e6);
    loader.want(3);
    for (let turn = 0; turn < 4 && source.asked[turn]; turn += 1) await source.asked[turn]!.answer();
    expect(loader.held).toBe(-1);
    expect(loader.inFlight).toBe(0);
  });

  it("asks a picture that a batch left out what is wrong with it, once it stands there", async () => {
    const source = server([2]);
    source.hasHoles = () => false;
    const loader = new FrameLoader(source, 4, 1e6);
    loader.want(0);
    await source.asked[0]!.answer();
    await source.asked[1]!.answer();
    expect(loader.trouble(2)).toMatchObject({ kind: "damaged" });
    loader.want(2, { direction: 1, rate: 30, isDragging: false });
    expect(source.asked).toHaveLength(2);
    loader.want(2);
    expect([source.asked[2]!.start, source.asked[2]!.count]).toEqual([2, 1]);
    await source.asked[2]!.fail(new ApiError(422, "Damaged", "bytes 10 to 20 are damaged"));
    expect(loader.trouble(2)).toMatchObject({ kind: "damaged", message: "bytes 10 to 20 are damaged" });
    loader.want(2);
    expect(source.asked).toHaveLength(3);
  });

  it("asks one by one where a batch is refused, and names what is damaged", async () => {
    const source = server();
    const loader = new FrameLoader(source, 4, 1e6);
    loader.want(0);
    await source.asked[0]!.answer();
    expect([source.asked[1]!.start, source.asked[1]!.count]).toEqual([1, 3]);
    await source.asked[1]!.fail(new ApiError(422, "Damaged", "chunk 0 is damaged"));
    expect(source.asked[2]!.count).toBe(1);
    await source.asked[2]!.fail(new ApiError(422, "Damaged", "chunk 0 is damaged"));
    expect(loader.trouble(1)).toMatchObject({ kind: "damaged", message: "chunk 0 is damaged" });
    expect(loader.trouble(2)).toBeUndefined();
  });

  it("tries again after the server was away", async () => {
    vi.useFakeTimers();
    try {
      const source = server();
      const loader = new FrameLoader(source, 1, 1e6);
      loader.want(0);
      const failed = source.asked[0]!.fail(new TypeError("Failed to fetch"));
      await vi.advanceTimersByTimeAsync(1);
      await failed;
      expect(loader.trouble(0)).toMatchObject({ kind: "failed" });
      source.time = 2000;
      await vi.advanceTimersByTimeAsync(2000);
      expect(source.asked).toHaveLength(2);
    } finally {
      vi.useRealTimers();
    }
  });

  it("keeps no picture once it is closed", async () => {
    Picture.open = 0;
    const source = server();
    const loader = new FrameLoader(source, 100, 1e6);
    loader.want(5);
    const first = source.asked[0]!;
    await first.answer();
    loader.close();
    expect(Picture.open).toBe(0);
    expect(source.asked[1]!.signal.aborted).toBe(true);
    loader.want(6, STILL);
    expect(source.asked).toHaveLength(2);
  });
});
