"""Whether a catalogue holds what Playhead makes in one, and nothing else.

A catalogue may come from a stranger. A trigger changes what is written, a view in place of a table what is read, and
either may never end. So the list of what the database consists of is compared with what this version makes, before any
query reads one of its tables.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateIndex, CreateTable

from playhead.catalog import schema

LISTED = "SELECT type, name, tbl_name, sql FROM sqlite_master"
DIGEST = "ebfc198c5e7f31efe7f48f5190bf42b7"  # of what is in a new catalogue; a test compares it
STATISTICS = {
    ("table", "sqlite_stat1", "CREATE TABLE sqlite_stat1(tbl,idx,stat)"),
    ("table", "sqlite_stat4", "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)"),
}
_AUTOMATIC = "sqlite_autoindex_"  # SQLite makes it for a key; it has no SQL
_TOKEN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\w+|[^\s\w]""")
_PLAIN_INDEX = re.compile(r"create index \S+ on (\w+) \( \w+(?: asc| desc)?(?: , \w+(?: asc| desc)?)* \)")

# The keywords of SQLite, and the names that mean something by themselves: truth values, types and row numbers.
_KEYWORDS = """
    abort action add after all alter always analyze and as asc attach autoincrement before begin between by cascade case
    cast check collate column commit conflict constraint create cross current current_date current_time
    current_timestamp database default deferrable deferred delete desc detach distinct do drop each else end escape
    except exclude exclusive exists explain fail filter first following for foreign from full generated glob group
    groups having if ignore immediate in index indexed initially inner insert instead intersect into is isnull join key
    last left like limit match materialized natural no not nothing notnull null nulls of offset on or order others outer
    over partition plan pragma preceding primary query raise range recursive references regexp reindex release rename
    replace restrict returning right rollback row rows savepoint select set table temp temporary then ties to
    transaction trigger unbounded union unique update using vacuum values view virtual when where window with within
    without true false integer real text blob boolean numeric any strict rowid oid _rowid_"""

# How earlier versions made what a migration replaces. A store of theirs is opened, and brought up to date.
EARLIER = {
    ("view", "steps"): """
        SELECT e.id AS episode_id, s.step AS step_index, s.action, s.reward,
               s.flags & 1 AS terminated, s.flags >> 1 & 1 AS truncated,
               CASE WHEN s.flags & 4 THEN 'h5://' || reels.id || '/frames/' || (e.first + s.place) END AS frame_ref,
               CASE WHEN s.flags & 8 THEN 'h5://' || reels.id || '/observations/' || (e.first + s.place) END AS obs_ref,
               CASE WHEN s.shape IS NULL THEN s.info ELSE (
                   SELECT json_group_object(name.value, CASE value.type
                       WHEN 'object' THEN json(value.value) WHEN 'array' THEN json(value.value)
                       WHEN 'true' THEN json('true') WHEN 'false' THEN json('false') ELSE value.value END)
                   FROM json_each((SELECT names FROM info_shapes WHERE key = s.shape)) AS name
                   JOIN json_each(s.info) AS value ON value.key = name.key) END AS info,
               strftime('%Y-%m-%dT%H:%M:%f', (e.began_ns + s.ts) / 1e9, 'unixepoch') AS timestamp,
               (SELECT name FROM reel_agents AS a WHERE a.reel = e.reel AND a.agent = s.agent) AS agent_id,
               runs.id AS run_id, e.began_ns + s.ts AS ts_ns, reels.id AS reel, e.first + s.place AS row
        FROM replay_steps AS s JOIN replay_episodes AS e ON e.key = s.episode
        JOIN reels ON reels.key = e.reel JOIN runs ON runs.key = reels.run"""
}

Row = tuple[str, str, str, str | None]


NO_MIGRATIONS = "no table migrations as Playhead makes it"


class Made(NamedTuple):
    """One thing that a database consists of, as SQLite lists it.

    Attributes:
        type: `table`, `view`, `index` or `trigger`.
        name: Its name.
        table: The table that it belongs to.
        sql: How it was made; None if SQLite made it.
    """

    type: str
    name: str
    table: str
    sql: str | None

    def __str__(self) -> str:
        """Name it for a person."""
        return f"the {self.type} {self.name}" + (f" on {self.table}" if self.type in ("index", "trigger") else "")


def digest(listed: Sequence[Row]) -> str:
    """Return a digest of what a database consists of, in which statistics and automatic indexes do not count."""
    parts = sorted(row for row in listed if row[3] is not None and (row[0], row[1], row[3]) not in STATISTICS)
    text = "\0".join("\0".join(map(str, row)) for row in parts)
    return hashlib.blake2b(text.encode(errors="surrogateescape"), digest_size=16).hexdigest()


def has_migrations(listed: Sequence[Row]) -> bool:
    """Return whether the table that says which version made the catalogue is one of ours, so that it can be read."""
    return any(is_known(of_row(row)) for row in listed if row[:2] == ("table", schema.migrations.name))


def strange(listed: Sequence[Row], *, earlier: bool = False) -> Iterator[str]:
    """Yield what Playhead did not make so, each in words; a plain index of the user's own is allowed.

    Args:
        listed: The rows that `LISTED` gives.
        earlier: Whether an earlier version made the catalogue.
    """
    if digest(listed) == DIGEST:
        return
    for made in sorted(map(of_row, listed), key=rank):
        if is_known(made, earlier=earlier) or is_plain_index(made):
            continue
        is_name_known = any(made.name.lower() == name for _, name in known())
        yield f"{made}, which was made in another way" if is_name_known else f"{made}"


def added_indexes(listed: Sequence[Row]) -> list[str]:
    """Return the indexes that Playhead did not make, each in words."""
    every = [made for made in map(of_row, listed) if made.type == "index"] if digest(listed) != DIGEST else []
    return [str(made) for made in every if not is_known(made)]


def rank(made: Made) -> int:
    """Return what comes first in a message: a trigger or a view explains more than a table that was renamed for it."""
    kinds = ("trigger", "view", "table", "index")
    return kinds.index(made.type) if made.type in kinds else len(kinds)


def of_row(row: Row) -> Made:
    """Return one row of what SQLite lists as a tuple with names."""
    kind, name, table, sql = row  # of any type, in a file that somebody wrote by hand
    return Made(str(kind), str(name), str(table), None if sql is None else str(sql))


def is_known(made: Made, *, earlier: bool = False) -> bool:
    """Return whether Playhead makes this, and makes it so."""
    if made.sql is None:
        return is_of_key(made)
    if (made.type, made.name, made.sql) in STATISTICS:
        return True
    key = (made.type, made.name)
    table, form = known().get(key, ("", ()))
    if earlier and key in EARLIER and normal(made.sql) == normal(f"CREATE VIEW {made.name} AS {EARLIER[key]}"):
        return True
    return made.table == table and normal(made.sql) == form


def is_of_key(made: Made) -> bool:
    """Return whether this is an index that SQLite made for a key."""
    return made.type == "index" and made.sql is None and made.name.startswith(_AUTOMATIC)


def is_plain_index(made: Made) -> bool:
    """Return whether this is an index over columns of one of our tables, which makes queries quicker or slower only."""
    return ("table", indexed_table(made)) in known()


def indexed_table(made: Made) -> str:
    """Return the table whose columns an index is over; nothing if this is not such an index.

    An index that is unique, partial or over an expression is not: it decides what can be written.
    """
    if made.type != "index" or made.sql is None:
        return ""
    found = _PLAIN_INDEX.fullmatch(" ".join(_tokens(made.sql)))
    return found[1] if found is not None and found[1] == made.table.lower() else ""


@cache
def known() -> dict[tuple[str, str], tuple[str, tuple[str, ...]]]:
    """Return the table and the normal form of each thing that this version makes, by type and name."""
    dialect = sqlite.dialect()
    found: dict[tuple[str, str], tuple[str, tuple[str, ...]]] = {}
    for table in schema.metadata.tables.values():
        found["table", table.name] = (table.name, normal(str(CreateTable(table).compile(dialect=dialect))))
        for index in table.indexes:
            sql = str(CreateIndex(index).compile(dialect=dialect))
            found["index", str(index.name)] = (table.name, normal(sql))
    for name, query in schema.VIEWS.items():
        found["view", name] = (name, normal(f"CREATE VIEW {name} AS {query}"))
    return found


def normal(sql: str) -> tuple[str, ...]:
    """Return what a statement says, whatever its spaces, quotes and the order of the columns of a table.

    `ALTER TABLE` adds a column behind the constraints, so that one table may be written in several orders.
    """
    tokens = _tokens(sql)
    if tokens[:2] != ["create", "table"] or "(" not in tokens:
        return tuple(tokens)
    begin, depth = tokens.index("("), 0
    parts: list[list[str]] = [[]]
    for place, word in enumerate(tokens[begin:], begin):
        depth += (word == "(") - (word == ")")
        if depth == 0:
            return (*tokens[:begin], *sorted(map(" ".join, parts)), *tokens[place:])
        if word == "," and depth == 1:
            parts.append([])
        elif place > begin:
            parts[-1].append(word)
    return tuple(tokens)


def _tokens(sql: str) -> list[str]:
    return [_token(found) for found in _TOKEN.findall(sql)]


def _token(text: str) -> str:
    """Return a word without its case and, if it names the same with and without them, without its quotes.

    A keyword in quotes is a name or a text: `IS "NULL"` compares with a text, and `INTEGER "NOT" "NULL"` is a type.
    """
    if text[0] == "'" or not text.isascii():  # SQLite knows the case of ASCII alone
        return text
    if text[0] != '"' or not text[1:-1].isidentifier():
        return text.lower()
    plain = text[1:-1].lower()
    return f'"{plain}"' if plain in _words() else plain


@cache
def _words() -> frozenset[str]:
    """Return what means something else in quotes than without; no names of columns, which SQLAlchemy quotes."""
    columns = {column.name for table in schema.metadata.tables.values() for column in table.columns}
    return frozenset(_KEYWORDS.split()) - columns
