"""What all commands about traces have in common: help, how traces are named, and the function of --step."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

import playhead
from playhead.cli import program
from playhead.cli.trace import COMMANDS
from playhead.cli.trace.convert import FORMS
from playhead.trace import formats
from tests.cli.invoking import answer, environment, invoke, start
from tests.cli.test_completion import completed
from tests.cli.test_program import modules_after


def test_each_command_has_its_summary_an_example_and_help_for_its_options() -> None:
    group = program.get_command(click.Context(program), "trace")
    assert isinstance(group, click.Group)
    shown = invoke("trace", "--help").stdout
    for name, summary in COMMANDS.items():
        command = group.get_command(click.Context(group), name)
        assert command is not None
        assert summary in shown
        assert summary.rstrip(".") in " ".join(invoke("trace", name, "--help").stdout.split())
        assert "playhead trace " in (command.epilog or "")
        assert all(parameter.help for parameter in command.params if isinstance(parameter, click.Option))


@pytest.mark.parametrize("name", COMMANDS)
def test_help_loads_nothing_large(traced: Path, name: str) -> None:
    loaded = modules_after("trace", name, "--help", store=traced)
    assert loaded & {"sqlalchemy", "rich", "numpy", "playhead.opening", "playhead.trace"} == set()


def test_the_forms_are_those_there_are() -> None:
    assert formats.FORMS == FORMS


@pytest.mark.parametrize(
    ("text", "label"), [("r1/fit", "r1/fit"), ("r1", "r1/fit"), ("r2/small", "r2/small"), ("last/fit", "r2/fit")]
)
def test_a_trace_is_named_by_its_run(traced: Path, text: str, label: str) -> None:
    assert answer("trace", "info", text, store=traced)["trace"] == label


def test_a_trace_is_named_by_its_path(traced: Path, tmp_path: Path) -> None:
    file = traced / "traces/r1/fit.trace"
    assert answer("trace", "info", file)["steps"] == 300  # without any store
    assert "no file" in invoke("trace", "info", tmp_path / "none.trace", expect=1, store=traced).stderr


def test_what_is_not_there_is_named_with_what_is(traced: Path) -> None:
    assert "several traces; name one: r2/fit, r2/small" in invoke("trace", "info", "r2", expect=1, store=traced).stderr
    assert "no trace 'r1/x'; there is: fit" in invoke("trace", "info", "r1/x", expect=1, store=traced).stderr
    assert "no run 'x'; there is: r2, r1" in invoke("trace", "info", "x/fit", expect=1, store=traced).stderr


def test_completes_traces(traced: Path) -> None:
    assert completed("playhead trace info ", traced) == ["r2/fit", "r2/small", "r1/fit"]
    assert completed("playhead trace info r2/s", traced) == ["r2/small"]
    assert completed("playhead trace seek r1", traced) == ["r1/fit"]
    assert completed("playhead trace se", traced) == ["seek"]
    assert completed("playhead trace ls r", traced) == ["r2", "r1"]


# -- --step -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("update", "write MODULE:FUNCTION"),
        (":update", "write MODULE:FUNCTION"),
        ("tests.cli.trace.making:", "write MODULE:FUNCTION"),
        ("no_such_module:update", "no module 'no_such_module'"),
        ("tests.cli.trace.nothing:update", "no module 'tests.cli.trace.nothing'"),
        ("..relative:update", "failed"),
        ("tests.cli.trace.making:nothing", "has no 'nothing'"),
        ("tests.cli.trace.making:NOT_A_FUNCTION", "cannot be called: it is of type int"),
    ],
)
def test_a_function_that_is_not_there_is_wrong_usage(traced: Path, text: str, message: str) -> None:
    shown = invoke("trace", "seek", "r1", "101", "--step", text, expect=2, store=traced).stderr
    assert message in " ".join(shown.split())
    assert "Traceback" not in shown


def test_a_function_of_the_current_folder_is_found(traced: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import helper\ndef update(state, g):\n    return helper.made(state)\n")
    (tmp_path / "helper.py").write_text("def made(state):\n    return {**state, 'mine': 1}\n")
    # As the installed program does: the folder of the script is on the path, and not the current one.
    script = "import sys; sys.path = [p for p in sys.path if p]; from playhead.cli import main; main()"
    found = _python(script, "trace", "seek", "r1", "101", "--step", "mine:update", store=traced, cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    assert "mine" in found.stdout
    assert "warning: the step function is not the one" in found.stderr  # it has another source


def _python(script: str, *arguments: str, store: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, env=environment(store), cwd=cwd, capture_output=True, text=True, check=False)


def test_a_module_that_cannot_be_imported_says_why(traced: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def update(:\n")
    (tmp_path / "needy.py").write_text("import not_installed_at_all\n")
    for name, message in (("broken", "SyntaxError"), ("needy", "No module named 'not_installed_at_all'")):
        found = start("trace", "seek", "r1", "101", "--step", f"{name}:update", store=traced, cwd=tmp_path)
        assert found.returncode == 2, found.stderr
        assert message in " ".join(found.stderr.split())


def test_what_a_file_names_is_never_imported(tmp_path: Path) -> None:
    (tmp_path / "evil.py").write_text(
        "from pathlib import Path\nPath('imported').touch()\ndef update(s, g): return s\n"
    )
    script = (
        "import playhead, evil\n"
        "with playhead.TraceWriter('x.trace', step=evil.update, bucket=1) as trace:\n"
        "    for n in range(20): trace.append({'n': n}, error=1.0)\n"
    )
    _python(script, store=tmp_path / "none", cwd=tmp_path)
    (tmp_path / "imported").unlink()
    for command in (["info"], ["seek", "0"], ["best"], ["verify"], ["seek", "19"]):
        start("trace", command[0], "x.trace", *command[1:], cwd=tmp_path)
    assert len(playhead.Trace.open(tmp_path / "x.trace")) == 20
    assert not (tmp_path / "imported").exists()
