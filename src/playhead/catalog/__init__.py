"""The catalogue: an SQLite database that indexes what the files of a store say; the only place with SQL.

Nothing is only here: delete `playhead.db`, and `playhead rebuild` makes it anew from the folders. Rooms: `schema` (the
tables), `database` (connections, transactions, what SQLite's errors mean), `migrations`, `runs` and `points` (what is
stored and how it is asked for), `where` (the query language) with `fields` (what its names mean), and `readonly`
(SQL written by users).
"""
