"""TraceWriter: recording a trace."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from playhead import clock, disk, strictjson, tape
from playhead.errors import Closed, Exists, NotFound, StoreLocked, WrongType
from playhead.lanes.keyframes import retention as ways
from playhead.lanes.keyframes import whose
from playhead.lanes.keyframes.contents import Contents
from playhead.lanes.keyframes.retention import Retention, Tiered
from playhead.lanes.keyframes.stored import StoredContents
from playhead.lanes.keyframes.tape import TraceTape
from playhead.lanes.keyframes.tiers import DEFAULT_BUCKET
from playhead.paths import GivenPath, as_path
from playhead.signal.solo import tape_of
from playhead.trace import forms, identity
from playhead.trace.identity import Step

VERSION = 1


class TraceWriter:
    """Records a trace; a context manager whose end finishes the file. For one thread at a time.

    Args:
        target: The file: `.trace`, or for a small one that people read, `.json` or `.json.gz`.
        step: Makes a state of the one before. It is never called here: what is noted of it warns whoever reads the
            trace with another.
        bucket: How many keyframes a tier has; see `tiers`.
        retention: Another way to choose keyframes, instead of a bucket.
        parameters: What the function is told besides state and input: a learning rate. As JSON.
        resume: Go on with the trace that is there; without it, one that is there is refused.

    Raises:
        Exists: There is a trace already.
        StoreLocked: Somebody records it.
        WrongType: An argument is none of these.
    """

    def __init__(
        self,
        target: GivenPath,
        *,
        step: Step | None = None,
        bucket: int | None = None,
        retention: Retention | None = None,
        parameters: Mapping[str, Any] | None = None,
        resume: bool = False,
    ) -> None:
        self._target = as_path(target)
        self._form = forms.of_path(self._target)
        chosen = _chosen(bucket, retention)
        disk.make_folders(self._target.parent)
        self._ended: str | None = "never begun"
        self._closing = threading.Lock()
        self._seen: tuple[int, ...] | None = None  # what tells this file from one that another writer makes
        before = self._before(resume)
        facts: dict[str, Any] = {
            "version": VERSION,
            "created_ns": clock.now_ns(),
            "retention": chosen.to_json(),
            "parameters": strictjson.plain(strictjson.items(parameters, "parameters")),
            "step": identity.describe(step),
        }
        if before is None:
            facts = whose.signed(facts, self._target)
            self._begin(TraceTape(self._target, facts, chosen, can_compact=self._form == forms.BINARY))
        else:
            with contextlib.closing(before):
                self._go_on(before, facts, chosen if bucket is not None or retention is not None else None)
        self._ended = None

    def _before(self, resume: bool) -> Contents | None:
        """Finish what a crash left of this trace, and give what there is of it."""
        recover(self._target)
        self._seen = _looks(self._target)
        if self._seen is None:
            return None
        if not resume:
            raise Exists(f"there is a trace {self._target} already; pass resume=True to go on with it, or another name")
        return forms.load(self._target)

    def _go_on(self, before: Contents, facts: dict[str, Any], chosen: Retention | None) -> None:
        old = before.facts
        kept = chosen or ways.from_json(old.get("retention") or Tiered().to_json())
        kept.resume(before.marks, before.keyframes.tolist(), before.length)
        facts |= {"created_ns": old.get("created_ns", facts["created_ns"]), "retention": kept.to_json()}
        for name in ("parameters", "step"):  # what is not said anew stays
            facts[name] = facts[name] or old.get(name)
        errors = before.errors
        is_binary = self._form == forms.BINARY
        new = TraceTape(
            self._target,
            whose.signed(old | facts, self._target),
            kept,
            length=before.length if is_binary else 0,
            least=float(np.nanmin(errors)) if (errors < np.inf).any() else np.inf,
            last_ns=int(before.stamps[-1]) if before.length else None,
            kept=len(before.keyframes),
            copied=0 if is_binary else before.length,
            can_compact=is_binary,
        )
        self._begin(new)
        if not is_binary:
            try:
                new.take_over(before)
            except BaseException:
                new.abandon()
                raise

    def _begin(self, new: TraceTape) -> None:
        """Record on a tape; from here on, nobody else does."""
        if _looks(self._target) != self._seen:
            new.discard()
            raise StoreLocked(f"{self._target} was recorded by another writer meanwhile; try again")
        self._tape = new

    @property
    def path(self) -> Path:
        """The file."""
        return self._target

    def __len__(self) -> int:
        return self._tape.length

    def append(self, state: Any, *, error: float | None = None, input: Any = None, ts_ns: int | None = None) -> int:
        """Record the next step.

        Args:
            state: A tree of dicts, lists, numbers, texts and NumPy arrays; it is looked at only where it is kept.
            error: How far from the goal it is; smaller is better. NaN and None are never the best.
            input: What takes this state to the next: a gradient, an action, a random draw. With it, recomputing needs
                nothing else.
            ts_ns: Its time; without it, now.

        Returns:
            Its number.

        Raises:
            WrongType: Something in it cannot be recorded. Nothing is.
            Closed: The trace has ended.
        """
        if self._ended is not None:
            raise Closed(f"the trace {self._target} is {self._ended} and takes no more steps")
        return self._tape.add(state, error, input, ts_ns)

    def flush(self, *, sync: bool = False) -> None:
        """Wait until every step so far survives a kill of the process; with `sync`, a power cut."""
        if self._ended is not None:
            raise Closed(f"the trace {self._target} is {self._ended}")
        self._tape.flush(sync=sync)

    def close(self) -> None:
        """Finish the file. Closing twice is fine.

        Raises:
            OSError: It could not be made. Nothing is lost; closing may be tried again.
        """
        if self._ended is not None or sys.is_finalizing():  # by then its steps are on the tape
            return
        self._tape.refuse_in_child()  # where another thread of the parent may have held the lock
        with self._closing:  # a second thread waits until the first has closed it
            if self._ended is None:
                self._tape.finish()
                forms.seal(self._target)
                self._tape.take_away()
                self._ended = "finished"

    def abort(self) -> None:
        """Stop, and remove what was recorded since it was opened."""
        if self._ended is None:
            self._tape.discard()
            self._ended = "aborted"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # Its steps stay on the tape, where readers find them; whoever records or recovers it next makes the file. At
        # the end of the program, what waits was written down before, and threads may be gone.
        if getattr(self, "_ended", "") is None and not sys.is_finalizing():
            self._tape.drop()

    def __repr__(self) -> str:
        return f"<TraceWriter {self._target.name}, {len(self)} steps>"


def _chosen(bucket: int | None, retention: Retention | None) -> Retention:
    """Give a retention of this trace's own: what it remembers is of one history."""
    if retention is None:
        return Tiered(DEFAULT_BUCKET if bucket is None else bucket)
    if bucket is not None:
        raise WrongType("give a bucket or a retention, not both")
    if not isinstance(retention, Retention):
        raise WrongType(f"a retention is one of playhead's, such as Aged(100), not {retention!r}")
    return ways.from_json(retention.to_json())


def recover(target: GivenPath) -> bool:
    """Finish the file of a recording that died; tell whether there was one.

    Raises:
        StoreLocked: It is still being recorded.
        Damaged: Its tape cannot be read.
    """
    path = as_path(target)
    folder = tape_of(path)
    tape.sweep(folder)
    held = tape.hold(folder, path) if folder.is_dir() else None
    if held is None:
        return False
    with contextlib.closing(held):  # until the tape is gone: nobody begins to record, nor recovers it too
        disk.sweep(path)
        try:
            contents = StoredContents(path) if forms.of_path(path) == forms.BINARY else forms.taped(path)
        except NotFound:  # it died before it had said anything
            tape.take_away(folder)
            return False
        contents.close()
        forms.seal(path)
        tape.take_away(folder)
        return True


def _looks(path: Path) -> tuple[int, ...] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
