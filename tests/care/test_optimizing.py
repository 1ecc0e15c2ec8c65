"""`compact` and `optimize`: smaller and quicker, and all values as they were."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import h5py
import numpy as np
import pytest

import playhead
from playhead import native
from playhead.care import optimizing
from playhead.errors import Damaged
from playhead.lanes.arrays.recompressing import recompress
from playhead.lanes.arrays.sealed import SealedFile
from playhead.layout import ReplayFolder
from playhead.native import repeats
from tests.care.everything import values_of
from tests.care.test_verifying import change, wrong

NOTES = [f"pong/dqn/runs/{run}/checksums.json" for run in ("run_a", "run_b")]


def test_recompressing_changes_nothing_but_the_size(path: Path) -> None:
    with playhead.open(path) as store:
        optimizing.compact(store._home)
        before = values_of(path)
        done = optimizing.compact(store._home, level=15)
        assert set(done.recompressed) == {"run_a", "run_b"}
        assert optimizing.compact(store._home, level=15).recompressed == {}
    after = values_of(path)
    assert {name for name in before if after[name] != before[name]} <= {
        "replay/run_a.h5",
        *NOTES,
    }  # says when it was made
    assert wrong(path) == []
    assert not list((path / "replay").rglob("*.tmp"))
    assert not list((path / "replay").glob("*.journal"))


def test_frames_that_repeat_become_smaller(tmp_path: Path) -> None:
    pattern = np.random.default_rng(1).integers(0, 255, (60, 60, 3), dtype=np.uint8)
    with playhead.open(tmp_path / "store") as store:
        with store.run("p", "n", run_id="r", environment=False) as run:
            reel = run.new_reel()
            for k in range(100):
                reel.step({"frames": np.roll(pattern, k * 7, 0), "checks": np.int32(k)}, float(k), False, False)
        file = store.path / "replay/r.h5"
        before, rows = file.stat().st_size, store.resolve("h5://r/frames/50")
        with h5py.File(file) as opened:
            attributes, names = dict(opened.attrs), sorted(opened["steps"])
        assert recompress(ReplayFolder(file.parent).reel("r"), 19) == before - file.stat().st_size > 0
        assert (store.resolve("h5://r/frames/50") == rows).all()
        with h5py.File(file) as opened:
            assert dict(opened.attrs) == attributes
            assert sorted(opened["steps"]) == names


def test_what_is_compressed_by_gzip_stays_as_it_is(tmp_path: Path) -> None:
    """Plain h5py reads it; and HDF5 does not say of it a level that it does not have."""
    with playhead.open(tmp_path / "store") as store:
        for name, codec in {"z": "zstd", "g": "gzip"}.items():
            with store.run("p", name, run_id=name, environment=False) as run:
                reel = run.new_reel(config=playhead.ReplayConfig(codec=codec))
                for k in range(40):
                    reel.step(
                        {"frames": np.full((60, 60, 3), k, np.uint8)}, 0.0, False, False, info=b'{"text": "some"}'
                    )
        path = store.path / "replay/g.h5"
        before = path.read_bytes()
        plain: dict[str, tuple[str, int]] = {}

        def look(name: str, found: h5py.Group | h5py.Dataset) -> None:
            if isinstance(found, h5py.Dataset) and found.compression:
                plain[name] = (found.compression, found.compression_opts)

        with h5py.File(store.path / "replay/z.h5") as file:
            file.visititems(look)
        assert recompress(ReplayFolder(path.parent).reel("g"), 15) is None
        assert path.read_bytes() == before
        assert recompress(ReplayFolder(path.parent).reel("z"), 15) is not None
        with h5py.File(store.path / "replay/z.h5") as file:
            for name, said in plain.items():
                assert (file[name].compression, file[name].compression_opts) == said, name


@pytest.mark.skipif(repeats.missing() is not None, reason="Playhead was installed without a compiler")
def test_frames_of_an_install_without_the_part_in_c_become_as_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = np.zeros((60, 84, 84), np.uint8)
    images[:, ::7, ::5] = np.arange(17, dtype=np.uint8)
    for k in range(60):  # something that moves
        images[k, k : k + 9, 20:40] = 200
    sizes = {}
    with playhead.open(tmp_path / "store") as store:
        for name, library in {"with": native.library, "without": None}.items():
            monkeypatch.setattr(repeats, "library", library)
            with store.run("p", name, run_id=name, environment=False) as run:
                reel = run.new_reel()
                for image in images:
                    reel.step({"frames": image}, 0.0, False, False)
        monkeypatch.undo()
        for name in ("with", "without"):
            file = store.path / f"replay/{name}.h5"
            sizes[name] = SealedFile(file).datasets["frames"].table["size"].sum()
        assert sizes["with"] < sizes["without"]
        optimizing.compact(store._home, level=1)
        file = store.path / "replay/without.h5"
        assert SealedFile(file).datasets["frames"].table["size"].sum() == sizes["with"]
        assert all((store.resolve(f"h5://without/frames/{k}") == images[k]).all() for k in range(60))


def test_a_damaged_replay_is_left_as_it_is(path: Path) -> None:
    file = path / "replay/run_a/0000.h5"
    stored = SealedFile(file).datasets["frames"]
    change(file, int(stored.table[0]["offset"]) + 3)
    data = file.read_bytes()
    with playhead.open(path) as store:
        done = optimizing.compact(store._home, level=15)
    assert [problem.path for problem in done.problems] == [str(file)]
    assert file.read_bytes() == data
    with pytest.raises(Damaged):
        recompress(ReplayFolder(file.parent.parent).reel("run_a"), 15)
    assert not list((path / "replay").rglob("*.tmp"))


def test_a_replay_that_is_recorded_is_left_alone(path: Path) -> None:
    with playhead.open(path) as store, store.run("pong", "now", run_id="live", environment=False) as run:
        reel = run.new_reel()
        reel.step({"observations": np.arange(4)}, 1.0, False, False)
        reel.flush()
        assert "live" not in optimizing.compact(store._home, level=15).recompressed
        assert recompress(store._home.layout.replay.reel("live"), 15) is None
        reel.step({"observations": np.arange(4) + 1}, 1.0, True, False)
    with playhead.open(path) as store:
        assert store.resolve("h5://live/observations/1").tolist() == [1, 2, 3, 4]


def test_optimize_says_what_it_would_do_and_then_has_nothing_to_do(path: Path) -> None:
    with sqlite3.connect(path / "playhead.db") as database:
        database.execute("CREATE TABLE junk AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 50000) "
                         "SELECT x, hex(randomblob(50)) AS y FROM n")  # fmt: skip
        database.execute("DROP TABLE junk")
    database.close()
    before = values_of(path)
    with playhead.open(path) as store:
        steps = optimizing.steps(store._home)
        assert {step.name for step in steps} == {"analyze", "vacuum"}
        assert all(step.why for step in steps)
        size = (path / "playhead.db").stat().st_size
        for step in steps:
            step.do()
        assert (path / "playhead.db").stat().st_size < size / 5
        assert optimizing.steps(store._home) == []
    assert values_of(path) == before
    assert wrong(path) == []
