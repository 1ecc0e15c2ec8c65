"""Reading a trace from JSON, whatever program wrote it."""

from __future__ import annotations

from playhead.lanes.keyframes.contents import MemoryContents
from playhead.paths import GivenPath, as_path
from playhead.trace.formats import detect, files, tiered, train, v1, v2
from playhead.trace.formats.fields import Fields
from playhead.trace.forms import Which


def read(path: GivenPath, *, trace: int | None = None, variant: int | None = None) -> MemoryContents:
    """Read a trace from JSON into memory.

    Steps of other programs have no times: the number of the step stands in for it. Errors that a file does not have
    are NaN.

    Args:
        path: The file, `.json` or `.json.gz`.
        trace: Which one of a train output, by its place in the list; without it, the best.
        variant: Or by the number that the program gave it.

    Raises:
        NotFound: There is no such file, or no such trace in it.
        Damaged: It is none of the forms, or its numbers disagree.
        StoreTooNew: A later Playhead wrote it.
    """
    path = as_path(path)
    document = files.load(path)
    form = detect.form_of(path, document)
    file = Fields(path, document)
    if form == train.NAME:
        return train.read(file, trace, variant)
    Which(trace, variant).check_only(path, form)
    if form == detect.STORED:
        return v2.read(file.inner("trace"), file)
    readers = {tiered.TIERED: tiered.read, tiered.DELTA: tiered.read, v1.NAME: v1.read, v2.NAME: v2.read}
    return readers[form](file)
