"""`--trace` and `--variant`: one of the traces of a train output."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from playhead.trace import Trace
from tests.cli.invoking import answer, invoke
from tests.trace.formats import made


@pytest.fixture
def several(tmp_path: Path) -> Path:
    return made.written(tmp_path, made.TRAIN)


@pytest.mark.parametrize("chosen", [["--trace", "1"], ["--variant", "2"]])
def test_every_command_takes_the_one_that_is_meant(several: Path, tmp_path: Path, chosen: list[str]) -> None:
    assert answer("trace", "info", several)["steps"] == 6
    told = answer("trace", "info", several, *chosen)
    assert (told["steps"], told["best"], told["error"]) == (2, 1, 0.2)
    assert answer("trace", "seek", several, "last", *chosen)["step"] == 1
    assert [one["error"] for one in answer("trace", "best", several, *chosen)["steps"]] == [0.6, 0.2]
    assert answer("trace", "verify", several, *chosen)["damage"] == []
    invoke("trace", "plot", several, *chosen, "-o", tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size
    assert answer("trace", "convert", several, tmp_path / "x.trace", *chosen)["steps"] == 2
    assert len(Trace.open(tmp_path / "x.trace")) == 2


def test_two_of_one_file_are_compared(several: Path, tmp_path: Path) -> None:
    def found(*options: str) -> dict[str, Any]:
        return answer("trace", "diff", several, several, *options)  # type: ignore[no-any-return]

    assert found()["is_equal"]
    for other in (["--other-trace", "1"], ["--other-variant", "2"]):
        assert found(*other)["lengths"] == [6, 2]
        assert found("--trace", "1", *other)["is_equal"]
        assert found("--variant", "7", *other)["lengths"] == [6, 2]
    assert found("--trace", "1")["lengths"] == [2, 6]
    answer("trace", "convert", several, tmp_path / "x.trace", "--trace", "1")
    assert answer("trace", "diff", several, tmp_path / "x.trace", "--trace", "1")["lengths"] == [2, 2]
    told = invoke("trace", "diff", several, several, "--other-variant", "9", expect=1).stderr
    assert "trace 1 (variant 2, 2 steps" in told


@pytest.mark.parametrize("command", ["info", "best", "verify", "plot"])
def test_one_that_is_not_there_is_refused_with_those_that_are(
    several: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    told = invoke("trace", command, several, "--variant", "9", expect=1).stderr
    assert "trace 0 (variant 7, 6 steps" in told
    assert "trace 1 (variant 2, 2 steps" in told
    assert not (tmp_path / "trace.png").exists()


def test_a_trace_of_the_store_is_one(traced: Path) -> None:
    assert "holds one trace" in invoke("trace", "info", "r1/fit", "--variant", "1", store=traced, expect=1).stderr
