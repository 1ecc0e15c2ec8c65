"""Folders of episodes, both ways: ours in Positronic's own library of three generations, and theirs here.

| generation | version | here |
|---|---|---|
| G1, of the seed's day | 0.1.0 | `keys` is a property; no mark of unfinished episodes, no edits |
| G2 | 0.2.1 | the mark; no edits in any release |
| G3 | 0.4.1 | named timelines: ours are read as `recorded`; edits |

Their libraries run in an environment of their own, by `positronic_driver.py`.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from playhead.dataset import LocalDataset, LocalDatasetWriter
from playhead.episode import Episode
from playhead.signal import Signal
from tests.integrations import positronic_driver
from tests.integrations.positronic_driver import START, STATIC, TICK, TICKS, picture, recording

pytest.importorskip("av", reason="video needs PyAV: pip install playhead[video]")

HOME = Path(__file__).parents[2] / ".peers" / "positronic_generations"
GOLDEN = Path(__file__).parents[3] / "shared" / "golden"
VERSIONS = ("0.1.0", "0.2.1", "0.4.1")
ODD = (45, 63)
CAMERAS = ("cam", "odd", "exact", "small")
SECONDS = 120
ROUNDING = 2  # between two builds of the library that turns YUV into RGB


@pytest.fixture(scope="module")
def installed() -> None:
    """Leave out what needs their libraries, where they are not."""
    if not all((HOME / name).exists() for name in ("bin/python", *VERSIONS)):
        pytest.skip("no Positronic here: run tests/integrations/positronic_install.sh, which needs a package registry")


def run_driver(version: str, *arguments: str | Path) -> None:
    """Run the driver with one generation of the library."""
    result = subprocess.run(
        [str(HOME / "bin" / "python"), positronic_driver.__file__, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(HOME / version)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert result.returncode == 0, result.stderr


@dataclass(frozen=True)
class Answer:
    """What a generation of the library sees in a folder."""

    version: str
    folder: Path
    episodes: list[dict[str, Any]]
    edited: dict[str, Any] | None

    def values(self, episode: int, signal: str) -> np.ndarray:
        return np.load(self.folder / f"{episode}.{signal}.npy")

    def by_time(self, episode: int, signal: str) -> dict[str, np.ndarray]:
        return dict(np.load(self.folder / f"{episode}.{signal}.time.npz"))


def ask(version: str, root: Path, folder: Path) -> Answer:
    run_driver(version, "read", root, folder / "answer.json")
    return Answer(version, folder, **json.loads((folder / "answer.json").read_text()))


# -- ours, read by them -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ours(installed: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Record five episodes and abort one, leave one by an exception, have one under way, and edit two."""
    root = tmp_path_factory.mktemp("ours")
    writer = LocalDatasetWriter(root)
    uids = []
    for offset in range(4):
        with writer.new_episode() as episode:
            for name, value in STATIC.items():
                episode.set_static(name, value)
            for name, data, stamp in recording(offset):
                episode.append(name, data, stamp)
            for tick in range(TICKS):
                stamp = START + tick * TICK
                episode.append("odd", picture(tick, *ODD), stamp)
                episode.append("pose", np.arange(12.0).reshape(3, 4) + tick, stamp)
                episode.append("single", np.float32(tick) / 3, stamp)
                episode.append("bytes", np.array([tick, 255 - tick], np.uint8), stamp)
        uids.append(episode.uid)
        if offset == 1:
            aborted = writer.new_episode()
            aborted.append("grip", 1.0, START)
            aborted.abort()
    with writer.new_episode() as encoded:
        encoded.configure("exact", lossless=True)
        encoded.configure("small", codec="h265")
        for tick in range(TICKS):
            encoded.append("exact", picture(tick, 48, 64), START + tick * TICK)
            encoded.append("small", picture(tick, 48, 64), START + tick * TICK)
    with pytest.raises(RuntimeError, match="on purpose"), writer.new_episode() as left:
        left.append("grip", 1.0, START)
        left.append("cam", picture(0, 48, 64), START)
        raise RuntimeError("on purpose")
    edited = LocalDataset(root).edited
    edited = edited.set_static(uids[0], {"task": "place", "verdict": "good"}).drop(uids[1]).drop(uids[2])
    edited.undrop(uids[2])
    with writer.new_episode() as recorded:
        recorded.append("grip", 1.0, START)
        recorded.append("cam", picture(0, 48, 64), START)
        recorded.flush()
        yield root


@pytest.fixture(scope="module", params=VERSIONS)
def answer(request: pytest.FixtureRequest, ours: Path, tmp_path_factory: pytest.TempPathFactory) -> Answer:
    return ask(request.param, ours, tmp_path_factory.mktemp("answer"))


def vectors(episode: Episode) -> dict[str, Signal[Any]]:
    return {name: signal for name, signal in episode.signals.items() if name not in CAMERAS}


def test_they_list_what_is_finished(answer: Answer, ours: Path) -> None:
    dataset = LocalDataset(ours)
    assert (len(dataset), len(dataset.unfinished)) == (5, 2)
    finished = [episode.uid for episode in dataset]
    listed = [episode["uid"] for episode in answer.episodes]
    if answer.version == "0.1.0":  # knows no mark: it shows the start of what was cut short, as it does with its own
        assert listed == finished + [unfinished.uid for unfinished in dataset.unfinished]
        assert answer.episodes[6]["keys"] == []
    else:
        assert listed == finished


def test_they_see_the_same_items_and_facts(answer: Answer, ours: Path) -> None:
    for seen, episode in zip(answer.episodes, LocalDataset(ours), strict=False):
        assert seen["keys"] == sorted(episode.keys)
        assert seen["static"] == episode.static
        assert seen["created_ts_ns"] == episode.meta["created_ts_ns"]
        assert seen["writer"] == "playhead.episode.writer.DiskEpisodeWriter"
        assert seen["bounds"] == [episode.start_ts, episode.last_ts]
    assert answer.episodes[0]["static"] == STATIC


def test_they_read_the_same_values_at_the_same_times(answer: Answer, ours: Path) -> None:
    for number, episode in enumerate(LocalDataset(ours)):
        for name, signal in vectors(episode).items():
            seen = answer.episodes[number]["signals"][name]
            assert seen["length"] == len(signal), name
            assert seen["stamps"] == signal.timestamps.tolist(), name
            assert seen["first_and_last"] == [signal.start_ts, signal.last_ts], name
            values = answer.values(number, name)
            assert values.tolist() == signal.values.tolist(), name
            if name != "label":
                assert values.dtype == signal.values.dtype, name


def test_the_values_are_those_that_were_recorded(answer: Answer) -> None:
    for offset in range(4):
        recorded: dict[str, list[Any]] = {}
        for name, data, _stamp in recording(offset):
            recorded.setdefault(name, []).append(data)
        del recorded["cam"]
        for name, expected in recorded.items():
            assert answer.values(offset, name).tolist() == np.array(expected).tolist(), name


def test_arrays_of_two_dimensions_are_read(answer: Answer) -> None:
    poses = answer.values(0, "pose")
    assert poses.shape == (TICKS, 3, 4)
    assert np.array_equal(poses, np.arange(12.0).reshape(3, 4) + np.arange(TICKS)[:, None, None])


def test_access_by_time_gives_the_same(answer: Answer, ours: Path) -> None:
    for number, episode in enumerate(LocalDataset(ours)):
        for name, signal in vectors(episode).items():
            seen, found = answer.episodes[number]["signals"][name], answer.by_time(number, name)
            stamps = signal.timestamps.tolist()
            middle = stamps[len(stamps) // 2]
            views = {
                "window": signal.time[stamps[1] : stamps[4]],
                "stepped": signal.time[stamps[0] : stamps[-1] : 3 * TICK],
                "chosen": signal.time[[stamps[2], middle + 17]],
            }
            assert seen["at"] == [middle, middle]
            assert seen["before"] == "KeyError"
            assert found["between"].tolist() == np.asarray(signal.time[middle + 17][0]).tolist(), name
            assert found["slice"].tolist() == signal[1:9:3].values.tolist(), name
            for way, view in views.items():
                assert seen[way] == view.timestamps.tolist(), (name, way)
                assert found[way].tolist() == view.values.tolist(), (name, way)


def test_they_decode_the_same_frames(answer: Answer, ours: Path) -> None:
    episode = LocalDataset(ours)[3]
    frames = answer.values(3, "cam")
    assert answer.episodes[3]["signals"]["cam"]["stamps"] == episode["cam"].timestamps.tolist()
    assert frames.shape == (TICKS, 48, 64, 3)
    assert differ_by(frames, episode["cam"].values) <= ROUNDING
    assert_numbered(frames)
    between = answer.by_time(3, "cam")
    stamps = episode["cam"].timestamps.tolist()
    assert differ_by(between["between"], episode["cam"].time[stamps[TICKS // 2] + 17][0]) <= ROUNDING
    assert differ_by(between["slice"], episode["cam"][1:9:3].values) <= ROUNDING
    assert differ_by(between["window"], episode["cam"].time[stamps[1] : stamps[4]].values) <= ROUNDING


def test_frames_of_an_odd_size_have_one_row_and_column_more(answer: Answer, ours: Path) -> None:
    frames = answer.values(0, "odd")
    assert frames.shape == (TICKS, ODD[0] + 1, ODD[1] + 1, 3)
    assert LocalDataset(ours)[0]["odd"].values.shape == (TICKS, *ODD, 3)
    assert differ_by(frames[:, : ODD[0], : ODD[1]], LocalDataset(ours)[0]["odd"].values) <= ROUNDING
    assert_numbered(frames[:, : ODD[0], : ODD[1]])


def test_other_encodings_are_decoded(answer: Answer, ours: Path) -> None:
    exact = answer.values(4, "exact")
    assert np.array_equal(exact, [picture(tick, 48, 64) for tick in range(TICKS)])
    assert np.array_equal(exact, LocalDataset(ours)[4]["exact"].values)
    assert differ_by(answer.values(4, "small"), LocalDataset(ours)[4]["small"].values) <= ROUNDING
    assert_numbered(answer.values(4, "small"))


def test_they_apply_our_edits(answer: Answer, ours: Path) -> None:
    edited = LocalDataset(ours).edited
    assert len(edited) == 4
    if answer.version != "0.4.1":
        assert answer.edited is None
        return
    assert answer.edited == {
        "episodes": [{"uid": episode.uid, "static": episode.static} for episode in edited],
        "dropped": sorted(edited.dropped),
    }
    assert answer.edited["episodes"][0]["static"] == {**STATIC, "task": "place", "verdict": "good"}


# -- theirs, read here ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Theirs:
    """A folder in which they recorded two episodes."""

    version: str
    root: Path


@pytest.fixture(scope="module", params=VERSIONS)
def theirs(installed: None, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Theirs:
    root = tmp_path_factory.mktemp("theirs")
    run_driver(request.param, "write", root)
    return Theirs(request.param, root)


def test_their_values_open_here(theirs: Theirs) -> None:
    dataset = LocalDataset(theirs.root)
    assert len(dataset) == 2
    for offset, episode in enumerate(dataset):
        recorded: dict[str, list[Any]] = {}
        stamps: dict[str, list[int]] = {}
        for name, data, stamp in recording(offset):
            recorded.setdefault(name, []).append(data)
            stamps.setdefault(name, []).append(stamp)
        assert set(episode.signals) == set(recorded)
        for name, expected in recorded.items():
            signal = episode[name]
            assert signal.timestamps.tolist() == stamps[name], name
            if name != "cam":
                assert signal.values.tolist() == np.array(expected).tolist(), name
                assert signal.time[stamps[name][5] + 3][1] == stamps[name][5], name
        assert episode["joint"].values.dtype == np.float32


def test_their_frames_open_here(theirs: Theirs) -> None:
    cam = LocalDataset(theirs.root)[1]["cam"]
    frames = cam.values
    assert frames.shape == (TICKS, 48, 64, 3)
    assert_numbered(frames)
    for position in (69, 0, 31, 30, 29):
        assert np.array_equal(cam[position][0], frames[position])
    assert np.array_equal(cam.time[START + 31 * TICK + 4][0], frames[31])


def test_their_static_items_and_identity_open_here(theirs: Theirs) -> None:
    episode = LocalDataset(theirs.root)[0]
    more = {"nothing": None, "raw": b"\x00\xff"} if theirs.version == "0.4.1" else {}
    assert episode.static == STATIC | more
    assert abs(episode.duration_ns - (TICKS - 1) * TICK) < 10
    stored = json.loads((episode.path / "meta.json").read_text())
    assert episode.uid == stored.get("uid", f"ts-{stored['created_ts_ns']}")


def test_their_edits_are_applied_here(theirs: Theirs) -> None:
    dataset = LocalDataset(theirs.root)
    edited = dataset.edited
    if theirs.version != "0.4.1":
        assert len(edited) == 2
        return
    assert [episode.uid for episode in edited] == [dataset[1].uid]
    assert edited.dropped == {dataset[0].uid}
    assert edited[0]["task"] == "place"
    assert edited[0]["verdict"] == "good"
    assert dataset[1]["task"] == "pick"


def test_both_may_record_into_one_folder(theirs: Theirs, tmp_path: Path) -> None:
    with LocalDatasetWriter(theirs.root).new_episode() as episode:
        for name, data, stamp in recording(2):
            episode.append(name, data, stamp)
    assert episode.path.name == "000000000002"
    answer = ask(theirs.version, theirs.root, tmp_path)
    dataset = LocalDataset(theirs.root)
    assert len(answer.episodes) == len(dataset) == 3
    for number, found in enumerate(dataset):
        assert answer.values(number, "joint").tolist() == found["joint"].values.tolist()
        assert differ_by(answer.values(number, "cam"), found["cam"].values) <= ROUNDING
    assert answer.episodes[2]["uid"] == dataset[2].uid == episode.uid


# -- the samples of other programs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("generation", [1, 2, 3])
def test_the_cameras_of_the_samples_open(generation: int) -> None:
    root = GOLDEN / f"positronic_g{generation}"
    if not root.exists():
        pytest.skip("the samples of other programs are not here")
    for number, episode in enumerate(LocalDataset(root)):
        cam = episode["cam"]
        assert cam.timestamps.tolist() == [10**9 * number + 33 * 10**6 * i + 1 for i in range(40)]
        frames = cam.values
        assert frames.shape == (40, 48, 64, 3)
        colours = np.array([(5 * i, 255 - 5 * i, 128) for i in range(40)])
        assert np.abs(frames.mean(axis=(1, 2)) - colours).max() < 4
        assert np.array_equal(cam.time[10**9 * number + 33 * 10**6 * 35 + 2][0], frames[35])


def differ_by(frames: np.ndarray, others: np.ndarray) -> int:
    """Give the largest difference of any value."""
    assert frames.shape == others.shape
    return int(np.abs(frames.astype(int) - others).max())


def assert_numbered(frames: np.ndarray) -> None:
    """Check that each frame is the picture of its number, and not that of a neighbour."""
    pictures = np.stack([picture(tick, *frames.shape[1:3]) for tick in range(TICKS)]).astype(int)
    for tick, frame in enumerate(frames):
        errors = np.abs(pictures - frame).mean(axis=(1, 2, 3))
        assert errors.argmin() == tick
        assert errors[tick] < 4
