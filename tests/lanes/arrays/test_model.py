"""Random histories of one reel: episodes, steps, flushes, ends, crashes; against a plain Python model.

One reader is open all the time and only refreshed, another is made at every look.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.reel import Reel
from tests.lanes.arrays.reels import CODECS, FOR_EVER, Recording, noise, patterned, reel_in

CAMPAIGN = float(os.environ.get("PLAYHEAD_CAMPAIGN", "1"))
ENDS = ["terminated", "truncated", "reset", "error", "closed"]
MOST_STEPS = 60


class ReelMachine(RuleBasedStateMachine):
    """One reel on disk, and what it must hold."""

    @initialize(
        segment_bytes=st.sampled_from([1, 500, 2500, 1 << 20]),
        chunk=st.sampled_from([1, 3, 8, None]),
        codec=st.sampled_from(CODECS),
    )
    def start(self, segment_bytes: int, chunk: int | None, codec: str | None) -> None:
        self.root = Path(tempfile.mkdtemp())
        config = ReplayConfig(interval=FOR_EVER, segment_bytes=segment_bytes, chunk=chunk, codec=codec)
        self.recording = Recording(reel_in(self.root), config, facts={"env": "Pong"}, stacks={"stacked": 3})
        self.following = Reel(self.recording.files)
        self.is_recording = True
        self.parts = self.given = 0  # what a crash keeps depends on the clock; what is drawn next must not

    def arrays(self, number: int, which: int) -> dict[str, Any]:
        arrays: dict[str, Any] = {}
        if which & 1:
            arrays["frames"] = noise(number, (3, 2)) if number % 3 else np.zeros((3, 2), np.uint8)
        if which & 2:
            arrays["observations.camera"] = patterned(number, (2, 2, 2), "u1")
            arrays["observations.state"] = patterned(number, (4,), "f4")
        if which & 4:
            arrays["actions"] = np.array(number)
        if which & 8:
            arrays["stacked"] = patterned(number, (2, 3), "i2")
        return arrays

    @rule(which=st.lists(st.integers(0, 15), min_size=1, max_size=9), agent=st.sampled_from(["a", "b"]))
    @precondition(lambda self: self.is_recording and self.given < MOST_STEPS)
    def step(self, which: list[int], agent: str) -> None:
        self.given += len(which)
        for arrays in which:
            number = len(self.recording.steps)
            info = b'{"n": %d}' % number if number % 3 == 0 else b""
            self.recording.step(
                self.arrays(number, arrays), reward=number / 7, flags=number % 4, info=info, agent=agent
            )

    @rule(with_facts=st.booleans(), with_prefixes=st.booleans())
    @precondition(lambda self: self.is_recording)
    def begin(self, with_facts: bool, with_prefixes: bool) -> None:
        number = len(self.recording.steps)
        prefixes = {"stacked": patterned(number, (2, 2, 3), "i2")}
        self.recording.begin({"seed": number} if with_facts else None, prefixes if with_prefixes else None)

    @rule(how=st.sampled_from(ENDS), with_facts=st.booleans(), finals=st.integers(0, 3))
    @precondition(lambda self: self.is_recording)
    def end(self, how: str, with_facts: bool, finals: int) -> None:
        number = len(self.recording.steps)
        seen = {name: value for name, value in self.arrays(number, finals).items() if name != "observations.camera"}
        self.recording.end(how, seen, {"score": number} if with_facts else None)

    @rule(sync=st.booleans())
    @precondition(lambda self: self.is_recording)
    def flush(self, sync: bool) -> None:
        self.recording.flush(sync=sync)

    @rule()
    @precondition(lambda self: self.is_recording and self.parts < 12)
    def let_the_background_work(self) -> None:
        self.recording.writer.writer.run_now()
        self.parts += 1

    @rule()
    @precondition(lambda self: self.is_recording)
    def close(self) -> None:
        self.recording.close()
        self.is_recording = False
        assert not self.recording.files.journal.exists()

    @rule()
    @precondition(lambda self: not self.is_recording)
    def go_on(self) -> None:
        self.recording.resume()
        self.is_recording = True
        assert self.recording.writer.row == len(self.recording.steps)

    @rule()
    @precondition(lambda self: self.is_recording and self.parts < 12)
    def crash_and_go_on(self) -> None:
        self.recording.crash_and_resume()
        self.parts += 1

    @invariant()
    def both_readers_see_all_that_was_acknowledged(self) -> None:
        if not hasattr(self, "recording"):
            return
        self.following.refresh()
        fresh = Reel(self.recording.files)
        for who, reel in {"open all the time": self.following, "fresh": fresh}.items():
            assert self.recording.flushed <= reel.length <= len(self.recording.steps), who
            assert reel.damage == [], who
            self.recording.assert_steps(reel, 0, reel.length)
        if self.recording.flushed == len(self.recording.steps) == fresh.length and not self.is_recording:
            self.recording.assert_whole(self.following)
            self.recording.assert_whole(fresh)
        fresh.close()

    def teardown(self) -> None:
        if hasattr(self, "recording"):
            if self.is_recording:
                self.recording.close()
            self.recording.assert_whole()
            self.following.close()
            shutil.rmtree(self.root)


TestReel = ReelMachine.TestCase
TestReel.settings = settings(
    max_examples=int(25 * CAMPAIGN),
    stateful_step_count=30,
    deadline=None,
    phases=[Phase.generate],  # shrinking takes minutes, and what a crash keeps depends on the clock
    database=None,
)
