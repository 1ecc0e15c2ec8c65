"""Several processes save, name and delete versions of one artifact at once: each save gets its own number."""

from __future__ import annotations

import multiprocessing
import os
import random
from pathlib import Path

import playhead
from playhead.artifact import walking
from playhead.care import collecting, verify
from playhead.lanes.files import intake
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


def files_of(number: int) -> dict[str, bytes]:
    return {f"{folder}/{n}.txt": b"%d %d" % (n, number * (folder == "a")) for folder in "ab" for n in range(64)}


def save_folders(path: Path, folder: Path, who: int, done: multiprocessing.Queue[tuple[int, bytes]]) -> None:
    """Save a folder again and again: two of three times as it was."""
    intake._TICK_NS = intake._COARSE_NS = -1  # nobody writes to the files while they are saved
    with playhead.open(path) as store:
        for n in range(3 * SAVES):
            for name, content in files_of(n // 3).items() if n % 3 == 0 else ():
                (folder / str(who) / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / str(who) / name).write_bytes(content)
            done.put((store.artifacts.save("data", folder / str(who)).version, b"%d" % (n // 3)))


def purge_some(path: Path, _folder: Path, _who: int, done: multiprocessing.Queue[tuple[int, bytes]]) -> None:
    """Purge the oldest versions, which others link to, and collect garbage, while others save."""
    with playhead.open(path) as store:
        gone = 0
        while gone < SAVES:
            versions = store.artifacts.versions("data") if list(store.artifacts) else []
            if len(versions) > 2:
                versions[0].purge()
                gone += 1
            collecting.collect(store._home, older_than=0)
    done.put((0, b""))


def test_folders_are_shared_while_those_who_have_them_go(tmp_path: Path) -> None:
    path = tmp_path / "store"
    playhead.open(path).close()
    done: multiprocessing.Queue[tuple[int, bytes]] = FORK.Queue()
    workers = [FORK.Process(target=save_folders, args=(path, tmp_path, who, done)) for who in range(2)]
    workers.append(FORK.Process(target=purge_some, args=(path, tmp_path, 9, done)))
    for worker in workers:
        worker.start()
    saved = dict(done.get(timeout=200) for _ in range(6 * SAVES + 1))
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    with playhead.open(path) as store:
        kept = store.artifacts.versions("data")
        assert len(kept) == 6 * SAVES - SAVES
        for version in kept:
            due = files_of(int(saved[version.version]))
            assert {name: (version.path / name).read_bytes() for name in due} == due
        assert any(version.path.is_symlink() for version in kept)
    assert [finding for finding in verify(path, full=True) if finding.lane == "artifacts"] == []
