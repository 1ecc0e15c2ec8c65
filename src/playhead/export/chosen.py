"""Which signals an export takes, and where it may write."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead import disk, layout
from playhead.episode import Episode
from playhead.errors import BadKey, Empty, Exists, NotFound
from playhead.paths import GivenPath, as_path
from playhead.signal import Signal

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def choose(episode: Episode, names: Iterable[str] | None) -> dict[str, Signal[Any]]:
    """Give the signals that were asked for, all where none was.

    Raises:
        NotFound: There is no such signal.
    """
    signals = episode.signals
    for name in names or ():
        if name not in signals:
            raise NotFound.among("signal", name, signals)
    return {name: signals[name] for name in (names or signals)}


def file_name(name: str) -> str:
    """Give the file or folder of a signal, whatever it or its agent is called: one name, which leads nowhere else.

    What file systems dislike is percent-encoded, so that two names never become one.

    Raises:
        BadName: It is too long.
    """
    visible = name.encode("utf-8", "backslashreplace").decode()
    return _CONTROL.sub(lambda match: f"%{ord(match[0]):02X}", layout.folder_name(visible)) or "%"


def is_video(signal: Signal[Any]) -> bool:
    """Tell a signal of images from the others, by its first value."""
    if not len(signal):
        return hasattr(type(signal), "codec")
    value = signal[0][0]
    return isinstance(value, np.ndarray) and value.dtype in (np.uint8, np.uint16) and value.ndim in (2, 3)


def check_target(target: GivenPath, *, force: bool) -> Path:
    """See that a file may be written; nothing is made before all else is checked too.

    Raises:
        Exists: The file is there, and may not be replaced.
    """
    path = as_path(target)
    if path.is_dir():
        raise Exists(f"{path} is a folder; name a file in it")
    if path.exists() and not force:
        raise Exists(f"{path} exists; choose another name, or replace it with force=True")
    return path


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[disk.Draft]:
    """Write a file, which appears whole at the end, and make the folders above it; where that fails, all is as it was.

    Args:
        path: What `check_target` gave.
    """
    missing = [folder for folder in path.parents if not folder.exists()]
    try:
        disk.make_folders(path.parent)
        draft = disk.Draft(path)
        try:
            yield draft
            draft.commit()
        finally:
            draft.discard()
    except BaseException:
        for folder in missing:
            disk.remove_empty(folder)
        raise


def regular_times(signals: dict[str, Signal[Any]], rate: float) -> NDArray[np.int64]:
    """Give times at a rate, from when every signal has begun to the last sample of all.

    Args:
        signals: The signals.
        rate: Times a second.

    Raises:
        BadKey: It is no rate.
        Empty: No signal has a sample.
    """
    if not 0 < rate <= 1e9:
        raise BadKey(f"a rate is a number of times a second, not {rate}")
    found = [signal for signal in signals.values() if len(signal)]
    if not found:
        raise Empty("there is nothing to export: no signal has a sample")
    start, last = max(signal.start_ts for signal in found), max(signal.last_ts for signal in found)
    count = int((last - start) * rate / 1e9) + 1
    # Each time from the start on: a rounded step would drift away from the rate.
    offsets: NDArray[np.int64] = np.rint(np.arange(count) * (1e9 / rate)).astype(np.int64)
    return offsets + start
