"""The tape of a trace: what a recording writes to the journal, read while it goes on or after a crash.

Records are the facts of a recording with the step it begins at, states, and blocks of steps. A state lies before the
block that says its step is there; a recording that begins forgets states for which no block came, since its steps may
be others.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np

from playhead import disk, strictjson
from playhead.errors import Damaged, NotFound
from playhead.journal import JournalReader, is_lost
from playhead.journal.segment import Position
from playhead.lanes.keyframes import blocks, tree
from playhead.lanes.keyframes.blocks import Block
from playhead.lanes.keyframes.contents import check_facts
from playhead.signal.solo import tape_of
from playhead.tape import FACTS, HEAD, SAMPLES

STATE, STEPS = 0, 1  # what samples are
STATE_HEAD = struct.Struct(f"<Q{tree.HASH_BYTES}s")


class Taped:
    """Reads the tape of a trace, from its begin and on as it grows.

    Args:
        target: The file that will be made of it.

    Attributes:
        folder: The tape.
        facts: What does not change; empty where nothing was recorded, or where the steps of the trace that it goes on
            with are not all on the tape yet.
        base: The step with which the tape begins; those before are in the file.
        states: The position of each state on the tape, by step.
        dropped: Steps whose states are no keyframes any more.
        recording: Another one for each tape that is read.
    """

    def __init__(self, target: Path) -> None:
        self.folder = self._folder = tape_of(target)
        self._reader: JournalReader | None = None
        self._held: disk.HeldFolder | None = None  # the folder that is read: another recording has another one
        self.recording = object()
        self._forget()

    def _forget(self) -> None:
        self.facts: dict[str, Any] = {}
        self._due: tuple[int, dict[str, Any]] | None = None  # facts that hold from a length on
        self.base = 0
        self.states: dict[int, Position] = {}
        self.dropped: set[int] = set()
        self._waiting: dict[int, Position] = {}  # states without a block
        self._blocks: list[Block] = []

    @property
    def length(self) -> int:
        """The number behind the last step."""
        return self._blocks[-1].stop if self._blocks else self.base

    def poll(self) -> bool:
        """Read what was recorded since; tell whether there is a tape.

        Raises:
            Damaged: It has a hole.
        """
        try:
            if self._reader is None or self._held is None or not self._held.is_there():
                held = disk.HeldFolder(self._folder)
                self.close()
                self._forget()
                self._reader, self._held = JournalReader(self._folder), held
                self.recording = object()
            for record in self._reader.poll():
                if self._reader.damage:
                    break
                self._take_checked(record.position, record.payload)
            for damage in self._reader.damage[:1]:
                if not is_lost(damage):  # else a power cut took what was not synced, and the recording ends there
                    found = f"a hole from byte {damage.start} to {damage.stop}: {damage.reason}"
                    raise Damaged(damage.path, "whole records", found)
        except (NotFound, FileNotFoundError, NotADirectoryError):  # nobody records, or it was sealed between two looks
            return False
        return True

    def _take_checked(self, position: Position, payload: bytes) -> None:
        try:
            self._take(position, payload)
        except Damaged:
            raise
        except (struct.error, KeyError, TypeError, AttributeError, ValueError) as error:
            raise Damaged(self._folder, "a record of a trace", f"{type(error).__name__}: {error}") from error

    def _take(self, position: Position, payload: bytes) -> None:
        what, kind = HEAD.unpack_from(payload)
        if what == FACTS:
            said = strictjson.decode(payload[HEAD.size :])
            if said["base"] != self.length:  # steps in between were sealed, and are not on the tape any more
                self._forget()
                self.base = int(said["base"])
            self._due = said.get("copied", 0), check_facts(said["facts"])
            self._waiting.clear()
        elif what == SAMPLES and kind == STATE:
            step, _ = STATE_HEAD.unpack_from(payload, HEAD.size)
            self._waiting[step] = position
        elif what == SAMPLES and kind == STEPS:
            block = Block.unpack(payload[HEAD.size :], self._folder)
            if block.first != self.length:
                raise Damaged(self._folder, f"steps from {self.length} on", f"steps from {block.first} on")
            self._blocks.append(block)
            for step in [step for step in self._waiting if step < block.stop]:
                self.states[step] = self._waiting.pop(step)
            self.dropped.update(block.dropped)
        if self._due is not None and self.length >= self._due[0]:
            self.facts, self._due = self._due[1], None

    def since(self, step: int) -> Block:
        """Give all steps from one on."""
        found = [block for block in self._blocks if block.stop > step]
        if not found:
            return Block(step, np.empty(0, np.int64), np.empty(0, np.float64), [])
        whole = blocks.join(found)
        skip = max(0, step - whole.first)
        return Block(
            whole.first + skip, whole.stamps[skip:], whole.errors[skip:], whole.inputs[skip:], sorted(self.dropped)
        )

    def state(self, step: int) -> tuple[bytes, bytes]:
        """Give the compressed state of a step, and its hash."""
        assert self._reader is not None
        payload = self._reader.read(self.states[step])
        _, hashed = STATE_HEAD.unpack_from(payload, HEAD.size)
        return payload[HEAD.size + STATE_HEAD.size :], hashed

    def close(self) -> None:
        """Give files back."""
        if self._reader is not None:
            self._reader.close()
        self._reader = None
