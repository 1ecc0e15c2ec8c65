"""What a command says is what somebody types in a shell, never arguments of Python."""

from __future__ import annotations

import re
from pathlib import Path

import click
import numpy as np
import pytest

import playhead
from playhead.cli import spoken
from tests.cli.invoking import invoke

PYTHON = re.compile(r"\w+=(True|False|None|'|\{)|store\.\w+\(|\bmode=")
SOURCE = Path(playhead.__file__).parent


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with a table, an artifact and an episode."""
    path = tmp_path / "store"
    with playhead.open(path) as store:
        store.tables.build("numbers", np.zeros(3, [("x", "<f4"), ("run_id", "<u4"), ("step_index", "<u2")]))
        store.artifacts.save("policy", __file__)
        with store.dataset("teleop").new_episode(uid="uid0") as episode:
            episode.append("joint", 1.0, 1)
            episode.append("step", 1.0, 1)
    return path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ls", "--store", "nowhere"], "A recording makes one; --store PATH or PLAYHEAD_STORE names another"),
        (["tag", "last", "x", "--store", "nowhere"], "--store PATH"),
        (["table", "build", "--dataset", "teleop", "--out", "numbers"], "or replace it with --overwrite"),
        (["table", "build", "--dataset", "teleop", "--out", "new", "--columns", "step_index=step"], "--columns mine=step"),
        (["artifact", "get", "policy:latest", "full"], "or pass --overwrite to replace it"),
        (["episode", "export", "teleop/uid0", "full/there.parquet"], "replace it with --force"),
    ],
)  # fmt: skip
def test_a_failure_names_options(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    full = tmp_path / "full"
    full.mkdir()
    for name in (Path(__file__).name, "there.parquet"):
        (full / name).write_text("something else")
    failed = invoke(*arguments, expect=1, store=store)
    assert said in failed.stderr
    assert not PYTHON.search(failed.stderr), failed.stderr


@pytest.mark.parametrize(
    ("message", "typed"),
    [
        ("Pass widen=True, for a column", "Pass --widen, for a column"),
        ("Pass branches='compute' to keep", "Pass --branches compute to keep"),
        ("say when: at='joint', or rate=20", "say when: --at joint, or --rate 20"),
        ("built with shard_bytes=4096, and", "built with --shard-bytes 4096, and"),
        ("as errors='skip' does", "as --skip does"),
        ("leave device= out", "leave device= out"),  # no option of this command
        ("config.lr='x'", "config.lr='x'"),
    ],
)
def test_arguments_are_said_as_options_of_the_command(message: str, typed: str) -> None:
    from playhead.cli.table.build import command

    assert spoken.as_typed(message, command) == typed
    assert spoken.as_typed(message, None) == message or "errors=" in message


def test_phrases_are_those_of_the_library() -> None:
    texts = "\n".join(re.sub(r'"\n\s+f?"', "", path.read_text()) for path in SOURCE.rglob("*.py"))
    for said in spoken._PHRASES:
        assert texts.count(said) > 1, said  # where it is said, and where it is translated


def test_a_store_that_cannot_be_written_says_so(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("playhead.filesystem.is_writable", lambda _path: False)
    failed = invoke("purge", "--yes", expect=1, store=store)
    assert "Run it as somebody who may write there" in failed.stderr


def test_a_command_of_the_wrong_kind_is_left_alone() -> None:
    assert spoken.as_typed("pass force=True", click.Command("bare")) == "pass force=True"
