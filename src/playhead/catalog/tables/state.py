"""What a commit says of a table, and how that is written down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playhead import strictjson
from playhead.errors import StoreTooNew

VERSION = 1
_MORE = "playhead"  # in `built`
_SAID = ("commit", "dtype", "block_bytes", "runs", "built", "shard_bytes")


@dataclass(frozen=True, slots=True)
class Part:
    """One file of rows."""

    name: str
    rows: int


@dataclass(frozen=True, slots=True)
class State:
    """What a commit says of a table.

    Attributes:
        commit: How many there were.
        dtype: Of a row, as NumPy describes it.
        block_bytes: The size of the pieces that have a checksum.
        parts: The files of rows.
        runs: The id of the next run.
        built: How the rows were made, as JSON.
        shard_bytes: How large a file of rows may grow; None where all are in one.
        owner: Which table it is: a random `id`, and the name that it has in a store; empty for earlier versions.
        created: When it was made, in seconds since 1970; None for earlier versions.
    """

    commit: int
    dtype: list[Any]
    block_bytes: int
    parts: tuple[Part, ...]
    runs: int
    built: dict[str, Any] = field(default_factory=dict)
    shard_bytes: int | None = None
    owner: dict[str, Any] = field(default_factory=dict)
    created: float | None = None

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(part.rows for part in self.parts)

    def text(self) -> str:
        """Give it as JSON, but for the files, which have a table of their own."""
        said = {name: getattr(self, name) for name in _SAID}
        # Among what is free to hold anything: earlier versions refuse a state with names that they do not know.
        more: dict[str, Any] = {"owner": self.owner} if self.owner else {}
        more |= {} if self.created is None else {"created": self.created}
        said["built"] = strictjson.plain(self.built | ({_MORE: more} if more else {}))
        return strictjson.encode({"version": VERSION, **said}).decode()


def check_version(path: Path, known: Mapping[str, Any]) -> None:
    """Check that no later version wrote a database, if it says which one did.

    Raises:
        StoreTooNew: If one did.
    """
    try:
        version = strictjson.decode(known["state"])["version"]
    except (KeyError, TypeError, ValueError):
        return
    if isinstance(version, int) and version > VERSION:
        raise StoreTooNew(f"{path} is a table of version {version}; this Playhead knows {VERSION}. Update it")


def understood(path: Path, known: Mapping[str, Any], parts: Sequence[tuple[Any, Any, Any]]) -> State:
    """Make a state of what a database says, which may be anything.

    Args:
        path: The database.
        known: The rows of `playhead_table`.
        parts: Number, name and count of rows of each file.

    Raises:
        ValueError: It cannot be read, or cannot be true.
        StoreTooNew: A later version wrote it.
    """
    check_version(path, known)
    try:
        said = strictjson.decode(known["state"])
        if type(said.pop("version")) is not int:
            raise TypeError("a version that is not a number")
        said["built"] = dict(said["built"])
        more = said["built"].pop(_MORE, {})
        said |= {"owner": dict(more.get("owner", {})), "created": more.get("created")}
        state = State(parts=tuple(Part(name, rows) for _, name, rows in parts), **said)
    except (KeyError, TypeError, ValueError, AttributeError, strictjson.JSONDecodeError) as error:
        raise ValueError(f"a state that cannot be read ({type(error).__name__}: {error})") from error
    counts = [state.commit, state.runs, state.block_bytes - 1 if isinstance(state.block_bytes, int) else -1]
    counts += [part.rows for part in state.parts]
    is_sound = all(type(count) is int and count >= 0 for count in counts)
    is_sound = is_sound and all(isinstance(part.name, str) for part in state.parts)
    is_sound = is_sound and isinstance(state.dtype, list) and isinstance(state.built, dict)
    is_sound = is_sound and (state.created is None or isinstance(state.created, (int, float)))
    is_sound = is_sound and (state.shard_bytes is None or type(state.shard_bytes) is int)
    if not is_sound or [number for number, *_ in parts] != list(range(len(parts))):
        raise ValueError(f"a state that cannot be true: {state}"[:400])
    return state
