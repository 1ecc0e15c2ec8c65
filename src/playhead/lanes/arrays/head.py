"""What a sealed file says of itself, checked before it is believed: a file with right checksums may be anybody's."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from playhead.errors import BadName, Damaged
from playhead.lanes.arrays import codec, rows
from playhead.lanes.arrays.kind import AXES, MOST_GROUPS, STEPS, ArrayKind, check_name
from playhead.lanes.arrays.rows import is_count, is_text_list

if TYPE_CHECKING:
    from playhead.lanes.arrays.sealed import Stored

# What a sealed file calls the fields of a step; the flags have a dataset each.
COLUMNS = {
    "ts_ns": "steps/ts_ns",
    "reward": "steps/rewards",
    "step": "steps/step_index",
    "episode": "steps/episode",
    "agent": "steps/agent",
    "has": "steps/has",
}
FLAGS = ("steps/terminated", "steps/truncated")
INFO = "steps/info"

_MOST_BYTES = 1 << 32  # of a chunk, in HDF5
_MOST_STACK = 1 << 16


def _are_axes(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() <= {*AXES} and all(map(is_count, value.values()))


def _are_facts(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    same = value.get("same", {})
    return isinstance(same, dict) and is_text_list([*same, *same.values()])


def _are_groups(value: Any) -> bool:
    return is_text_list(value) and len(value) == len({*value}) <= MOST_GROUPS


def _are_infos(value: Any) -> bool:
    return isinstance(value, dict) and all(row.isdecimal() and isinstance(text, str) for row, text in value.items())


_DUE: dict[str, Callable[[Any], bool]] = {
    "bases": _are_axes,
    "lengths": _are_axes,
    "arrays": lambda value: isinstance(value, list),
    "groups": _are_groups,
    "agents": is_text_list,
    "facts": _are_facts,
    "notes": rows.are_notes,
    "always": is_count,
}


def check(path: Path, head: Mapping[str, Any], datasets: Mapping[str, Stored]) -> list[ArrayKind]:
    """See that the head of a part can be believed; give its arrays.

    Args:
        path: The file, for messages.
        head: What it says.
        datasets: Of these.

    Raises:
        Damaged: It cannot be what was sealed.
    """
    for name, holds in _DUE.items():
        if name not in head or not holds(head[name]):
            raise Damaged(path, f"{name} of a replay", repr(head.get(name, "nothing"))[:200])
    if not _are_infos(head.get("infos", {})):
        raise Damaged(path, "infos of a replay", repr(head["infos"])[:200])
    lengths = dict.fromkeys(AXES, 0) | head["lengths"]
    last = head["bases"].get(STEPS, 0) + lengths[STEPS]
    late = [note for note in head["notes"] if note.get("row", 0) > last]
    if late:
        raise Damaged(path, f"notes of steps up to {last}", repr(late[0])[:200])
    kinds = [_kind(path, described) for described in head["arrays"]]
    for kind in kinds:
        if math.prod(kind.shape):
            _check_dataset(path, datasets, kind.path, np.dtype(kind.dtype), kind.shape, lengths[kind.axis])
    if lengths[STEPS]:
        due = {path: rows.ROW[field] for field, path in COLUMNS.items()} | dict.fromkeys(FLAGS, np.dtype(np.bool_))
        for name, dtype in due.items():
            _check_dataset(path, datasets, name, dtype, (), lengths[STEPS])
        info = datasets[INFO].dtype if INFO in datasets else np.dtype("S1")
        _check_dataset(path, datasets, INFO, info if info.kind == "S" else np.dtype("S1"), (), lengths[STEPS])
    return kinds


def _kind(path: Path, described: Any) -> ArrayKind:
    try:
        kind = ArrayKind.from_json(described)
        check_name(kind.name)
        if is_count(kind.chunk) and is_count(kind.stack) and kind.stack <= _MOST_STACK:
            return kind
    except (Damaged, BadName, OverflowError):
        pass  # told of below, with the file that it is in
    raise Damaged(path, "the description of an array", repr(described)[:200])


def _check_dataset(
    path: Path, datasets: Mapping[str, Stored], name: str, dtype: np.dtype[Any], shape: tuple[int, ...], length: int
) -> None:
    found = datasets.get(name)
    if found is None or (found.dtype, found.shape, found.rows) != (dtype, shape, length):
        expected = f"{length:,} rows of {dtype.name}{list(shape)} in {name}"
        what = "no such dataset" if found is None else f"{found.rows:,} of {found.dtype.name}{list(found.shape)}"
        raise Damaged(path, expected, what)


def check_described(found: Any) -> None:
    """See that what the list of chunks says of a dataset can be.

    Raises:
        ValueError: It cannot.
    """
    if not isinstance(found, dict):
        raise ValueError(f"{found!r} is no dataset")
    shape, dtype = found["shape"], found["dtype"]
    is_sound = (
        isinstance(found["path"], str)
        and isinstance(dtype, str)
        and isinstance(shape, list)
        and all(map(is_count, [*shape, found["rows"], found["chunk"]]))
        and found["codec"] in (*codec.CODECS, codec.SHUFFLED)
    )
    if is_sound:
        kind = np.dtype(dtype)
        row_bytes = math.prod(shape) * kind.itemsize
        if kind.kind in "biufcS" and row_bytes and 0 < found["chunk"] <= _MOST_BYTES // row_bytes:
            return
    raise ValueError(f"a dataset that cannot be: {repr(found)[:200]}")
