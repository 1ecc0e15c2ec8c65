"""Making the file of a trace from what there is of it: the file before, and the tape."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from playhead.lanes.keyframes import frames
from playhead.lanes.keyframes.blocks import Block
from playhead.lanes.keyframes.contents import Contents
from playhead.lanes.keyframes.sealed import SealedWriter
from playhead.lanes.keyframes.stored import StoredContents

BLOCK_STEPS = 4096  # in one block of a file, at most
_SMALL, _LARGE = 1 << 15, 1 << 17  # bytes of inputs in one, about
_AT_ONCE = 16


def seal(target: Path) -> int:
    """Put all that is known of a trace into its file; give how many keyframes it has.

    The tape stays, and is the caller's to remove.
    """
    contents = StoredContents(target)
    try:
        write(target, contents)
        return len(contents.keyframes)
    finally:
        contents.close()


def write(target: Path, contents: Contents) -> None:
    """Write a trace to a file, whole or not at all."""
    writer = SealedWriter(target)
    try:
        for step in contents.keyframes.tolist():
            if isinstance(contents, StoredContents):
                writer.keyframe(step, *contents.compressed(step))
            else:
                packed = contents.packed(step)
                writer.keyframe(step, frames.squeezed(packed), contents.hash_of(step))
        for block in blocks_of(contents):
            writer.block(block)
        writer.commit(contents.facts, contents.length, contents.marks)
    except BaseException:
        writer.discard()
        raise


def blocks_of(contents: Contents) -> Iterator[Block]:
    """Give all steps of a trace in blocks, fewer in one where their inputs are large.

    A seek unpacks a block whole: only inputs that get smaller by it lie in large ones. A small one that is half full
    ends before a keyframe, so that what a seek needs behind one lies in few of them.
    """
    stamps, errors, keyframes = contents.stamps, contents.errors, set(contents.keyframes.tolist())
    inputs: list[bytes | None] = []
    first, size, most = 0, 0, _SMALL
    for step, given in enumerate(_inputs(contents)):
        enough = most // 2 if most == _SMALL and step in keyframes else most
        if size >= enough and most == _SMALL and frames.gets_smaller(b"".join(filter(None, inputs))):
            most = enough = _LARGE
        if size >= enough or len(inputs) >= BLOCK_STEPS:
            yield Block(first, stamps[first:step], errors[first:step], inputs)
            first, size, most, inputs = step, 0, _SMALL, []
        inputs.append(given)
        size += 0 if given is None else len(given)
    if inputs:
        yield Block(first, stamps[first:], errors[first:], inputs)


def _inputs(contents: Contents) -> Iterator[bytes | None]:
    for start in range(0, contents.length, _AT_ONCE):
        yield from contents.packed_inputs(start, min(start + _AT_ONCE, contents.length))
