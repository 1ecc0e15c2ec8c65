"""The catalogue: an SQLite database that indexes what the files of a store say; the only place with SQL.

Nothing is only here: delete `playhead.db`, and `playhead rebuild` makes it anew from the folders. Rooms: `schema` (the
tables), `database` (connections, transactions), `meaning` (of SQLite's errors), `migrations`, `runs` and `points` (what
is stored), `query` (which runs), `where` (the query language) with `fields` (what its names mean), `samples` (a curve
without all its points), `readonly` (SQL written by users), `glance` (a quick look without SQLAlchemy), and `tables`
(the databases of training tables).
"""
