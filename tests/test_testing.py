"""Faults and crashes on purpose: they strike where they are told to, and nowhere else."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from playhead import disk, testing


def test_operations_are_listed_in_order(tmp_path: Path) -> None:
    def work() -> None:
        file = disk.Appender(tmp_path / "file")
        file.append(b"abc")
        file.sync()
        file.close()

    path = str(tmp_path / "file")
    assert testing.operations_of(work) == [("create", path, 0), ("write", path, 3), ("fsync", path, 0)]
    assert testing.count_operations(work) == 3


@pytest.mark.parametrize("lasting", [False, True])
def test_one_operation_fails_or_all_from_it_on(tmp_path: Path, lasting: bool) -> None:
    outcomes = []
    with testing.failing_at(2, errno.EDQUOT, lasting=lasting):
        for _ in range(5):
            try:
                disk.touch(tmp_path)
                outcomes.append("ok")
            except OSError as error:
                outcomes.append(errno.errorcode[error.errno])
    assert outcomes == ["ok", "ok", "EDQUOT", *(["EDQUOT"] * 2 if lasting else ["ok"] * 2)]
    disk.touch(tmp_path)


def test_a_short_write_leaves_half_of_its_bytes(tmp_path: Path) -> None:
    file = disk.Appender(tmp_path / "file", exclusive=False)
    with testing.failing_at(0, short=True), pytest.raises(OSError):
        file.append(b"12345678")
    assert (tmp_path / "file").read_bytes() == b"1234"
    file.close()


def test_a_killed_process_leaves_what_it_did_before(tmp_path: Path) -> None:
    path = tmp_path / "file"

    def work(acknowledge: Callable[[Any], None]) -> None:
        file = disk.Appender(path)
        for n in range(3):
            file.append(b"record %d|" % n)
            acknowledge({"n": n})

    seen = []
    for n in range(5):
        crash = testing.killed_at(n, work)
        content = path.read_bytes() if path.exists() else None
        seen.append((crash.killed, [each["n"] for each in crash.acknowledged], content))
        path.unlink(missing_ok=True)
    assert seen == [
        (True, [], None),
        (True, [], b""),
        (True, [0], b"record 0|"),
        (True, [0, 1], b"record 0|record 1|"),
        (False, [0, 1, 2], b"record 0|record 1|record 2|"),
    ]


@pytest.mark.parametrize("exclusive", [True, False])
def test_a_process_killed_in_a_write_leaves_half_of_it(tmp_path: Path, exclusive: bool) -> None:
    def work(acknowledge: Callable[[Any], None]) -> None:
        file = disk.Appender(tmp_path / "file", exclusive=exclusive)
        file.append(b"12345678")
        acknowledge("done")

    assert testing.killed_at(1, work, torn=True) == (True, [])
    assert (tmp_path / "file").read_bytes() == b"1234"


def test_work_that_fails_by_itself_is_told_with_its_traceback() -> None:
    def work(acknowledge: Callable[[Any], None]) -> None:
        acknowledge(1)
        raise LookupError("what went wrong")

    with pytest.raises(AssertionError, match="LookupError: what went wrong"):
        testing.killed_at(0, work)


def test_the_child_never_returns_to_its_parents_code(tmp_path: Path) -> None:
    parent = os.getpid()
    testing.killed_at(0, lambda acknowledge: acknowledge(os.getpid()))
    (tmp_path / f"{os.getpid()}").touch()
    assert os.listdir(tmp_path) == [str(parent)]
