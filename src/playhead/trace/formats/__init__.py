"""Traces in JSON: our own two forms, and those of the programs that had traces before.

One file a form; `fields` and `building` are what they share. `read` tells the form by what a file holds, `write` writes
any of `FORMS`, `convert` goes between any two files.
"""

from playhead.trace.formats.converting import convert
from playhead.trace.formats.reading import read
from playhead.trace.formats.writing import FORMS, lost, write

__all__ = ["FORMS", "convert", "lost", "read", "write"]
