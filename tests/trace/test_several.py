"""Files that hold several traces: the one that is meant is opened, and stays the one."""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler
from pathlib import Path

import pytest

from playhead.errors import NotFound
from playhead.trace import Trace, formats
from tests.trace.formats import made
from tests.trace.made import record


@pytest.fixture
def several(tmp_path: Path) -> Path:
    return made.written(tmp_path, made.TRAIN)


def test_the_one_that_is_meant_is_opened(several: Path) -> None:
    assert len(Trace.open(several)) == len(Trace.open(several, trace=0)) == len(Trace.open(several, variant=7)) == 6
    for trace in (Trace.open(several, trace=1), Trace.open(several, variant=2)):
        assert len(trace) == 2
        assert trace.facts["origin"]["variant"] == 2
        trace.refresh()
        assert len(trace) == 2
        assert len(ForkingPickler.loads(bytes(ForkingPickler.dumps(trace)))) == 2


def test_those_that_are_not_there_are_refused_with_those_that_are(several: Path) -> None:
    there = r"there is: trace 0 \(variant 7, 6 steps.*\), trace 1 \(variant 2, 2 steps"
    for asked in ({"trace": 2}, {"trace": -1}, {"variant": 0}):
        with pytest.raises(NotFound, match=there):
            Trace.open(several, **asked)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["x.trace", "x.json"])
def test_a_file_with_one_trace_has_no_other(tmp_path: Path, name: str) -> None:
    path = record(tmp_path / name, 5)
    assert len(Trace.open(path, trace=0)) == 5
    for asked in ({"trace": 1}, {"variant": 0}):
        with pytest.raises(NotFound, match="holds one trace, in the form"):
            Trace.open(path, **asked)  # type: ignore[arg-type]


def test_one_of_several_is_converted(several: Path, tmp_path: Path) -> None:
    assert formats.convert(several, tmp_path / "second.trace", variant=2) == []
    assert len(Trace.open(tmp_path / "second.trace")) == 2
    with pytest.raises(NotFound, match="'variant 3'"):
        formats.convert(several, tmp_path / "third.trace", variant=3)
    assert not (tmp_path / "third.trace").exists()
