"""Power cuts, on paper: of what a program did to the disk, all states that a cut may leave keep every promise.

Here a tenth of 10,000 states; `make campaign` tries all of them.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from playhead.lanes.files import intake, sharing
from playhead.lanes.keyframes import tape
from playhead.table import writing
from tests.crash.everywhere import SHARE
from tests.crash.power import campaign, recording
from tests.crash.power.recording import Event, What
from tests.crash.power.states import Medium
from tests.crash.power.workloads import WORKLOADS

# How many states of each are tried; the quick ones more often.
STATES = {
    "runs": 800, "replays": 450, "episodes": 500, "unsynced": 400, "waiting": 200, "care": 700,
    "trace": 1000, "table": 1000, "artifacts": 700,
}  # fmt: skip
SQLITE = b"-shm"  # is written through a mapping, and made again after a cut

Records = dict[str, list[Event]]


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="playhead-power-", dir=campaign.quick()) as made:
        yield Path(made, "work")


@pytest.fixture(scope="module")
def records(folder: Path) -> Records:
    return recording.record(WORKLOADS, folder)


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Undo what the workloads set, at the end of each test."""
    for module, name in (
        *((sharing, "LEAST"), (intake, "_TICK_NS"), (intake, "_COARSE_NS")),
        *((tape, "INTERVAL"), (writing, "BLOCK_BYTES")),
    ):
        monkeypatch.setattr(module, name, getattr(module, name))


def contents(folder: Path) -> dict[str, object]:
    return {
        str(path.relative_to(folder)): os.readlink(path) if path.is_symlink() else path.is_file() and path.read_bytes()
        for path in folder.rglob("*")
        if not path.name.endswith("-shm")
    }


def test_a_record_is_all_that_was_done(folder: Path, records: Records, tmp_path: Path) -> None:
    for name, events in records.items():
        medium, again = Medium(), tmp_path / name
        for event in events:
            medium.do(event)
        again.mkdir()
        medium.leave_all(again)
        place = recording.place_of(Path(), name)
        there = contents((folder / place).parent)
        assert there
        assert contents((again / place).parent) == there, name
        names = {event.other: event.name for event in events if event.what is What.CREATE}
        assert all(names.get(event.file, SQLITE).endswith(SQLITE) for event in events if event.what is What.MAPPED)


def test_any_of_the_names_of_a_folder_may_be_left_and_renames_are_whole() -> None:
    def event(what: What, other: int = 0, name: bytes = b"", second: bytes = b"") -> Event:
        return Event(what, 1, other, 0, name, second, b"")

    medium = Medium()
    for one in (
        *(event(What.ROOT), event(What.CREATE, 2, b"old"), event(What.SYNC)),
        *(event(What.CREATE, 3, b"a"), event(What.RENAME, 1, b"old", b"new"), event(What.CREATE, 4, b"b")),
        event(What.UNLINK, name=b"a"),
    ):
        medium.do(one)
    seen = {frozenset(medium.root.names(medium.any_names(random.Random(seed)))) for seed in range(300)}
    names = [{b"old"}, {b"new"}], [set(), {b"a"}], [set(), {b"b"}]
    assert seen == {frozenset(one | two | three) for one in names[0] for two in names[1] for three in names[2]}


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", list(WORKLOADS))
def test_no_cut_breaks_a_promise(records: Records, name: str) -> None:
    found = campaign.cut(name, records[name], range(round(STATES[name.split(maxsplit=1)[0]] * SHARE)))
    said = f"{found.tried} states after {len(records[name])} changes"
    print(f"power cuts, {name}: {said}, {len(found.problems)} broke a promise")
    assert found.problems == {}


@pytest.mark.parametrize("name", ["runs", "episodes", "unsynced", "waiting", "artifacts few", "table one-file"])
def test_syncs_that_do_nothing_are_noticed(records: Records, name: str) -> None:
    events = [event for event in records[name] if event.what not in (What.SYNC, What.SYNC_ALL)]
    assert campaign.cut(name, events, range(12), shown=False).problems


@pytest.mark.parametrize("name", ["runs", "replays"])
def test_one_sync_that_is_left_out_is_noticed(records: Records, name: str) -> None:
    """Of the file that holds what was logged or played, before the first promise of it."""
    files = {event.other: event.name for event in records[name] if event.what is What.CREATE}
    events, told = [], False
    for event in records[name]:
        told = told or event.data.startswith((b"points", b"steps"))
        is_its = files.get(event.file, b"").endswith((b"events.jsonl", b".seg"))
        if told or event.what is not What.SYNC or not is_its:
            events.append(event)
    assert len(events) < len(records[name])
    batches = (campaign.cut(name, events, range(first, first + 10), shown=False) for first in range(0, 150, 10))
    assert any(found.problems for found in batches)
