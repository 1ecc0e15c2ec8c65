"""Signals as a NumPy archive, raw: every value at its own time."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from playhead import strictjson
from playhead.episode import Episode
from playhead.errors import WrongType
from playhead.export.chosen import check_target, choose, file_name, is_video, new_file
from playhead.paths import GivenPath
from playhead.signal import Signal

_BLOCK_BYTES = 1 << 26


def to_npz(
    episode: Episode,
    target: GivenPath,
    *,
    signals: Iterable[str] | None = None,
    video: bool = False,
    force: bool = False,
) -> list[str]:
    """Write signals as they were recorded into an archive that `np.load` opens.

    It holds `values/NAME` and `timestamps/NAME` for each signal, and `static`, the items of the episode as JSON text.
    NAME is percent-encoded where no file could be called so, as `to_frames` does it: the archive can be unpacked.

    Args:
        episode: The episode.
        target: The file.
        signals: Only these.
        video: Decode images too; of those, the archive is as large as all their pixels. Images that `signals` names are
            decoded anyway.
        force: Replace the file where it is there.

    Returns:
        The names of the signals in it.

    Raises:
        Exists: The file is there.
        NotFound: There is no such signal.
        WrongType: The values of a signal differ in shape.
    """
    path = check_target(target, force=force)
    wanted = None if signals is None else list(signals)
    chosen = {
        name: signal for name, signal in choose(episode, wanted).items() if video or wanted or not is_video(signal)
    }
    with new_file(path) as draft, zipfile.ZipFile(draft, "w", allowZip64=True) as archive:
        _put(archive, "static", np.array(strictjson.encode(strictjson.plain(episode.static)).decode()))
        for name, signal in chosen.items():
            _put(archive, f"timestamps/{file_name(name)}", signal.timestamps)
            _put_values(archive, name, signal)
    return list(chosen)


def _put(archive: zipfile.ZipFile, name: str, array: NDArray[Any]) -> None:
    with _member(archive, name) as member:
        np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


def _member(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    # Without a date of its own an entry has that of 1980, so that the same episode gives the same bytes.
    return archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True)


def _put_values(archive: zipfile.ZipFile, name: str, signal: Signal[Any]) -> None:
    if not is_video(signal) or not len(signal):
        _put(archive, f"values/{file_name(name)}", _without_objects(name, signal.values))
        return
    first = np.asarray(signal[0][0])
    header = {"descr": first.dtype.str, "fortran_order": False, "shape": (len(signal), *first.shape)}
    step = max(1, _BLOCK_BYTES // max(1, first.nbytes))
    with _member(archive, f"values/{file_name(name)}") as member:
        np.lib.format.write_array_header_2_0(member, header)
        for start in range(0, len(signal), step):
            member.write(np.ascontiguousarray(signal[start : start + step].values).tobytes())


def _without_objects(name: str, values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype != object:
        return values
    if all(isinstance(value, str) for value in values):
        return np.array(values.tolist(), np.str_) if len(values) else np.empty(0, "<U1")
    raise WrongType(f"the values of {name!r} differ in shape, which an array cannot hold; export it as csv or parquet")
