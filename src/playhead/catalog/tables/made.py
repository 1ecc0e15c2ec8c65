"""Whether the database of a table holds what Playhead makes in one, and nothing else.

A table may come from a stranger. A trigger changes what is written, a view in place of a table what is read, and either
may never end. So the list of what the database consists of is compared with what this version makes, before any query
reads one of its tables.
"""

from __future__ import annotations

import re
from functools import lru_cache

from playhead.catalog.made import STATISTICS, Made, Row, indexed_table, is_of_key, normal, of_row, rank
from playhead.catalog.tables.columns import INDEXES, ORIGINALS, OURS

_OURS = {tokens[2]: tokens for tokens in map(normal, (*OURS, ORIGINALS.replace("IF NOT EXISTS ", "")))}
_INDEXES = {tokens[2]: tokens for tokens in map(normal, INDEXES)}
# A column of `runs`: a name and a type. Any other word decides what can be written, or computes what is read.
_WORD = r"(?!(?:as|check|collate|constraint|default|foreign|generated|key|not|null|on|primary|references|unique)\b)\w+"
_COLUMN = re.compile(
    rf"""id integer primary key|(?:{_WORD}|"(?:[^"]|"")+")(?: {_WORD})*(?: \( \d+(?: , \d+)? \))?( not null)?"""
)


@lru_cache(maxsize=64)
def strange(listed: tuple[Row, ...]) -> str | None:
    """Return the first thing that does not belong into the database of a table, in words; None if there is none.

    Of a database that another program made, only what is read in it counts: whether `runs` is a table.

    Args:
        listed: The rows that `LISTED` of the catalogue gives.
    """
    several = [of_row(row) for row in listed]
    is_ours = any(made.name.lower() == "playhead_table" for made in several)
    found = [made for made in several if not (_is_known(made) if is_ours else _is_harmless(made))]
    return str(min(found, key=rank)) if found else None


def has_state(listed: tuple[Row, ...]) -> bool:
    """Return whether the table that says which version made the database is one of ours, so that it can be read."""
    return any(_is_known(made) for made in map(of_row, listed) if made.name == "playhead_table")


def _is_known(made: Made) -> bool:
    if made.sql is None:
        return is_of_key(made)
    if (made.type, made.name, made.sql) in STATISTICS:
        return True
    if made.type == "index":
        return normal(made.sql) == _INDEXES.get(made.name) or indexed_table(made) in {"runs", *_OURS}
    if made.type != "table" or made.table != made.name:
        return False
    return _is_plain(made.sql) if made.name == "runs" else normal(made.sql) == _OURS.get(made.name)


def _is_plain(sql: str) -> bool:
    """Return whether a statement makes the table `runs` of columns alone."""
    *begin, end = normal(sql)
    return begin[:3] == ["create", "table", "runs"] and end == ")" and all(map(_COLUMN.fullmatch, begin[3:]))


def _is_harmless(made: Made) -> bool:
    if made.type == "trigger":  # nothing is written into what another program made
        return True
    is_read = made.name.lower() == "runs" or made.name.lower().startswith("playhead_")
    return not is_read or (
        made.type == "table" and not re.match(r"\s*create\s+virtual\b", made.sql or "", re.IGNORECASE)
    )
