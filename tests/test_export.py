"""Episodes as files of other programs."""

from __future__ import annotations

import csv
import errno
import json
import math
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from playhead import export
from playhead.episode import DiskEpisode, EpisodeView
from playhead.errors import BadKey, Damaged, Empty, Exists, NotFound, WrongType
from playhead.signal import ArraySignal
from playhead.testing import failing_at
from tests.check.making import SECOND, START, append, record, usual


@pytest.fixture(scope="module")
def episode(tmp_path_factory: pytest.TempPathFactory) -> DiskEpisode:
    return DiskEpisode(record(tmp_path_factory.mktemp("made"), usual))


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_csv_at_a_rate_has_a_row_a_time(episode: DiskEpisode, tmp_path: Path) -> None:
    assert export.to_csv(episode, tmp_path / "a.csv", rate=30, rules={"force": "linear"}) == 30
    rows = rows_of(tmp_path / "a.csv")
    assert list(rows[0]) == ["ts_ns", "closed", "count", "force", *(f"joint.{n}" for n in range(7)), "label"]
    times = [START + round(n * SECOND / 30) for n in range(30)]
    assert [int(row["ts_ns"]) for row in rows] == times
    expected = episode.sample(times, {"force": "linear"})
    for place, row in enumerate(rows):
        assert np.float32(row["joint.3"]) == expected["joint"][place, 3]
        assert (row["label"], row["closed"]) == (expected["label"][place], str(expected["closed"][place]).lower())
        if row["force"]:
            assert float(row["force"]) == expected["force"][place]
        assert bool(row["force"]) == expected.mask["force"][place]


def test_a_csv_without_a_rate_has_a_row_a_sample(episode: DiskEpisode, tmp_path: Path) -> None:
    assert export.to_csv(episode, tmp_path / "a.csv") == 370
    rows = rows_of(tmp_path / "a.csv")
    for name in ("force", "count", "joint", "label"):
        signal, found = episode[name], [row for row in rows if row["signal"] == name]
        assert [int(row["ts_ns"]) for row in found] == signal.timestamps.tolist()
        read = str if name == "label" else json.loads
        values = np.array([read(row["value"]) for row in found], signal.values.dtype)
        assert (values == signal.values).all()


def test_a_parquet_at_a_rate_keeps_types(episode: DiskEpisode, tmp_path: Path) -> None:
    export.to_parquet(episode, tmp_path / "a.parquet", rate=10, signals=["joint", "count", "label"])
    table = pq.read_table(tmp_path / "a.parquet")
    assert [str(kind) for kind in table.schema.types] == ["int64", "list<element: float>", "int64", "string"]
    assert table["joint"].to_pylist()[2] == episode["joint"].time[START + SECOND // 5][0].tolist()


def test_a_parquet_of_samples_keeps_the_type_that_all_share(episode: DiskEpisode, tmp_path: Path) -> None:
    export.to_parquet(episode, tmp_path / "a.parquet", signals=["force"])
    assert str(pq.read_table(tmp_path / "a.parquet").schema.field("value").type) == "double"
    export.to_parquet(episode, tmp_path / "b.parquet", signals=["force", "label"])
    assert pq.read_table(tmp_path / "b.parquet")["value"].to_pylist()[-1] == "grasp"


def test_what_has_no_value_is_empty(tmp_path: Path) -> None:
    signals = {
        "a": ArraySignal([1.5, math.nan, 2.5], [0, SECOND, 2 * SECOND]),
        "b": ArraySignal([True, False], [0, SECOND]),
        "ts_ns": ArraySignal([[1], [2]], [0, SECOND]),
    }
    view = EpisodeView(signals, {})
    export.to_csv(view, tmp_path / "a.csv", rate=1, rules={"b": "next", "ts_ns": "next"})
    lines = (tmp_path / "a.csv").read_text().splitlines()
    assert lines == ["ts_ns,a,b,ts_ns.0", "0,1.5,true,1", "1000000000,nan,false,2", "2000000000,2.5,,"]


def test_texts_of_any_kind_survive_a_csv(tmp_path: Path) -> None:
    texts = ['say "hi"', "a,b", "two\nlines", "", "naïve ☃", "\r", "50 %\r100 %", "\r\n"]
    view = EpisodeView({"t": ArraySignal(np.array(texts, object), range(len(texts)))}, {})
    export.to_csv(view, tmp_path / "a.csv")
    assert [row["value"] for row in rows_of(tmp_path / "a.csv")] == texts


def test_an_npz_holds_every_signal_raw(episode: DiskEpisode, tmp_path: Path) -> None:
    assert "cam" not in export.to_npz(episode, tmp_path / "a.npz")
    assert "cam" in export.to_npz(episode, tmp_path / "b.npz", video=True)
    with np.load(tmp_path / "b.npz", allow_pickle=False) as found:
        for name, signal in episode.signals.items():
            assert (found[f"timestamps/{name}"] == signal.timestamps).all()
            assert (found[f"values/{name}"] == signal.values).all()
        assert found["values/joint"].dtype == np.float32
        assert json.loads(str(found["static"])) == episode.static


def test_frames_come_back_as_they_were(episode: DiskEpisode, tmp_path: Path) -> None:
    assert export.to_frames(episode, tmp_path / "f") == {"cam": 30}
    rows = rows_of(tmp_path / "f" / "cam" / "frames.csv")
    assert [int(row["ts_ns"]) for row in rows] == episode["cam"].timestamps.tolist()
    for row in rows[::7]:
        image = np.asarray(Image.open(tmp_path / "f" / "cam" / row["file"]))
        assert (image == episode["cam"][int(row["index"])][0]).all()


def test_frames_at_a_rate_replace_those_before_by_force(episode: DiskEpisode, tmp_path: Path) -> None:
    export.to_frames(episode, tmp_path)
    (tmp_path / "cam" / "mine.txt").write_text("keep")
    with pytest.raises(Exists, match="holds files"):
        export.to_frames(episode, tmp_path, rate=5)
    assert export.to_frames(episode, tmp_path, rate=5, force=True) == {"cam": 5}
    assert sorted(path.name for path in (tmp_path / "cam").iterdir()) == [
        *(f"{n:06}.png" for n in range(5)), "frames.csv", "mine.txt",
    ]  # fmt: skip


def test_depth_and_grey_frames(tmp_path: Path) -> None:
    frames = {
        "depth": np.arange(2 * 16 * 16, dtype=np.uint16).reshape(2, 16, 16) * 100,
        "grey": np.arange(2 * 16 * 16 * 1).astype(np.uint8).reshape(2, 16, 16, 1),
    }
    view = EpisodeView({name: ArraySignal(values, [0, 1]) for name, values in frames.items()}, {})
    export.to_frames(view, tmp_path)
    for name, values in frames.items():
        image = np.asarray(Image.open(tmp_path / name / "000001.png"))
        assert (image == values[1].reshape(16, 16)).all()


@pytest.mark.parametrize("name", ["x", "new/folder/x"])
def test_refusals(episode: DiskEpisode, tmp_path: Path, name: str) -> None:
    """Was a bug: the folder of a file that was refused was there."""
    view = EpisodeView({"empty": ArraySignal(np.empty(0), np.empty(0, np.int64))}, {})
    for call in (export.to_csv, export.to_parquet, export.to_npz):
        with pytest.raises(NotFound, match="there is: closed"):
            call(episode, tmp_path / name, signals=["nothing"])
        with pytest.raises(Exists, match="is a folder"):
            call(episode, tmp_path)
    with pytest.raises(WrongType, match="to_frames"):
        export.to_csv(episode, tmp_path / name, signals=["cam"])
    with pytest.raises(WrongType, match="not images"):
        export.to_frames(episode, tmp_path / name, signals=["force"])
    with pytest.raises(Empty):
        export.to_csv(view, tmp_path / name)
    with pytest.raises(Empty):
        export.to_frames(view, tmp_path / name)
    with pytest.raises(BadKey, match="a rate"):
        export.to_csv(episode, tmp_path / name, rate=-1)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_signal_leaves_no_file(tmp_path: Path) -> None:
    path = record(tmp_path / "data", lambda writer: append(writer, "force", [1.0, 2.0]))
    (path / "force.parquet").write_bytes(b"PAR1")
    for call in (export.to_csv, export.to_npz):
        with pytest.raises(Damaged):
            call(DiskEpisode(path), tmp_path / "out" / "put")
    assert [found.name for found in tmp_path.iterdir()] == ["data"]


def test_a_failed_write_leaves_folders_that_were_there(episode: DiskEpisode, tmp_path: Path) -> None:
    (tmp_path / "was").mkdir()
    with failing_at(2, errno.EIO), pytest.raises(OSError, match="Input/output"):
        export.to_csv(episode, tmp_path / "was" / "new" / "x.csv", signals=["force"])
    assert [found.name for found in tmp_path.rglob("*")] == ["was"]
    export.to_csv(episode, tmp_path / "was" / "new" / "x.csv", signals=["force"])
    assert (tmp_path / "was" / "new" / "x.csv").stat().st_size > 10


HOSTILE = ["../../outside/a", "/tmp/a", "..", ".", "", "a\\..\\b", "con", "a\x00b", "left/arm", "left%2Farm", "\udc80"]


def test_no_name_leads_out_of_the_folder(tmp_path: Path) -> None:
    """Was a bug: the name of an agent wrote images anywhere."""
    target = tmp_path / "deep" / "out"
    view = EpisodeView({name: ArraySignal(np.full((2, 8, 8, 3), 7, np.uint8), [0, 1]) for name in HOSTILE}, {})
    export.to_frames(view, target)
    written = list(tmp_path.rglob("*.png"))
    assert len(written) == 2 * len(HOSTILE)
    assert {path.parent.parent for path in written} == {target}
    assert {path.name for path in tmp_path.iterdir()} == {"deep"}
    assert (target / "left%2Farm" / "000001.png").exists()


def test_members_of_an_archive_lead_nowhere_else(tmp_path: Path) -> None:
    view = EpisodeView({name: ArraySignal([float(n)], [0]) for n, name in enumerate(HOSTILE)}, {})
    assert export.to_npz(view, tmp_path / "a.npz") == HOSTILE
    with np.load(tmp_path / "a.npz", allow_pickle=False) as found:
        members = [name for name in found.files if name.startswith("values/")]
        assert [found[name].tolist() for name in members] == [[float(n)] for n in range(len(HOSTILE))]
        assert all(name.count("/") == 1 and not name.endswith(("/.", "/..", "/")) for name in members)
        assert found["values/left%2Farm"] == HOSTILE.index("left/arm")


def test_arrays_of_no_size(tmp_path: Path) -> None:
    """Was a bug: Arrow said that columns differ in length."""
    view = EpisodeView({"nothing": ArraySignal(np.zeros((3, 0)), range(3)), "x": ArraySignal([1.0] * 3, range(3))}, {})
    assert export.to_csv(view, tmp_path / "a.csv") == export.to_parquet(view, tmp_path / "a.parquet") == 6
    assert [row["value"] for row in rows_of(tmp_path / "a.csv")][:3] == ["[]"] * 3
    assert export.to_npz(view, tmp_path / "a.npz") == ["nothing", "x"]
    assert np.load(tmp_path / "a.npz")["values/nothing"].shape == (3, 0)


def test_a_csv_at_a_rate_takes_texts_without_a_value_and_arrays_that_differ_in_size(tmp_path: Path) -> None:
    """Was a bug: it ended in an error of Arrow."""
    signals = {
        "phase": ArraySignal(np.array(["lift"], object), [0]),
        "points": ArraySignal(np.array([np.arange(2), np.arange(1)], object), [10, 20]),
    }
    view = EpisodeView(signals, {})
    assert export.to_csv(view, tmp_path / "a.csv", rate=1e8, rules={"phase": "next"}) == 2
    rows = rows_of(tmp_path / "a.csv")
    assert [(row["phase"], row["points"]) for row in rows] == [("", "[0,1]"), ("", "[0]")]


@pytest.mark.parametrize(("shape", "dtype"), [((4, 5, 5), "u1"), ((0, 5), "u1"), ((3, 0, 3), "u1"), ((4, 4, 3), "u2")])
def test_arrays_that_no_png_holds_are_no_frames(tmp_path: Path, shape: tuple[int, ...], dtype: str) -> None:
    """Was a bug: it ended in an error of Pillow, with a folder that was left behind."""
    cube = ArraySignal(np.zeros((2, *shape), dtype), range(2))
    view = EpisodeView({"cube": cube, "cam": ArraySignal(np.zeros((2, 4, 5), np.uint8), range(2))}, {})
    with pytest.raises(WrongType, match="'cube' is not images"):
        export.to_frames(view, tmp_path / "f", signals=["cube"])
    assert list(tmp_path.iterdir()) == []
    assert export.to_frames(view, tmp_path / "f") == {"cam": 2}


@pytest.mark.parametrize("dtype", [np.complex64, np.longdouble])
def test_numbers_that_no_table_has_are_refused(tmp_path: Path, dtype: type) -> None:
    """Was a bug: it ended in an error of Arrow."""
    view = EpisodeView({"z": ArraySignal(np.ones((2, 3), dtype), range(2))}, {})
    for call in (export.to_csv, export.to_parquet):
        with pytest.raises(WrongType, match=r"'z' are .*, for which tables have no type; export it with to_npz"):
            call(view, tmp_path / "x")
    assert list(tmp_path.iterdir()) == []
    export.to_npz(view, tmp_path / "a.npz")
    assert np.load(tmp_path / "a.npz")["values/z"].dtype == dtype
