"""The texts of a run have checksums: what flips is told of, what is edited by calls is not, and no damage is covered up."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import playhead
from playhead import checksums
from playhead.care import verify
from playhead.care.repairing import Repair
from playhead.errors import Damaged
from playhead.layout import Layout, RunFolder
from tests.care.test_flips import flipped

TEXTS = ["environment.json", "events.jsonl", "logs.txt", "meta.json", "status.json", "summary.json"]


@pytest.fixture
def run(store: playhead.Store) -> playhead.Run:
    """A run that has ended, with something in every text."""
    with store.run("pong", "dqn", run_id="run", tags=["first"], notes="as it was") as run:
        run.set_primary_metric("loss")
        run.log({"loss": 0.5})
        run.log_text("hello")
        run.summary(wins=12)
    return store.runs["run"]


def told(run: playhead.Run) -> list[str]:
    return [Path(problem.path).name for problem in checksums.problems(RunFolder(run.path))]


def wrong(store: playhead.Store) -> list[str]:
    return [str(finding) for finding in verify(store.path, full=True) if not finding.is_harmless]


def test_every_text_of_a_run_that_ended_is_noted(run: playhead.Run) -> None:
    assert sorted(checksums.load(RunFolder(run.path))) == TEXTS
    assert told(run) == []


@pytest.mark.parametrize("name", TEXTS)
def test_a_flip_anywhere_is_told_of(run: playhead.Run, store: playhead.Store, name: str) -> None:
    file, chance = run.path / name, random.Random(name)
    for number in range(12):
        bit = chance.randrange(8 * file.stat().st_size)
        flipped(file, bit)
        assert told(run) == [name]
        if number < 2:
            assert [line for line in wrong(store) if str(file) in line]
        flipped(file, bit)
    assert wrong(store) == []


def test_a_flip_in_the_file_of_checksums_is_told_of(run: playhead.Run, store: playhead.Store) -> None:
    file = run.path / "checksums.json"
    key = file.read_bytes().index(b"sha256")
    some = random.Random(3).sample(range(8 * file.stat().st_size), 30)
    for bit in [*some, *range(8 * key, 8 * (key + len("sha256")), 5)]:
        flipped(file, bit)
        assert wrong(store), f"bit {bit}"
        flipped(file, bit)


def test_the_catalogue_is_not_made_anew_from_a_text_that_is_damaged(run: playhead.Run, store: playhead.Store) -> None:
    events = run.path / "events.jsonl"
    events.write_text(events.read_text().replace("0.5", "0.6"))
    found = [finding for finding in verify(store.path, full=True) if not finding.is_harmless]
    assert [(finding.path, finding.cure) for finding in found] == [(events, "")]
    list(Repair(Layout(store.path)).mend(found))
    assert store.runs["run"]["loss"].values.tolist() == [0.5]


# -- edits --------------------------------------------------------------------------------------------------------------


def test_edits_by_calls_are_followed(run: playhead.Run, store: playhead.Store) -> None:
    run.tag("second")
    run.note("new")
    run.summary(wins=13)
    run.delete("try")
    store.runs.deleted["run"].restore()
    assert (told(run), wrong(store)) == ([], [])


def test_an_edit_does_not_cover_damage_up(run: playhead.Run) -> None:
    (run.path / "logs.txt").write_text("other")
    meta = run.path / "meta.json"
    meta.write_text(meta.read_text().replace("as it was", "as it war"))
    run.tag("second")
    assert sorted(told(run)) == ["logs.txt", "meta.json"]


def test_a_change_by_hand_is_told_of_with_what_accepts_it(run: playhead.Run, store: playhead.Store) -> None:
    meta = run.path / "meta.json"
    meta.write_text(json.dumps(json.loads(meta.read_text()) | {"notes": "by hand"}))
    (finding,) = wrong(store)
    assert f"If you changed it yourself, remove {run.path / 'checksums.json'}" in finding
    assert "playhead rebuild" in finding
    (run.path / "checksums.json").unlink()
    store.close()
    assert playhead.rebuild(store.path) == []
    with playhead.open(store.path) as opened:
        assert opened.runs["run"].notes == "by hand"
        assert wrong(opened) == []


def test_what_is_missing_is_told_of(run: playhead.Run, store: playhead.Store) -> None:
    (run.path / "logs.txt").unlink()
    (finding,) = wrong(store)
    assert "logs.txt" in finding
    assert "no file" in finding


def test_a_run_that_repair_wrote_anew_is_noted(run: playhead.Run, store: playhead.Store) -> None:
    (run.path / "meta.json").write_text("{")
    list(Repair(Layout(store.path)).mend(verify(store.path, full=True)))
    assert wrong(store) == []


# -- lives of a run -----------------------------------------------------------------------------------------------------


def test_a_run_that_went_on_and_a_rank_that_stayed_longer_are_noted(run: playhead.Run, store: playhead.Store) -> None:
    again = store.run("pong", "dqn", run_id="run", resume=True)
    rank = store.attach("run")
    again.log({"loss": 0.25})
    again.log_text("went on")
    again.finish()
    rank.log({"loss": 0.125})
    rank.log_text("stayed")
    rank.finish()
    assert sorted(checksums.load(RunFolder(run.path))) == sorted([*TEXTS, "events-2.jsonl"])
    assert (told(run), wrong(store)) == ([], [])


def test_a_run_of_an_earlier_version_has_none_and_is_sound(run: playhead.Run, store: playhead.Store) -> None:
    (run.path / "checksums.json").unlink()
    assert wrong(store) == []
    run.tag("second")
    assert not (run.path / "checksums.json").exists()
    assert wrong(store) == []


@pytest.mark.parametrize(
    "content", [{"sha256": {"../../secret": "0"}}, {"sha256": {"/etc/passwd": "0"}}, {"sha256": ["meta.json"]}]
)
def test_a_list_of_other_files_is_refused(run: playhead.Run, content: object) -> None:
    (run.path / "checksums.json").write_text(json.dumps(content))
    with pytest.raises(Damaged, match="names of the run's files"):
        checksums.load(RunFolder(run.path))
    run.tag("second")  # goes on without
    assert json.loads((run.path / "checksums.json").read_text()) == content
