"""The state of real repositories."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from playhead.capture import git

IDENTITY = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")


def command(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *IDENTITY, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture(autouse=True)
def _no_settings_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.resolve()))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    (folder / "sub").mkdir(parents=True)
    command(folder, "init", "-b", "trunk")
    (folder / "train.py").write_text("lr = 1\n")
    (folder / "sub" / "model.py").write_text("layers = 2\n")
    command(folder, "add", ".")
    command(folder, "commit", "-m", "first")
    return folder


def test_a_clean_repository(repository: Path):
    notes: list[str] = []
    assert git.state(repository, notes) == {
        "commit": command(repository, "rev-parse", "HEAD"),
        "branch": "trunk",
        "remote": None,
        "dirty": False,
        "diff": "",
        "untracked": [],
    }
    assert notes == []


def test_changes_staged_or_not_are_in_the_diff_and_untracked_files_are_named(repository: Path):
    (repository / "train.py").write_text("lr = 2\n")
    (repository / "sub" / "model.py").write_text("layers = 3\n")
    command(repository, "add", "sub/model.py")
    (repository / "sub" / "new name.txt").write_text("not to be read")
    notes: list[str] = []
    state = git.state(repository / "sub", notes)
    assert state is not None
    assert state["dirty"] is True
    assert "-lr = 1\n+lr = 2\n" in state["diff"]
    assert "-layers = 2\n+layers = 3\n" in state["diff"]
    assert state["untracked"] == ["sub/new name.txt"]
    assert "not to be read" not in str(state)
    assert notes == []


def test_the_diff_applies_whatever_the_settings_of_the_user(repository: Path):
    for setting in ("diff.noprefix", "diff.mnemonicPrefix", "diff.relative"):
        command(repository, "config", setting, "true")
    command(repository, "config", "color.ui", "always")
    command(repository, "config", "diff.external", "false")
    (repository / "train.py").write_text("lr = 2\n")
    state = git.state(repository / "sub", [])
    assert state is not None
    command(repository, "checkout", "train.py")
    subprocess.run(["git", "apply"], cwd=repository, input=state["diff"], text=True, check=True)
    assert (repository / "train.py").read_text() == "lr = 2\n"


def test_untracked_files_alone_are_not_dirt(repository: Path):
    (repository / "notes.txt").write_text("x")
    state = git.state(repository, [])
    assert state is not None
    assert (state["dirty"], state["untracked"]) == (False, ["notes.txt"])


def test_a_renamed_file_is_dirt_and_its_old_name_is_not_taken_for_an_entry(repository: Path):
    (repository / "? old.py").write_text("x = 1\n" * 20)
    command(repository, "add", ".")
    command(repository, "commit", "-m", "second")
    command(repository, "mv", "? old.py", "run.py")
    state = git.state(repository, [])
    assert state is not None
    assert (state["dirty"], state["untracked"]) == (True, [])
    assert "rename to run.py" in state["diff"]


def test_a_detached_head_has_no_branch(repository: Path):
    command(repository, "checkout", "--detach")
    state = git.state(repository, [])
    assert state is not None
    assert state["branch"] is None
    assert len(state["commit"]) == 40


def test_a_repository_without_a_commit(tmp_path: Path):
    command(tmp_path, "init", "-b", "trunk")
    (tmp_path / "train.py").write_text("x")
    command(tmp_path, "add", ".")
    notes: list[str] = []
    state = git.state(tmp_path, notes)
    assert state is not None
    assert (state["commit"], state["branch"], state["dirty"], state["diff"]) == (None, "trunk", True, None)
    assert notes == ["git: no diff, because there is no commit yet"]


def test_a_remote_is_given_without_its_credentials(repository: Path):
    command(repository, "remote", "add", "backup", "/somewhere")
    command(repository, "remote", "add", "origin", "https://ada:hunter2@example.org/code.git")
    state = git.state(repository, [])
    assert state is not None
    assert state["remote"] == "https://example.org/code.git"


def test_a_long_diff_is_cut_at_a_line_and_noted(repository: Path):
    (repository / "train.py").write_text("".join(f"line {i} of a very long file\n" for i in range(60_000)))
    notes: list[str] = []
    state = git.state(repository, notes)
    assert state is not None
    assert git.DIFF_LIMIT - 100 < len(state["diff"]) <= git.DIFF_LIMIT
    assert state["diff"].endswith("of a very long file\n")
    assert notes == [f"git: the diff is cut after {git.DIFF_LIMIT} bytes"]


def test_many_untracked_files_are_cut_and_noted(repository: Path):
    for number in range(git.UNTRACKED_LIMIT + 5):
        (repository / f"{number:05}.txt").touch()
    notes: list[str] = []
    state = git.state(repository, notes)
    assert state is not None
    assert len(state["untracked"]) == git.UNTRACKED_LIMIT
    assert notes == [f"git: {git.UNTRACKED_LIMIT} of {git.UNTRACKED_LIMIT + 5} untracked names are kept"]


def test_outside_a_repository_there_is_nothing_but_a_reason(tmp_path: Path):
    notes: list[str] = []
    assert git.state(tmp_path, notes) is None
    assert len(notes) == 1
    assert "not a git repository" in notes[0]


def test_without_the_program_there_is_nothing_but_a_reason(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    notes: list[str] = []
    assert git.state(repository, notes) is None
    assert notes == ["git: there is no program git"]


def test_the_folder_counts_and_not_the_repository_of_a_surrounding_hook(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    other = tmp_path / "other"
    other.mkdir()
    command(other, "init", "-b", "elsewhere")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    state = git.state(repository, [])
    assert state is not None
    assert state["branch"] == "trunk"


def test_looking_leaves_no_trace_in_the_repository(repository: Path):
    (repository / "train.py").write_text("lr = 2\n")
    before = {path: path.stat().st_mtime_ns for path in repository.rglob("*")}
    git.state(repository, [])
    assert {path: path.stat().st_mtime_ns for path in repository.rglob("*")} == before


def test_when_comparing_takes_too_long_the_commit_is_kept(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    programs = tmp_path / "programs"
    programs.mkdir()
    real = subprocess.run(["which", "git"], check=True, capture_output=True, text=True).stdout.strip()
    slow = programs / "git"
    slow.write_text(f'#!/bin/sh\ncase "$*" in *status*) exec sleep 60;; esac\nexec {real} "$@"\n')
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setattr(git, "_SECONDS", 0.5)
    notes: list[str] = []
    state = git.state(repository, notes)
    assert state is not None
    assert len(state["commit"]) == 40
    assert state["dirty"] is None
    assert notes == ["git: git took longer than 0.5 s to compare the work tree"]
