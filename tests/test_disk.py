"""The one place that writes files: whole or not at all, also when the disk fails or the process dies."""

from __future__ import annotations

import contextlib
import errno
import multiprocessing
import os
import resource
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

from playhead import disk, testing
from playhead.errors import Damaged

OLD, NEW = b"old content", b"the new content, longer than the old"


def visible(folder: Path) -> set[str]:
    return {name for name in os.listdir(folder) if not disk.is_temporary(name)}


# -- replace, create, copy --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("durable", [True, False])
def test_replace_gives_a_file_new_content(tmp_path: Path, durable: bool) -> None:
    path = tmp_path / "file"
    disk.replace(path, OLD, durable=durable)
    disk.replace(path, NEW, durable=durable)
    assert path.read_bytes() == NEW
    assert os.listdir(tmp_path) == ["file"]


def test_replace_syncs_the_file_before_its_name_and_the_folder_after(tmp_path: Path) -> None:
    """Else a power cut could leave a name without its bytes, or take the name back."""
    seen = testing.operations_of(lambda: disk.replace(tmp_path / "file", NEW))
    assert [operation.name for operation in seen] == ["create", "write", "fsync", "rename", "fsync"]
    assert seen[-1].path == str(tmp_path)


@pytest.mark.parametrize("torn", [False, True])
def test_replace_is_whole_or_not_at_all_when_the_process_is_killed_at_any_operation(tmp_path: Path, torn: bool) -> None:
    path = tmp_path / "file"
    path.write_bytes(OLD)

    def work(acknowledge: Callable[[Any], None]) -> None:
        disk.replace(path, NEW)
        acknowledge("replaced")

    contents = []
    for n in range(100):
        crash = testing.killed_at(n, work, torn=torn)
        contents.append(path.read_bytes())
        assert contents[-1] == NEW if crash.acknowledged else contents[-1] in (OLD, NEW)
        assert visible(tmp_path) == {"file"}
        path.write_bytes(OLD)
        if not crash.killed:
            break
    assert n == 5
    assert contents.count(OLD) == 4
    assert any(disk.is_temporary(name) for name in os.listdir(tmp_path)), "a kill in the middle leaves a hidden file"


@pytest.mark.parametrize("short", [False, True])
@pytest.mark.parametrize("change", ["replace", "create", "copy"])
def test_a_failed_change_leaves_no_trace(tmp_path: Path, change: str, short: bool) -> None:
    source, path = tmp_path / "source", tmp_path / "file"
    source.write_bytes(NEW)
    changes: dict[str, Callable[[], None]] = {
        "replace": lambda: disk.replace(path, NEW),
        "create": lambda: disk.create(path, NEW),
        "copy": lambda: disk.copy(source, path),
    }
    total = testing.count_operations(changes[change])
    path.unlink()
    for n in range(total):
        with contextlib.suppress(OSError), testing.failing_at(n, errno.EIO, short=short):
            changes[change]()
        # Only once the name is there may it stay: the sync of the folder that failed comes after it.
        if path.exists():
            assert path.read_bytes() == NEW
            assert n >= total - 2
            path.unlink()
        assert visible(tmp_path) == {"source"}
        for name in os.listdir(tmp_path):  # a removal that failed leaves the hidden file behind
            if disk.is_temporary(name):
                assert change == "create"
                (tmp_path / name).unlink()


def test_create_refuses_what_exists_and_leaves_it_alone(tmp_path: Path) -> None:
    path = tmp_path / "file"
    disk.create(path, OLD)
    with pytest.raises(FileExistsError):
        disk.create(path, NEW)
    for n in range(8):
        with testing.failing_at(n), pytest.raises(OSError):
            disk.create(path, NEW)
    assert path.read_bytes() == OLD
    assert visible(tmp_path) == {"file"}


def test_of_many_that_create_one_file_one_wins(tmp_path: Path) -> None:
    path, outcomes = tmp_path / "file", []

    def attempt(content: bytes) -> None:
        try:
            disk.create(path, content, durable=False)
            outcomes.append(content)
        except FileExistsError:
            outcomes.append(None)

    threads = [threading.Thread(target=attempt, args=(b"%d" % n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [content for content in outcomes if content] == [path.read_bytes()]


def test_copy_gives_a_file_of_its_own(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    content = os.urandom(3 << 20)
    source.write_bytes(content)
    disk.copy(source, target)
    assert target.read_bytes() == content
    assert source.stat().st_ino != target.stat().st_ino
    with pytest.raises(FileNotFoundError):
        disk.copy(tmp_path / "missing", tmp_path / "other")
    assert sorted(os.listdir(tmp_path)) == ["source", "target"]


def test_temporary_names_fit_and_are_known(tmp_path: Path) -> None:
    temporary = disk.temporary_beside(tmp_path / ("x" * 255))
    assert len(temporary.name.encode()) <= 255
    assert disk.is_temporary(temporary.name)
    assert temporary.parent == tmp_path
    assert temporary != disk.temporary_beside(tmp_path / ("x" * 255))
    assert not disk.is_temporary("notes.tmp")
    assert not disk.is_temporary(".hidden")


# -- folders, removal, locks ------------------------------------------------------------------------------------------


def make_many_folders(path: str) -> None:
    for n in range(50):
        disk.make_folders(Path(path) / str(n) / "a" / "b", durable=False)


def test_make_folders_may_be_called_by_many_at_once(tmp_path: Path) -> None:
    with multiprocessing.get_context("fork").Pool(4) as pool:
        pool.map(make_many_folders, [str(tmp_path)] * 4)
    assert all((tmp_path / str(n) / "a" / "b").is_dir() for n in range(50))


def test_make_folders_refuses_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(FileExistsError):
        disk.make_folders(tmp_path / "file")
    with pytest.raises(OSError):
        disk.make_folders(tmp_path / "file" / "folder")
    disk.make_folders(tmp_path)


def test_make_folder_refuses_what_exists(tmp_path: Path) -> None:
    disk.make_folder(tmp_path / "folder")
    with pytest.raises(FileExistsError):
        disk.make_folder(tmp_path / "folder")


def test_remove_is_content_with_what_is_gone_already(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"")
    disk.remove(path)
    disk.remove(path)
    assert not path.exists()


def test_remove_tree_never_follows_links(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_bytes(OLD)
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "link").symlink_to(tmp_path / "kept")
    disk.remove_tree(tmp_path / "tree")
    assert (tmp_path / "kept" / "file").read_bytes() == OLD
    assert os.listdir(tmp_path) == ["kept"]
    (tmp_path / "tree").symlink_to(tmp_path / "kept")
    disk.remove_tree(tmp_path / "tree")
    assert (tmp_path / "kept" / "file").read_bytes() == OLD
    assert os.listdir(tmp_path) == ["kept"]


def test_remove_empty_spares_a_folder_with_something_in_it(tmp_path: Path) -> None:
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    assert not disk.remove_empty(tmp_path / "folder")
    assert disk.remove_empty(tmp_path / "folder" / "inner")
    assert disk.remove_empty(tmp_path / "folder")


def test_a_lock_is_held_by_one_and_given_back(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"")
    with disk.locked(path) as mine, disk.locked(path, wait=False) as other:
        assert mine
        assert not other
    with disk.locked(path, wait=False) as mine:
        assert mine


def test_a_lock_is_given_back_when_its_holder_is_killed(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        with disk.locked(tmp_path):
            os.write(writing, b"x")
            signal.pause()
    os.read(reading, 1)
    with disk.locked(tmp_path, wait=False) as mine:
        assert not mine
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    with disk.locked(tmp_path, wait=False) as mine:
        assert mine
    os.close(reading)
    os.close(writing)


def test_truncate_and_touch(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(OLD)
    os.utime(path, (0, 0))
    disk.truncate(path, 3)
    assert path.read_bytes() == OLD[:3]
    os.utime(path, (0, 0))
    disk.touch(path)
    assert path.stat().st_mtime > 0


@pytest.mark.parametrize("kind", ["link", "dangling", "pipe", "folder"])
@pytest.mark.parametrize(
    "change",
    [
        lambda path: disk.truncate(path, 0),
        lambda path: disk.patch(path, 0, b"x"),
        disk.Appender,
        lambda path: disk.locked(path, make=True).__enter__(),
    ],
)
def test_only_a_file_itself_is_written_to(tmp_path: Path, kind: str, change: Callable[[Path], Any]) -> None:
    """What a stranger put in its place is named and left alone, and a pipe makes nobody wait."""
    path, victim = tmp_path / "file", tmp_path / "victim"
    if kind == "link":
        victim.write_bytes(OLD)
    if kind in ("link", "dangling"):
        path.symlink_to(victim)
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    with pytest.raises(Damaged, match="a link to .*victim" if kind in ("link", "dangling") else "pipe"):
        change(path)
    assert victim.read_bytes() == OLD if kind == "link" else not victim.exists()


def test_what_lies_behind_a_link_to_its_folder_is_written_to(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    with contextlib.closing(disk.Appender(tmp_path / "link" / "file")) as file:
        file.append(OLD)
    disk.truncate(tmp_path / "link" / "file", 3)
    assert (tmp_path / "folder" / "file").read_bytes() == OLD[:3]


def test_only_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/null")):
        with pytest.raises(Damaged, match="expected a file, found a folder, pipe"):
            disk.open_to_read(path)
    with pytest.raises(FileNotFoundError):
        disk.open_to_read(tmp_path / "none")


# -- appending --------------------------------------------------------------------------------------------------------


def test_append_tells_where_the_bytes_lie(tmp_path: Path) -> None:
    file = disk.Appender(tmp_path / "file")
    assert [file.append(b"abc"), file.append(b""), file.append_all([b"de", b"", memoryview(b"f")]), file.size] == [
        0,
        3,
        3,
        6,
    ]
    file.sync()
    file.close()
    file.close()
    assert (tmp_path / "file").read_bytes() == b"abcdef"
    again = disk.Appender(tmp_path / "file")
    assert again.append(b"g") == 6
    again.close()


def test_append_all_takes_more_buffers_than_the_kernel_does_at_once(tmp_path: Path) -> None:
    file = disk.Appender(tmp_path / "file")
    file.append_all([b"%06d" % n for n in range(5000)])
    file.close()
    assert (tmp_path / "file").read_bytes() == b"".join(b"%06d" % n for n in range(5000))


def test_append_all_takes_arrays_of_any_shape(tmp_path: Path) -> None:
    array = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)
    file = disk.Appender(tmp_path / "file")
    file.append_all([b"x", memoryview(array)])
    assert file.size == 49
    file.close()
    assert (tmp_path / "file").read_bytes() == b"x" + array.tobytes()


def test_a_second_appender_is_refused_until_the_first_has_gone(tmp_path: Path) -> None:
    first = disk.Appender(tmp_path / "file")
    with pytest.raises(BlockingIOError):
        disk.Appender(tmp_path / "file")
    first.close()
    disk.Appender(tmp_path / "file").close()


def test_an_appender_that_nobody_holds_gives_the_lock_back(tmp_path: Path) -> None:
    disk.Appender(tmp_path / "file")
    second = disk.Appender(tmp_path / "file")
    second.append(b"mine")
    second.close()
    assert (tmp_path / "file").read_bytes() == b"mine"


def test_a_short_write_is_cut_off_again(tmp_path: Path) -> None:
    file = disk.Appender(tmp_path / "file")
    file.append(b"first")
    with testing.failing_at(0, short=True), pytest.raises(OSError, match="No space"):
        file.append(b"second")
    assert (tmp_path / "file").read_bytes() == b"first"
    assert file.append(b"third") == 5
    assert (tmp_path / "file").read_bytes() == b"firstthird"
    file.close()


def test_a_failed_write_is_cut_off_whole_even_if_every_byte_arrived(tmp_path: Path) -> None:
    file = disk.Appender(tmp_path / "file")
    with disk.hooked(lambda operation, path, size: size), pytest.raises(OSError):
        file.append(b"all of it")
    assert (tmp_path / "file").read_bytes() == b""
    assert file.append(b"next") == 0
    file.close()


def test_a_cut_that_fails_is_tried_again_before_the_next_append(tmp_path: Path) -> None:
    path = tmp_path / "file"
    file = disk.Appender(path)
    file.append(b"first")
    with testing.failing_at(0, short=True, lasting=True):
        for _ in range(3):
            with pytest.raises(OSError):
                file.append(b"second")
    assert path.read_bytes() == b"firstsec", "half of it is there and could not be cut off"
    assert file.size == 5
    assert file.append(b"third") == 5
    assert path.read_bytes() == b"firstthird"
    file.close()


def test_an_append_that_a_signal_interrupted_behind_its_last_byte_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bytes may have been read by then, and a later cut must not reach into what was acknowledged since."""
    path, write = tmp_path / "file", os.write

    def interrupted(fd: int, data: bytes) -> int:
        write(fd, data)
        raise KeyboardInterrupt

    file = disk.Appender(path)
    file.append(b"one,")
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            file.append(b"two,")
    assert file.append(b"three,") == 8
    with testing.failing_at(0, short=True), pytest.raises(OSError):
        file.append(b"four,")
    assert path.read_bytes() == b"one,two,three,"
    assert file.size == 14
    file.close()


def test_an_append_that_a_signal_interrupted_in_the_middle_is_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, write = tmp_path / "file", os.write

    def interrupted(fd: int, data: bytes) -> int:
        write(fd, data[:2])
        raise KeyboardInterrupt

    file = disk.Appender(path)
    file.append(b"one,")
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            file.append(b"two,")
    assert file.append(b"three,") == 4
    assert path.read_bytes() == b"one,three,"
    file.close()


def test_writers_that_share_a_file_never_cut_off_what_others_wrote(tmp_path: Path) -> None:
    path = tmp_path / "file"
    one, other = disk.Appender(path, exclusive=False), disk.Appender(path, exclusive=False)
    one.append(b"one\n")
    other.append(b"other\n")
    with testing.failing_at(0, short=True), pytest.raises(OSError):
        one.append(b"half\n")
    one.append(b"one again\n")
    assert path.read_bytes() == b"one\nother\nhaone again\n"
    one.close()
    other.close()


# -- the hook ---------------------------------------------------------------------------------------------------------


def test_hooks_nest_and_are_taken_off_again(tmp_path: Path) -> None:
    seen: list[str] = []

    def outer(operation: str, path: str, size: int) -> None:
        seen.append(f"outer {operation}")

    def inner(operation: str, path: str, size: int) -> None:
        seen.append(f"inner {operation}")
        raise ValueError

    with disk.hooked(outer):
        with pytest.raises(ValueError), disk.hooked(inner):
            disk.remove(tmp_path / "x")
        disk.remove(tmp_path / "x")
    disk.remove(tmp_path / "x")
    assert seen == ["inner unlink", "outer unlink"]


def test_every_change_passes_the_hook(tmp_path: Path) -> None:
    def work() -> None:
        disk.make_folders(tmp_path / "a" / "b")
        disk.make_folder(tmp_path / "c")
        disk.create(tmp_path / "a" / "file", OLD)
        disk.copy(tmp_path / "a" / "file", tmp_path / "c" / "file")
        disk.truncate(tmp_path / "c" / "file", 1)
        disk.touch(tmp_path / "c" / "file")
        disk.rename(tmp_path / "c", tmp_path / "d")
        disk.remove(tmp_path / "d" / "file")
        disk.remove_empty(tmp_path / "d")
        disk.remove_tree(tmp_path / "a")

    names = [operation.name for operation in testing.operations_of(work)]
    assert names == (
        ["mkdir", "fsync"] * 2
        + ["mkdir"]
        + ["create", "write", "fsync", "rename", "unlink", "fsync"]
        + ["create", "write", "fsync", "rename", "fsync"]
        + ["truncate", "fsync", "touch", "rename", "unlink", "unlink", "unlink"]
    )
    assert os.listdir(tmp_path) == []


# -- drafts -----------------------------------------------------------------------------------------------------------


def change(file: Any, rng: numpy.random.Generator) -> tuple[object, ...]:
    """Do one thing to a file, and tell what came of it."""
    what, size = int(rng.integers(6)), int(rng.integers(1, 60))
    if what == 0:
        return ("seek", file.seek(int(rng.integers(400))))
    if what == 1:
        return ("from the end", file.seek(-min(size, file.seek(0, os.SEEK_END)), os.SEEK_END))
    if what == 2:
        into = bytearray(size)
        return ("read", file.readinto(into), bytes(into))
    if what == 3 and size > 50:
        return ("cut", file.truncate(int(rng.integers(400))))
    return ("write", file.write(rng.bytes(size)), file.tell())


def test_a_draft_is_written_and_read_as_any_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("playhead.disk.draft._MOST_HELD", 50)
    for seed in range(60):
        draft = disk.Draft(tmp_path / "draft")
        mine, other = (numpy.random.default_rng(seed) for _ in range(2))
        with open(tmp_path / "plain", "w+b", buffering=0) as plain:
            for _ in range(150):
                assert change(draft, mine) == change(plain, other)
        draft.commit()
        assert (tmp_path / "draft").read_bytes() == (tmp_path / "plain").read_bytes()


def test_small_writes_of_a_draft_are_one_call_of_the_kernel(tmp_path: Path) -> None:
    calls: list[str] = []
    with disk.hooked(lambda operation, path, size: calls.append(operation)):
        draft = disk.Draft(tmp_path / "file")
        for _ in range(1000):
            draft.write(b"0123456789")
        draft.commit()
    assert calls.count("write") == 1
    assert (tmp_path / "file").read_bytes() == b"0123456789" * 1000


def test_a_write_of_a_draft_that_failed_is_tried_again(tmp_path: Path) -> None:
    draft = disk.Draft(tmp_path / "file")
    draft.write(b"a" * 100)
    with testing.failing_at(0), pytest.raises(OSError):
        draft.seek(0, os.SEEK_END)
    draft.seek(100)
    draft.write(b"b" * 100)
    draft.commit()
    assert (tmp_path / "file").read_bytes() == b"a" * 100 + b"b" * 100


def test_a_draft_whose_last_write_fails_leaves_nothing(tmp_path: Path) -> None:
    disk.replace(tmp_path / "file", OLD)
    draft = disk.Draft(tmp_path / "file")
    draft.write(NEW)
    with testing.failing_at(0), pytest.raises(OSError):
        draft.commit()
    assert os.listdir(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == OLD


MIB = 1 << 20


@contextlib.contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Let the kernel refuse longer files, as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("how", ["append", "append again", "append_all", "write_blocks", "replace", "copy"])
def test_a_write_that_the_kernel_refuses_names_the_file(tmp_path: Path, how: str) -> None:
    path, source = tmp_path / "file", tmp_path / "source"
    source.write_bytes(bytes(2 * MIB))
    file = disk.Appender(tmp_path / "appended")
    writes: dict[str, Callable[[], object]] = {
        "append": lambda: file.append(bytes(2 * MIB)),
        "append again": lambda: (file.append(bytes(MIB)), file.append(b"x")),
        "append_all": lambda: file.append_all([bytes(MIB), b"x"]),
        "write_blocks": lambda: disk.write_blocks(path, [bytes(MIB), b"x"], durable=False),
        "replace": lambda: disk.replace(path, bytes(2 * MIB)),
        "copy": lambda: disk.copy(source, path),
    }
    with files_of_at_most(MIB), pytest.raises(OSError, match=r"too large|No space") as refused:
        writes[how]()
    assert ("appended" if how.startswith("append") else path.name) in str(refused.value.filename)
    file.close()
