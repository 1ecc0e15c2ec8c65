"""The traces of a store: recorded under runs, opened by name, finished after a crash."""

from __future__ import annotations

import contextlib
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playhead import disk, filesystem, tape, wording
from playhead.errors import Damaged, Exists, Misplaced, NotFound, StoreLocked, StoreTooNew
from playhead.home import Home
from playhead.lanes.keyframes import whose
from playhead.lanes.keyframes.retention import Retention
from playhead.lanes.keyframes.sealed import Sealed
from playhead.layout import TraceFolder, tape_beside
from playhead.ref import TraceRef
from playhead.trace import Trace, TraceWriter, forms
from playhead.trace.forms import Which
from playhead.trace.identity import Step
from playhead.trace.seeking import CACHE_BYTES
from playhead.trace.writing import recover as recover_file

_ONLY = Which()
_AT_ONCE = 4096  # inputs in memory while a trace is checked
_LOOKS = 3  # at a trace that changes while it is checked


class Traces(Mapping[str, Trace]):
    """The traces of a run by name; `run.traces`.

        run.traces["fit"]                       # keyframes, errors and marks
        run.traces.open("fit", step=update)     # every step, recomputed where it is not kept

    Each is opened when it is asked for; one that is being recorded is read as far as it goes.

    Args:
        folder: Where they lie.
        run_id: The run.
    """

    def __init__(self, folder: TraceFolder, run_id: str) -> None:
        self._folder = folder
        self._run_id = run_id

    def __getitem__(self, name: str) -> Trace:
        """Open a trace, of which only keyframes can be had."""
        return self.open(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._folder.files())

    def __len__(self) -> int:
        return len(self._folder.files())

    def __contains__(self, name: object) -> bool:
        return name in self._folder.files()

    def path(self, name: str) -> Path:
        """Give the file of a trace; while it is recorded for the first time, that is not there yet.

        Raises:
            NotFound: There is none of this name.
        """
        found = self._folder.files()
        if name not in found:
            raise NotFound.among("trace", f"{self._run_id}/{name}", found, hint="run.trace(name) records one")
        return found[name]

    def open(self, name: str, step: Step | None = None, *, cache_bytes: int = CACHE_BYTES) -> Trace:
        """Open a trace as `Trace.open` does.

        Args:
            name: Its name.
            step: Makes a state of the one before, `step(state, input)`, as it did when the trace was recorded.
            cache_bytes: How much memory recomputed states may take.

        Raises:
            NotFound: There is none of this name.
        """
        return Trace.open(self.path(name), step, cache_bytes=cache_bytes)

    def __repr__(self) -> str:
        return f"<Traces of {self._run_id}: {wording.listed(self) or 'none; run.trace(name) records one'}>"


@dataclass(frozen=True, slots=True)
class Glance:
    """What a list says of a trace.

    Attributes:
        steps: How many it has.
        keyframes: Of how many of them the state is kept.
        best: The step with the smallest error; None where there is none.
        error: That error.
        bytes: What it takes on the medium.
        is_recorded: Somebody records it now.
    """

    steps: int
    keyframes: int
    best: int | None
    error: float | None
    bytes: int
    is_recorded: bool


def glance(file: Path, which: Which = _ONLY) -> Glance:
    """Look at a trace for a list: where it is sealed, without reading its steps.

    Args:
        file: It.
        which: Which one, where the file holds several.

    Raises:
        NotFound: There is none.
        Damaged: It cannot be read.
    """
    folder = tape_beside(file)
    size = filesystem.size_of(folder) + (file.stat().st_size if file.exists() else 0)
    if file.suffix == ".trace" and not folder.is_dir():
        sealed = Sealed(file)
        with contextlib.closing(sealed):
            whose.check(file, sealed.facts)
            best, error = sealed.marks.last, None
            if best is not None:
                block = sealed.block(bisect_right(sealed.block_starts, best) - 1)
                error = float(block.errors[best - block.first])
            return Glance(sealed.length, len(sealed.keyframes), best, error, size, False)
    with contextlib.closing(Trace.open(file, **which._asdict())) as trace:
        best = trace.best
        error = None if best is None else float(trace.errors[best])
        return Glance(len(trace), len(trace.keyframes), best, error, size, tape.is_recorded(folder))


def of_run(home: Home, run_id: str) -> Traces:
    """Give the traces of a run."""
    return Traces(home.layout.traces(run_id), run_id)


def new_trace(
    home: Home,
    run_id: str,
    name: str,
    *,
    step: Step | None = None,
    bucket: int | None = None,
    retention: Retention | None = None,
    parameters: Mapping[str, Any] | None = None,
    form: str = "trace",
) -> TraceWriter:
    """Begin a trace of a run, or go on with the one of this name.

    Raises:
        ReadOnly: The store is open for reading.
        Exists: It is there in another form.
        StoreLocked: Somebody records it.
    """
    home.check_writable("record")
    folder = home.layout.traces(run_id)
    target = folder.file(name, form)
    there = folder.files().get(name, target)
    if there != target:
        raise Exists(f"the run {run_id} has a trace {there.name}; go on with it in that form, or take another name")
    return TraceWriter(target, step=step, bucket=bucket, retention=retention, parameters=parameters, resume=True)


def resolve(home: Home, ref: TraceRef) -> Any:
    """Give the state at an address.

    Raises:
        NotFound: There is no such trace, or the step is no keyframe.
        OutOfRange: It has no such step.
    """
    with contextlib.closing(of_run(home, ref.run_id)[ref.name]) as trace:
        if ref.step < len(trace) and not (trace.keyframes == ref.step).any():
            raise NotFound(
                f"{ref} is no keyframe, and recomputing it needs the function that made the trace: "
                f"store.runs[{ref.run_id!r}].traces.open({ref.name!r}, step=…).seek({ref.step})"
            )
        return trace.seek(ref.step)


def recover(home: Home, run_id: str) -> list[str]:
    """Finish the files of recordings that died; give the names for which that was done.

    Raises:
        Damaged: A tape cannot be read; it stays, and all others are finished.
    """
    done, problems = [], []
    for name, file in home.layout.traces(run_id).files().items():
        try:
            if recover_file(file):
                done.append(name)
        except StoreLocked:  # another process of the job is at it
            continue
        except Damaged as problem:
            problems.append(problem)
    if problems:
        raise problems[0]
    return done


def remove(home: Home, run_id: str) -> None:
    """Remove all traces of a run, for good."""
    folder = home.layout.traces(run_id).path
    if folder.is_dir():
        disk.remove_tree(folder)
        disk.sync_folder(folder.parent)


def verify(home: Home) -> Iterator[Damaged]:
    """Read every keyframe and every block of every trace, and compare all hashes; give what is wrong."""
    for run_id in home.layout.traced_runs():
        for file in home.layout.traces(run_id).files().values():
            yield from verify_file(file)


def verify_file(file: Path, which: Which = _ONLY) -> Iterator[Damaged]:
    """Read one trace wholly; give what is wrong: what should be where, what is there, and what to do about it.

    Raises:
        NotFound: The file does not hold the one that is meant.
    """
    for look in range(_LOOKS):
        try:
            found = list(_wrong(file, which))
        except NotFound:
            if which != _ONLY:
                raise
            return  # it was purged meanwhile
        # One that is recorded makes its file anew now and then, and takes what was there away.
        if not found or look == _LOOKS - 1 or not tape.is_recorded(tape_beside(file)):
            yield from found
            return


def facts_of(file: Path, *, cheaply: bool = False) -> Mapping[str, Any] | None:
    """Give what a trace says of itself; None where there is nothing yet, or it cannot be had cheaply.

    Raises:
        Misplaced: It is another trace than its name says.
        Damaged: It cannot be read.
    """
    try:
        if file.suffix == ".trace" and not tape_beside(file).is_dir():
            with contextlib.closing(Sealed(file)) as sealed:
                whose.check(file, sealed.facts)
                return sealed.facts
        if cheaply:
            return None
        with contextlib.closing(forms.load(file)) as contents:
            return contents.facts
    except NotFound:
        return None  # purged, or it has just begun


def sign_again(file: Path) -> None:
    """Let a trace that was renamed by hand say its new name.

    Raises:
        StoreLocked: Somebody records it.
    """
    recover_file(file)
    with contextlib.closing(forms.load(file)) as contents:
        forms.write(file, contents)


def _wrong(file: Path, which: Which) -> Iterator[Damaged]:
    remedy = "Restore it from a copy"
    try:
        with contextlib.closing(Trace.open(file, **which._asdict())) as trace:
            for step in trace.keyframes.tolist():
                try:
                    trace.contents.packed(step)
                except Damaged as problem:
                    yield Damaged(file, problem.expected, problem.found, problem.remedy or remedy)
            for first in range(0, len(trace), _AT_ONCE):
                trace.contents.packed_inputs(first, min(first + _AT_ONCE, len(trace)))
    except Misplaced as problem:
        yield problem
    except Damaged as problem:
        yield Damaged(file, problem.expected, problem.found, problem.remedy or remedy)
    except StoreTooNew as problem:
        yield Damaged(file, "a trace that this Playhead knows", str(problem), "Update Playhead")
    except OSError as problem:
        yield Damaged(file, "a file that can be read", str(problem), remedy)
