"""Several processes save, name and delete versions of one artifact at once: each save gets its own number."""

from __future__ import annotations

import multiprocessing
import os
import random
from pathlib import Path

import playhead
from playhead.artifact import walking
from playhead.lanes.files.pool import Pool
from playhead.layout import Layout

SHARE = float(os.environ.get("PLAYHEAD_CAMPAIGN", "0.1"))
SAVES = max(4, round(40 * SHARE))
FORK = multiprocessing.get_context("spawn")


def save_some(path: Path, folder: Path, who: int, done: multiprocessing.Queue[tuple[int, bytes]]) -> None:
    chance = random.Random(who)
    with playhead.open(path) as store:
        for n in range(SAVES):
            content = b"%d of %d" % (n, who) if chance.random() < 0.5 else b"shared %d" % chance.randrange(3)
            (folder / f"{who}.txt").write_bytes(content)
            version = store.artifacts.save("policy", folder / f"{who}.txt", aliases=[f"by-{who}"])
            done.put((version.version, content))


def delete_some(path: Path, folder: Path, who: int, done: multiprocessing.Queue[tuple[int, bytes]]) -> None:
    with playhead.open(path) as store:
        for n in range(SAVES):
            (folder / "gone.txt").write_bytes(b"shared %d" % (n % 3))
            version = store.artifacts.save("passing", folder / "gone.txt")
            version.delete()
            version.purge()
    done.put((0, b""))


def test_each_save_gets_its_own_version_and_nothing_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "store"
    playhead.open(path).close()
    done: multiprocessing.Queue[tuple[int, bytes]] = FORK.Queue()
    workers = [FORK.Process(target=save_some, args=(path, tmp_path, who, done)) for who in range(3)]
    workers.append(FORK.Process(target=delete_some, args=(path, tmp_path, 9, done)))
    for worker in workers:
        worker.start()
    found = [done.get(timeout=200) for _ in range(3 * SAVES + 1)]
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    saved = dict(one for one in found if one[0])
    assert sorted(saved) == list(range(1, 3 * SAVES + 1))
    with playhead.open(path) as store:
        for number, content in saved.items():
            version = store.artifacts[f"policy:v{number}"]
            assert version.file(version.files[0]).read_bytes() == content
        for who in range(3):
            mine = [
                number
                for number, content in saved.items()
                if store.artifacts[f"policy:v{number}"].files[0][0] == str(who)
            ]
            assert store.artifacts[f"policy:by-{who}"].version == max(mine)
        layout = Layout(path)
        assert {blob.digest for blob in Pool(layout.artifacts.pool).blobs()} == walking.referenced(layout)
