"""`playhead table`: how tables are named, made, looked at and checked."""

from __future__ import annotations

import json
from pathlib import Path

import click
import numpy as np
import pytest

import playhead
from playhead.cli import program
from playhead.cli.table import COMMANDS
from playhead.table import Table
from tests.cli.invoking import answer, in_terminal, invoke, start
from tests.cli.test_completion import completed
from tests.cli.test_program import modules_after
from tests.table.games.files import game, put
from tests.test_replays import record


@pytest.fixture
def games(tmp_path: Path) -> Path:
    folder = tmp_path / "games"
    folder.mkdir()
    for number, length in enumerate((5, 40, 300, 20)):
        put(folder / f"{number}.a2run2", game(length, seed=number, max_score=number * 1000))
    return folder


@pytest.fixture
def path(tmp_path: Path, games: Path) -> Path:
    """A store with a table and a dataset."""
    with playhead.open(tmp_path / "store") as store:
        store.tables.build("2048", games)
        record(store, lengths=(10, 20))
        with store.dataset("teleop").new_episode() as episode:
            for tick in range(100):
                episode.append("joint", np.full(3, tick, np.float32), tick * 10_000_000)
    return tmp_path / "store"


def test_each_command_has_its_summary_an_example_and_help_for_its_options() -> None:
    group = program.get_command(click.Context(program), "table")
    assert isinstance(group, click.Group)
    shown = invoke("table", "--help").stdout
    for name, summary in COMMANDS.items():
        command = group.get_command(click.Context(group), name)
        assert command is not None
        assert summary in shown
        assert summary.rstrip(".") in " ".join(invoke("table", name, "--help").stdout.split())
        assert "playhead table " in (command.epilog or "")
        assert all(parameter.help for parameter in command.params if isinstance(parameter, click.Option))


@pytest.mark.parametrize("name", COMMANDS)
def test_help_loads_nothing_large(path: Path, name: str) -> None:
    loaded = modules_after("table", name, "--help", store=path)
    assert loaded & {"sqlalchemy", "rich", "pyarrow", "numpy", "playhead.opening", "playhead.table"} == set()


def test_ls(path: Path, tmp_path: Path) -> None:
    (found,) = answer("table", "ls", store=path)
    assert (found["name"], found["rows"], found["runs"], found["bytes"]) == ("2048", 365, 4, 365 * 32)
    assert found["columns"]["board"] == "uint64"
    assert "365" in invoke("table", "ls", store=path).stdout
    (path / "tables/broken").mkdir()
    assert "stopped leaves this" in invoke("table", "ls", store=path).stdout
    with playhead.open(tmp_path / "empty"):
        pass
    assert "playhead table build" in invoke("table", "ls", store=tmp_path / "empty").stderr
    assert "no store" in invoke("table", "ls", store=tmp_path / "nowhere", expect=1).stderr


def test_build_of_files(path: Path, games: Path, tmp_path: Path) -> None:
    said = invoke("table", "build", games, "--out", "again", "--where", "max_score >= 2000", store=path).stdout
    assert "320 rows of 2 runs" in said
    assert len(Table.open(path / "tables/again")) == 320
    made = answer("table", "build", games / "1.a2run2", games / "0.a2run2", "--out", tmp_path / "elsewhere", store=path)
    assert made["rows"] == 45
    assert made["path"] == str(tmp_path / "elsewhere")
    assert "overwrite" in invoke("table", "build", games, "--out", "again", store=path, expect=1).stderr
    assert answer("table", "build", games, "--out", "again", "--overwrite", store=path)["rows"] == 365


def test_build_skips_on_request(path: Path, games: Path) -> None:
    (games / "1.a2run2").write_bytes(b"")
    assert "1.a2run2" in invoke("table", "build", games, "--out", "some", store=path, expect=1).stderr
    made = answer("table", "build", games, "--out", "some", "--skip", store=path)
    assert made["rows"] == 325
    assert made["skipped_count"] == 1
    said = invoke("table", "build", games, "--out", "other", "--skip", store=path)
    assert "skipped" in said.stderr
    assert "1.a2run2" in said.stderr


def test_build_of_episodes(path: Path) -> None:
    made = answer(
        "table", "build", "--dataset", "teleop", "--rate", "20", "--columns", "j=joint", "--out", "t", store=path
    )
    assert (made["rows"], list(made["columns"])) == (20, ["j", "run_id", "step_index"])
    made = answer("table", "build", "--project", "p", "--columns", "observation,reward", "--out", "played", store=path)
    assert (made["rows"], made["runs"]) == (30, 2)
    assert "teleop" in invoke("table", "build", "--dataset", "no", "--out", "x", store=path, expect=1).stderr
    assert "--dataset" in invoke("table", "build", "--out", "x", store=path, expect=2).stderr


def test_build_says_what_is_left_out(path: Path) -> None:
    with playhead.open(path) as store, store.run("p", "n", run_id="run_a", resume=True, environment=False) as run:
        with run.new_episode("beside") as episode:
            episode.append("joint", 1.0, 1)
    done = invoke("table", "build", "--project", "p", "--out", "played", store=path)
    assert "Left out: 1 recorded episode, episodes='recorded' builds a table of them." in done.stderr
    said = answer("table", "build", "--project", "p", "--out", "chosen", "--episodes", "recorded", store=path)
    assert (said["rows"], said["left_out_episodes"]) == (1, {"played": 2})


def test_without_a_store_names_are_paths(games: Path, tmp_path: Path) -> None:
    done = start("table", "build", games, "--out", "table", "--workers", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(Table.open(tmp_path / "table")) == 365
    done = start("table", "stats", "table", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["rows"] == 365


def test_append(path: Path, games: Path) -> None:
    assert answer("table", "append", "2048", games / "0.a2run2", store=path)["rows"] == 370
    (games / "1.a2run2").write_bytes(b"")
    assert answer("table", "append", "2048", games, "--skip", store=path)["skipped_count"] == 1
    assert "no table 'no'" in invoke("table", "append", "no", games, store=path, expect=1).stderr


def test_filter(path: Path) -> None:
    made = answer("table", "filter", "2048", "--where", "max_score >= 2000", "--out", "good", store=path)
    assert (made["rows"], made["runs"]) == (320, 2)
    assert answer("table", "filter", "2048", "--runs", "0,3", "--out", "two", store=path)["rows"] == 25
    assert "--where" in invoke("table", "filter", "2048", "--out", "x", store=path, expect=2).stderr
    assert "0,17" in invoke("table", "filter", "2048", "--runs", "a", "--out", "x", store=path, expect=2).stderr
    wrong = invoke("table", "filter", "2048", "--where", "score > 1", "--out", "x", store=path, expect=1)
    assert "max_score" in wrong.stderr


def test_split_and_merge(path: Path) -> None:
    made = answer("table", "split", "2048", "train=0.5", "--seed", "3", "--out", "part", store=path)
    assert list(made) == ["train", "rest"]
    assert made["train"]["rows"] + made["rest"]["rows"] == 365
    names = [str(Path(one["path"]).name) for one in made.values()]
    assert names == ["part-train", "part-rest"]
    merged = answer("table", "merge", *names, "--out", "whole", store=path)
    assert (merged["rows"], merged["runs"]) == (365, 4)
    assert "train=0.9" in invoke("table", "split", "2048", "half", "--out", "x", store=path, expect=2).stderr
    assert "together" in invoke("table", "split", "2048", "a=0.8", "b=0.3", "--out", "x", store=path, expect=1).stderr


@pytest.mark.parametrize("shares", [("rest=0.3",), ("train=0.5", "train=0.4")])
def test_no_part_takes_the_place_of_another(path: Path, shares: tuple[str, ...]) -> None:
    before = sorted(one.name for one in (path / "tables").iterdir())
    invoke("table", "split", before[0], *shares, "--out", "part", "--overwrite", store=path, expect=2)
    assert sorted(one.name for one in (path / "tables").iterdir()) == before


def test_stats(path: Path) -> None:
    found = answer("table", "stats", "2048", store=path)
    assert found["run_columns"]["max_score"]["max"] == 3000
    assert answer("table", "stats", "2048", "--where", "max_score = 0", store=path)["rows"] == 5
    shown = invoke("table", "stats", "2048", store=path).stdout
    assert "ev_values" in shown
    assert "max_score" in shown


def test_sample(path: Path) -> None:
    rows = answer("table", "sample", "2048", "-n", "20", "--seed", "1", store=path)
    assert len({row["row"] for row in rows}) == 20
    table = Table.open(path / "tables/2048")
    for row in rows:
        assert row["board"] == table[row["row"]]["board"]
        assert row["ev_values"] == table[row["row"]]["ev_values"].tolist()
    assert rows == answer("table", "sample", "2048", "-n", "20", "--seed", "1", store=path)
    assert rows != answer("table", "sample", "2048", "-n", "20", "--seed", "2", store=path)
    few = answer("table", "sample", "2048", "-n", "20", "--where", "max_score = 0", store=path)
    assert sorted(row["row"] for row in few) == list(range(5))
    assert "ev_legal" in invoke("table", "sample", "2048", store=path).stdout
    code, shown = in_terminal("table", "sample", "2048", "-n", "3", store=path)
    assert code == 0
    assert "board" in shown


def test_verify(path: Path) -> None:
    assert "all is well" in invoke("table", "verify", "2048", store=path).stdout
    assert answer("table", "verify", path / "tables/2048", store=path)["findings"] == []
    file = path / "tables/2048/steps.npy"
    data = bytearray(file.read_bytes())
    data[-7] ^= 1
    file.write_bytes(data)
    assert "steps.npy" in invoke("table", "verify", "2048", store=path, expect=1).stdout
    found = answer("table", "verify", "2048", store=path, expect=1)["findings"]
    assert set(found[0]) == {"path", "expected", "found", "remedy", "is_harmless"}
    assert "damaged" in invoke("table", "sample", "2048", store=path, expect=1).stderr


def test_completes_tables(path: Path) -> None:
    assert completed("playhead table stats ", path) == ["2048"]
    assert completed("playhead table merge 2", path) == ["2048"]
    assert completed("playhead table f", path) == ["filter"]
