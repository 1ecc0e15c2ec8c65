"""What any HDF5 tool sees: all of a file without Zstandard, and of one with it everything but the large arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from playhead.errors import Damaged
from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.reel import Reel
from playhead.lanes.arrays.rows import TERMINATED, TRUNCATED
from tests.lanes.arrays.reels import FOR_EVER, Recording, assert_same, noise, patterned, reel_in

PLAIN = ["gzip", "lzf", None]
LENGTHS = [4, 7, 1, 9, 2]
COUNT = sum(LENGTHS)


def arrays_of(number: int) -> dict[str, Any]:
    arrays = {
        "observations.state": patterned(number, (5,), "f4"),
        "observations.flags": patterned(number, (2, 2), "?"),
        "actions": np.array(number, "i4"),
        "wave": patterned(number, (3,), "c8"),
        "text": np.array(b"%d" % number, "S4"),
    }
    return arrays if number % 5 == 3 else {**arrays, "frames": noise(number, (6, 5, 3))}


def record(recording: Recording, *, in_parts: bool = False) -> None:
    for episode, length in enumerate(LENGTHS):
        recording.begin({"seed": episode}, {"frames": noise(episode, (2, 6, 5, 3))})
        for place in range(length):
            number = len(recording.steps)
            flags = (TERMINATED if episode % 2 else TRUNCATED) if place == length - 1 else 0
            recording.step(
                arrays_of(number), number / 3, flags=flags, info=b'{"n": %d}' % number, agent="ab"[number % 2]
            )
        recording.end("terminated", {"observations.state": patterned(-episode, (5,), "f4")})
        if in_parts:
            recording.close()
            recording.resume()
    recording.close()


def assert_steps(file: h5py.File) -> None:
    """See that steps and episodes are as the contract says, and what the catalogue needs besides."""
    numbers = np.arange(COUNT)
    last = np.cumsum(LENGTHS) - 1
    assert_same(file["rewards"][:], (numbers / 3).astype("f4"))
    assert_same(file["dones"][:], np.isin(numbers, last))
    assert_same(file["steps/rewards"][:], numbers / 3)
    assert_same(file["steps/terminated"][:], np.isin(numbers, last[1::2]))
    assert_same(file["steps/truncated"][:], np.isin(numbers, last[::2]))
    assert file["steps/info"][:].tolist() == [b'{"n": %d}' % number for number in numbers]
    assert [file["steps/agent"].attrs["names"][place] for place in file["steps/agent"][:]] == [
        "ab"[number % 2] for number in numbers
    ]
    assert_same(file["episodes/starts"][:], np.cumsum([0, *LENGTHS[:-1]]))
    assert_same(file["episodes/lengths"][:], np.array(LENGTHS))
    assert (file.attrs["total_steps"], file.attrs["total_episodes"]) == (COUNT, len(LENGTHS))
    assert file.attrs["run_id"] == "run"
    assert {"created_at", "version"} <= set(file.attrs)


def assert_arrays(file: h5py.File) -> None:
    expected = [arrays_of(number) for number in range(COUNT)]
    for name in expected[0]:
        nothing = np.zeros_like(expected[0][name])
        assert_same(file[name][:], np.stack([arrays.get(name, nothing) for arrays in expected]), name)
    finals = np.stack([patterned(-episode, (5,), "f4") for episode in range(len(LENGTHS))])
    assert_same(file["episodes/final/observations.state"][:], finals)
    prefixes = np.stack([noise(episode, (2, 6, 5, 3)) for episode in range(len(LENGTHS))])
    assert_same(file["episodes/prefix/frames"][:], prefixes)


@pytest.mark.parametrize("codec", PLAIN)
def test_plain_h5py_reads_all_of_one_file(tmp_path: Path, codec: str | None) -> None:
    recording = Recording(reel_in(tmp_path), ReplayConfig(codec=codec, chunk=4, interval=FOR_EVER))
    record(recording)
    with h5py.File(recording.files.file) as file:
        assert_steps(file)
        assert_arrays(file)
        assert file["frames"].compression == codec


@pytest.mark.parametrize("codec", PLAIN)
def test_plain_h5py_reads_all_of_several_parts(tmp_path: Path, codec: str | None) -> None:
    recording = Recording(reel_in(tmp_path), ReplayConfig(codec=codec, chunk=4, interval=FOR_EVER))
    record(recording, in_parts=True)
    assert len(list(recording.files.parts.iterdir())) == len(LENGTHS)
    with h5py.File(recording.files.file) as file:
        assert_steps(file)
        assert_arrays(file)
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for path in (recording.files.file, recording.files.parts):  # parts are found beside the file, wherever that is
        path.rename(moved / path.name)
    with h5py.File(moved / "run.h5") as file:
        assert_arrays(file)


def test_plain_h5py_reads_the_scalars_of_a_zstandard_file(tmp_path: Path) -> None:
    recording = Recording(reel_in(tmp_path), ReplayConfig(chunk=4, interval=FOR_EVER))
    record(recording)
    with h5py.File(recording.files.file) as file:
        assert_steps(file)
        assert file["frames"].shape == (COUNT, 6, 5, 3)
        assert file["frames"].id.get_create_plist().get_filter(0)[0] == 32015
        if not h5py.h5z.filter_avail(32015):
            with pytest.raises(OSError, match=r"filter|read"):
                file["frames"][:]


def test_a_file_of_ours_without_its_list_of_chunks_is_refused(tmp_path: Path) -> None:
    """Read as one of another program, it would have other times, and no ends of episodes, agents and infos."""
    recording = Recording(reel_in(tmp_path), ReplayConfig(codec="gzip", chunk=4, interval=FOR_EVER))
    record(recording)
    files = reel_in(tmp_path / "copy")
    files.folder.mkdir()
    with h5py.File(recording.files.file) as source, h5py.File(files.file, "w") as target:
        for name in source:
            source.copy(name, target)
        for name, value in source.attrs.items():
            target.attrs[name] = value
    with pytest.raises(Damaged, match=r"run\.h5"):
        Reel(files)
