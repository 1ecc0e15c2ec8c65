"""The tables of `metadata.db`, and what is known of a run."""

from __future__ import annotations

from collections.abc import Mapping

LATER = {"final_board": "TEXT"}  # what tables of earlier versions do not have
ORIGINAL = "original"  # of a run that is added: what the file of a game says and its rows do not
GAME = {
    "max_score": "INTEGER NOT NULL",
    "highest_tile": "INTEGER NOT NULL",
    "engine": "TEXT",
    "start_time": "INTEGER",
    "elapsed_s": "REAL",
    **LATER,
}
EPISODE = {"run_id": "TEXT", "episode_id": "TEXT", "return": "REAL"}
PLACE = {
    "id": "INTEGER PRIMARY KEY",
    "first_step_idx": "INTEGER NOT NULL",
    "num_steps": "INTEGER NOT NULL",
}
COUNTS = ("num_steps", "steps", "num_moves")  # what other programs call it
OURS = (
    "CREATE TABLE playhead_table (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE playhead_files (number INTEGER PRIMARY KEY, name TEXT NOT NULL, rows INTEGER NOT NULL)",
    "CREATE TABLE playhead_blocks "
    "(file INTEGER, number INTEGER, xxh3 INTEGER NOT NULL, PRIMARY KEY (file, number)) WITHOUT ROWID",
)
INDEXES = ("CREATE INDEX idx_runs_len ON runs (num_steps)", "CREATE INDEX idx_runs_score ON runs (max_score)")
ORIGINALS = (
    "CREATE TABLE IF NOT EXISTS playhead_originals (id INTEGER PRIMARY KEY, xxh3 TEXT NOT NULL, data BLOB NOT NULL)"
)


def schema(columns: Mapping[str, str]) -> list[str]:
    """Give the statements that make the tables.

    Args:
        columns: What is known of a run, besides its id and its rows, with the type that SQLite gives it.
    """
    declared = ", ".join(f"{quoted(name)} {kind}" for name, kind in (PLACE | dict(columns)).items())
    made = [f"CREATE TABLE runs ({declared})", *OURS, INDEXES[0]]
    return made + [INDEXES[1]] * ("max_score" in columns)


def quoted(name: str) -> str:
    """Give a name as SQL takes any."""
    return '"' + name.replace('"', '""') + '"'
