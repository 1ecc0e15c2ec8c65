"""The files of traces, and of what is recorded alone."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from playhead.errors import BadName
from playhead.layout.names import MARKER, UNSAFE, WINDOWS_NAMES, check_encodable, check_label

TRACES = "traces"
TRACE_FORMS = ("trace", "json", "json.gz")
_TAPE = re.compile(r"\.(.+)\.recording")
_TRACE = re.compile(r"(.+?)\.(trace|json|json\.gz)")


def tape_beside(path: Path) -> Path:
    """Name the tape from which a file will be made: a hidden folder beside it."""
    return path.with_name(f".{path.name}.recording")


def check_trace_name(name: str) -> str:
    """Check the name of a trace, which is that of its file; otherwise as `check_label`.

    Raises:
        BadName: No file could be named so, or it would end twice.
    """
    name = check_label(name, "trace name")
    if UNSAFE.search(name) or WINDOWS_NAMES.fullmatch(name):
        raise BadName(
            f'{name!r} cannot be the name of a trace, since it names its file: leave out / \\ : * ? " < > | % and '
            "a dot at either end"
        )
    if _TRACE.fullmatch(name):
        raise BadName(f"{name!r} cannot be the name of a trace: its file gets such an ending from form=")
    return check_encodable(name)


def trace_owner(path: Path) -> dict[str, str] | None:
    """Say whose a trace is that lies at a path of a store; None outside of one."""
    here = Path(os.path.abspath(path))
    folder = here.parent.parent
    match = _TRACE.fullmatch(here.name)
    if folder.name != TRACES or match is None or not (folder.parent / MARKER).is_file():
        return None
    return {"run": here.parent.name, "trace": match[1]}


@dataclass(frozen=True, slots=True)
class TraceFolder:
    """The traces of one run: `{name}.trace`, `{name}.json` or `{name}.json.gz`, and the tapes of those in progress."""

    path: Path

    def file(self, name: str, form: str) -> Path:
        """Name the file of a trace.

        Raises:
            BadName: The name or the form cannot be one.
        """
        file = f"{check_trace_name(name)}.{form}"
        if not _TRACE.fullmatch(file) or form not in TRACE_FORMS:
            raise BadName(f"{form!r} is no form of a trace; there is: {', '.join(TRACE_FORMS)}")
        return self.path / file

    def files(self) -> dict[str, Path]:
        """Give the files of all traces by name, also of those of which there is only a tape yet."""
        try:
            names = os.listdir(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return {}
        taped = [match[1] for name in names if (match := _TAPE.fullmatch(name))]
        there = [name for name in names if not name.startswith(".")]
        found = {match[1]: self.path / name for name in [*taped, *there] if (match := _TRACE.fullmatch(name))}
        return dict(sorted(found.items()))
