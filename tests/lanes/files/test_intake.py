"""Files on their way into the pool, where there are no links, where there are many, and in threads."""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

import pytest

from playhead import disk
from playhead.lanes.files import intake, parallel
from playhead.lanes.files.intake import Intake
from playhead.lanes.files.pool import Pool
from playhead.lanes.files.sources import Source, file, walk
from playhead.lanes.files.tree import Tree
from playhead.layout import PoolFolder


@pytest.fixture
def pool(tmp_path: Path) -> Pool:
    return Pool(PoolFolder(tmp_path / "pool"))


def sources_of(folder: Path) -> list[Source]:
    return Tree(walk(folder)).sources()


def take(pool: Pool, files: Path, sources: list[Source]) -> dict[str, str]:
    files.mkdir()
    with pool.saving():
        entries = Intake(pool, files, {}).take(sources)
    return {entry.path: entry.sha256 for entry in entries}


@pytest.mark.parametrize("code", [errno.EPERM, errno.EXDEV, errno.EMLINK, errno.EOPNOTSUPP])
def test_where_there_can_be_no_links_files_are_copied(
    pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refuse(_source: object, target: object) -> None:
        raise OSError(code, os.strerror(code), str(target))

    monkeypatch.setattr(disk, "link_new", refuse)
    (tmp_path / "in").mkdir()
    for name in ("a", "b", "c"):
        (tmp_path / "in" / name).write_bytes(b"same" if name < "c" else b"other")
    found = take(pool, tmp_path / "files", sources_of(tmp_path / "in"))
    assert found["a"] == found["b"] != found["c"]
    assert {blob.digest: blob.links for blob in pool.blobs()} == {found["a"]: 1, found["c"]: 1}
    assert (tmp_path / "files" / "b").read_bytes() == b"same"
    for blob in pool.blobs():
        pool.check(blob.digest)


def test_at_the_limit_of_links_a_version_has_files_of_its_own(
    pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_bytes(b"content")
    take(pool, tmp_path / "first", sources_of(tmp_path / "in"))
    link = disk.link_new

    def limited(source: str, target: str) -> None:
        if "/pool/" in str(source):
            raise OSError(errno.EMLINK, os.strerror(errno.EMLINK), str(target))
        link(source, target)

    monkeypatch.setattr(disk, "link_new", limited)
    take(pool, tmp_path / "second", sources_of(tmp_path / "in"))
    assert (tmp_path / "second" / "a").read_bytes() == b"content"
    assert not os.path.samefile(tmp_path / "second" / "a", tmp_path / "first" / "a")


def test_large_and_small_files_together(pool: Pool, tmp_path: Path) -> None:
    (tmp_path / "in" / "sub").mkdir(parents=True)
    contents = {f"sub/{n}": bytes([n]) * (parallel.SMALL // 4 * n) for n in range(12)}
    for name, content in contents.items():
        (tmp_path / "in" / name).write_bytes(content)
    found = take(pool, tmp_path / "files", sources_of(tmp_path / "in"))
    assert found == {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    assert {blob.digest for blob in pool.blobs()} == set(found.values())


def test_the_first_error_of_a_thread_ends_the_work(tmp_path: Path) -> None:
    done: list[int] = []

    def work(number: int) -> int:
        if number == 3:
            raise OSError(errno.EIO, "broken")
        done.append(number)
        return number

    with pytest.raises(OSError, match="broken"):
        parallel.each(range(1000), lambda _: parallel.SMALL, work)
    assert len(done) < 1000
    assert parallel.each(range(10), lambda n: parallel.SMALL * (n % 2), lambda n: n) == list(range(10))


def test_a_file_that_changed_since_it_was_looked_at_is_taken_as_it_is(pool: Pool, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"before")
    source = file(tmp_path / "x")
    (tmp_path / "x").write_bytes(b"after, and longer")
    (tmp_path / "files").mkdir()
    with pool.saving():
        (entry,) = Intake(pool, tmp_path / "files", {}).take([source])
    assert (entry.size, entry.sha256) == (17, hashlib.sha256(b"after, and longer").hexdigest())


@pytest.mark.parametrize(("age", "is_settled"), [(0, False), (10_000_000, False), (50_000_000, True)])
def test_what_was_written_within_a_tick_of_the_clock_is_not_remembered(
    tmp_path: Path, age: int, is_settled: bool
) -> None:
    (tmp_path / "x").write_bytes(b"x")
    stamp = file(tmp_path / "x").stamp._replace(ctime_ns=1_000_000_123_456_789, mtime_ns=1_000_000_123_456_789)
    assert intake._is_settled(stamp, 1_000_000_123_456_789 + age) == is_settled
    coarse = stamp._replace(ctime_ns=1_000_000_000_000_000, mtime_ns=1_000_000_000_000_000)
    assert not intake._is_settled(coarse, 1_000_000_000_000_000 + age)
