"""The check of episodes and datasets."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest

from playhead.check import DAMAGE, NOTE, WARNING, Finding, verify_dataset, verify_episode
from playhead.dataset import LocalDataset, LocalDatasetWriter
from playhead.episode import DiskEpisode, DiskEpisodeWriter
from playhead.errors import NotFound
from tests.check.making import MS, SECOND, START, append, curve, flip, frame, leave_unfinished, numbers, record, usual


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("made"), usual)


@pytest.fixture
def episode(made: Path, tmp_path: Path) -> Path:
    """An episode that may be damaged."""
    return Path(shutil.copytree(made, tmp_path / "data" / "000000000000" / "000000000000"))


def only(findings: list[Finding]) -> Finding:
    assert len(findings) == 1, findings
    return findings[0]


def damage(findings: list[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.severity == DAMAGE]


@pytest.mark.parametrize("deep", [False, True])
def test_nothing_is_wrong_with_a_good_one(made: Path, deep: bool) -> None:
    assert verify_episode(made, deep=deep) == []


def test_a_check_writes_nothing(episode: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in episode.rglob("*")}
    verify_episode(episode, deep=True)
    verify_dataset(episode.parents[1], deep=True)
    assert {path: path.stat().st_mtime_ns for path in episode.rglob("*")} == before


@pytest.mark.parametrize("name", ["force.parquet", "label.parquet", "joint.parquet", "cam.mp4", "cam.frames.parquet"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_flipped_bit_is_damage_or_does_no_harm(episode: Path, name: str, share: float) -> None:
    path, signal = episode / name, name.partition(".")[0]
    expected = DiskEpisode(episode)[signal].values.tolist()
    flip(path, int(path.stat().st_size * share))
    found = damage(verify_episode(episode))
    if found:
        assert only(found).signal == signal
        assert str(episode) in only(found).text
    else:  # a bit of what Parquet says beside the values, such as statistics
        assert path.suffix == ".parquet"
        assert DiskEpisode(episode)[signal].values.tolist() == expected


@pytest.mark.parametrize("name", ["force.parquet", "cam.mp4", "cam.frames.parquet"])
@pytest.mark.parametrize("kept", [0, 60])
def test_a_file_that_was_cut_is_damage_and_the_rest_is_checked(episode: Path, name: str, kept: int) -> None:
    path = episode / name
    path.write_bytes(path.read_bytes()[:kept])
    flip(episode / "joint.parquet", (episode / "joint.parquet").stat().st_size // 2)
    assert {found.signal for found in damage(verify_episode(episode))} == {name.partition(".")[0], "joint"}


def test_a_video_without_its_index_and_the_other_way_round(episode: Path) -> None:
    index = (episode / "cam.frames.parquet").read_bytes()
    (episode / "cam.frames.parquet").unlink()
    found = only(verify_episode(episode))
    assert (found.severity, found.signal) == (DAMAGE, "cam")
    assert "cam.frames.parquet is missing" in found.text
    (episode / "cam.mp4").unlink()
    (episode / "cam.frames.parquet").write_bytes(index)
    assert "the index knows 30 frames" in only(verify_episode(episode)).text


def test_meta_must_be_there_and_json(episode: Path) -> None:
    (episode / "meta.json").write_text("{")
    assert only(verify_episode(episode)).path == episode / "meta.json"
    (episode / "meta.json").unlink()
    found = only(verify_episode(episode))
    assert (found.severity, found.text) == (DAMAGE, "is missing: the episode has no identity and no date")


def test_static_may_be_missing_but_not_broken(episode: Path) -> None:
    (episode / "static.json").write_text("[1")
    assert only(verify_episode(episode)).severity == DAMAGE
    (episode / "static.json").unlink()
    found = only(verify_episode(episode))
    assert (found.severity, found.path) == (DAMAGE, episode / "static.json")
    assert "is missing" in found.text
    meta = json.loads((episode / "meta.json").read_bytes())
    del meta["sealed"]["files"]["static.json"]  # as other programs leave it
    (episode / "meta.json").write_text(json.dumps(meta))
    assert verify_episode(episode) == []


def test_what_cannot_be_read_is_damage(episode: Path) -> None:
    (episode / "force.parquet").unlink()
    (episode / "force.parquet").mkdir()
    assert only(damage(verify_episode(episode))).signal == "force"


def test_an_unfinished_episode_names_the_way_back(tmp_path: Path) -> None:
    path = leave_unfinished(tmp_path, numbers)
    found = only(verify_episode(path))
    assert (found.severity, found.next_step) == (WARNING, f"Run: playhead episode recover {path}")


def test_one_that_is_being_recorded_is_only_noted(tmp_path: Path) -> None:
    with LocalDatasetWriter(tmp_path).new_episode() as writer:
        append(writer, "force", curve())
        writer.flush()
        assert only(verify_episode(writer.path)).severity == NOTE


def test_no_episode(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no such folder"):
        verify_episode(tmp_path / "nothing")
    with pytest.raises(NotFound, match="no such folder"):
        verify_dataset(tmp_path / "nothing")


def test_a_frozen_camera_is_found_by_looking_deep(tmp_path: Path) -> None:
    def fill(writer: DiskEpisodeWriter) -> None:
        still = [frame(number) for number in range(20)] + [frame(19)] * 60 + [frame(number) for number in range(20, 40)]
        append(writer, "cam", still, hz=30)

    path = record(tmp_path, fill)
    assert verify_episode(path) == []
    found = only(verify_episode(path, deep=True))
    assert found.severity == WARNING
    assert "stands still for" in found.text
    frames = int(found.text.split("(")[1].split()[0])
    assert 55 <= frames <= 62


def test_a_camera_that_never_moves(tmp_path: Path) -> None:
    def fill(writer: DiskEpisodeWriter) -> None:
        writer.configure("cam", lossless=True)
        append(writer, "cam", [frame(3)] * 70, hz=30)

    assert only(verify_episode(record(tmp_path, fill), deep=True)).text == "never moves: all 70 frames are the same"


def test_repeated_frames_of_a_lossless_camera(tmp_path: Path) -> None:
    def fill(writer: DiskEpisodeWriter) -> None:
        writer.configure("cam", lossless=True)
        append(writer, "cam", (frame(number // 2) for number in range(40)), hz=30)

    found = only(verify_episode(record(tmp_path, fill), deep=True))
    assert (found.severity, found.text) == (NOTE, "20 of 40 frames repeat the one before")


def test_values_that_are_no_numbers_or_never_change(tmp_path: Path) -> None:
    def fill(writer: DiskEpisodeWriter) -> None:
        append(writer, "broken", [math.nan if number % 4 == 0 else float(number) for number in range(40)])
        append(writer, "wild", [np.array([1.0, math.inf]), *(np.array([number, 2.0]) for number in range(39))])
        append(writer, "still", [7] * 40)
        append(writer, "word", ["idle"] * 40)

    found = {finding.signal: finding for finding in verify_episode(record(tmp_path, fill))}
    assert found["broken"].text == "10 of 40 samples hold values that are NaN (10 values)"
    assert found["wild"].text == "1 of 40 samples hold values that are infinite (1 values)"
    assert found["still"].text == "never changes: all 40 samples are 7"
    assert found["word"].text == "never changes: all 40 samples are idle"
    assert {name: finding.severity for name, finding in found.items()} == {
        "broken": WARNING, "wild": WARNING, "still": NOTE, "word": NOTE,
    }  # fmt: skip


def test_gaps_pauses_and_units(tmp_path: Path) -> None:
    def gap(writer: DiskEpisodeWriter) -> None:
        append(writer, "a", curve(300))
        append(writer, "b", curve(100))
        append(writer, "b", curve(100), at=START + 2 * SECOND)

    found = only(verify_episode(record(tmp_path, gap)))
    assert (found.severity, found.signal) == (WARNING, "b")
    assert found.text.startswith("a gap of 1.01 s at 0.99 s, where samples come every 10 ms")

    def pause(writer: DiskEpisodeWriter) -> None:
        for name in ("a", "b"):
            append(writer, name, curve(100))
            append(writer, name, curve(100), at=START + 4 * SECOND)

    found = only(verify_episode(record(tmp_path, pause)))
    assert found.signal is None
    assert found.text.startswith("all signals are silent for 3.01 s, 990 ms after the begin")

    def unit(writer: DiskEpisodeWriter) -> None:
        append(writer, "a", curve())
        append(writer, "ms", curve(), hz=10**8, at=START // MS)

    found = only(verify_episode(record(tmp_path, unit)))
    assert (found.signal, found.severity) == ("ms", WARNING)
    assert "look like milliseconds" in found.text


def test_a_dataset_is_checked_whole(tmp_path: Path) -> None:
    first = record(tmp_path, numbers)
    shutil.copytree(first, first.with_name("000000000007"))
    leave_unfinished(tmp_path, numbers)
    LocalDataset(tmp_path).edited.drop(LocalDataset(tmp_path)[0].uid or "")
    flip(first / "force.parquet", (first / "force.parquet").stat().st_size // 2)
    walked: list[Path] = []

    def watch(paths: Sequence[Path]) -> Iterable[Path]:
        walked.extend(paths)
        return iter(walked)

    found = verify_dataset(tmp_path, watch=watch)
    assert [path.name for path in walked] == ["000000000000", "000000000007", "000000000008"]
    assert [finding.severity for finding in found] == [DAMAGE, WARNING, WARNING, NOTE]
    assert "is unfinished" in found[1].text
    assert "an edit of one is an edit of both" in found[2].text
    assert "dropped" in found[3].text


def test_a_bad_line_of_edits_is_damage(tmp_path: Path) -> None:
    record(tmp_path, numbers)
    (tmp_path / "edits.jsonl").write_text('{"op": "drop", "v": 1, "ep": "x"}\n{"op": "explode"}\n')
    found = only(verify_dataset(tmp_path))
    assert (found.severity, found.path) == (DAMAGE, tmp_path / "edits.jsonl")
    assert "edits.jsonl:2" in found.text


def test_a_finding_is_a_line_and_json() -> None:
    finding = Finding(DAMAGE, Path("a/b"), "is broken", "cam", "Mend it")
    assert str(finding) == "damage: cam: is broken. Mend it (a/b)"
    assert json.loads(json.dumps(finding.described())) == {
        "severity": "damage", "path": "a/b", "text": "is broken", "signal": "cam", "next_step": "Mend it",
    }  # fmt: skip
