"""Who ends or recovers an episode holds its tape until that is done."""

from __future__ import annotations

from pathlib import Path

import pytest

from playhead import disk, tape
from playhead.episode import DiskEpisode, DiskEpisodeWriter, Unfinished
from playhead.errors import Damaged, NotFound, StoreLocked
from playhead.layout import EpisodeFolder


class Rival:
    """Tries at every change of the disk to recover an episode that somebody else is ending."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.refused = 0
        self.taken: list[str] = []
        self._is_trying = False

    def __call__(self, operation: str, path: str, size: int) -> int | None:
        if not self._is_trying and (self._path / ".recording").is_dir():
            self._is_trying = True
            try:
                Unfinished(self._path).recover()
                self.taken.append(f"{operation} {path}")
            except StoreLocked:
                self.refused += 1
            finally:
                self._is_trying = False
        return None


def test_nobody_recovers_an_episode_that_is_being_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Was a bug: the lock was given back first, and then the files were made."""
    monkeypatch.setattr(tape, "PATIENCE", 0)
    writer = DiskEpisodeWriter(tmp_path / "e")
    for stamp in range(10):
        writer.append("x", stamp / 2, stamp)
    writer.flush()
    rival = Rival(tmp_path / "e")
    with disk.hooked(rival):
        writer.close()
    assert rival.taken == []
    assert rival.refused > 3
    assert len(DiskEpisode(tmp_path / "e")["x"]) == 10
    assert sorted(path.name for path in (tmp_path / "e").iterdir()) == ["meta.json", "static.json", "x.parquet"]


def test_one_alone_recovers_an_episode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tape, "PATIENCE", 0)
    writer = DiskEpisodeWriter(tmp_path / "e")
    writer.append("x", 1.0, 1)
    writer.flush()
    writer._tape.abandon()
    rival = Rival(tmp_path / "e")

    def hook(operation: str, path: str, size: int) -> int | None:
        return rival(operation, path, size) if not path.endswith(".lock") else None  # it is taken first

    with disk.hooked(hook):
        assert len(Unfinished(tmp_path / "e").recover()["x"]) == 1
    assert rival.taken == []
    assert rival.refused


def test_no_tape_is_held_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "e").mkdir()
    (tmp_path / "e" / ".unfinished").write_text("unfinished")
    (tmp_path / "e" / ".recording").symlink_to(tmp_path / "elsewhere")
    for call in (Unfinished(tmp_path / "e").recover, Unfinished(tmp_path / "e").discard):
        with pytest.raises(Damaged, match="a link to"):
            call()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_nothing_is_recovered_of_an_episode_that_a_power_cut_left_without_meta_and_tape(tmp_path: Path) -> None:
    with DiskEpisodeWriter(tmp_path / "e") as episode:
        episode.append("x", 1.0, 1)
    folder = EpisodeFolder(str(tmp_path / "e"))
    Path(folder.unfinished).write_bytes(b"")
    meta = Path(folder.meta).read_bytes()
    Path(folder.meta).write_bytes(b"\0" * len(meta))
    Path(folder.vector("x")).write_bytes(b"")
    unfinished = Unfinished(tmp_path / "e")
    for salvage in (False, True):
        with pytest.raises(NotFound, match="discard"):
            unfinished.recover(salvage=salvage)
    Path(folder.meta).write_bytes(b"x" + meta)  # damaged, but wholly written: somebody may mend it
    with pytest.raises(Damaged, match=r"meta\.json"):
        unfinished.recover()
    unfinished.discard()
    assert not (tmp_path / "e").exists()
