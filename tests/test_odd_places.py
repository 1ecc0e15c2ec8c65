"""Stores in folders whose names are not UTF-8, and processes that write names of files in another way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import playhead
from playhead import layout
from playhead.care import verify
from playhead.errors import BadName

# Neither of the two ways in which Python turns to UTF-8 where the locale is C.
NARROW = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
HERE = Path(__file__).parents[1]

NAMES = """
import sys
import playhead
from playhead.errors import BadName

store = playhead.open(sys.argv[1])
for make in (
    lambda: store.run("caf\\xe9", "n", environment=False),
    lambda: store.run("p", "n\\xe9", environment=False),
    lambda: store.dataset("t\\xe9").new_episode(),
    lambda: store.dataset("t").new_episode().append("s\\xe9", 1.0, 1),
    lambda: store.tables.build("t\\xe9", None),
    lambda: store.artifacts.save("a\\xe9", sys.executable),
    lambda: store.runs["one"].logs(),
):
    try:
        make()
    except BadName as error:
        assert "PYTHONUTF8=1" in str(error), error
    else:
        raise AssertionError("it was taken")
"""

PATHS = """
import sys
import playhead
from playhead.errors import BadName

for make in (playhead.open, playhead.LocalDataset, playhead.SimpleSignalWriter, playhead.Table.open):
    try:
        make(sys.argv[1] + "/\\xe9t\\xe9")
    except BadName as error:
        assert "names of files are ascii in this process" in str(error), error
        assert "PYTHONUTF8=1" in str(error), error
    else:
        raise AssertionError("it was taken")
"""


def run(*arguments: bytes | str | Path, **variables: str) -> subprocess.CompletedProcess[bytes]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "PYTHON"))}
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=HERE, env=environment | variables, capture_output=True, stdin=subprocess.DEVNULL, check=False
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-3000:]
    return done


@pytest.mark.parametrize(
    ("name", "variables"),
    [(b"\xff\xfe", {}), ("été 😀".encode(), NARROW)],
    ids=["not UTF-8", "UTF-8 in a narrow locale"],
)
def test_all_lanes_work_wherever_the_store_lies(tmp_path: Path, name: bytes, variables: dict[str, str]) -> None:
    root = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
    run("-m", "tests.anywhere", root, **variables)
    run("-m", "playhead", "show", "run_a", "--store", root / "store", **variables)
    assert "damage" not in {finding.severity for finding in verify(root / "store", full=True)}


def test_a_name_that_the_locale_lacks_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "store") as store, store.run("p", "né", run_id="one", environment=False):
        pass
    run("-c", NAMES, tmp_path / "store", **NARROW)


def test_a_name_that_would_be_written_in_another_encoding_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsencode", lambda name: str(name).encode("latin-1"))  # as in a locale of Latin-1
    with pytest.raises(BadName, match="those of a store are UTF-8"):
        layout.folder_name("né")
    assert layout.folder_name("plain") == "plain"


def test_a_folder_that_no_table_can_be_called_is_noted_and_left_out(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "store") as store:
        (tmp_path / "store/tables/a\x1bb").mkdir(parents=True)
        assert list(store.tables) == []
    [found] = [finding for finding in verify(tmp_path / "store", full=True) if finding.lane == "tables"]
    assert (found.severity, found.expected) == ("note", "a name that a table can have")


def test_a_path_that_the_process_cannot_write_is_refused(tmp_path: Path) -> None:
    run("-c", PATHS, tmp_path, **NARROW, PYTHONPATH=os.fspath(Path(playhead.__file__).parents[1]))
    assert os.listdir(tmp_path) == []
