"""`playhead compact`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import playhead
from tests.cli.invoking import answer, invoke


def leave_a_journal(path: Path, run_id: str) -> None:
    with playhead.open(path) as store, store.run("p", "n", run_id=run_id, environment=False) as run:
        reel = run.new_reel()
        reel.step({"observations": np.arange(4)}, 1.0, True, False)
        reel.flush()
        reel.abandon()


def test_seals_journals(tmp_path: Path) -> None:
    path = tmp_path / "store"
    leave_a_journal(path, "run_a")
    leave_a_journal(path, "run_b")
    assert answer("compact", store=path)["sealed"] == ["run_a", "run_b"]
    assert sorted(found.name for found in (path / "replay").iterdir()) == ["index.json", "run_a.h5", "run_b.h5"]
    assert invoke("compact", store=path).stdout == "Sealed 0 replays.\n"
    with playhead.open(path) as store:
        assert store.resolve("h5://run_a/observations/0").tolist() == [0, 1, 2, 3]


def test_a_damaged_journal_is_named_and_ends_with_1(tmp_path: Path) -> None:
    path = tmp_path / "store"
    leave_a_journal(path, "run_a")
    leave_a_journal(path, "run_b")
    segment = path / "replay" / "run_a.journal" / "000000.seg"
    data = bytearray(segment.read_bytes())
    data[100] ^= 1
    segment.write_bytes(data)
    error = invoke("compact", store=path, expect=1).stderr
    assert str(segment) in error
    assert not (path / "replay" / "run_b.journal").exists()
    assert segment.exists()


def test_recompresses_what_is_sealed(tmp_path: Path) -> None:
    path = tmp_path / "store"
    leave_a_journal(path, "run_a")
    assert answer("compact", "--recompress", "12", "--older-than", "1", store=path)["recompressed"] == {}
    done = answer("compact", "--recompress", "12", store=path)
    assert list(done["recompressed"]) == ["run_a"]
    assert done["problems"] == []
    assert "Compressed" not in invoke("compact", "--recompress", "12", store=path).stdout
    with playhead.open(path) as store:
        assert store.resolve("h5://run_a/observations/0").tolist() == [0, 1, 2, 3]
