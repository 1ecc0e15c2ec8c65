"""`metadata.db` of a training table: where its rows come from, and how many of them count.

The commit of this database is the one moment at which rows are added: what lies behind the rows that it knows is not
there yet. Anyone reads `runs` with SQLite alone; `playhead_table`, `playhead_files` and `playhead_blocks` are ours.

Rooms: `index` (the last commit and the next), `state` (what a commit says), `checksums` (of that, and of the runs),
`runs` (which there are), `columns` (the tables and their columns), `made` (what else is there), `file` (connections).
"""

from playhead.catalog.tables.columns import EPISODE, GAME, LATER, ORIGINAL, PLACE
from playhead.catalog.tables.index import End, TableIndex
from playhead.catalog.tables.state import VERSION, Part, State

__all__ = ["EPISODE", "GAME", "LATER", "ORIGINAL", "PLACE", "VERSION", "End", "Part", "State", "TableIndex"]
