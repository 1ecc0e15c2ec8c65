import { expect, it } from "vitest";

import { Pages, type Answer } from "./pages";

/** A server of numbered rows whose answers come when the test says so. */
class Server {
  total: number;
  asked: { offset: number; signal: AbortSignal; give: () => void; fail: (error: Error) => void }[] = [];

  constructor(total: number) {
    this.total = total;
  }

  fetch = (offset: number, limit: number, signal: AbortSignal): Promise<Answer<string>> =>
    new Promise((resolve, reject) => {
      const rows = Array.from({ length: Math.max(0, Math.min(limit, this.total - offset)) }, (_, at) => `${this.total}:${offset + at}`);
      this.asked.push({ offset, signal, give: () => resolve({ total: this.total, rows }), fail: reject });
    });

  get open(): number[] {
    return this.asked.filter((one) => !one.signal.aborted).map((one) => one.offset);
  }

  async giveAll(): Promise<void> {
    while (this.asked.length > 0) {
      for (const one of this.asked.splice(0)) one.give();
      await Promise.resolve();
      await Promise.resolve();
    }
  }

  async give(): Promise<void> {
    for (const one of this.asked.splice(0)) one.give();
    await Promise.resolve();
    await Promise.resolve();
  }
}

function list(server: Server): Pages<string> {
  return new Pages(server.fetch, () => undefined, 10, 4);
}

it("fetches what is in sight first, then what lies next to it", async () => {
  const server = new Server(100);
  const pages = list(server);
  pages.want(0, 12);
  expect(server.open).toEqual([0, 10]);
  await server.give();
  expect(pages.at(12)).toBe("100:12");
  expect(pages.total).toBe(100);
  expect(server.open).toEqual([20]);
});

it("asks for each page once", async () => {
  const server = new Server(100);
  const pages = list(server);
  pages.want(0, 5);
  pages.want(1, 6);
  expect(server.asked.length).toBe(1);
  await server.giveAll();
  pages.want(2, 7);
  expect(server.asked.length).toBe(0);
});

it("leaves what has gone out of sight, so that a drag of the scrollbar makes no backlog", async () => {
  const server = new Server(1000);
  const pages = list(server);
  pages.want(0, 5);
  await server.giveAll();
  for (const first of [200, 400, 600, 800]) pages.want(first, first + 5);
  expect(server.open).toEqual([800]);
  await server.giveAll();
  expect(pages.at(803)).toBe("1000:803");
  expect(pages.at(203)).toBeUndefined();
});

it("fetches ahead in the direction of scrolling", async () => {
  const server = new Server(1000);
  const pages = list(server);
  pages.want(500, 505);
  await server.giveAll();
  pages.want(480, 485);
  await server.give();
  expect(server.open).toEqual([470]);
});

it("shows old rows until the new ones are there, and says so where another question was put", async () => {
  const server = new Server(100);
  const pages = list(server);
  pages.want(0, 5);
  await server.giveAll();
  pages.refresh();
  expect(pages.isOld).toBe(false);
  server.total = 50;
  pages.refresh(true);
  pages.refresh();
  expect(pages.at(3)).toBe("100:3");
  expect(pages.isOld).toBe(true);
  await server.giveAll();
  expect(pages.at(3)).toBe("50:3");
  expect(pages.total).toBe(50);
  expect(pages.isOld).toBe(false);
});

it("takes no answer to an earlier question", async () => {
  const [server, other] = [new Server(100), new Server(7)];
  let asked = server;
  const pages = new Pages((offset, limit, signal) => asked.fetch(offset, limit, signal), () => undefined, 10, 4);
  pages.want(0, 5);
  const late = server.asked.splice(0);
  asked = other;
  pages.refresh(true);
  await other.giveAll();
  for (const one of late) one.give();
  await Promise.resolve();
  expect(pages.total).toBe(7);
  expect(pages.at(0)).toBe("7:0");
});

it("forgets pages that lie far away", async () => {
  const server = new Server(1000);
  const pages = list(server);
  for (const first of [0, 100, 200, 300, 400, 500]) {
    pages.want(first, first + 5);
    await server.giveAll();
  }
  expect(pages.at(500)).toBe("1000:500");
  expect(pages.at(0)).toBeUndefined();
  expect([...pages.loaded()].length).toBe(40);
});

it("keeps the error and stops asking until it is told to go on", async () => {
  const server = new Server(100);
  const pages = list(server);
  pages.want(0, 5);
  const failure = new Error("no");
  server.asked.splice(0)[0]?.fail(failure);
  await Promise.resolve();
  await Promise.resolve();
  expect(pages.error).toBe(failure);
  pages.want(1, 6);
  expect(server.asked.length).toBe(0);
  pages.refresh();
  expect(server.asked.length).toBe(1);
  await server.giveAll();
  expect(pages.error).toBeNull();
});

it("drops what lies beyond a list that became shorter, and finds its new end", async () => {
  const server = new Server(100);
  const pages = list(server);
  pages.want(90, 99);
  await server.giveAll();
  server.total = 15;
  pages.refresh();
  await server.giveAll();
  expect(pages.total).toBe(15);
  expect(pages.at(14)).toBe("15:14");
  expect(pages.at(95)).toBeUndefined();
});

it("changes rows in place", async () => {
  const server = new Server(20);
  const pages = list(server);
  pages.want(0, 5);
  await server.giveAll();
  pages.patch((row) => (row === "20:3" ? "other" : row));
  expect(pages.at(3)).toBe("other");
  expect(pages.at(4)).toBe("20:4");
});
