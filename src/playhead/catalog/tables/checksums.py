"""Checksums of what the database itself says.

SQLite does not notice a flipped bit in a value. So each commit leaves a checksum of what it says, and of all runs: that
of a run goes on from the one before it, so that adding runs costs no more than the new ones.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import xxhash

from playhead import strictjson

KEY = "checksums"


class RunsSum(NamedTuple):
    """The checksum of the first runs, and how many they are."""

    xxh3: str
    runs: int

    def with_more(self, connection: sqlite3.Connection) -> RunsSum:
        """Go on with the runs behind them; begun anew where it is of none."""
        xxh3, count = self
        if not count:
            columns = connection.execute("SELECT name, type FROM pragma_table_info('runs')").fetchall()
            xxh3 = _xxh3(repr(columns))
        for row in connection.execute("SELECT * FROM runs WHERE id >= ? ORDER BY id", (count,)):
            xxh3 = _xxh3(f"{xxh3} {row!r}")
            count += 1
        return RunsSum(xxh3, count)


NONE = RunsSum("", 0)


def text_of(commit: int, state: str, runs: RunsSum) -> str:
    """Give the checksums of a commit as they are kept."""
    return strictjson.encode({"commit": commit, "state": _xxh3(state), "runs": runs}).decode()


def known(connection: sqlite3.Connection) -> RunsSum:
    """Give the checksum of the runs that are there; of none where the last commit left it out."""
    said = _said(connection)
    try:
        due = strictjson.decode(said[KEY])
        xxh3, count = due["runs"]
        is_of_last = due["commit"] == strictjson.decode(said["state"])["commit"]
    except (KeyError, TypeError, ValueError):  # the first commit, or that of a version without checksums
        return NONE
    return RunsSum(str(xxh3), int(count)) if is_of_last else NONE


def wrong(connection: sqlite3.Connection) -> Iterator[str]:
    """Find what was changed since it was committed."""
    said = _said(connection)
    if KEY not in said:
        return  # committed by a version without checksums
    try:
        due = strictjson.decode(said[KEY])
        commit, state, runs = due["commit"], due["state"], due["runs"]
        last = strictjson.decode(said["state"])["commit"]
    except (KeyError, TypeError, ValueError) as error:
        yield f"checksums that cannot be read ({error})"
        return
    if commit != last:
        yield f"the checksums of commit {commit!r}, and not of {last!r}"
        return
    if _xxh3(said["state"]) != state:
        yield f"a state that was changed since it was committed: {said['state'][:200]}"
    if list(NONE.with_more(connection)) != runs:
        yield "runs that were changed since they were committed"
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'playhead_originals'").fetchone():
        for run, xxh3, data in connection.execute("SELECT id, xxh3, data FROM playhead_originals ORDER BY id"):
            if not isinstance(data, bytes) or of_original(data) != xxh3:
                yield f"an original of run {run} that was changed since it was committed"


def of_original(data: bytes) -> str:
    """Return the checksum of what is kept of the file of a game."""
    return xxhash.xxh3_64_hexdigest(data)


def _said(connection: sqlite3.Connection) -> Mapping[str, Any]:
    return dict(connection.execute("SELECT key, value FROM playhead_table").fetchall())


def _xxh3(text: str) -> str:
    return xxhash.xxh3_64_hexdigest(text.encode(errors="surrogateescape"))
