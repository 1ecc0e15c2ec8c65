"""DiskEpisodeWriter: records an episode into a folder."""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import sys
import threading
import uuid
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from playhead import __version__, clock, disk, facts, layout
from playhead.capture import git
from playhead.episode import items, lanes, sealing, seals
from playhead.episode.contract import EpisodeWriter
from playhead.episode.sealing import seal
from playhead.errors import Closed, Exists
from playhead.layout import EpisodeFolder
from playhead.paths import GivenPath, as_text
from playhead.signal.contract import check_stamp
from playhead.tape import SYNC_NS, Tape

SCHEMA_VERSION = 1

FINISHED, UNFINISHED, ABORTED = "finished", "unfinished", "aborted"


class DiskEpisodeWriter(EpisodeWriter):
    """Records an episode: signals at their own times, and items that do not change.

    Samples lie on a tape in the folder until the end, where a kill of the process loses at most the last fifth of a
    second and a power cut at most a second. Closing seals them into the files that everybody reads.

    Args:
        directory: The folder; it must not exist.
        uid: The identity of the recording; without it, a new one.
        created_ts_ns: When it began, for recordings that come from elsewhere.
        run_id: The run that records it.
        dataset: The name of its dataset in a store, so that an episode that was moved by hand is known.
        notify: Called with `finished`, `unfinished` or `aborted` once the folder says so.
        sync: Wait for the medium. Without it, the episode survives a kill of the process from its end on, and a power
            cut only after the caller has synced it, as `LocalDatasetWriter.sync` and `dataset.sync` do for many.

    Raises:
        Exists: The folder is there.
        BadKey: The time at which it began has more than 64 bits.
    """

    def __init__(
        self,
        directory: GivenPath,
        *,
        uid: str | None = None,
        created_ts_ns: int | None = None,
        run_id: str | None = None,
        dataset: str | None = None,
        notify: Callable[[str], None] | None = None,
        sync: bool = True,
    ) -> None:
        self._sync = sync
        self._folder = EpisodeFolder(as_text(directory))
        self._notify = notify
        self._recorders: dict[str, lanes.Appending] = {}
        self._settings: dict[str, tuple[str | None, dict[str, Any]]] = {}
        self._static: dict[str, Any] = {}
        self._ended: str | None = None
        self._turn = threading.RLock()
        self.uid = layout.check_run_id(uuid.uuid4().hex if uid is None else uid)
        meta = {
            "schema_version": SCHEMA_VERSION,
            "uid": self.uid,
            "created_ts_ns": clock.now_ns() if created_ts_ns is None else check_stamp(int(created_ts_ns), None),
            "writer": _provenance() | {"name": f"{type(self).__module__}.{type(self).__qualname__}"},
        }
        if run_id is not None:
            meta["run_id"] = layout.check_run_id(run_id)
        if dataset is not None:
            meta["dataset"] = dataset
        if not sync:
            meta[seals.SYNCED] = False
        lanes.prepare()
        self._make_folder(meta)
        self._tape = Tape(
            self._folder.tape, sync_ns=SYNC_NS if sync else None, prepare_sync=partial(_sync_names, self._folder)
        )
        self._tape.identify(meta)

    def _make_folder(self, meta: dict[str, Any]) -> None:
        """Make the folder with its mark in it at once, so that a crash never leaves one that passes for an episode.

        Only the names in it are synced: `meta.json` says what the tape says as well, and nothing is promised before the
        tape is synced.
        """
        disk.make_folders(self.path.parent, durable=False)
        hidden = EpisodeFolder(os.fspath(disk.temporary_beside(self.path)))
        disk.make_folder(hidden.path)
        try:
            disk.replace(hidden.unfinished, b"unfinished", durable=False)
            facts.write(hidden.meta, meta, durable=False)
            disk.make_folder(hidden.tape)
            if self._sync:
                disk.sync_folder(hidden.path)
            if self.path.exists():
                raise FileExistsError
            disk.rename(hidden.path, self.path)
        except OSError as error:
            disk.remove_tree(hidden.path)
            if error.errno in (None, errno.EEXIST, errno.ENOTEMPTY):
                raise Exists(f"{self.path} exists; an episode is recorded into a folder of its own") from None
            raise

    @property
    def path(self) -> Path:
        """The folder."""
        return self._folder.path

    def configure(self, signal_name: str, *, lane: str | None = None, **options: Any) -> None:
        """Say how a signal will be recorded, before its first sample.

        Args:
            signal_name: The signal.
            lane: `video` or `vectors`; without it, images of uint8 H×W×3 are video and all else is not.
            **options: How a video is encoded; see `VideoSignalWriter`.

        Raises:
            Exists: The signal has samples.
        """
        if signal_name in self._recorders:
            raise Exists(f"the signal {signal_name!r} has samples already; configure it before the first one")
        self._settings[layout.check_signal_name(signal_name)] = (lanes.check(lane), options)

    def append(self, signal_name: str, data: Any, ts_ns: int) -> None:
        """Add a sample to a signal; see `EpisodeWriter.append`."""
        recorder = self._recorders.get(signal_name)
        if recorder is None:
            with self._turn:  # threads may each bring the first sample of a signal
                self._begin(signal_name, data, ts_ns)
        else:
            recorder.append(data, ts_ns)

    def _begin(self, signal_name: str, data: Any, ts_ns: int) -> None:
        self._check_open("append to")
        if signal_name in self._static:
            raise Exists(f"Static item '{signal_name}' already set for this episode; name the signal otherwise")
        name = layout.check_signal_name(signal_name)
        if name in self._recorders:  # another thread was quicker, or the name is in another form of Unicode
            self._recorders[name].append(data, ts_ns)
            return
        alike = next((known for known in self._recorders if known.casefold() == name.casefold()), None)
        if alike is not None:
            raise Exists(f"the signal {alike!r} differs from {name!r} only in case; some file systems cannot hold both")
        lane, options = self._settings.get(name, (None, {}))
        self._recorders[name] = lanes.begin(lane or lanes.choose(data), self._tape, name, options, data, ts_ns)

    def set_static(self, name: str, data: Any) -> None:
        """Set an item that does not change; see `EpisodeWriter.set_static`."""
        with self._turn:
            self._set_static(name, data)

    def _set_static(self, name: str, data: Any) -> None:
        self._check_open("set static on")
        name = layout.check_label(name, "static item")
        if name in self._recorders:
            raise Exists(f"Signal '{name}' already exists for this episode; choose another name for the static item")
        if name in self._static:
            raise Exists(f"Static item '{name}' already set for this episode")
        value = items.as_json(data, f"the static item {name!r}")
        self._tape.note({name: value})
        self._static[name] = value

    def flush(self, *, sync: bool = False) -> None:
        """Wait until everything appended so far survives a kill of the process; with `sync`, a power cut."""
        if self._ended is None:
            self._tape.flush(sync=sync)

    def close(self) -> None:
        """Make the episode whole. Closing twice is fine, and so is closing after `abort`.

        Raises:
            OSError: It could not be; what was recorded is safe, and closing may be tried again.
        """
        if self._ended is None:
            self._end(FINISHED)

    def _leave_unfinished(self) -> None:
        if self._ended is None:
            self._end(UNFINISHED)

    def _end(self, outcome: str) -> None:
        if (
            sys.is_finalizing()
        ):  # a generator that nobody ended: its samples are on the tape since the exit handlers ran
            return
        self._tape.finish(sync=False)  # the files that are made of it are synced before it goes
        try:
            seal(self._folder, finished=outcome == FINISHED, sync=self._sync)
        except BaseException:
            if self._sync:
                with contextlib.suppress(OSError):  # the first error is the one to report
                    self._tape.finish()
            raise
        self._tape.take_away()
        self._stop(outcome)

    def _stop(self, outcome: str) -> None:
        self._ended = outcome
        self._recorders = {}
        if self._notify is not None:
            self._notify(outcome)

    def abort(self) -> None:
        """Stop, and remove the folder. Aborting twice is fine.

        Raises:
            Closed: The episode has ended.
        """
        if self._ended == ABORTED:
            return
        self._check_open("abort")
        self._tape.abandon()
        disk.take_away(self.path)  # at once: a half-removed folder must not pass for an episode
        self._stop(ABORTED)

    def _check_open(self, doing: str) -> None:
        if self._ended is not None:
            word = "an aborted" if self._ended == ABORTED else "a finished"
            raise Closed(f"Cannot {doing} {word} writer")

    def __repr__(self) -> str:
        state = self._ended or "recording"
        return (
            f"<{type(self).__name__} {os.fspath(self.path)}, {state}, signals: {', '.join(self._recorders) or 'none'}>"
        )


def _sync_names(folder: EpisodeFolder) -> None:
    """Make durable what the first sync of a tape needs besides the tape: the way to it."""
    disk.sync_file(folder.meta)
    for one in (folder.path, *sealing.above(folder.path)):
        disk.sync_folder(one)


@lru_cache(maxsize=1)
def _provenance() -> dict[str, Any]:
    found: dict[str, Any] = {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "version": __version__,
    }
    state = git.state(Path.cwd(), [])
    if state is not None:
        found["git"] = {name: state[name] for name in ("commit", "branch", "dirty")}
    return found
