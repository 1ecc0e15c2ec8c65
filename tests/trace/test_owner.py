"""A trace says which run it is of and what it is called; another one is refused under its name."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

import pytest

import playhead
from playhead import care, opening, traces
from playhead.care.repairing import Repair
from playhead.errors import Misplaced, NotFound
from playhead.layout import Layout
from playhead.owner import FIELD
from playhead.trace import Trace, TraceWriter, formats
from playhead.trace.formats import convert

FORMS = ("trace", "json", "json.gz")


def make(path: Path, form: str = "trace", *, close: bool = True) -> Path:
    """Make a store of two runs with two traces each, whose states say which they are."""
    with playhead.open(path) as store:
        for number in (1, 2):
            with store.run("p", "r", run_id=f"r{number}", environment=False) as run:
                for name, value in (("fit", 0.0), ("loss", 100.0)):
                    trace = run.trace(name, form=form, bucket=20)
                    for step in range(30):
                        trace.append(1000.0 * number + value + step)
                    if close:
                        trace.close()
                    else:
                        trace.flush()
                        trace._tape.abandon()
                        trace._ended = "abandoned"
    return path


def swap(one: Path, other: Path) -> None:
    aside = one.with_name("aside")
    for source, target in ((one, aside), (other, one), (aside, other)):
        os.rename(source, target)


def first(path: Path, run: str, name: str) -> float:
    with playhead.open(path, mode="r") as store:
        return float(store.runs[run].traces[name].seek(0))


def wrong(path: Path, *, full: bool) -> set[str]:
    return {finding.path.name for finding in care.verify(path, full=full) if not finding.is_harmless}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("other", ["r2/fit", "r1/loss"])
def test_a_swapped_trace_is_refused(tmp_path: Path, form: str, other: str) -> None:
    path = make(tmp_path / "s", form)
    one, two = (path / "traces" / f"{name}.{form}" for name in ("r1/fit", other))
    swap(one, two)
    with pytest.raises(Misplaced, match="under their own names"):
        first(path, "r1", "fit")
    with pytest.raises(Misplaced):
        traces.glance(one)
    with playhead.open(path) as store, store.run("p", "r", run_id="r1", resume=True, environment=False) as run:
        with pytest.raises(Misplaced):
            run.trace("fit", form=form)
    assert wrong(path, full=True) == {one.name, two.name}
    if form == "trace":
        assert wrong(path, full=False) == {one.name, two.name}
    opening.rebuild(path)
    with pytest.raises(Misplaced):
        first(path, "r1", "fit")
    swap(one, two)
    assert [first(path, "r1", "fit"), first(path, "r2", "loss")] == [1000.0, 2100.0]
    assert not wrong(path, full=True)


@pytest.mark.parametrize("form", FORMS)
def test_a_renamed_trace_is_read_noted_and_repaired(tmp_path: Path, form: str) -> None:
    path = make(tmp_path / "s", form)
    folder = path / "traces" / "r1"
    os.rename(folder / f"fit.{form}", folder / f"good.{form}")
    assert first(path, "r1", "good") == 1000.0
    found = list(care.verify(path, full=True))
    assert [(finding.path.name, finding.severity) for finding in found] == [(f"good.{form}", "note")]
    assert "repair" in found[0].mend
    assert "'fit'" in found[0].found
    (deed,) = Repair(Layout(path)).mend(found)
    assert deed.done, deed
    assert not list(care.verify(path, full=True))
    with playhead.open(path) as store:
        assert [float(store.runs["r1"].traces["good"].seek(step)) for step in (0, 29)] == [1000.0, 1029.0]
        assert store.runs["r1"].traces["good"].facts[FIELD] == {"run": "r1", "trace": "good"}


@pytest.mark.parametrize("form", FORMS)
def test_a_swapped_tape_is_refused_and_not_sealed(tmp_path: Path, form: str) -> None:
    path = make(tmp_path / "s", form, close=False)
    one, two = (path / "traces" / name / f".fit.{form}.recording" for name in ("r1", "r2"))
    swap(one, two)
    with pytest.raises(Misplaced):
        first(path, "r1", "fit")
    with playhead.open(path) as store, pytest.raises(Misplaced):
        traces.recover(store._home, "r1")
    assert one.is_dir()
    assert one.name in wrong(path, full=True)
    swap(one, two)
    with playhead.open(path) as store:
        traces.recover(store._home, "r1")
    assert first(path, "r1", "fit") == 1000.0


def test_what_goes_elsewhere_is_signed_for_its_place(tmp_path: Path) -> None:
    path = make(tmp_path / "s")
    source = path / "traces" / "r1" / "fit.trace"
    for target in (tmp_path / "out.trace", tmp_path / "out.json"):
        convert(source, target)
        assert FIELD not in Trace.open(target).facts
    copied = Path(shutil.copy(source, tmp_path / "copied.trace"))
    assert float(Trace.open(copied).seek(0)) == 1000.0  # outside of a store it is nobody's
    with TraceWriter(copied, resume=True) as writer:
        writer.append(7.0)
    assert FIELD not in Trace.open(copied).facts
    target = path / "traces" / "r2" / "again.trace"
    with Trace.open(source).resume(target, at=20, step=lambda state, _: state + 1) as writer:
        writer.append(8.0)
    assert Trace.open(target).facts[FIELD] == {"run": "r2", "trace": "again"}
    assert not wrong(path, full=True)


def test_traces_of_earlier_versions_and_other_programs_are_noted(tmp_path: Path) -> None:
    path = make(tmp_path / "s")
    with contextlib.closing(Trace.open(path / "traces" / "r1" / "fit.trace")) as trace:
        trace.contents.facts.pop(FIELD)
        formats.write(tmp_path / "old.json", trace.contents)
    target = path / "traces" / "r1" / "old.json"
    shutil.copy(tmp_path / "old.json", target)
    assert first(path, "r1", "old") == 1000.0
    found = list(care.verify(path, full=True))
    assert [(finding.path, finding.severity) for finding in found] == [(target, "note")]


def test_a_name_that_no_trace_can_have_is_refused(tmp_path: Path) -> None:
    path = make(tmp_path / "s")
    file = path / "traces" / "r1" / "fit.trace"
    with pytest.raises(NotFound):
        first(path, "r1", "nothing")
    with contextlib.closing(Trace.open(file)) as trace:
        trace.contents.facts[FIELD] = {"run": "r1", "trace": "../../r2/fit"}
        formats.write(tmp_path / "odd.json", trace.contents)
    shutil.copy(tmp_path / "odd.json", file.with_name("odd.json"))
    with pytest.raises(Misplaced):
        first(path, "r1", "odd")
