"""Files that are damaged or exchanged, and what a program says of them: right, an error, fewer values, or wrong ones.

Every reading is a forked child, so that what it remembers, and how it ends, is its own. An error is an exception, a
process that dies or hangs, or a line on the standard error that an undamaged reading does not print.
"""

import json
import os
import random
import re
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.peers.keepers.contract import Answer, Keeper

PATIENCE_S = 30
SEED = 12
RIGHT, ERROR, FEWER, WRONG = "right", "error", "fewer", "wrong"
FOUND = "found by its check"


def flip(keeper: Keeper, folder: Path, count: int) -> dict[str, int]:
    """Flip one bit after the other, each in a byte of the data that is not zero; count what comes of it."""
    trial = _Trial(keeper, folder)
    chance = random.Random(SEED)
    files = [path for path in keeper.data(folder) if path.stat().st_size]
    found: Counter[str] = Counter()
    for _ in range(count):
        path = chance.choices(files, [path.stat().st_size for path in files])[0]
        data = bytearray(path.read_bytes())
        place = chance.choice([place for place, byte in enumerate(data) if byte])
        data[place] ^= 1 << chance.randrange(8)
        with trial.undone():
            _overwrite(path, bytes(data))
            trial.judge(found)
    return dict(found)


def swap(keeper: Keeper, folder: Path) -> dict[str, dict[str, int]]:
    """Exchange files of one kind, a kind at a time."""
    trial = _Trial(keeper, folder)
    outcomes: dict[str, dict[str, int]] = {}
    for kind, (one, other) in keeper.kinds(folder).items():
        found: Counter[str] = Counter()
        contents = one.read_bytes(), other.read_bytes()
        if contents[0] == contents[1]:
            continue
        with trial.undone():
            _overwrite(one, contents[1])
            _overwrite(other, contents[0])
            trial.judge(found)
        outcomes[kind] = dict(found)
    return outcomes


class _Trial:
    def __init__(self, keeper: Keeper, folder: Path) -> None:
        self._keeper, self._folder = keeper, folder
        for _ in range(2):  # what only the first reading says or makes is part of being whole
            self._right, _, said = in_child(lambda: keeper.read(folder))
        self._usual = _lines(said)
        self._contents = {path: path.read_bytes() for path in _files(folder)}
        if not self._right:
            raise ValueError(f"what was recorded cannot be read: {said}")
        self._usual_findings = self._findings() or []

    def judge(self, found: Counter[str]) -> None:
        """Count what reading says, and where it says nothing, what the program's own check does."""
        answer, error, said = in_child(lambda: self._keeper.read(self._folder))
        outcome = _compared(self._right, answer) if not error and not _lines(said) - self._usual else ERROR
        found[outcome] += 1
        if outcome in (FEWER, WRONG):
            findings = self._findings()
            found[FOUND] += findings is None or bool(set(findings) - set(self._usual_findings))

    def _findings(self) -> list[str] | None:
        """Ask the program's check; None where it ends with an error, which says as much."""
        check = getattr(self._keeper, "check", None)
        if check is None:
            return []
        findings, error, _ = in_child(lambda: check(self._folder))
        return None if error else findings

    @contextmanager
    def undone(self) -> Iterator[None]:
        """Bring every file back afterwards, in its place."""
        try:
            yield
        finally:
            for path in _files(self._folder):
                if path not in self._contents:
                    path.unlink()
            for path, content in self._contents.items():
                if not path.exists() or path.read_bytes() != content:
                    _overwrite(path, content)


def _compared(right: Answer, answer: Answer) -> str:
    if any(name not in right or right[name] != value for name, value in answer.items()):
        return WRONG
    return RIGHT if len(answer) == len(right) else FEWER


def in_child(work: Callable[[], Any]) -> tuple[Any, str, str]:
    """Do something in a forked child; give its answer, its error, and what it wrote to its standard error."""
    with tempfile.TemporaryFile() as answer, tempfile.TemporaryFile() as said:
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                signal.alarm(PATIENCE_S)
                os.dup2(said.fileno(), 2)
                os.dup2(said.fileno(), 1)
                answer.write(json.dumps(work()).encode())
                answer.flush()
                status = 0
            except BaseException:  # noqa: BLE001  it is told by the status
                traceback.print_exc()
                sys.stderr.flush()
            finally:
                os._exit(status)
        status = os.waitpid(pid, 0)[1]
        answer.seek(0)
        said.seek(0)
        text = said.read().decode(errors="replace")
        return (None, f"status {status}", text) if status else (json.loads(answer.read()), "", text)


def _lines(text: str) -> set[str]:
    """Give the lines without their numbers, which tell times and processes."""
    return {re.sub(r"\d+", "#", line) for line in text.splitlines() if line.strip()}


def _files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()]


def _overwrite(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("r+b" if path.exists() else "wb") as file:
        file.write(content)
        file.truncate()
