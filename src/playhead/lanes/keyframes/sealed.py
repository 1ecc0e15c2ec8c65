"""The file of a trace: keyframes and blocks of steps back to back, then an index of them, then where that begins.

 0  8 bytes  magic
 8  u32      version
12  …        keyframes and blocks, each compressed
    …        the index: a packed dict, compressed
-40 u64      offset of the index
-32 u64      length of the index
-24 16 bytes hash of the index
-8  8 bytes  magic again: a file that was cut short has none
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np
import xxhash
from numpy.typing import NDArray

from playhead import disk, strictjson, zstd
from playhead.errors import Damaged, NotFound, StoreTooNew
from playhead.lanes.keyframes import blocks, frames, tree
from playhead.lanes.keyframes.blocks import Block
from playhead.lanes.keyframes.contents import check_facts
from playhead.lanes.keyframes.inputs import Cuts, PackedInputs
from playhead.lanes.keyframes.marks import Marks
from playhead.lanes.keyframes.rows import Forms

VERSION = 1

_MAGIC = b"\x89PHTRCE\n"
_HEAD = struct.Struct("<8sI")
_FOOT = struct.Struct("<QQ16s8s")
_REMEDY = "Restore it from a copy"
_ARRAYS = {"keyframes": "i8", "offsets": "u8", "sizes": "u8", "firsts": "i8", "at": "u8", "lengths": "u8", "sums": "u8"}


_LEAST_ROOM, _ROOM = 1 << 20, 64  # bytes of an index; and for each of its compressed ones, most of which are hashes


class SealedWriter:
    """Writes the file of a trace; nothing is seen of it before `commit`.

    Args:
        target: Where it will be.
    """

    def __init__(self, target: disk.StrPath) -> None:
        self._draft = disk.Draft(target)
        self._end = 0
        self._index: dict[str, list[int]] = {name: [] for name in _ARRAYS}
        self._hashes: list[bytes] = []
        self._write(_HEAD.pack(_MAGIC, VERSION))

    def _write(self, data: bytes) -> int:
        start = self._end
        self._draft.write(data)
        self._end += len(data)
        return start

    def keyframe(self, step: int, data: bytes, hashed: bytes) -> None:
        """Add a state, compressed."""
        for name, value in (("keyframes", step), ("offsets", self._write(data)), ("sizes", len(data))):
            self._index[name].append(value)
        self._hashes.append(hashed)

    def block(self, block: Block) -> None:
        """Add steps."""
        data = block.pack()
        found = {
            "firsts": block.first,
            "at": self._write(data),
            "lengths": len(data),
            "sums": xxhash.xxh3_64_intdigest(data),
        }
        for name, value in found.items():
            self._index[name].append(value)

    def commit(self, facts: dict[str, Any], length: int, marks: Marks) -> None:
        """Put the file in its place.

        Args:
            facts: What does not change, as JSON.
            length: How many steps there are.
            marks: Those that were the best so far.
        """
        content: dict[str, Any] = {
            "facts": strictjson.encode(facts).decode(),
            "version": VERSION,
            "length": length,
            "marks": marks.pack(length),
            "hashes": np.frombuffer(b"".join(self._hashes), np.uint8),
        }
        content |= {name: np.array(self._index[name], kind) for name, kind in _ARRAYS.items()}
        index = zstd.compress(tree.pack(content), frames.LEVEL)
        start = self._write(index)
        self._write(_FOOT.pack(start, len(index), tree.digest(index), _MAGIC))
        self._draft.commit()

    def discard(self) -> None:
        """Remove what was written."""
        self._draft.discard()


class Sealed:
    """Reads the file of a trace. Safe in threads.

    Args:
        path: It.

    Raises:
        NotFound: There is none.
        Damaged: It cannot be read.
        StoreTooNew: A later Playhead wrote it.

    Attributes:
        facts: What does not change.
        length: How many steps there are.
        marks: Those that were the best so far.
        keyframes: The steps of which the state is kept.
        block_starts: The first step of each block.
    """

    def __init__(self, path: disk.StrPath) -> None:
        self.path = Path(path)
        try:
            self._fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError as error:
            raise NotFound(f"no trace {self.path}") from error
        self._forms = Forms()
        self._cuts: dict[int, Cuts] = {}  # of the blocks that were read
        self.identity = (os.fstat(self._fd).st_dev, os.fstat(self._fd).st_ino)
        try:
            self._read_index()
        except BaseException:
            self.close()
            raise

    def _read_index(self) -> None:
        size = os.fstat(self._fd).st_size
        head, foot = os.pread(self._fd, _HEAD.size, 0), os.pread(self._fd, _FOOT.size, max(0, size - _FOOT.size))
        if len(head) < _HEAD.size or head[: len(_MAGIC)] != _MAGIC:
            raise Damaged(self.path, "a trace", f"another file, which begins with {head[:12]!r}")
        version = _HEAD.unpack(head)[1]
        is_whole = len(foot) == _FOOT.size and foot[-len(_MAGIC) :] == _MAGIC
        start, length, hashed, _ = _FOOT.unpack(foot) if is_whole else (0, 0, b"", b"")
        index = os.pread(self._fd, length, start) if start + length == size - _FOOT.size else b""
        is_ours = is_whole and tree.digest(index) == hashed
        if version > VERSION and not (is_ours and self._says_version(index)):
            raise StoreTooNew(f"{self.path} is a trace of version {version}; this Playhead knows {VERSION}. Update it")
        if not is_whole:
            raise Damaged(self.path, "a trace with its index at the end", f"{size:,} bytes that end otherwise", _REMEDY)
        if not is_ours:
            raise Damaged(self.path, "the index of a trace", "other bytes than its hash says", _REMEDY)
        if version != VERSION:  # no hash covers these bytes; the index is the one that this version wrote
            due = f"the version {VERSION} in its first bytes, as its index says"
            raise Damaged(self.path, due, str(version), _REMEDY)
        try:
            self._take(self._expanded(index), start)
        except (zstd.Malformed, KeyError, TypeError, ValueError, AttributeError) as error:
            raise Damaged(self.path, "the index of a trace", f"{type(error).__name__}: {error}", _REMEDY) from error

    @staticmethod
    def _expanded(index: bytes) -> dict[str, Any]:
        found: dict[str, Any] = tree.unpack(zstd.expand_all(index, _LEAST_ROOM + _ROOM * len(index)))
        return found

    def _says_version(self, index: bytes) -> bool:
        """Tell whether an index that has its hash is of this version; version 1 did not always say so."""
        try:
            return bool(self._expanded(index).get("version", 1) == VERSION)
        except (zstd.Malformed, TypeError, ValueError, AttributeError):
            return False

    def _take(self, content: dict[str, Any], end: int) -> None:
        """Take what the index says, and see that it can be."""
        if not isinstance(content["facts"], str):
            raise TypeError(f"facts in a {type(content['facts']).__name__}")
        self.facts: dict[str, Any] = check_facts(strictjson.decode(content["facts"]))
        self.length: int = content["length"]
        if type(self.length) is not int or self.length < 0:
            raise ValueError(f"a length of {self.length!r}")
        self.marks = Marks.unpack(content["marks"], self.length)
        found = {name: _column(content, name) for name in _ARRAYS}
        hashes = content["hashes"].reshape(-1, tree.HASH_BYTES)
        _check_order(found["keyframes"], self.length)
        _check_order(found["firsts"], self.length)
        if found["firsts"][:1] != ([0] if self.length else []):
            raise ValueError("steps without a block")
        self.keyframes: NDArray[np.int64] = content["keyframes"].astype(np.int64)
        self._places = {
            step: (offset, size, hashed.tobytes())
            for step, offset, size, hashed in zip(
                found["keyframes"], found["offsets"], found["sizes"], hashes, strict=True
            )
        }
        self.block_starts: Sequence[int] = found["firsts"]
        stops = [*found["firsts"][1:], self.length] if self.length else []
        self._blocks = list(zip(found["firsts"], stops, found["at"], found["lengths"], found["sums"], strict=True))
        pieces = [(offset, size) for offset, size, _ in self._places.values()]
        for offset, size in pieces + [(offset, size) for _, _, offset, size, _ in self._blocks]:
            if offset < _HEAD.size or offset + size > end:
                raise ValueError(f"{size} bytes at {offset}, of {end}")

    def state(self, step: int) -> tuple[bytes, bytes]:
        """Give the compressed state of a keyframe, and its hash."""
        offset, size, hashed = self._places[step]
        return self._piece(offset, size), hashed

    def _piece(self, offset: int, size: int) -> bytes:
        data = os.pread(self._fd, size, offset)
        if len(data) != size:
            raise Damaged(self.path, f"{size} bytes at {offset}", f"{len(data)}", _REMEDY)
        return data

    def block(self, number: int) -> Block:
        """Read a block of steps.

        Raises:
            Damaged: It is not the one that was written.
        """
        first, stop = self._blocks[number][:2]
        found = Block.unpack(self._block(number), self.path)
        if (found.first, found.stop) != (first, stop):
            raise Damaged(self.path, f"steps {first} to {stop}", f"{found.first} to {found.stop}", _REMEDY)
        assert isinstance(found.inputs, PackedInputs)
        self._cuts[number] = found.inputs.cuts
        return found

    def _block(self, number: int) -> bytes:
        first, _, offset, size, due = self._blocks[number]
        data = self._piece(offset, size)
        if xxhash.xxh3_64_intdigest(data) != due:
            raise Damaged(self.path, f"the steps from {first} on", "other bytes than their checksum says", _REMEDY)
        return data

    def inputs(self, number: int) -> PackedInputs:
        """Read what leads from each step of a block to the next; nothing else, where the block was read before.

        Raises:
            Damaged: It is not the one that was written.
        """
        if number not in self._cuts:
            self.block(number)
        data = self._block(number)
        view = frames.look(data, blocks.MOST_BYTES)
        return PackedInputs(view, self._cuts[number], self._forms, is_bare=view.obj is data)

    def digest(self) -> str:
        """Return the SHA-256 of the end of the file: it has the hash of the index, which has that of all else."""
        size = os.fstat(self._fd).st_size
        return hashlib.sha256(os.pread(self._fd, _FOOT.size, size - _FOOT.size)).hexdigest()

    def all_blocks(self) -> Iterable[Block]:
        """Read all blocks, in order."""
        return map(self.block, range(len(self._blocks)))

    def close(self) -> None:
        """Give the file back. Closing twice is fine."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    def __del__(self) -> None:
        if getattr(self, "_fd", -1) >= 0:
            self.close()


def _column(content: dict[str, Any], name: str) -> list[int]:
    column = content[name]
    if column.dtype != np.dtype(_ARRAYS[name]) or column.ndim != 1:
        raise TypeError(f"{name} of {column.dtype} and shape {column.shape}")
    return cast("list[int]", column.tolist())


def _check_order(steps: list[int], length: int) -> None:
    if any(one >= other for one, other in pairwise([-1, *steps, length])):
        raise ValueError(f"steps that are not in order, or not below {length}")
