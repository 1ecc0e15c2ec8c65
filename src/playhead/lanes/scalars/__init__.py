"""Scalars: metrics as lines of `events.jsonl`, indexed into the catalogue, read back as signals.

`events` writes and reads the lines, `index` brings them into the catalogue, `signal` reads a metric. The file is the
recording and the catalogue its index: what was logged is in the file when `log` returns, and the one way into the
catalogue, while recording, after a crash or on `rebuild`, is to read on in the file from where the index ends.
"""
