"""Files of shared memory: names, room, what dead processes left, what strangers put there."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from playhead import disk, live
from playhead.errors import BadName, Damaged, Exists, NotFound
from playhead.lanes.live import segments

FRAME = np.zeros((60, 80, 3), np.uint8)

DYING = """
import os, sys, numpy as np
from playhead import live
writer = live.LiveWriter(sys.argv[1])
writer.publish(np.zeros((60, 80, 3), np.uint8))
os.kill(os.getpid(), 9)
"""


def leave_behind(run_id: str) -> None:
    ended = subprocess.run([sys.executable, "-c", DYING, run_id], check=False)
    assert ended.returncode == -9


def test_a_slash_becomes_what_the_other_program_makes_of_it(run_id: str) -> None:
    with live.LiveWriter(f"{run_id}/a/b") as writer:
        writer.publish(FRAME)
        assert (segments.FOLDER / f"mosaic.fastlane.{run_id}_a_b").is_file()
        assert live.LiveReader(f"{run_id}/a/b").latest() is not None
        assert live.LiveReader(f"{run_id}_a_b").latest() is not None


@pytest.mark.parametrize("name", ["", " ", "a\0b", "a\x1b[2Jb", "x" * 201, "a\u202eb", "a\nb", None, 7])
def test_a_name_that_no_file_should_have_is_refused(name: str) -> None:
    with pytest.raises(BadName):
        live.LiveWriter(name)
    with pytest.raises(BadName):
        live.LiveReader(name)


@pytest.mark.parametrize("name", ["../../etc/passwd", "..", ".", "/", "~", "-rf", "$(x)"])
def test_a_name_never_leads_out_of_the_folder(name: str) -> None:
    assert segments.path_of(name).parent == segments.FOLDER
    assert segments.path_of(name).name.startswith("mosaic.fastlane.")
    with pytest.raises(NotFound):
        live.LiveReader(name)


def test_a_hostile_name_is_not_listed(run_id: str) -> None:
    made = Path(os.fsdecode(b"/dev/shm/mosaic.fastlane." + run_id.encode() + b"\x1b]0;x\x07\xff"))
    made.touch()
    try:
        assert not [one for one in segments.paths() if one.startswith(run_id)]
        assert not [one for one in live.runs() if one.run_id.startswith(run_id)]
    finally:
        made.unlink()


def test_nobody_else_may_read_what_is_published(run_id: str) -> None:
    with live.LiveWriter(run_id) as writer:
        writer.publish(FRAME)
        assert segments.path_of(run_id).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_is_no_file_is_not_opened(run_id: str, kind: str, tmp_path: Path) -> None:
    path = segments.path_of(run_id)
    if kind == "link":
        path.symlink_to(tmp_path)
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    try:
        with pytest.raises(Damaged, match="shared memory"):
            live.LiveReader(run_id)
        assert run_id not in [one.run_id for one in live.runs()]
        live.remove_stale()
        said = {"link": "a link", "pipe": "no file", "folder": "a folder"}[kind]
        with pytest.raises(Exists, match=f"is taken: it is {said}, which you made.*Remove it"):
            live.LiveWriter(run_id).publish(FRAME)
        assert not os.listdir(tmp_path)
        assert path.is_symlink() or path.exists()
    finally:
        path.rmdir() if kind == "folder" else path.unlink()


def test_what_a_killed_process_left_is_not_listed_and_removed(run_id: str) -> None:
    leave_behind(run_id)
    assert run_id in segments.paths()
    assert run_id not in [one.run_id for one in live.runs()]
    assert live.LiveReader(run_id).state == live.ENDED
    assert live.LiveReader(run_id).latest() is not None  # what it showed last can still be seen
    assert run_id in live.remove_stale()
    assert run_id not in segments.paths()


def test_a_new_writer_takes_the_name_of_a_killed_one(run_id: str) -> None:
    leave_behind(run_id)
    with live.LiveWriter(run_id) as writer:
        writer.publish(FRAME)
        assert [one.run_id for one in live.runs()].count(run_id) == 1


def test_two_writers_of_one_run_are_refused(run_id: str) -> None:
    with live.LiveWriter(run_id) as first, live.LiveWriter(run_id) as second:
        first.publish(FRAME)
        with pytest.raises(Exists, match="another run id"):
            second.publish(FRAME)
        assert list(segments.FOLDER.glob(".playhead.live*")) == []
        assert live.remove_stale() == []
        first.publish(FRAME)
    assert run_id not in segments.paths()


def test_drafts_that_a_crash_left_are_removed_when_they_are_old() -> None:
    old, new, other = (
        segments.FOLDER / f".{name}" for name in ("playhead.live.1-a.tmp", "playhead.live.1-b.tmp", "x.tmp")
    )
    for path in (old, new, other):
        path.touch()
    try:
        for path in (old, other):
            os.utime(path, (1e9, 1e9))
        segments.sweep_drafts()
        assert [path.exists() for path in (old, new, other)] == [False, True, True]
    finally:
        for path in (old, new, other):
            path.unlink(missing_ok=True)


@pytest.mark.parametrize("operation", ["create", "write", "link"])
def test_a_failure_leaves_nothing_behind(run_id: str, operation: str) -> None:
    def fail(found: str, path: str, _size: int) -> None:
        if found == operation:
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)

    before = set(os.listdir(segments.FOLDER))
    writer = live.LiveWriter(run_id)
    with disk.hooked(fail), pytest.raises(OSError, match="Input/output"):
        writer.publish(FRAME)
    assert set(os.listdir(segments.FOLDER)) - before == set()
    writer.publish(FRAME)  # the next one gets through
    writer.close()


def test_no_room_is_said_with_what_there_is(run_id: str) -> None:
    writer = live.LiveWriter(run_id)
    writer.publish(FRAME)
    with disk.hooked(lambda operation, _path, _size: 0 if operation == "write" else None):
        with pytest.raises(OSError, match=r"no room for [\d,]+ bytes of shared memory, [\d,]+ are free.*--shm-size"):
            writer.publish(FRAME[:30])
    found = live.LiveReader(run_id).latest()
    assert found is not None
    assert found.picture.shape == FRAME.shape  # what was there stays
    writer.publish(FRAME)
    writer.close()


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file system of 64 kB in the place of the shared memory."""
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(tmp_path)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("only root may mount a file system")
    monkeypatch.setattr(segments, "FOLDER", tmp_path)
    yield tmp_path
    subprocess.run(["umount", "-l", str(tmp_path)], check=True)


def test_a_full_file_system_is_an_error_and_no_signal(small: Path) -> None:
    with live.LiveWriter("full", slots=2) as writer:
        with pytest.raises(OSError, match="no room") as caught:
            writer.publish(np.zeros((210, 160, 3), np.uint8))
        assert caught.value.errno == errno.ENOSPC
        assert list(small.iterdir()) == []
        writer.publish(np.full((60, 80, 3), 7, np.uint8))
        found = live.LiveReader("full").latest()
        assert found is not None
        assert (found.picture == 7).all()
        (small / "filler").write_bytes(bytes(4096))
        writer.publish(np.full((60, 80, 3), 8, np.uint8))  # its room was reserved when it began
