"""Tables under fire: killed or failing at each change of the disk, SQLite's own included; old or new, never a mixture.

Here a few hundred moments; `make campaign` does all of it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from playhead.layout import TableFolder
from playhead.table import writing
from playhead.table.verifying import verify as verified
from playhead.testing import Operation, operations_of
from tests.crash.everywhere import FAILURES, MODES, SHARE, at_changes_of_the_kernel, failing_at_each, killed_at_each
from tests.crash.table_campaign import SHARD, STAGES, WORKLOADS, build
from tests.lanes.rows.made import add

STRIDE = 1 if SHARE >= 1 else round(4 / SHARE)  # its changes are many
OUR_STRIDE = max(1, round(1 / SHARE))


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("mode", "code"), MODES)
@pytest.mark.parametrize("what", list(WORKLOADS))
def test_old_or_new_at_any_change(preload: Path, what: str, mode: str, code: str) -> None:
    offset = len(what) + len(mode) * 3 + len(code)
    at_changes_of_the_kernel(preload, "table_campaign", (what, mode, code), STRIDE, offset)


@pytest.fixture(params=list(WORKLOADS))
def what(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(writing, "BLOCK_BYTES", writing.BLOCK_BYTES)  # put back what the workload sets
    return str(request.param)


def changes_of(what: str, folder: Path) -> list[Operation]:
    work, _ = WORKLOADS[what]
    return operations_of(lambda: work(folder, lambda _: None))


@pytest.mark.parametrize("torn", [False, True])
def test_killed_at_each_change_of_ours(tmp_path: Path, what: str, torn: bool) -> None:
    count = len(changes_of(what, tmp_path / "count"))
    places = range(5 * torn, count, OUR_STRIDE)
    assert killed_at_each(tmp_path, WORKLOADS[what], places, torn=torn) > 0
    print(f"table {what}: killed{' and torn' * torn} at {len(places)} of {count} changes, old or new each time")


@pytest.mark.parametrize(("lasting", "short"), FAILURES)
def test_failing_at_each_change_of_ours(tmp_path: Path, what: str, lasting: bool, short: bool) -> None:
    count = len(changes_of(what, tmp_path / "count"))
    places = range(3 * lasting + 6 * short, count, OUR_STRIDE)
    assert failing_at_each(tmp_path, WORKLOADS[what], places, lasting=lasting, short=short) > 0
    print(f"table {what}: failed at {len(places)} of {count} changes, old or new each time")


@pytest.mark.parametrize("shard_bytes", [None, SHARD])
def test_a_file_whose_header_a_power_cut_took_away_does_not_stop_the_next_writer(
    tmp_path: Path, shard_bytes: int | None
) -> None:
    path = tmp_path / "t"
    if shard_bytes is not None:
        build(path, shard_bytes)
    blank = TableFolder(path).part("steps.npy" if shard_bytes is None else "shards/steps_00099.npy")
    blank.parent.mkdir(exist_ok=True, parents=True)
    blank.write_bytes(bytes(9000))
    if shard_bytes is None:
        build(path, shard_bytes)
    else:
        add(path, STAGES[1])
    assert [finding for finding in verified(path) if not finding.is_harmless] == []
