"""`store.runs`: a lazy sequence that narrows; and what can be done to a run later."""

from __future__ import annotations

import json
import math
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import playhead
from playhead import disk, opening
from playhead.care import verify
from playhead.claims import Claim
from playhead.errors import BadKey, BadQuery, NotFound, StoreLocked, WrongType
from playhead.layout import Layout, RunFolder
from tests.dump import dump


def make(store: playhead.Store, project: str, name: str, best: float | None = None, **options: object) -> str:
    with store.run(project, name, environment=False, **options) as run:  # type: ignore[arg-type]
        if best is not None:
            run.set_primary_metric("acc")
            run.log({"acc": best})
    return run.id


@pytest.fixture
def five(store: playhead.Store) -> list[str]:
    bests = [0.1, 0.5, None, 0.3, 0.5]
    return [
        make(store, "odd" if n % 2 else "even", f"run{n}", best, config={"n": n, "k": 10 - n})
        for n, best in enumerate(bests)
    ]


def names(runs: object) -> list[str]:
    return [run.name for run in runs]  # type: ignore[attr-defined]


def test_runs_are_a_sequence_oldest_first(store: playhead.Store, five: list[str]) -> None:
    runs = store.runs
    assert len(runs) == 5
    assert [run.id for run in runs] == five
    assert (runs[0].id, runs[-1].id, runs[-5].id, runs[3].id) == (five[0], five[4], five[0], five[3])
    assert [run.id for run in runs[1:4]] == five[1:4]
    assert [run.id for run in runs[::-2]] == five[::-2]
    assert runs[7:] == []
    assert [run.id for run in reversed(runs)] == five[::-1]
    assert runs[five[2]].name == "run2"
    assert five[2] in runs
    assert runs[0] in runs
    assert "nope" not in runs
    assert 3 not in runs
    assert runs.get("nope") is None


def test_narrowing_twice_never_gives_more(store: playhead.Store, five: list[str]) -> None:
    assert names(store.runs("odd")("even")) == []
    assert names(store.runs("odd")("odd")) == ["run1", "run3"]
    assert names(store.runs(status="finished")(status="failed")) == []
    assert names(store.runs("odd", status="finished")("even", status="failed").deleted) == []
    assert [len(store.runs(limit=1)(limit=3)), len(store.runs(limit=3)(limit=1)), len(store.runs(limit=2**70))] == [
        1,
        1,
        5,
    ]
    with pytest.raises(WrongType, match="order is a name"):
        store.runs(order=5)  # type: ignore[arg-type]


@pytest.mark.parametrize("index", [5, -6, 100, 2**70, -(2**70)])
def test_a_position_outside_is_an_index_error(store: playhead.Store, five: list[str], index: int) -> None:
    with pytest.raises(IndexError, match="5 runs"):
        store.runs[index]


def test_other_keys_are_refused(store: playhead.Store) -> None:
    with pytest.raises(BadKey):
        store.runs[1.5]  # type: ignore[call-overload]


def test_an_empty_store_has_no_runs(store: playhead.Store) -> None:
    assert (len(store.runs), list(store.runs), repr(store.runs)) == (0, [], "<Runs: 0>")
    with pytest.raises(IndexError):
        store.runs[-1]


def test_calling_narrows_and_narrows_again(store: playhead.Store, five: list[str]) -> None:
    assert names(store.runs("even")) == ["run0", "run2", "run4"]
    assert names(store.runs("even")(where="best > 0.2")) == ["run4"]
    assert names(store.runs(where="best > 0.2")(where="config.n < 4")) == ["run1", "run3"]
    assert names(store.runs(status="finished", limit=2)) == ["run0", "run1"]
    assert len(store.runs(limit=2)) == 2
    assert names(store.runs(limit=3)[1:]) == ["run1", "run2"]
    assert store.runs(limit=3)[-1].name == "run2"
    assert names(store.runs("none")) == []
    with pytest.raises(NotFound):
        store.runs("odd")[five[0]]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("created_at", "01234"), ("-created_at", "43210"), ("best", "14302"), ("-best", "03412"), ("best desc", "03412"),
        ("best_value", "03142"), ("-best_value", "41302"),
        ("config.k", "43210"), ("-config.n", "43210"), ("name", "01234"), ("metric.acc", "03142"),
        ("project,-name", "42031"), ("-project, name desc", "31420"),
    ],
)  # fmt: skip
def test_order(store: playhead.Store, five: list[str], order: str, expected: str) -> None:
    """Runs without the value come last in both directions."""
    runs = store.runs(order=order)
    assert "".join(run.name[-1] for run in runs) == expected
    assert runs[0].name[-1] == expected[0]


def test_best_sorts_the_good_first_whether_they_are_large_or_small(store: playhead.Store) -> None:
    for name, values in {
        "bad": [3.0, 2.0],
        "good": [0.5, math.nan],
        "fair": [1.0, 1.5],
        "worse": [math.inf],
        "none": [],
    }.items():
        with store.run("p", name, environment=False) as run:
            run.set_primary_metric("loss", mode="min")
            for value in values:
                run.log({"loss": value})
    assert names(store.runs(order="best")) == ["good", "fair", "bad", "worse", "none"]
    assert names(store.runs(order="-best")) == ["worse", "bad", "fair", "good", "none"]
    assert names(store.runs(order="-best_value")) == ["worse", "bad", "fair", "good", "none"]
    assert names(store.runs(order="best")[1:3]) == ["fair", "bad"]
    assert store.runs(order="best")[-1].name == "none"
    assert names(store.runs(where="best_value < 2 and best < 1")) == ["good"]


def test_an_unknown_order_or_status_is_refused(store: playhead.Store) -> None:
    with pytest.raises(BadQuery, match="no field 'size'"):
        store.runs(order="size")
    with pytest.raises(BadQuery):
        store.runs(order="name sideways")
    with pytest.raises(BadQuery, match="running, finished"):
        store.runs(status="done")
    with pytest.raises(WrongType):
        store.runs(limit=-1)


def test_tags_and_notes_can_change_later(store: playhead.Store) -> None:
    run_id = make(store, "p", "n", tags="one")
    run = store.runs[run_id]
    run.tag("two", "three")
    run.untag("one", "never")
    run.note("remember")
    assert (run.tags, run.notes) == (["three", "two"], "remember")
    assert names(store.runs(tags="two")) == ["n"]
    assert names(store.runs(tags=["two", "three"])) == ["n"]
    assert names(store.runs(tags=["two", "one"])) == []
    assert json.loads((run.path / "meta.json").read_text())["tags"] == ["three", "two"]


def test_a_deleted_run_is_hidden_restored_and_purged(store: playhead.Store) -> None:
    keep, gone = make(store, "p", "keep", 0.5), make(store, "q", "gone", 0.7)
    run = store.runs[gone]
    with pytest.raises(StoreLocked, match="delete it first"):
        run.purge()
    run.delete("bad seed")
    run.delete("again")
    assert [run.id for run in store.runs] == [keep]
    assert [run.id for run in store.runs.deleted] == [gone]
    assert json.loads((run.path / ".deleted").read_text())["reason"] == "bad seed"
    store.runs.deleted[gone].restore()
    assert len(store.runs) == 2
    assert store.runs[gone]["acc"].values.tolist() == [0.7]
    store.runs[gone].delete()
    assert store.purge(older_than=3600) == []
    assert store.purge() == [gone]
    assert [run.id for run in store.runs] == [keep]
    assert len(store.runs.deleted) == 0
    assert not (store.path / "q").exists()
    assert (store.path / "p").exists()
    assert store.sql("SELECT count(*) AS n FROM points").to_pylist() == [{"n": 1}]
    with pytest.raises(NotFound, match="purged"):
        run.reload()


@pytest.mark.parametrize("purge", ["one", "all"])
def test_a_run_that_is_restored_while_a_purge_waits_for_it_stays(store: playhead.Store, purge: str) -> None:
    make(store, "p", "keep", 0.5)
    run = store.runs[-1]
    run.delete()
    with ThreadPoolExecutor() as threads:
        with disk.locked(run.path):  # as whoever restores it holds it
            waiting = threads.submit(store.runs.deleted[run.id].purge if purge == "one" else store.purge)
            time.sleep(0.2)
            (run.path / ".deleted").unlink()
        if purge == "one":
            with pytest.raises(StoreLocked, match="not in the recycle bin"):
                waiting.result()
        else:
            assert waiting.result() == []
    assert run["acc"].values.tolist() == [0.5]
    assert (run.path / "meta.json").exists()


def test_a_run_that_another_one_purges_meanwhile_is_gone(store: playhead.Store) -> None:
    make(store, "p", "n", 0.5)
    run = store.runs[-1]
    run.delete()
    with ThreadPoolExecutor() as threads:
        with disk.locked(run.path):
            waiting = threads.submit(run.purge), threads.submit(store.purge)
            time.sleep(0.2)
            run.path.rename(run.path.with_name("elsewhere"))
        with pytest.raises(NotFound, match="moved or purged"):
            waiting[0].result()
        assert waiting[1].result() == []


def test_a_run_in_progress_is_not_purged(store: playhead.Store) -> None:
    with store.run("p", "n", environment=False) as run:
        store.runs[run.id].delete()
        with pytest.raises(StoreLocked, match="still being recorded"):
            store.purge()
        run.log({"a": 1})
    assert store.purge() == [run.id]


@pytest.mark.filterwarnings("ignore:the catalogue is behind")
def test_a_rebuild_takes_in_what_others_do_meanwhile(store: playhead.Store, tmp_path: Path) -> None:
    """As the other one began before the rebuild, it writes into the catalogue that is thrown away."""
    tagged, purged, deleted = (make(store, "p", name, 0.5) for name in ("tagged", "purged", "deleted"))
    long: list[playhead.RunWriter] = []

    def meanwhile(folders: Iterable[RunFolder]) -> Iterator[RunFolder]:
        yield from folders
        store.runs[tagged].tag("late")
        store.runs[purged].delete()
        store.purge()
        store.runs[deleted].delete()
        make(store, "p", "whole", 0.7, run_id="whole")
        long.append(store.run("p", "long", run_id="long", environment=False))
        long[0].log({"acc": 1})

    assert opening.rebuild(store.path, meanwhile) == []
    with playhead.open(store.path) as new:
        assert new.runs[tagged].tags == ["late"]
        assert new.runs["whole"]["acc"].values.tolist() == [0.7]
        assert [run.id for run in new.runs] == [tagged, "whole", "long"]
        assert [run.id for run in new.runs.deleted] == [deleted]
        assert new.runs["long"].status == "running"
    long[0].log({"acc": 2})
    long[0].finish()
    with playhead.open(store.path) as new:
        assert new.runs["long"]["acc"].values.tolist() == [1, 2]
        assert new.runs["long"].status == "finished"


def test_an_edit_that_is_under_way_when_the_catalogue_is_replaced_is_taken_in_by_the_next_open(
    store: playhead.Store,
) -> None:
    edited, purged = make(store, "p", "edited", 0.5), make(store, "p", "purged", 0.5)
    store.runs[purged].delete()
    edit, purge = store.runs[edited], store.runs.deleted[purged]
    opening.rebuild(store.path)
    # Both were past the look at the catalogue, and hold connections to the old one.
    edit.tag("late")
    purge.purge()
    with playhead.open(store.path) as new:
        assert [(run.id, run.tags) for run in new.runs] == [(edited, ["late"])]
        assert len(new.runs.deleted) == 0
    assert list((store.path / ".recording").iterdir()) == []


def test_a_run_that_is_purged_while_others_read_all_runs_is_passed_over(store: playhead.Store) -> None:
    kept, gone = make(store, "p", "kept", 0.5), make(store, "p", "gone", 0.5)
    store.runs[gone].delete()
    purge = store.runs.deleted[gone].purge

    def meanwhile(folders: Iterable[RunFolder]) -> Iterator[RunFolder]:
        for folder in folders:
            if folder.path.name == gone:
                purge()
            yield folder

    assert opening.rebuild(store.path, meanwhile) == []
    with playhead.open(store.path) as new:
        assert [run.id for run in new.runs] == [kept]
        assert len(new.runs.deleted) == 0


def test_a_rebuild_leaves_what_others_are_purging(store: playhead.Store) -> None:
    going, layout = make(store, "p", "going", 0.5), Layout(store.path)
    folder = RunFolder(store.runs[going].path)
    trash, held = layout.trash / going, []

    def meanwhile(folders: Iterable[RunFolder]) -> Iterator[RunFolder]:
        yield from folders
        held.append(Claim.for_editing(layout, going, folder))
        trash.mkdir(parents=True)

    opening.rebuild(store.path, meanwhile)
    assert trash.is_dir()
    held[0].release()
    opening.rebuild(store.path)
    assert list(layout.trash.iterdir()) == []


def test_rebuild_gives_the_same_answers(store: playhead.Store, five: list[str], tmp_path: Path) -> None:
    import numpy as np

    with (
        pytest.raises(ValueError, match="boom"),
        store.run("p", "full", config={"a": {"b": [1, "x"]}, "n": None}) as run,
    ):
        run.set_primary_metric("loss", "min")
        for value in (3.0, float("nan"), float("inf"), 1.0):
            run.log({"loss": value, "x": -value}, stage="train")
        run.log_image("i", np.zeros((2, 2), np.uint8))
        run.log_text("text")
        run.summary(score=3, deep={"a": 1})
        with store.attach(run.id) as rank:
            rank.log({"loss": 0.5})
        raise ValueError("boom")
    store.runs[five[0]].tag("later")
    store.runs[five[1]].note("noted")
    store.runs[five[2]].delete("why")
    before = dump(store)
    store.close()
    for suffix in ("", "-wal", "-shm"):
        Path(f"{store.path}/playhead.db{suffix}").unlink(missing_ok=True)
    assert opening.rebuild(store.path) == []
    with playhead.open(store.path) as again:
        assert dump(again) == before
        assert [run.id for run in again.runs] == [*five[:2], *five[3:], run.id]
    opening.rebuild(store.path)
    with playhead.open(store.path) as again:
        assert dump(again) == before


def test_rebuild_names_what_it_cannot_read_and_reads_the_rest(store: playhead.Store, five: list[str]) -> None:
    (store.runs[0].path / "meta.json").write_text('{"id": ')
    (store.runs[1].path / "meta.json").write_text('{"id": "x"}')
    store.close()
    seen: list[object] = []

    def watched(folders):  # type: ignore[no-untyped-def]
        for folder in folders:
            seen.append(folder)
            yield folder

    problems = opening.rebuild(store.path, watched)
    assert len(problems) == 2
    assert "meta.json" in str(problems[0])
    assert len(seen) == 5
    with playhead.open(store.path) as again:
        assert [run.id for run in again.runs] == five[2:]


def test_edits_by_another_process_are_not_lost(store: playhead.Store) -> None:
    run_id = make(store, "p", "n")
    pids = []
    for number in range(4):
        pid = os.fork()
        if pid == 0:
            with playhead.open(store.path) as mine:
                for k in range(5):
                    mine.runs[run_id].tag(f"t{number}{k}")
            os._exit(0)
        pids.append(pid)
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * 4
    assert len(store.runs[run_id].tags) == 20
    assert len(store.runs(tags=["t00", "t34"])) == 1


def test_metrics_give_an_arrow_table_and_a_frame_where_pandas_is(store: playhead.Store) -> None:
    make(store, "p", "n", 0.5)
    run = store.runs[0]
    table = run.metrics()
    assert table.column_names == ["name", "stage", "part", "ts_ns", "step", "value"]
    assert table["value"].to_pylist() == [0.5]
    assert run.metrics(["none"]).num_rows == 0
    with pytest.raises(WrongType, match="'arrow' or 'pandas'"):
        run.metrics(format="csv")
    assert run.metrics(format="pandas")["value"].tolist() == [0.5]


def test_without_pandas_the_error_names_the_command(store: playhead.Store) -> None:
    make(store, "p", "n", 0.5)
    script = """
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
class NoPandas:
    def find_spec(self, name, path=None, target=None):
        if name == "pandas":
            raise ImportError(name)
sys.meta_path.insert(0, NoPandas())
import playhead
try:
    playhead.open(sys.argv[1], mode="r").runs[0].metrics(format="pandas")
except playhead.MissingExtra as error:
    print(error)
"""
    result = subprocess.run([sys.executable, "-c", script, str(store.path)], capture_output=True, text=True, check=True)
    assert "pip install 'playhead[pandas]'" in result.stdout


def test_text_that_no_catalogue_can_hold_is_refused(store: playhead.Store, five: list[str]) -> None:
    odd = os.fsdecode(b"\xff")
    for ask in (
        lambda: store.runs[odd],
        lambda: odd in store.runs,
        lambda: list(store.runs(odd)),
        lambda: list(store.runs(tags=odd)),
        lambda: list(store.runs(where=f"name = '{odd}'")),
        lambda: list(store.runs(order=f"config.{odd}")),
        lambda: store.sql("SELECT ?", (odd,)),
        lambda: store.sql(f"SELECT '{odd}'"),
    ):
        with pytest.raises(BadQuery, match="not UTF-8"):
            ask()
    with pytest.raises(BadQuery, match="larger than SQLite"):
        store.sql("SELECT ?", (2**70,))


@pytest.mark.parametrize("resume", [False, True])
def test_the_id_of_a_run_in_the_recycle_bin_is_said_to_be_there(store: playhead.Store, resume: bool) -> None:
    run_id = make(store, "p", "a")
    store.runs[run_id].delete()
    with pytest.raises(playhead.Exists, match=r"recycle bin.*restore\(\)"):
        store.run("p", "a", run_id=run_id, resume=resume)
    store.runs.deleted[run_id].restore()
    store.run("p", "a", run_id=run_id, resume=True, environment=False).finish()


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_a_text_of_a_summary_that_reads_as_a_number_stays_text(tmp_path: Path, word: str) -> None:
    due = {"t": word, "n": float(word), "deep": {"list": [word, float(word), np.float32(word).item()]}}
    with playhead.open(tmp_path / "store") as store:
        with store.run("p", "n", run_id="one", environment=False) as run:
            run.summary(t=word)
            assert run.summary() == {"t": word}
            run.summary({"n": np.float32(word), "deep": {"list": [word, float(word), np.float32(word)]}})
            path = run.path / "summary.json"
            written = json.loads(path.read_bytes(), parse_constant=pytest.fail)
            assert (written["t"], written["n"], written["deep"]) == (word, None, {"list": [word, None, None]})
        store.runs["one"].tag("edited")
        assert {name: repr(value) for name, value in store.runs["one"].summary().items()} == {
            name: repr(value) for name, value in due.items()
        }
        values = store.sql("SELECT text FROM run_values WHERE key = 'summary.t'").column("text").to_pylist()
        assert values == [word]
    assert [one for one in verify(tmp_path / "store", full=True) if one.severity == "damage"] == []


def test_numbers_that_earlier_versions_wrote_as_words_are_numbers(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "store") as store:
        with store.run("p", "n", run_id="one", environment=False) as run:
            run.summary(a=1.0)
        (run.path / "summary.json").write_text('{"a": "NaN", "b": ["Infinity"]}')
        assert repr(store.runs["one"].summary()) == "{'a': nan, 'b': [inf]}"
        assert repr(store.runs["one"].summary(c="NaN")) == "{'a': nan, 'b': [inf], 'c': 'NaN'}"


WORDS = {"text": "NaN", "number": math.nan, "word": "Infinity", "large": math.inf, "in": ["NaN", math.nan, -math.inf]}


@pytest.mark.parametrize("is_rebuilt", [False, True])
def test_a_text_that_reads_as_a_number_is_told_from_that_number(tmp_path: Path, is_rebuilt: bool) -> None:
    with playhead.open(tmp_path / "s") as store:
        with store.run("p", "r", run_id="r", config=WORDS | {"deep": WORDS}, tags=["NaN"], environment=False) as run:
            run.summary(WORDS)
        run.tag("more")  # writes meta.json again
    if is_rebuilt:
        for file in (tmp_path / "s").glob("playhead.db*"):
            file.unlink()
    with playhead.open(tmp_path / "s") as store:
        run = store.runs["r"]
        assert repr(run.config) == repr(WORDS | {"deep": WORDS})
        assert repr(run.summary()) == repr(WORDS)
        assert run.tags == ["NaN", "more"]
        for kind in ("config", "config.deep", "summary"):
            found = {
                where: len(store.runs(where=where.format(kind)))
                for where in (
                    *("{}.text = 'NaN'", "{}.number = 'NaN'", "{}.word = 'Infinity'", "{}.large = 'Infinity'"),
                    *("{}.large > 1e308", "{}.word > 0", "{}.number is null", "{}.text is null", "'NaN' in {}.in"),
                )
            }
            assert list(found.values()) == [1, 0, 1, 0, 1, 0, 1, 0, 1], kind
    assert [finding for finding in verify(tmp_path / "s", full=True) if not finding.is_harmless] == []


def test_a_config_of_an_earlier_version_reads_as_before(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with playhead.open(path) as store, store.run("p", "r", run_id="r", config=WORDS, environment=False) as run:
        meta = run.path / "meta.json"
    content = json.loads(meta.read_text())
    del content["config_texts"]
    meta.write_text(json.dumps(content))
    (run.path / "checksums.json").unlink()
    playhead.rebuild(path)
    with closing(sqlite3.connect(path / "playhead.db")) as catalogue:  # which had words
        catalogue.execute("UPDATE run_values SET text = 'NaN' WHERE key IN ('config.text', 'config.number')")
        catalogue.execute("UPDATE run_values SET text = 'Infinity', number = NULL WHERE key = 'config.large'")
        catalogue.commit()
    with playhead.open(path) as store:
        assert repr(store.runs["r"].config) == repr(
            {"text": math.nan, "number": math.nan, "word": math.inf, "large": math.inf}
            | {"in": [math.nan, math.nan, -math.inf]}
        )
    assert [finding for finding in verify(path, full=True) if not finding.is_harmless] == []
