"""The program as a whole: help, lazy imports, the store that is meant, and how it fails."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

import playhead
from playhead.cli import COMMANDS, program
from tests.cli.conftest import FIRST
from tests.cli.invoking import answer, environment, in_terminal, invoke, start

COMMAND_OBJECTS = [(name, program.get_command(click.Context(program), name)) for name in COMMANDS]


def test_help_lists_every_command_with_its_summary() -> None:
    shown = invoke("--help").stdout
    for name, summary in COMMANDS.items():
        assert f"{name} " in shown
        assert summary in shown


@pytest.mark.parametrize(("name", "command"), COMMAND_OBJECTS)
def test_each_command_has_help_with_an_example(name: str, command: click.Command | None) -> None:
    shown = invoke(name, "-h").stdout
    assert COMMANDS[name].rstrip(".") in shown
    assert isinstance(command, click.Command)
    leaves = command.commands.values() if isinstance(command, click.Group) else [command]
    for leaf in leaves:
        assert "playhead " in (leaf.epilog or ""), leaf.name
        assert all(parameter.help for parameter in leaf.params if isinstance(parameter, click.Option)), leaf.name


def test_version() -> None:
    assert invoke("--version").stdout == f"playhead, version {playhead.__version__}\n"


def test_python_m_playhead_is_the_same_program(made: Path) -> None:
    done = start("ls", "--json", store=made)
    assert done.returncode == 0
    assert done.stdout == invoke("ls", "--json", store=made).stdout
    assert start("--help").stdout.startswith("Usage: playhead [OPTIONS]")


def modules_after(*arguments: str, store: Path) -> set[str]:
    script = (
        "import sys, atexit\n"
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
        f"sys.argv = ['playhead', *{arguments!r}]\n"
        "from playhead.cli import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment(store), capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


def test_ls_in_a_pipe_loads_neither_rich_nor_pyarrow_nor_numpy(made: Path) -> None:
    loaded = modules_after("ls", store=made)
    assert "sqlalchemy" in loaded
    assert loaded & {"rich", "pyarrow", "numpy", "PIL", "pandas", "torch"} == set()


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("show", "--help"), ("completion", "zsh")])
def test_help_loads_no_catalogue(made: Path, arguments: tuple[str, ...]) -> None:
    loaded = modules_after(*arguments, store=made)
    assert loaded & {"sqlalchemy", "rich", "pyarrow", "numpy", "playhead.opening"} == set()


def test_only_the_module_of_the_command_that_runs_is_loaded(made: Path) -> None:
    loaded = modules_after("ls", store=made)
    commands = {name for name in COMMANDS if f"playhead.cli.{name}" in loaded}
    assert commands == {"ls"}


@pytest.mark.parametrize(
    "arguments",
    [("nonsense",), ("ls", "--nonsense"), ("show",), ("ls", "--limit", "-1"), ("ls", "--status", "asleep"), ("rm",)],
)
def test_wrong_usage_ends_with_2_and_says_how_to_get_help(made: Path, arguments: tuple[str, ...]) -> None:
    result = invoke(*arguments, expect=2, store=made)
    assert result.stdout == ""
    assert "--help" in result.stderr


def test_a_failure_ends_with_1_and_one_line_on_stderr(tmp_path: Path) -> None:
    done = start("ls", "--store", tmp_path / "nowhere")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("playhead: there is no store at ")
    assert done.stderr.count("\n") == 1


def test_an_error_of_the_system_is_one_line(path: Path) -> None:
    (path / "playhead.json").unlink()
    (path / "playhead.json").mkdir()
    done = start("rebuild", "--store", path)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("playhead: ")


def test_a_broken_catalogue_names_the_remedy(path: Path) -> None:
    (path / "playhead.db").write_bytes(b"not a database, and long enough to be looked at" * 100)
    result = invoke("ls", expect=1, store=path)
    assert "playhead rebuild --store" in result.stderr


def test_a_mistake_of_the_program_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from playhead.cli import info

    monkeypatch.setattr(info, "_software", lambda: 1 / 0)
    assert isinstance(CliRunner().invoke(program, ["info"]).exception, ZeroDivisionError)


def test_ctrl_c_ends_a_query_with_one_line(made: Path) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    command = [sys.executable, "-c", _SAYS_WHEN_IT_ASKS, "sql", endless]
    with subprocess.Popen(
        command, env=environment(made), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "asking\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (1, "playhead: interrupted\n")


_SAYS_WHEN_IT_ASKS = """
from playhead.catalog import readonly
from playhead.cli import main
ask = readonly._run
def announced(*arguments):
    print("asking", flush=True)
    return ask(*arguments)
readonly._run = announced
main()
"""


def test_a_reader_that_goes_away_is_no_error(made: Path) -> None:
    many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) SELECT i FROM n"
    command = f"{sys.executable} -m playhead sql '{many}' | head -n 1"
    done = subprocess.run(command, shell=True, env=environment(made), capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("i", "")


def test_a_stdout_that_is_closed_is_no_error(made: Path) -> None:
    command = f"{sys.executable} -m playhead ls >&-"
    done = subprocess.run(command, shell=True, env=environment(made), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "arguments", [("show",), ("rm",), ("ls",), ("ls", "--where", "name = '\udcff'"), ("trace", "info")]
)
def test_bytes_that_are_not_utf8_are_refused_with_one_line(made: Path, arguments: tuple[str, ...]) -> None:
    told = invoke(*arguments, *["\udcff"] * (len(arguments) < 3), store=made, expect=1).stderr
    assert "is not UTF-8" in told
    assert len(told.splitlines()) == 1


def test_a_folder_whose_name_is_not_utf8_can_be_a_store(made: Path, tmp_path: Path) -> None:
    store = Path(shutil.copytree(made, tmp_path / "\udcff"))
    assert start("ls", store=store).stdout == start("ls", store=made).stdout
    assert "\\udcff" in start("info", store=store).stdout
    assert "all is well" in start("verify", store=store).stdout


def test_what_the_encoding_of_the_terminal_lacks_is_escaped(made: Path) -> None:
    command = [sys.executable, "-m", "playhead", "live", "--help"]
    latin = environment(made) | {"PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(command, env=latin, capture_output=True, text=True, encoding="latin-1", check=True)
    assert "Keys: \\u2190 and \\u2192" in done.stdout


def test_the_store_is_the_given_one_before_the_variable(made: Path, empty: Path) -> None:
    assert answer("ls", "--store", made, store=empty)
    assert answer("ls", store=empty) == []


def test_the_store_is_the_one_around_the_current_folder(made: Path) -> None:
    inside = next((made / "pong").rglob("media"))
    assert FIRST in start("ls", cwd=inside).stdout


def test_the_store_is_else_the_folder_store(made: Path) -> None:
    assert FIRST in start("ls", cwd=made.parent).stdout


def contents(folder: Path) -> dict[str, str]:
    """Give what every file of a store holds, but for what SQLite keeps while a database is open."""
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and not file.name.endswith(("-wal", "-shm"))
    }


READING = [
    ("ls",),
    ("show", "last"),
    ("diff", FIRST, "last"),
    ("sql", "SELECT 1"),
    ("tag", "last"),
    ("info",),
]


@pytest.mark.parametrize("arguments", READING, ids=lambda arguments: arguments[0])
def test_reading_changes_nothing(path: Path, arguments: tuple[str, ...]) -> None:
    before = contents(path)
    invoke(*arguments, store=path)
    assert contents(path) == before


@pytest.mark.parametrize("arguments", READING, ids=lambda arguments: arguments[0])
def test_reading_makes_no_store(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    invoke(*arguments, store=tmp_path / "new", expect=0 if arguments == ("info",) else 1)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "arguments", [("tag", "last", "--add", "x"), ("rm", "last"), ("restore", "last"), ("purge", "--yes"), ("rebuild",)]
)
def test_changing_makes_no_store(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert "no store" in invoke(*arguments, store=tmp_path / "new", expect=1).stderr.replace("not a Playhead", "no")
    assert os.listdir(tmp_path) == []


def test_output_is_coloured_in_a_terminal_and_nowhere_else(made: Path) -> None:
    code, shown = in_terminal("ls", store=made)
    assert code == 0
    assert "\x1b[31mfailed" in shown
    assert "\x1b" not in start("ls", store=made).stdout


def test_a_message_does_not_paint_the_terminal(made: Path) -> None:
    _, shown = in_terminal("show", "\x1b]8;;x\x1b\\run", store=made)
    assert "\x1b]8" not in shown
    _, shown = in_terminal("ls", "--where", "\x1b[2J > 3", store=made)
    assert "\x1b[2J" not in shown


def test_a_command_that_is_misspelled_names_those_that_are_alike(made: Path) -> None:
    assert "No such command 'lss'. Did you mean 'ls'" in invoke("lss", store=made, expect=2).stderr
    assert "No such command 'xyzzy'." in invoke("xyzzy", store=made, expect=2).stderr
    assert "Did you mean 'build'" in invoke("table", "buidl", store=made, expect=2).stderr
