"""Training tables: rows of one size, made of episodes or games, in random batches at the speed of memory."""

from playhead.table.table import Table

__all__ = ["Table"]
