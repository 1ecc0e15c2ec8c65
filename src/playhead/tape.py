"""What samples are recorded on until they are sealed: one journal for all signals that are recorded together.

A record of the journal is a signal's declaration, samples of one signal, or facts that do not change. Lanes say what
samples look like; sealing reads the tape once and hands each lane its own. Closing and recovering after a crash are the
same piece of code, so the way back from a crash is walked at every close.
"""

from __future__ import annotations

import contextlib
import os
import struct
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from playhead import at_exit, clock, disk, strictjson
from playhead.errors import Damaged, Forked, NotFound, StoreLocked
from playhead.journal import SEGMENT_BYTES, JournalReader, JournalWriter
from playhead.journal.segment import Buffer
from playhead.journal.writer import LOCK_FILE
from playhead.writer import BackgroundWriter

INTERVAL = 0.2  # seconds until a sample is in the kernel
SYNC_NS = clock.SECOND // 2  # until it is on the medium

PATIENCE = 10
_PATIENCE_SECONDS = 0.03

HEAD = struct.Struct("<BI")  # what a record holds, and the number of its signal
DECLARATION, SAMPLES, FACTS, IDENTITY = 1, 2, 3, 4
_NOBODY = (1 << 32) - 1  # the number of no signal: earlier versions pass such records over

_tapes: weakref.WeakSet[Tape] = weakref.WeakSet()


class Declaration(NamedTuple):
    """What a tape says of a signal before its first sample.

    Attributes:
        lane: Who can read its samples.
        name: The signal's name.
        facts: What the lane wants to know when it seals.
    """

    lane: str
    name: str
    facts: dict[str, Any]


class Recorder(ABC):
    """Collects the samples of one signal in memory, until the tape fetches them."""

    @abstractmethod
    def collected(self) -> tuple[int, Sequence[Buffer]] | None:
        """Give how many samples were collected and their bytes; None where there are none. They stay collected."""

    @abstractmethod
    def written(self, count: int) -> None:
        """Forget the oldest samples: they are on the tape."""

    def settle(self) -> None:  # noqa: B027  most have nothing to wait for
        """Wait until every sample appended so far is collected."""

    def stop(self) -> None:  # noqa: B027  most have nothing to give back
        """Give back threads and codecs; nothing more will be appended."""


class Sealed(NamedTuple):
    """A file as it was sealed.

    Attributes:
        name: Of the file in its folder.
        size: In bytes.
        sha256: Of its content.
    """

    name: str
    size: int
    sha256: str

    @classmethod
    def of(cls, draft: disk.Draft) -> Sealed:
        """Note a file that is written and not committed yet."""
        return cls(draft.target.name, *draft.digest())


class Sealer(ABC):
    """Turns the samples of one signal into the files that stay.

    Attributes:
        sealed: The files that `finish` made, of a signal that belongs to an owner.
    """

    def __init__(self) -> None:
        self.sealed: list[Sealed] = []

    @abstractmethod
    def add(self, payload: memoryview) -> None:
        """Take the bytes that the recorder once gave."""

    def interrupted(self) -> None:  # noqa: B027  most samples stand by themselves
        """Hear that samples before the next ones were lost."""

    @abstractmethod
    def finish(self) -> None:
        """Put the files in their places; the caller syncs the folder."""

    @abstractmethod
    def discard(self) -> None:
        """Remove what was written so far."""


class Tape:
    """Records several signals into one journal, beside the thread that appends.

    What is appended is in the kernel within a fifth of a second, where a kill of the process does not reach it, and on
    the medium within about half a second more. An error of the background is raised by `check` at the next call.

    Args:
        folder: Where the journal is made.
        interval: Seconds until a sample is in the kernel.
        sync_ns: Nanoseconds until it is on the medium; None leaves that to the kernel.
        segment_bytes: The size at which a new segment of the journal begins.
        crew: The thread that writes, where several tapes share one.
        prepare_sync: Called once before the first sync: makes durable the names without which nobody finds the tape.
    """

    def __init__(
        self,
        folder: disk.StrPath,
        *,
        interval: float = INTERVAL,
        sync_ns: int | None = SYNC_NS,
        segment_bytes: int = SEGMENT_BYTES,
        crew: Crew | None = None,
        prepare_sync: Callable[[], None] | None = None,
    ) -> None:
        self._journal = JournalWriter(folder, segment_bytes=segment_bytes, named=prepare_sync is None)
        self._prepare_sync = prepare_sync
        self._turn = threading.RLock()
        self._closing = threading.Lock()
        self._recorders: list[Recorder] = []
        self._sync_ns = sync_ns
        self._synced_at = clock.elapsed_ns()
        self._is_synced = True
        self._crew = crew or Crew(interval)
        self._is_crew_mine = crew is None
        self.writer: BackgroundWriter = self._crew
        self._is_started = False
        self._is_closed = False
        self._pid = os.getpid()
        at_exit.watch_child()
        _tapes.add(self)

    def add(self, declaration: Declaration, recorder: Recorder) -> None:
        """Take up a signal."""
        self.refuse_in_child()
        with self._turn:
            self._append(DECLARATION, len(self._recorders), strictjson.encode(declaration._asdict()))
            self._recorders.append(recorder)
            self._start()

    def _start(self) -> None:
        if not self._is_started:
            self._crew.join(self)
            self._is_started = True

    def note(self, facts: dict[str, Any]) -> None:
        """Keep facts that do not change."""
        self.refuse_in_child()
        with self._turn:
            self._append(FACTS, 0, strictjson.encode(facts))

    def identify(self, facts: dict[str, Any]) -> None:
        """Keep what the recording is, so that the tape is enough to make its files; called before all else."""
        self.refuse_in_child()
        with self._turn:
            self._append(IDENTITY, _NOBODY, strictjson.encode(facts))

    def _append(self, what: int, number: int, *buffers: Buffer) -> None:
        self._journal.append(HEAD.pack(what, number), *buffers)
        self._is_synced = False

    def _append_all(self, what: int, records: Sequence[tuple[int, *tuple[Buffer, ...]]]) -> None:
        """Append several records at once, each the number of a signal and its bytes."""
        self._journal.append_all([(HEAD.pack(what, number), *buffers) for number, *buffers in records])
        self._is_synced = False

    def _round(self) -> None:
        with self._turn:
            self._fetch()
            is_due = self._sync_ns is not None and clock.elapsed_ns() - self._synced_at >= self._sync_ns
            if is_due and not self._is_synced:
                self._sync()

    def _fetch(self) -> None:
        for number, recorder in enumerate(self._recorders):
            while (found := recorder.collected()) is not None:
                count, buffers = found
                self._append(SAMPLES, number, *buffers)
                recorder.written(count)

    def _sync(self) -> None:
        if self._prepare_sync is not None:
            self._prepare_sync()
            self._prepare_sync = None
        self._journal.sync()
        self._synced_at, self._is_synced = clock.elapsed_ns(), True

    def refuse_in_child(self) -> None:
        """See that this process is the one that records.

        Raises:
            Forked: It is a child of it.
        """
        if self._pid != os.getpid():
            raise _forked()

    def disown(self) -> None:
        """Let go in a forked child: every call there raises `Forked`."""
        self.writer.error = _forked()

    def check(self) -> None:
        """Raise what went wrong in the background since the last check."""
        self.writer.check()

    def flush(self, *, sync: bool = False) -> None:
        """Wait until every sample appended so far is in the kernel, or with `sync` on the medium."""
        self.refuse_in_child()
        self.check()
        for recorder in list(self._recorders):
            recorder.settle()
        with self._turn:
            self._fetch()
            if sync and not self._is_synced:
                self._sync()
        self.writer.error = None

    def close(self) -> None:
        """Write everything down and give the journal back. Closing twice is fine.

        Raises:
            OSError: Not everything could be written. What could is on the tape; closing may be tried again.
        """
        if self._is_closed:
            return
        self.refuse_in_child()  # where another thread of the parent may have held the lock
        with self._closing:  # a second thread waits until the first has closed it
            if not self._is_closed:
                self.finish()
                self._let_go()

    def finish(self, *, sync: bool = True) -> None:
        """Write everything down, and record no more; the journal stays this tape's. Finishing twice is fine.

        Args:
            sync: Wait for the medium. A caller that makes files of the tape, and waits for those, need not.

        Raises:
            OSError: As for `close`.
        """
        self.refuse_in_child()
        for recorder in self._recorders:
            recorder.settle()
        if self._is_started:
            self._crew.leave(self)
            if self._is_crew_mine:
                self._crew.stop()
        with self._turn:
            self._fetch()
            if sync and not self._is_synced:
                self._sync()

    def abandon(self) -> None:
        """Give the journal back as it is, with what is not written yet lost."""
        self._stop_now()
        with self._turn:
            self._let_go()

    def take_away(self) -> None:
        """Remove the tape, of which files were made; nobody else may record before that is done."""
        with self._turn:
            take_away(self._journal.folder)
            self._let_go()

    def discard(self) -> None:
        """Stop, and remove the tape with all that is on it."""
        self._stop_now()
        self.take_away()

    def _stop_now(self) -> None:
        self.refuse_in_child()
        self._crew.leave(self)
        if self._is_crew_mine:
            self._crew.abandon()

    def _let_go(self) -> None:
        self._is_closed = True
        for recorder in self._recorders:
            recorder.stop()
        self._journal.close()

    def __del__(self) -> None:
        if getattr(self, "_is_crew_mine", False):  # else the journal could not even be opened
            self._crew.abandon()


class Crew(BackgroundWriter):
    """The thread that writes for tapes; several may share one.

    Args:
        interval: Seconds between two rounds.
    """

    def __init__(self, interval: float) -> None:
        self._tapes: list[weakref.ref[Tape]] = []
        self._is_started = False
        tapes = self._tapes  # not the crew itself: its thread would keep it

        def work() -> bool:
            with contextlib.ExitStack() as each:  # one that fails does not keep the others from writing
                for reference in reversed(tapes):
                    tape = reference()
                    if tape is not None:
                        each.callback(tape._round)
            return False

        super().__init__(work, interval, "playhead-tape", rest=0)

    def join(self, tape: Tape) -> None:
        """Take up a tape."""
        self._tapes.append(weakref.ref(tape))
        if not self._is_started:
            self._is_started = True
            self.start()

    def leave(self, tape: Tape) -> None:
        """Let go of a tape; a round of it that is under way is waited for by whoever takes its turn."""
        self._tapes[:] = [reference for reference in self._tapes if reference() not in (tape, None)]

    def stop(self) -> None:
        """End the thread, if a tape ever started it. Stopping twice is fine."""
        if self._is_started:
            super().stop()


class Read(NamedTuple):
    """What else was read of a tape when its files were made.

    Attributes:
        facts: The facts that were noted.
        records: The number of the record that would have been next.
    """

    facts: dict[str, Any]
    records: int


def seal(folder: disk.StrPath, sealer_of: Callable[[Declaration], Sealer], *, salvage: bool = False) -> Read:
    """Read a tape that nobody records on, and turn it into files.

    Args:
        folder: The tape.
        sealer_of: Makes the sealer of a signal.
        salvage: Keep what can be read of a tape that has holes.

    Raises:
        Damaged: The tape has a hole; nothing was made.
    """
    sealers: dict[int, Sealer] = {}
    facts: dict[str, Any] = {}
    holes = records = 0
    try:
        with JournalReader(folder) as reader:
            for record in reader.poll():
                what, number = HEAD.unpack_from(record.payload)
                payload = memoryview(record.payload)[HEAD.size :]
                if len(reader.damage) > holes:
                    holes = len(reader.damage)
                    for sealer in sealers.values():
                        sealer.interrupted()
                if what == DECLARATION:
                    sealers[number] = sealer_of(Declaration(**strictjson.decode(bytes(payload))))
                elif what == FACTS:
                    facts |= strictjson.decode(bytes(payload))
                elif number in sealers:  # else its declaration fell into a hole
                    sealers[number].add(payload)
            if reader.damage and not salvage:
                hole = reader.damage[0]
                found = f"a hole from byte {hole.start} to {hole.stop}: {hole.reason}"
                raise Damaged(
                    hole.path,
                    "whole records",
                    found,
                    "recover(salvage=True), or playhead episode recover --salvage, keeps what can be read",
                )
            records = reader.number or 0
        for sealer in sealers.values():
            sealer.finish()
    except BaseException:
        for sealer in sealers.values():
            sealer.discard()
        raise
    return Read(facts, records)


def identity(folder: disk.StrPath) -> dict[str, Any]:
    """Read what the recording on a tape is; empty if the tape does not say, or is gone."""
    with contextlib.suppress(NotFound), JournalReader(folder) as reader:
        for record in reader.poll():
            if record.payload[0] == IDENTITY:
                found = strictjson.decode(record.payload[HEAD.size :])
                return found if isinstance(found, dict) else {}
            break  # it is the first record, or none
    return {}


def records(folder: disk.StrPath) -> int:
    """Return the number of the record that would be next on a tape; 0 if the tape is gone."""
    with contextlib.suppress(NotFound), JournalReader(folder) as reader:
        for _ in reader.poll_positions():
            pass
        return reader.number or 0
    return 0


def declarations(folder: disk.StrPath) -> list[Declaration]:
    """List the signals on a tape, also while it is recorded."""
    found = []
    with JournalReader(folder) as reader:
        for record in reader.poll():
            if record.payload[0] == DECLARATION:
                found.append(Declaration(**strictjson.decode(record.payload[HEAD.size :])))
    return found


def is_recorded(folder: disk.StrPath, *, patience: int = 0) -> bool:
    """Tell whether somebody records on a tape.

    Args:
        folder: The tape.
        patience: How often to look again. A program that was just started by the recorder, and is not itself yet, holds
            the lock for a moment after the recorder has let go of it.
    """
    lock = Path(folder) / LOCK_FILE
    while lock.exists():
        with disk.locked(lock, wait=False) as mine:
            if mine:
                return False
        if not patience:
            return True
        patience -= 1
        clock.sleep(_PATIENCE_SECONDS)
    return False


def hold(folder: disk.StrPath, target: disk.StrPath) -> disk.Appender | None:
    """Hold a tape on which nobody records, so that nobody begins to; None where there is none any more.

    Args:
        folder: The tape.
        target: What is made of it.

    Returns:
        What is to be closed to let go of it.

    Raises:
        StoreLocked: Somebody records on it.
        Damaged: It is a link, which may lead out of a store of a stranger.
    """
    if os.path.islink(folder):
        raise Damaged(folder, "a folder to record into", f"a link to {os.readlink(folder)}", "Remove the link")
    for _ in range(PATIENCE + 1):
        try:
            lock = disk.Appender(Path(folder) / LOCK_FILE)
        except FileNotFoundError:
            return None
        except BlockingIOError:
            clock.sleep(_PATIENCE_SECONDS)
            continue
        if lock.is_there():
            return lock
        lock.close()  # it was taken away between two looks
    raise StoreLocked(f"{target} is being recorded by another writer; close that one")


def take_away(folder: disk.StrPath) -> None:
    """Remove a tape that the caller holds, at once, so that nobody finds a part of it; one that is gone is fine."""
    folder = Path(folder)
    if folder.exists():
        disk.rename(folder, hidden := disk.temporary_beside(folder))
        with contextlib.suppress(OSError):  # what is left of it is hidden, and counts no more
            disk.remove_tree(hidden)
    sweep(folder)


def sweep(folder: disk.StrPath) -> None:
    """Remove what crashes left of taking a tape away; what cannot be removed is hidden and stays."""
    with contextlib.suppress(OSError):
        disk.sweep(folder)


def _forked() -> Forked:
    return Forked("this recording belongs to the parent of this process; make one of your own")


def _disown_in_child() -> None:
    for tape in _tapes:
        tape.disown()


def _flush_at_exit() -> None:
    """Write down what a program that ends without closing its recordings has appended; they can be recovered."""
    with contextlib.ExitStack() as each:
        for tape in list(_tapes):
            if not tape._is_closed and tape._pid == os.getpid():
                tape.writer.error = None  # what failed before is tried again
                each.callback(tape.flush)


os.register_at_fork(after_in_child=_disown_in_child)
at_exit.register(_flush_at_exit)
