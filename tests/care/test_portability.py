"""Names that Windows cannot have: told of as a note, and never a fault; the system itself is refused in clear words."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

import playhead
from playhead.care import Finding, verify
from playhead.care.portability import LANE, problems_in
from playhead.layout import suits_windows, windows_problems
from tests.cli.invoking import invoke


def notes(path: Path) -> list[Finding]:
    return [finding for finding in verify(path) if finding.lane == LANE]


def test_a_store_that_can_move_has_none(path: Path) -> None:
    assert notes(path) == []


def test_names_of_every_kind_are_stored_so_that_windows_takes_them(tmp_path: Path) -> None:
    names = ["CON", "nul.txt", "COM1", "a<b>c", 'q"u', "a|b", "what?", "x*", "dots...", "a:b", "a\\b/c"]
    with playhead.open(tmp_path / "store") as store:
        for name in names:
            with store.run(name, name, environment=False) as run:
                run.log({name: 1.0})
                run.log_text(name)
            store.dataset(name).new_episode().close()
    assert notes(tmp_path / "store") == []


def test_files_of_artifacts_may_have_any_name_and_are_told_of(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    for name in ("aux.txt", "a:b", "end.", "Same", "same"):
        (folder / name).write_text(name)
    with playhead.open(tmp_path / "store") as store:
        store.artifacts.save("policy", folder)
    (note,) = notes(tmp_path / "store")
    assert note.is_harmless
    assert note.found.startswith("4 names that it cannot: artifacts/model/policy/v1/files/")
    assert invoke("verify", store=tmp_path / "store").exit_code == 0


def test_two_projects_that_differ_in_case_and_paths_that_are_too_long_are_told_of(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "store") as store:
        for project in ("Pong", "pong"):
            store.run(project, "n", environment=False).finish()
        store.run("p" * 150, "n" * 150, environment=False).finish()
    (note,) = notes(tmp_path / "store")
    assert "pong and Pong differ only in case, and are one file on Windows" in note.found
    long = [text for text in problems_in(str(tmp_path / "store"), "") if "characters" in text]
    assert long
    assert all("Windows takes 259 in all" in text for text in long)


def test_a_system_without_locks_is_refused_in_clear_words() -> None:
    script = "import sys; sys.modules['fcntl'] = None; import playhead.disk"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert found.returncode == 1
    assert "use it in the Windows Subsystem for Linux" in found.stderr.splitlines()[-1]


@given(st.lists(st.text(st.sampled_from("aAß.: \\cCoOnN1lpt0"), min_size=1, max_size=6), max_size=4, unique=True))
def test_the_quick_look_says_what_the_slow_one_says(names: list[str]) -> None:
    assert suits_windows(names) == (not list(windows_problems(names)))
