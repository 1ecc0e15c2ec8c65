"""Completion by the shell, and the command that prints its script."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from playhead.cli import NAME, program
from tests.cli.conftest import BROKEN, DELETED, FIRST, SECOND
from tests.cli.invoking import environment, invoke


def completed(words: str, store: Path | None = None) -> list[str]:
    """Complete the last word as bash does; one that is yet to begin ends with a space."""
    position = len(words.split()) - (0 if words.endswith(" ") else 1)
    variables = {
        "_PLAYHEAD_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(position),
        "PLAYHEAD_STORE": str(store) if store else None,
    }
    result = CliRunner(env=variables).invoke(program, [], prog_name=NAME)
    return [line.partition(",")[2] for line in result.stdout.splitlines() if line]


def test_completes_commands_without_importing_them() -> None:
    assert completed("playhead re") == ["replay", "restore", "repair", "rebuild"]
    assert "--version" in completed("playhead --")


def test_completes_ids_newest_first(made: Path) -> None:
    assert completed("playhead show ", made) == ["last", BROKEN, SECOND, FIRST]
    assert completed("playhead show 20260101", made) == [SECOND, FIRST]
    assert completed(f"playhead diff {FIRST} la", made) == ["last"]
    assert completed(f"playhead tag {FIRST} 20260102", made) == [BROKEN]


def test_completes_deleted_runs_for_restore(made: Path) -> None:
    assert completed("playhead restore 2", made) == [DELETED]


def test_completes_projects(made: Path) -> None:
    assert completed("playhead ls ", made) == ["cartpole", "pong"]
    assert completed("playhead ls p", made) == ["pong"]


def test_completes_in_the_store_that_was_named(made: Path, empty: Path) -> None:
    assert completed(f"playhead show --store {made} 20260102", empty) == [BROKEN]
    assert completed("playhead show 2", empty) == []


def test_completes_options_and_their_values(made: Path) -> None:
    assert "--where" in completed("playhead ls --", made)
    assert completed("playhead ls --status f", made) == ["finished", "failed"]


@pytest.mark.parametrize("ruined", [b"", b"no database" * 100])
def test_a_store_that_cannot_be_read_completes_nothing(path: Path, ruined: bytes) -> None:
    (path / "playhead.db").write_bytes(ruined)
    assert completed("playhead show 2", path) == []
    assert completed("playhead ls ", path) == []


def test_no_store_completes_nothing(tmp_path: Path) -> None:
    assert completed("playhead show 2", tmp_path / "nowhere") == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_prints_the_script_of_a_shell(shell: str) -> None:
    assert "_PLAYHEAD_COMPLETE" in invoke("completion", shell).stdout


def test_the_shell_is_by_default_that_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert "function _playhead_completion" in invoke("completion").stdout
    monkeypatch.setenv("SHELL", "/bin/csh")
    assert "bash, zsh, fish" in invoke("completion", expect=2).stderr


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes_with_the_script(made: Path, tmp_path: Path) -> None:
    program_file = tmp_path / "playhead"
    program_file.write_text(f'#!/bin/sh\nexec {sys.executable} -m playhead "$@"\n')
    program_file.chmod(0o755)
    script = (
        'eval "$(playhead completion bash)"\n'
        "COMP_WORDS=(playhead show 20260102) COMP_CWORD=2\n"
        "_playhead_completion playhead\n"
        'echo "${COMPREPLY[@]}"\n'
    )
    variables = environment(made)
    variables["PATH"] = f"{tmp_path}:{variables['PATH']}"
    done = subprocess.run(["bash", "-c", script], env=variables, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == BROKEN
