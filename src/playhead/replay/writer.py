"""ReplayWriter: the steps of one run, recorded call by call."""

from __future__ import annotations

import contextlib
import os
import warnings
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from playhead import at_exit
from playhead.errors import BadName, Closed, Exists, PlayheadError, WrongShape, WrongType
from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.foreign import ForeignPart
from playhead.lanes.arrays.reel import Reel
from playhead.lanes.arrays.writer import ReelWriter
from playhead.layout import ReplayFolder
from playhead.paths import GivenPath, as_folder
from playhead.ref import make_frame_ref

_DEFAULT_CODEC = "zstd"

_started: weakref.WeakSet[ReplayWriter] = weakref.WeakSet()


class ReplayWriter:
    """Records steps into `{replay_dir}/{run_id}.h5`, beside the thread that acts. For one thread at a time.

    A writer that is still open when the program ends is closed then.

    A run that is there already is gone on with: nothing is ever truncated. Everything is stored as it is given, in its
    own type. A step without a frame or an observation leaves a hole, and shifts nothing.

    Args:
        run_id: The run; refs name it.
        replay_dir: Where the file lies; made when recording starts.
        frame_shape: What every frame must look like; without it, as the first one.
        obs_shape: What every observation must look like; without it, as the first one.
        max_steps: Taken for the sake of older code; a run has no limit.
        chunk_size: Rows that are compressed together; None chooses by their size.
        compression: Of the closed file: `zstd`, `lzf`, `gzip` (of level 4, as h5py has it) or None. h5py reads
            the last three by itself.
        batch_size: Taken for the sake of older code; what is written together depends on bytes and time.
        queue_size: Taken for the sake of older code, which counts steps; `config.queue` says how many bytes may wait.
        config: Everything that can be said of how to record, in place of `compression` and `chunk_size`.

    Raises:
        BadName: The run id cannot name a file.
        WrongType: An option is out of its range, or said twice.
    """

    def __init__(
        self,
        run_id: str,
        replay_dir: GivenPath,
        *,
        frame_shape: Sequence[int] | None = None,
        obs_shape: Sequence[int] | None = None,
        max_steps: int = 10_000_000,  # noqa: ARG002
        chunk_size: int | None = None,
        compression: str | None = _DEFAULT_CODEC,
        batch_size: int = 100,  # noqa: ARG002
        queue_size: int = 1000,  # noqa: ARG002
        config: ReplayConfig | None = None,
    ) -> None:
        self._files = ReplayFolder(as_folder(replay_dir, "what holds replays")).reel(run_id)
        if config is not None and (chunk_size is not None or compression != _DEFAULT_CODEC):
            raise WrongType("config says the codec and the chunk; leave compression and chunk_size out beside it")
        self._config = config or ReplayConfig(codec=compression, chunk=chunk_size)
        shapes = {"frames": frame_shape, "observations": obs_shape}
        self._shapes = {group: tuple(shape) for group, shape in shapes.items() if shape is not None}
        self._ref = make_frame_ref(run_id, "frames", 0).removesuffix("0")
        self._known: set[str] = set()
        self._names: dict[str, set[str]] = {}
        self._reel: ReelWriter | None = None
        self._is_closed = False

    @property
    def run_id(self) -> str:
        """The run."""
        return self._files.id

    @property
    def path(self) -> Path:
        """The HDF5 file; it is there from `start` on, and has all steps from `close` on."""
        return self._files.file

    @property
    def step_count(self) -> int:
        """How many steps the run has, with those of earlier recordings: the index of the next ref."""
        return 0 if self._reel is None else self._reel.row

    def start(self) -> None:
        """Begin to record, or go on with what is there. Starting twice is fine.

        Raises:
            StoreLocked: Somebody else records this run.
            Exists: The file is one of another program, which cannot be gone on with.
        """
        if self._reel is not None and not self._is_closed:
            return
        self._known.clear()
        self._learn(self._recorded_names())
        self._reel = ReelWriter(self._files, self._config)
        self._is_closed = False
        at_exit.watch_child()
        _started.add(self)

    def _recorded_names(self) -> list[str]:
        """List the arrays of what is there already."""
        if not self._files.exist():
            return []
        with contextlib.closing(Reel(self._files)) as reel:
            if any(isinstance(part, ForeignPart) for part in reel.parts):
                raise Exists(
                    f"{self.path} was written by another program, or rewritten by one, and cannot be gone on with: "
                    "read it as it is, and record into another run"
                )
            return list(reel.kinds)

    def record_step(self, frame: Any, observation: Any, action: Any, reward: float, done: bool) -> str:
        """Record a step; a step after one that is done begins a new episode.

        Args:
            frame: What a person saw; None leaves a hole.
            observation: What the agent saw when it acted: an array, or a dict of them, each of which becomes an array
                of its own, such as `observations.camera`.
            action: What it did: a number, a list, an array, or a dict of them.
            reward: What came of it.
            done: The episode is over.

        Returns:
            The ref of the frame; its index is the position of the step, also where there is no frame.

        Raises:
            Closed: The recording is not started, or has ended.
            WrongShape, WrongType, BadName: Something differs from the steps before, or cannot be recorded. Nothing is.
        """
        reel = self._started()
        arrays: dict[str, Any] = {}
        for group, value in (("frames", frame), ("observations", observation), ("actions", action)):
            if value is not None:
                self._take(arrays, group, value)
        row = reel.step(arrays, _number(reward), bool(done), False)
        if not arrays.keys() <= self._known:
            self._learn(arrays)
        if done:
            reel.end("terminated")
        return f"{self._ref}{row}"

    def _take(self, arrays: dict[str, Any], group: str, value: Any) -> None:
        """Add a value, or its parts, and see that they are those that every step has."""
        if group in self._shapes and np.shape(value) != self._shapes[group]:
            raise WrongShape(
                f"{group} has the shape {list(np.shape(value))} where {list(self._shapes[group])} was promised"
            )
        is_structured = type(value) is not np.ndarray and isinstance(value, Mapping) and group != "frames"
        named = _parts(group, value) if is_structured else {group: _scalar(value)}
        known = self._names.get(group)
        if named and known is not None and named.keys() != known:
            raise WrongShape(
                f"{', '.join(sorted(named))} where the steps before have {', '.join(sorted(known))}: "
                "all parts are there in every step, or none"
            )
        arrays.update(named)

    def _learn(self, names: Iterable[str]) -> None:
        """Remember the arrays that there are, by what they are parts of."""
        self._known.update(names)
        self._names = {}
        for name in self._known:
            self._names.setdefault(name.partition(".")[0], set()).add(name)

    def mark_episode_end(self) -> None:
        """End the episode; twice in a row, or after a step that is done, nothing more happens."""
        self._started().end("reset")

    def flush(self) -> None:
        """Wait until every step so far is where a kill of the process does not reach it, and readers see it."""
        reel = self._started()
        if not self._is_closed:
            reel.flush()

    def close(self) -> None:
        """Write everything down and finish the file; an episode that is open ends. Closing twice is fine."""
        if self._reel is not None:
            self._reel.close()
            self._is_closed = True
            _started.discard(self)

    def _started(self) -> ReelWriter:
        if self._reel is None:
            raise Closed(f"the recording of {self.run_id} is not started: call start(), or use it in a with statement")
        return self._reel

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None and self._reel is not None:
            self._reel.end("error")
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.run_id}, {self.step_count} steps>"


def _parts(group: str, value: Mapping[Any, Any]) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for name, item in _leaves(group, value):
        if name in named:
            raise BadName(f"two parts would both be recorded as {name}: give them names that differ")
        named[name] = _scalar(item)
    return named


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, Mapping):
        yield name, value
        return
    for key, item in value.items():
        if not isinstance(key, str):
            raise BadName(f"the parts of {name} have names, and {key!r} is none: use text")
        yield from _leaves(f"{name}.{key}", item)


def _scalar(value: Any) -> Any:
    """Give an array of no dimension as the number that it is: whole numbers are then all stored alike."""
    return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value


def _number(reward: Any) -> float:
    try:
        return float(reward)
    except OverflowError as error:  # its digits may be more than Python writes
        raise WrongType(f"a reward is a number of 64 bits: {error}") from error
    except (TypeError, ValueError) as error:
        raise WrongType(f"a reward is a number, not {reward!r}: {error}") from error


def _close_at_exit() -> None:
    """Finish the files that the program left open."""
    with contextlib.ExitStack() as each:
        for writer in list(_started):
            each.callback(_close, writer)


def _close(writer: ReplayWriter) -> None:
    try:
        writer.close()
    except (OSError, PlayheadError) as error:
        warnings.warn(f"{writer.path} could not be finished; its steps can be read: {error}", RuntimeWarning, 1)


at_exit.register(_close_at_exit)
os.register_at_fork(after_in_child=_started.clear)
