"""The pool: walked, checked, and locked so that nothing goes that somebody is about to name."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path

import pytest

from playhead.errors import Damaged
from playhead.lanes.files.intake import Intake
from playhead.lanes.files.pool import BLOCK, Pool, blocks_of, digest_of
from playhead.lanes.files.sources import file
from playhead.layout import PoolFolder


@pytest.fixture
def pool(tmp_path: Path) -> Pool:
    return Pool(PoolFolder(tmp_path / "pool"))


def put(pool: Pool, tmp_path: Path, *contents: bytes) -> list[str]:
    sources = []
    for number, content in enumerate(contents):
        (tmp_path / f"source {number}").write_bytes(content)
        sources.append(file(tmp_path / f"source {number}"))
    files = tmp_path / f"files {len(list(tmp_path.iterdir()))}"
    files.mkdir()
    with pool.saving():
        return [entry.sha256 for entry in Intake(pool, files, {}).take(sources)]


def test_contents_are_walked_in_order_with_sizes_and_links(pool: Pool, tmp_path: Path) -> None:
    assert list(pool.blobs()) == []
    digests = put(pool, tmp_path, b"a", b"bb", b"a", b"")
    found = list(pool.blobs())
    assert [blob.digest for blob in found] == sorted(set(digests))
    assert {blob.digest: (blob.size, blob.links) for blob in found} == {
        digests[0]: (1, 3), digests[1]: (2, 2), digests[3]: (0, 2),
    }  # fmt: skip
    assert pool.has(digests[1], 2)
    assert not pool.has(digests[1], 3)


def test_a_content_is_compared_with_its_name(pool: Pool, tmp_path: Path) -> None:
    (digest,) = put(pool, tmp_path, b"content")
    pool.check(digest)
    path = pool.path(digest)
    path.chmod(0o644)
    path.write_bytes(b"Content")
    with pytest.raises(Damaged, match="the SHA-256 that is its name"):
        pool.check(digest)
    path.unlink()
    with pytest.raises(Damaged, match="no file"):
        pool.check(digest)
    with pytest.raises(Damaged, match="64 hexadecimal"):
        pool.check("../../../etc/passwd")


def test_who_removes_waits_for_who_saves(pool: Pool, tmp_path: Path) -> None:
    (digest,) = put(pool, tmp_path, b"content")
    with pool.saving(), pool.saving():
        with pool.removing(patience=0.05) as is_alone:
            assert not is_alone
    order: list[str] = []
    with pool.removing() as is_alone:
        assert is_alone

        def save() -> None:
            with pool.saving():
                order.append("saved")

        thread = threading.Thread(target=save)
        thread.start()
        thread.join(0.1)
        order.append("removed")
        pool.remove(digest)
        pool.remove(digest)
    thread.join()
    assert order == ["removed", "saved"]
    assert list(pool.blobs()) == []


def test_leftovers_are_no_contents(pool: Pool, tmp_path: Path) -> None:
    (digest,) = put(pool, tmp_path, b"content")
    left = pool.path(digest).with_name(f".{digest[:8]}.1-ab.tmp")
    left.write_bytes(b"half")
    (pool.folder.path / "ab").mkdir(exist_ok=True)
    (pool.folder.path / "ab" / "README").write_bytes(b"")
    assert [blob.digest for blob in pool.blobs()] == [digest]
    assert list(pool.leftovers()) == [left]


@pytest.mark.parametrize("size", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK])
def test_a_file_is_hashed_block_by_block(tmp_path: Path, size: int) -> None:
    content = bytes(range(256)) * (size // 256) + bytes(size % 256)
    (tmp_path / "x").write_bytes(content)
    told: list[int] = []
    assert digest_of(tmp_path / "x", told.append) == hashlib.sha256(content).hexdigest()
    assert sum(told) == size
    assert b"".join(bytes(block) for block in blocks_of(tmp_path / "x")) == content
