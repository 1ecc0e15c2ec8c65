"""Random histories of writers, readers, failures and crashes, against a plain list."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from playhead import testing
from playhead.journal import JournalReader, JournalWriter, Position

CAMPAIGN = float(os.environ.get("PLAYHEAD_CAMPAIGN", "1"))


class JournalMachine(RuleBasedStateMachine):
    """One journal on disk, and what it must hold."""

    @initialize(segment_bytes=st.sampled_from([1, 150, 400, 1 << 20]))
    def begin(self, segment_bytes: int) -> None:
        self.root = Path(tempfile.mkdtemp())
        self.folder = self.root / "journal"
        self.segment_bytes = segment_bytes
        self.payloads: list[bytes] = []
        self.positions: list[Position] = []
        self.first_kept = 0
        self.writer: JournalWriter | None = None
        self.open()
        self.followers = [JournalReader(self.folder, strict=True) for _ in range(2)]
        self.followed = [0, 0]

    def open(self) -> None:
        self.writer = JournalWriter(self.folder, segment_bytes=self.segment_bytes)

    @rule(size=st.integers(0, 300), parts=st.integers(1, 3))
    @precondition(lambda self: self.writer is not None)
    def append(self, size: int, parts: int) -> None:
        payload = (b"%d," % len(self.payloads) * 200)[:size]
        cut = size // parts
        self.positions.append(self.writer.append(payload[:cut], payload[cut:]))
        self.payloads.append(payload)
        assert self.positions[-1].number == len(self.payloads) - 1

    @rule(sizes=st.lists(st.integers(0, 300), max_size=5), failing=st.none() | st.integers(0, 2), short=st.booleans())
    @precondition(lambda self: self.writer is not None)
    def append_several(self, sizes: list[int], failing: int | None, short: bool) -> None:
        payloads = [(b"%d;" % (len(self.payloads) + place) * 200)[:size] for place, size in enumerate(sizes)]
        records = [(payload[: size // 2], payload[size // 2 :]) for payload, size in zip(payloads, sizes, strict=True)]
        if failing is None or self.segment_bytes < 1 << 20:
            self.positions += self.writer.append_all(records)
        else:
            try:
                with testing.failing_at(failing, short=short):
                    self.positions += self.writer.append_all(records)
            except OSError:
                return
        self.payloads += payloads

    @rule(n=st.integers(0, 4), short=st.booleans(), lasting=st.booleans())
    @precondition(lambda self: self.writer is not None)
    def append_on_a_failing_disk(self, n: int, short: bool, lasting: bool) -> None:
        payload = b"failing %d" % len(self.payloads)
        try:
            with testing.failing_at(n, short=short, lasting=lasting):
                position = self.writer.append(payload)
        except OSError:
            return
        self.positions.append(position)
        self.payloads.append(payload)

    @rule()
    @precondition(lambda self: self.writer is not None)
    def sync(self) -> None:
        self.writer.sync()

    @rule()
    @precondition(lambda self: self.writer is not None)
    def close(self) -> None:
        self.writer.close()
        self.writer = None

    @rule()
    @precondition(lambda self: self.writer is None)
    def reopen(self) -> None:
        self.open()

    @rule(size=st.integers(0, 200), kept=st.floats(0, 1, exclude_max=True))
    @precondition(lambda self: self.writer is not None)
    def crash_in_an_append(self, size: int, kept: float) -> None:
        """Leave a part of a record that was never acknowledged."""
        position = self.writer.append(b"torn" * size)
        self.writer.close()
        self.writer = None
        os.truncate(
            self.folder / f"{position.segment:06}.seg",
            position.offset + int(kept * (position.end - position.offset)),
        )

    @rule(junk=st.binary(min_size=1, max_size=100))
    @precondition(lambda self: self.writer is None and self.positions)
    def scribble_behind_the_end(self, junk: bytes) -> None:
        newest = max(self.folder.glob("*.seg"))
        if newest.stat().st_size >= 32:
            with newest.open("ab") as file:
                file.write(junk)

    @rule(back=st.integers(0, 3))
    @precondition(lambda self: self.writer is not None)
    def remove(self, back: int) -> None:
        before = self.writer.segment - back
        self.writer.remove_before(before)
        while self.first_kept < len(self.positions) and self.positions[self.first_kept].segment < before:
            self.first_kept += 1

    @rule(which=st.integers(0, 1), most=st.integers(0, 5) | st.none())
    def follow(self, which: int, most: int | None) -> None:
        for count, record in enumerate(self.followers[which].poll()):
            number = record.position.number
            assert self.followed[which] <= number
            assert number == self.followed[which] or number <= self.first_kept
            assert record.payload == self.payloads[number]
            self.followed[which] = number + 1
            if count == most:
                return
        assert self.followed[which] == len(self.payloads) or self.first_kept == len(self.payloads)

    @rule(which=st.integers(0, 1))
    def hop(self, which: int) -> None:
        for position in self.followers[which].poll_positions(verify=False):
            assert position == self.positions[position.number]
            assert position.number == self.followed[which] or position.number <= self.first_kept
            self.followed[which] = position.number + 1

    @invariant()
    def everything_kept_is_there(self) -> None:
        if not hasattr(self, "payloads"):
            return
        with JournalReader(self.folder, strict=True) as reader:
            records = list(reader.poll())
            kept = self.positions[self.first_kept :]
            assert [record.payload for record in records] == self.payloads[self.first_kept :]
            assert [record.position for record in records] == kept
            assert [reader.read(position) for position in kept[-3:]] == self.payloads[self.first_kept :][-3:]

    def teardown(self) -> None:
        if hasattr(self, "root"):
            for each in (self.writer, *self.followers):
                if each is not None:
                    each.close()
            shutil.rmtree(self.root)


JournalMachine.TestCase.settings = settings(
    max_examples=int(60 * CAMPAIGN), stateful_step_count=30, deadline=None, print_blob=True
)
TestJournalMachine = JournalMachine.TestCase
