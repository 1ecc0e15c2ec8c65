"""Signals as tables: aligned at a rate, or one row a sample."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from playhead import disk, strictjson
from playhead.episode import Episode
from playhead.errors import Empty, WrongType
from playhead.export.chosen import check_target, choose, is_video, new_file, regular_times
from playhead.export.lines import csv_writer
from playhead.paths import GivenPath
from playhead.sampling import sample
from playhead.signal import Signal

_ROWS = 1 << 16  # turned into text at once


def to_csv(
    episode: Episode,
    target: GivenPath,
    *,
    rate: float | None = None,
    rules: Mapping[str, str] | None = None,
    signals: Iterable[str] | None = None,
    force: bool = False,
) -> int:
    """Write signals as CSV. With a rate, a row a time and a field a number: `ts_ns`, `force`, `joint.0`, `joint.1`, …;
    what has no value at a time is empty. Without one, a row a sample: `signal`, `ts_ns`, `value`, arrays as JSON.

    Args:
        episode: The episode.
        target: The file.
        rate: Rows a second.
        rules: How each signal is sampled at a rate; see `playhead.sampling`. The others are held.
        signals: Only these. Without them, all that are not images.
        force: Replace the file where it is there.

    Returns:
        The number of rows.

    Raises:
        Exists: The file is there.
        NotFound: There is no such signal, or no such rule.
        WrongType: One of the signals is images, or of numbers that no table has.
    """
    path = check_target(target, force=force)
    chosen = _tabular(episode, signals, rules)
    table = _long(chosen) if rate is None else _aligned(chosen, rate, rules, flat=True)
    with new_file(path) as draft:
        _write_csv(draft, table)
    return int(table.num_rows)


def to_parquet(
    episode: Episode,
    target: GivenPath,
    *,
    rate: float | None = None,
    rules: Mapping[str, str] | None = None,
    signals: Iterable[str] | None = None,
    force: bool = False,
) -> int:
    """Write signals as Parquet. With a rate, a row a time: `ts_ns` and a field a signal, arrays as lists; what has no
    value at a time is null. Without one, a row a sample: `signal`, `ts_ns`, `value`, which is text as in `to_csv` where
    the signals are not all of one type.

    Args:
        episode: The episode.
        target: The file.
        rate: Rows a second.
        rules: How each signal is sampled at a rate; see `playhead.sampling`. The others are held.
        signals: Only these. Without them, all that are not images.
        force: Replace the file where it is there.

    Returns:
        The number of rows.

    Raises:
        Exists: The file is there.
        NotFound: There is no such signal, or no such rule.
        WrongType: One of the signals is images, or of numbers that no table has.
    """
    path = check_target(target, force=force)
    chosen = _tabular(episode, signals, rules)
    table = _long(chosen) if rate is None else _aligned(chosen, rate, rules, flat=False)
    with new_file(path) as draft:
        pq.write_table(table, draft, write_page_checksum=True)
    return int(table.num_rows)


def _tabular(episode: Episode, names: Iterable[str] | None, rules: Mapping[str, str] | None) -> dict[str, Signal[Any]]:
    wanted = None if names is None else list(names)
    chosen = choose(episode, wanted)
    choose(episode, rules)
    images = [name for name, signal in chosen.items() if is_video(signal)]
    if images and wanted:
        raise WrongType(f"{images[0]!r} is images, which no table holds; export them with to_frames (--format frames)")
    found = {name: signal for name, signal in chosen.items() if name not in images}
    for name, signal in found.items():
        _check_numbers(name, signal)
    if not found:
        raise Empty("there is nothing for a table: the episode has no signals but images")
    return found


def _check_numbers(name: str, signal: Signal[Any]) -> None:
    kind = np.asarray(signal[0][0]).dtype if len(signal) else np.dtype(float)
    if kind.kind == "c" or (kind.kind == "f" and kind.itemsize > 8):
        raise WrongType(
            f"the values of {name!r} are {kind}, for which tables have no type; export it with to_npz (--format npz), "
            "and name the other signals for a table"
        )


def _aligned(signals: dict[str, Signal[Any]], rate: float, rules: Mapping[str, str] | None, *, flat: bool) -> pa.Table:
    times = regular_times(signals, rate)
    sampled = sample(signals, times, rules)
    fields: dict[str, pa.Array] = {"ts_ns": pa.array(times)}
    for name in sampled:
        values, mask = sampled[name], sampled.mask[name]
        for field, part in _flattened(name, values) if flat else [(name, values)]:
            fields[_free(field, fields)] = _array(part, ~mask)
    return pa.table(fields)


def _free(field: str, taken: Mapping[str, Any]) -> str:
    """Keep fields apart: a signal may be called as the time is, or as a number of another."""
    while field in taken:
        field += "_"
    return field


def _flattened(name: str, values: NDArray[Any]) -> Iterator[tuple[str, NDArray[Any]]]:
    if values.ndim == 1:
        yield name, values
        return
    for place in np.ndindex(values.shape[1:]):
        yield ".".join([name, *map(str, place)]), values[(slice(None), *place)]


def _array(values: NDArray[Any], is_missing: NDArray[np.bool_]) -> pa.Array:
    if values.ndim == 1 and values.dtype != object:
        return pa.array(values, mask=is_missing)
    rows = [None if missing else _plain(value) for value, missing in zip(values, is_missing, strict=True)]
    kind = pa.array(values.reshape(-1)[:0]).type if values.dtype != object else None
    for _ in range(values.ndim - 1 if kind is not None else 0):
        kind = pa.list_(kind)
    return pa.array(rows, kind)


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def _long(signals: dict[str, Signal[Any]]) -> pa.Table:
    parts = [(name, signal.timestamps, signal.values) for name, signal in signals.items()]
    arrays = [_array(values, np.zeros(len(values), np.bool_)) for _, _, values in parts if len(values)]
    kinds = {array.type for array in arrays}
    if len(kinds) != 1 or pa.types.is_nested(next(iter(kinds))):
        arrays = [pa.array(_texts(values), pa.string()) for _, _, values in parts if len(values)]
    names = [pa.array([name] * len(stamps)) for name, stamps, _ in parts if len(stamps)]
    times = [pa.array(stamps) for _, stamps, _ in parts if len(stamps)]
    if not arrays:
        raise Empty("there is nothing to export: no signal has a sample")
    fields = {"signal": names, "ts_ns": times, "value": arrays}
    return pa.table({field: pa.chunked_array(chunks) for field, chunks in fields.items()})


def _texts(values: NDArray[Any]) -> list[str]:
    """Give values as text; arrays as JSON."""
    if values.ndim == 1 and values.dtype != object:
        return _digits(values)
    if values.dtype == object:
        return [value if isinstance(value, str) else _json(value) for value in values]
    flat = _digits(np.ascontiguousarray(values).reshape(-1))
    size = max(1, int(np.prod(values.shape[1:])))
    if values.ndim == 2 and values.size:
        return [f"[{', '.join(flat[start : start + size])}]" for start in range(0, len(flat), size)]
    return [_json(value) for value in values]


def _json(value: Any) -> str:
    return strictjson.encode(strictjson.plain(value)).decode()


def _digits(values: NDArray[Any]) -> list[str]:
    """Give numbers in the fewest digits that give the same number again."""
    if values.dtype == np.float16:
        values = values.astype(np.float32)
    texts: list[str] = pa.array(values).cast(pa.string()).to_pylist()
    return texts


def _write_csv(draft: disk.Draft, table: pa.Table) -> None:
    buffered = io.BufferedWriter(draft, 1 << 20)
    text = io.TextIOWrapper(buffered, "utf-8", newline="")
    writer = csv_writer(text)
    writer.writerow(table.column_names)
    for start in range(0, table.num_rows, _ROWS):
        part = table.slice(start, _ROWS)
        writer.writerows(zip(*(_cells(column) for column in part.columns), strict=True))
    text.flush()
    text.detach()
    buffered.detach()


def _cells(column: pa.ChunkedArray) -> list[str]:
    missing = column.is_null().to_numpy()
    if pa.types.is_string(column.type):
        return [value or "" for value in column.to_pylist()]
    if pa.types.is_null(column.type):
        return [""] * len(column)
    if pa.types.is_nested(column.type):  # arrays that differ in size, so that no field a number could hold them
        return ["" if value is None else _json(value) for value in column.to_pylist()]
    if column.null_count:
        column = column.fill_null(False if pa.types.is_boolean(column.type) else pa.scalar(0, column.type))
    texts = _digits(column.to_numpy())
    return ["" if gone else text for text, gone in zip(texts, missing, strict=True)]
