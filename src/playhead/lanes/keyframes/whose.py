"""Whose a trace is: its facts say run and name, which lie under the hash of the index, and readers compare them.

A trace outside of a store has no owner, and is nobody's to compare. Within a run, a trace may be renamed by hand: it is
read, and `verify` notes it. If the trace whose name it says is there too, two were swapped, or one was copied.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playhead import owner
from playhead.errors import BadName, Misplaced
from playhead.layout import TRACE_FORMS, TraceFolder, tape_beside, trace_owner

RUN, TRACE = "run", "trace"


def signed(facts: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Give the facts of a trace with the owner that a file of this path has; outside of a store, without one."""
    said, due = {name: value for name, value in facts.items() if name != owner.FIELD}, trace_owner(path)
    return said if due is None else said | {owner.FIELD: due}


def check(path: Path, facts: Mapping[str, Any], *, tape: bool = False) -> str | None:
    """See that what was read of a trace is of the one that its path names.

    Args:
        path: The file of the trace.
        facts: What was read says.
        tape: They are those of its tape.

    Returns:
        The name that it says, where it was renamed within its run.

    Raises:
        Misplaced: It is that of another.
    """
    due = trace_owner(path)
    if due is None:
        return None
    where, said = tape_beside(path) if tape else path, facts.get(owner.FIELD)
    if not owner.check(where, said, {RUN: due[RUN]}):
        return None
    name = (said or {}).get(TRACE)
    if name == due[TRACE]:
        return None
    if _is_there(TraceFolder(path.parent), name):
        raise Misplaced(where, owner.spelled(due), owner.spelled({RUN: due[RUN], TRACE: name}), owner.REMEDY)
    return str(name)


def _is_there(folder: TraceFolder, name: Any) -> bool:
    """Tell whether a trace of this name lies there too; of a name that none can have, nobody knows."""
    if not isinstance(name, str):
        return True
    try:
        files = [folder.file(name, form) for form in TRACE_FORMS]
    except BadName:
        return True
    return any(file.exists() or tape_beside(file).exists() for file in files)
