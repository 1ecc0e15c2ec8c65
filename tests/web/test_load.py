"""Many readers and one run that logs as fast as it can: no error, no growth of memory, nothing lost.

CI runs six seconds with ten readers; `make campaign` a minute with fifty.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

IS_CAMPAIGN = "PLAYHEAD_CAMPAIGN" in os.environ
SECONDS, READERS = (60, 50) if IS_CAMPAIGN else (6, 10)
MOST_MEMORY = 400 << 20  # bytes; a few seconds are too short to see whether it grows for ever
MOST_GROWTH = 40 << 20  # in the second half of a minute
RUN = "20260101_100000_load01"

WRITER = """
import sys, time, playhead
with playhead.open(sys.argv[1]) as store, store.run("load", "flat-out", run_id=sys.argv[3], environment=False) as run:
    until, step = time.monotonic() + float(sys.argv[2]), 0
    while time.monotonic() < until:
        for _ in range(100):
            run.log({"a": float(step), "b": -float(step)}, step=step)
            step += 1
        if step % 1000 == 0:
            run.log_text(f"step {step}")
print(step)
"""


def rss(pid: int) -> int:
    found = re.search(r"RssAnon:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1]) << 10


def serve(store: Path) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-m", "playhead", "serve", str(store), "--no-open", "--port", "0", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    text = ""
    while not text.endswith("}\n"):
        line = process.stdout.readline()
        assert line, "the server did not start"
        text += line
    return process, orjson.loads(text)["url"].rstrip("/")


class Reader:
    """A browser that shows one chart: it hears of changes, and fetches what is new."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.step = -1  # the newest that it has seen
        self.fetches = 0
        self._last = "0"

    async def read(self, client: httpx.AsyncClient) -> None:
        """Fetch what is new, thinned where that is much: it goes on from what was seen, and nothing is seen twice."""
        found = await self.ask(client, after_ns=self._last)
        if found["steps"]:
            steps = [self.step, *found["steps"]]
            assert all(before < after for before, after in pairwise(steps))
            assert found["values"] == found["steps"]
            assert found["is_sampled"] or steps == list(range(steps[0], steps[0] + len(steps)))
            self.step, self._last = steps[-1], found["last_ns"]

    async def ask(self, client: httpx.AsyncClient, **query: Any) -> dict[str, Any]:
        """Ask for the metric."""
        answer = await client.get(f"{self.url}/api/runs/{RUN}/metrics", params={"name": "a", **query})
        answer.raise_for_status()
        self.fetches += 1
        found: dict[str, Any] = (answer.json()["series"] or [{"steps": []}])[0]
        return found

    async def follow(self, client: httpx.AsyncClient) -> None:
        async with client.stream("GET", f"{self.url}/api/events", params={"runs": RUN}, timeout=None) as events:
            assert events.status_code == 200
            async for line in events.aiter_lines():
                if line.startswith("data:"):
                    change = orjson.loads(line[5:])
                    await self.read(client)
                    if change["runs"].get(RUN, {}).get("status") == "finished":
                        return


async def follow_all(url: str, pid: int, done: asyncio.Event) -> tuple[list[Reader], list[int], list[int]]:
    readers, sizes = [Reader(url) for _ in range(READERS)], list[int]()

    async def watch() -> None:
        while not done.is_set():
            sizes.append(rss(pid))
            await asyncio.sleep(SECONDS / 12)

    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx.AsyncClient(limits=limits, timeout=60) as client:
        watching = asyncio.create_task(watch())
        await asyncio.wait_for(asyncio.gather(*(reader.follow(client) for reader in readers)), SECONDS * 5 + 60)
        for reader in readers:
            await reader.read(client)
        totals = [(await reader.ask(client))["total"] for reader in readers]
        done.set()
        await watching
    return readers, totals, sizes


@pytest.mark.timeout(600)
def test_readers_of_a_run_that_logs_flat_out_lose_nothing(tmp_path: Path) -> None:
    store = tmp_path / "store"
    command = [sys.executable, "-c", WRITER, str(store), str(SECONDS), RUN]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        until = time.monotonic() + 30
        while not (store / "playhead.db").exists() or not list(store.glob("load/*/runs/*/meta.json")):
            assert time.monotonic() < until
            time.sleep(0.05)
        server, url = serve(store)
        try:
            with ThreadPoolExecutor(1) as other:  # a browser of another test may have a loop in this thread
                work = other.submit(lambda: asyncio.run(follow_all(url, server.pid, asyncio.Event())))
                readers, totals, sizes = work.result()
        finally:
            server.terminate()
            server.communicate(timeout=20)
        logged = int(writer.communicate(timeout=60)[0])
    assert writer.returncode == 0
    assert totals == [logged] * READERS
    assert [reader.step for reader in readers] == [logged - 1] * READERS
    settled, last = sizes[len(sizes) // 2], sizes[-1]
    assert last < MOST_MEMORY, [size >> 20 for size in sizes]
    assert not IS_CAMPAIGN or last - settled < MOST_GROWTH, [size >> 20 for size in sizes]
    fetches = sum(reader.fetches for reader in readers)
    print(
        f"{READERS} readers, {logged:,} steps in {SECONDS} s, {fetches:,} fetches, "
        f"the server's memory {[size >> 20 for size in sizes]} MB"
    )
