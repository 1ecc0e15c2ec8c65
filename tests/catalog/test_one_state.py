"""All that is asked on one connection is of one state, also where the driver itself is asked."""

from __future__ import annotations

from pathlib import Path

import playhead
from playhead.catalog import browse, database


def test_what_is_written_meanwhile_is_seen_by_the_next_reader(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "store") as store:
        with store._home.database.read() as connection:
            before = browse.counts(connection)
            with store.run("p", "r", environment=False) as run:
                run.log({"loss": 1.0})
            assert browse.counts(connection) == before
            assert database.driver_rows(connection, "SELECT count(*) FROM runs") == [(0,)]
        with store._home.database.read() as connection:
            assert browse.counts(connection).runs == before.runs + 1
