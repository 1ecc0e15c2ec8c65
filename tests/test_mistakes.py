"""Ordinary mistakes of people: each is refused by an error of Playhead that says what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import playhead
from playhead.care import verify
from playhead.errors import BadKey, BadQuery, BadSlice, NotFound, OutOfRange, PlayheadError, WrongShape, WrongType


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[playhead.Store]:
    """A store with one run of every lane."""
    path = tmp_path_factory.mktemp("mistakes") / "store"
    with playhead.open(path) as store:
        with store.run("pong", "dqn", run_id="one", environment=False) as run:
            run.log({"loss": 0.5})
            reel = run.new_reel()
            reel.step({"observations": np.arange(2.0)}, 1.0, True, False)
            reel.close()
            with run.trace("fit", bucket=4) as trace:
                trace.append({"w": 1.0}, error=0.5)
        with store.run("pong", "both", run_id="two", environment=False) as run:
            reel = run.new_reel()
            reel.step({"observations": np.arange(2.0)}, 1.0, True, False)
            reel.close()
            with run.new_episode("arm") as episode:
                episode.append("joint", 1.0, 1)
            run.log_image("i", np.zeros((4, 4, 3), np.uint8))
        with store.dataset("teleop").new_episode(uid="uid0") as episode:
            episode.append("joint", 1.0, 1)
        rows = np.zeros(3, [("x", "<f4"), ("run_id", "<u4"), ("step_index", "<u2")])
        store.tables.build("numbers", rows)
        yield store


@pytest.fixture(scope="module")
def run(store: playhead.Store) -> Iterator[playhead.RunWriter]:
    with store.run("pong", "dqn", environment=False) as run:
        yield run


READING: dict[str, tuple[Callable[[Any], Any], type[PlayheadError], str]] = {
    "a run too far": (lambda s: s.runs[99], OutOfRange, "no run at position 99: there are 2 runs"),
    "a run before the first": (lambda s: s.runs[-99], OutOfRange, "there are 2 runs"),
    "runs by a fraction": (lambda s: s.runs[1.5], BadKey, "position, slice or id, not float"),
    "runs in steps of zero": (lambda s: s.runs[::0], BadSlice, "zero"),
    "runs sliced by names": (lambda s: s.runs["a":], BadSlice, "integers"),
    "an unknown order": (lambda s: s.runs(order="-zz"), BadQuery, "cannot sort by 'zz': no field 'zz'; there is: id"),
    "a number for tags": (lambda s: s.runs(tags=5), WrongType, "tags are texts"),
    "attaching by a number": (lambda s: s.attach(0), NotFound, "no run '0'"),
    "an episode too far": (lambda s: s.runs[0].episodes[99], OutOfRange, "index 99 is out of range: there are 1"),
    "an episode by name": (lambda s: s.runs[0].episodes["x"], BadKey, "not str"),
    "episodes in steps of zero": (lambda s: s.runs[0].episodes[::0], BadSlice, "zero"),
    "runs by a truth value": (lambda s: s.runs[True], BadKey, "not bool"),
    "an episode of both kinds too far": (lambda s: s.runs[1].episodes[9], OutOfRange, "there are 2"),
    "an episode of both kinds by name": (lambda s: s.runs[1].episodes["a"], BadKey, "not str"),
    "episodes of both kinds in steps of zero": (lambda s: s.runs[1].episodes[::0], BadSlice, "zero"),
    "an image too far": (lambda s: s.runs[1].media[3], OutOfRange, "there are 1"),
    "an image by name": (lambda s: s.runs[1].media["i"], BadKey, "not str"),
    "what is older than a text": (lambda s: s.purge(older_than="a"), WrongType, "a number of seconds"),
    "what is older than the future": (lambda s: s.purge(older_than=-1), WrongType, "0 or more, not -1"),
    "what is older than NaN": (lambda s: s.purge(older_than=float("nan")), WrongType, "0 or more, not nan"),
    "a limit that is a fraction": (lambda s: s.runs(limit=1.5), WrongType, "a number of runs, not 1.5"),
    "a metric that was not logged": (lambda s: s.runs[0]["x"], NotFound, "there is: loss"),
    "metrics by a number": (lambda s: s.runs[0].metrics(5), WrongType, "names of metrics"),
    "a recorded episode too far": (lambda s: s.dataset("teleop")[9], OutOfRange, "there are 1"),
    "a signal that is not there": (lambda s: s.dataset("teleop")[0]["x"], NotFound, "there is: joint"),
    "a sample too far": (lambda s: s.dataset("teleop")[0]["joint"][9], OutOfRange, "there are 1"),
    "a table that is not there": (lambda s: s.tables["x"], NotFound, "there is: numbers"),
    "a row too far": (lambda s: s.tables["numbers"][9], OutOfRange, "row 9 of a table of 3"),
    "a run of a table too far": (lambda s: s.tables["numbers"].runs[9], OutOfRange, "run 9 of 1"),
    "a trace that is not there": (lambda s: s.runs[0].traces["x"], NotFound, "there is: fit"),
    "a step too far": (lambda s: s.runs[0].traces["fit"].seek(9), OutOfRange, "9"),
    "a mark too far": (lambda s: s.runs[0].traces["fit"].marks[9], OutOfRange, "there are 1"),
    "an artifact that is not there": (lambda s: s.artifacts["x:v1"], NotFound, "no artifact 'x'"),
    "versions of a number": (lambda s: s.artifacts.versions(0), NotFound, "no artifact '0'"),
    "a table of SQL that there is not": (lambda s: s.sql("SELECT * FROM runz"), BadQuery, "there is: episodes, steps"),
    "a query that is no text": (lambda s: s.sql(5), BadQuery, "text of a SELECT"),
    "a time limit that is no number": (lambda s: s.sql("SELECT 1", timeout="x"), WrongType, "number of seconds"),
    "a file as a dataset": (lambda _: playhead.LocalDataset(__file__), WrongType, "is a file"),
    "a file to record a dataset into": (lambda _: playhead.LocalDatasetWriter(__file__), WrongType, "is a file"),
}  # fmt: skip


@pytest.mark.parametrize("what", READING)
def test_a_mistake_in_reading_is_named(store: playhead.Store, what: str) -> None:
    call, error, said = READING[what]
    with pytest.raises(error) as found:
        call(store)
    assert said in str(found.value)


FILE = Path(__file__)
WRITING: dict[str, tuple[Callable[[Any], Any], type[PlayheadError], str]] = {
    "an image that is not there": (lambda r: r.log_image("i", "nope.png"), NotFound, "no image 'nope.png' to log"),
    "a folder as an image": (lambda r: r.log_image("i", FILE.parent), NotFound, "it is a folder"),
    "channels in front": (
        lambda r: r.log_image("i", np.zeros((3, 9, 9), np.uint8)), WrongShape, "image.transpose(1, 2, 0)"),
    "rows of other lengths": (lambda r: r.log_image("i", [[1, 2], [3]]), WrongShape, "differ in length"),
    "a file that is not there": (lambda r: r.log_artifact("m", "nope.pt"), NotFound, "nope.pt to save"),
    "bytes to save": (lambda r: r.log_artifact("m", b"abc"), WrongType, "not of bytes; write it into a file"),
    "weights to save": (lambda r: r.log_artifact("m", {"w": np.zeros(3)}), WrongType, "not of dict; write it into"),
    "a number to save": (lambda r: r.log_artifact("m", 5), WrongType, "not of int"),
    "an array to save": (lambda r: r.log_artifact("m", np.zeros(3)), WrongType, "a path is a str"),
    "metadata that is a number": (lambda r: r.log_artifact("m", FILE, metadata=5), WrongType, "metadata are a mapping"),
    "aliases that are a number": (lambda r: r.log_artifact("m", FILE, aliases=5), WrongType, "aliases are texts"),
    "tags that are a number": (lambda r: r.log_artifact("m", FILE, tags=5), WrongType, "tags are texts"),
    "patterns that are a number": (lambda r: r.log_artifact("m", FILE.parent, exclude=5), WrongType, "patterns"),
    "a summary that is a number": (lambda r: r.summary(5), WrongType, "summary values are a mapping"),
    "a primary metric that is a number": (
        lambda r: r.summary(best_metric_name=5), WrongType, "sets the primary metric: expected a text, found 5"),
    "a primary metric without a direction": (lambda r: r.summary(best_metric_mode="up"), WrongType, "one of 'max'"),
    "parameters that are a number": (lambda r: r.trace("t", parameters=5), WrongType, "parameters are a mapping"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRITING)
def test_a_mistake_in_recording_is_named(run: playhead.RunWriter, what: str) -> None:
    call, error, said = WRITING[what]
    with pytest.raises(error) as found:
        call(run)
    assert said in str(found.value)
    assert (run.media, run.traces.keys(), run.status) == ([], set(), "running")


def test_a_reason_is_written_as_text(store: playhead.Store) -> None:
    with store.run("pong", "odd", environment=False) as run:
        run.finish("failed", reason=KeyError("lr"))  # type: ignore[arg-type]
    run.delete(reason=5)  # type: ignore[arg-type]
    assert store.runs.deleted[run.id].exit_reason == "'lr'"
    assert [finding for finding in verify(store.path, full=True) if not finding.is_harmless] == []


def test_tags_of_a_new_run_are_texts(store: playhead.Store) -> None:
    with pytest.raises(WrongType, match="tags are texts"):
        store.run("pong", "dqn", tags=5)  # type: ignore[arg-type]


def test_one_metric_is_read_by_its_name(store: playhead.Store) -> None:
    assert store.runs["one"].metrics("loss").column("name").to_pylist() == ["loss"]


def test_a_writer_of_a_dataset_works_in_a_with_statement(tmp_path: Path) -> None:
    with playhead.LocalDatasetWriter(tmp_path) as writer:
        for _ in range(2):
            with writer.new_episode() as episode:
                episode.append("x", 1.0, 1)
    assert len(playhead.LocalDataset(tmp_path)) == 2


@pytest.mark.parametrize("kind", [np.int64, np.int8, np.uint8, np.array])
def test_integers_of_numpy_are_positions(store: playhead.Store, kind: Callable[[int], Any]) -> None:
    zero = kind(0)
    dataset, both, trace = store.dataset("teleop"), store.runs["two"], store.runs["one"].traces["fit"]
    assert store.runs[zero].id == store.runs[0].id
    assert [run.id for run in store.runs[zero : kind(1)]] == [store.runs[0].id]
    assert len(store.runs(limit=np.int64(1))) == 1
    assert store.runs["one"].episodes[zero].uid == store.runs["one"].episodes[0].uid
    assert both.episodes[zero].uid == both.episodes[0].uid
    assert len(both.episodes[zero : kind(1)]) == 1
    assert both.media[zero] == both.media[0]
    assert dataset[zero].uid == dataset[0].uid
    assert dataset[0]["joint"][zero] == dataset[0]["joint"][0]
    assert dataset[0]["joint"].time[kind(1)] == dataset[0]["joint"].time[1]
    assert store.tables["numbers"][zero] == store.tables["numbers"][0]
    assert store.tables["numbers"].runs[zero] == store.tables["numbers"].runs[0]
    assert trace.marks[zero] == trace.marks[0]
    assert trace.seek(zero) == trace.seek(0)
    assert store.purge(older_than=np.float32(1)) == store.purge(older_than=np.int64(1)) == []


@pytest.mark.parametrize("one", [np.int64(1), np.float32(1), np.array(1), np.bool_(True)])
def test_numbers_of_numpy_are_values_of_a_query(store: playhead.Store, one: Any) -> None:
    assert store.sql("SELECT 1 AS one WHERE 1 = ?", (one,)).num_rows == 1
    assert store.sql("SELECT 1 AS one WHERE 1 = :one", {"one": one}).num_rows == 1


def test_one_environment_and_several_are_told_apart(run: playhead.RunWriter) -> None:
    gymnasium = pytest.importorskip("gymnasium")
    from playhead.integrations.gymnasium import Recorder, VectorRecorder

    with pytest.raises(WrongType, match="VectorRecorder records several"):
        Recorder(gymnasium.make_vec("CartPole-v1", 2), run)
    with pytest.raises(WrongType, match=r"not a .*: Recorder records one"):
        VectorRecorder(gymnasium.make("CartPole-v1"), run)


def test_parameters_are_no_config_of_a_recorder(run: playhead.RunWriter) -> None:
    gymnasium = pytest.importorskip("gymnasium")
    from playhead.integrations.gymnasium import Recorder, VectorRecorder

    parameters: Any = {"lr": 0.1}
    for make in (
        lambda: Recorder(gymnasium.make("CartPole-v1"), run, config=parameters),
        lambda: VectorRecorder(gymnasium.make_vec("CartPole-v1", 2), run, config=parameters),
        lambda: run.new_reel(config=parameters),
    ):
        with pytest.raises(WrongType, match=r"ReplayConfig, not dict; parameters go to store.run"):
            make()
