"""Making the file of a trace from what there is of it: the file before, and the tape."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from playhead.lanes.keyframes import blocks
from playhead.lanes.keyframes.blocks import Block
from playhead.lanes.keyframes.contents import Contents, StoredContents
from playhead.lanes.keyframes.sealed import SealedWriter

BLOCK_STEPS = 4096  # in one block of a file, at most
_BLOCK_BYTES = 1 << 17  # of inputs in one, about: a seek reads it whole
_AT_ONCE = 16


def seal(target: Path) -> None:
    """Put all that is known of a trace into its file; the tape stays, and is the caller's to remove."""
    contents = StoredContents(target)
    try:
        write(target, contents)
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
                writer.keyframe(step, blocks.squeezed(packed), contents.hash_of(step))
        for block in blocks_of(contents):
            writer.block(block)
        writer.commit(contents.facts, contents.length, contents.marks)
    except BaseException:
        writer.discard()
        raise


def blocks_of(contents: Contents) -> Iterator[Block]:
    """Give all steps of a trace in blocks, fewer in one where their inputs are large."""
    stamps, errors, first = contents.stamps, contents.errors, 0
    while first < contents.length:
        inputs: list[bytes | None] = []
        stop, size = min(first + BLOCK_STEPS, contents.length), 0
        while first + len(inputs) < stop and size < _BLOCK_BYTES:
            at = first + len(inputs)
            more = contents.packed_inputs(at, min(at + _AT_ONCE, stop))
            inputs += more
            size += sum(len(one) for one in more if one is not None)
        stop = first + len(inputs)
        yield Block(first, stamps[first:stop], errors[first:stop], inputs)
        first = stop
