"""Rows of a table as tensors: gathered on the host and sent, or held on the device and gathered there."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from playhead.lanes.rows.held import OneArray
from playhead.order import Order
from playhead.train.pytorch import torch
from playhead.train.table_columns import Column, Columns
from playhead.train.table_course import Plan
from playhead.train.table_device_order import OrderOnDevice

if TYPE_CHECKING:
    from playhead.table import Table

SHARE = 0.8  # of the device's free memory that a table may take; the rest is for training
_SENDERS = 4
_MORE = 4  # times as many batches at a time as on the host: a device is good at that
_SENT = 1 << 19  # rows that are sent at a time

Tensors = dict[str, Any]


class _Held(NamedTuple):
    """Where a column lies in the rows on the device."""

    column: Column
    type: Any  # what PyTorch calls the bits
    offset: int
    packed: int  # where it lies in the rows of the file


class Layout:
    """How rows lie on a device: so that each column is aligned, which the packed rows of a file are not.

    Args:
        table: Whose rows.
        columns: Which columns of them.
    """

    def __init__(self, table: Table, columns: Columns) -> None:
        fields: Any = table.dtype.fields
        self._size = table.dtype.itemsize
        self._held, at, most = [], 0, 8
        for column in sorted(columns.all, key=lambda column: -column.held.itemsize):  # the widest types first
            size = column.held.itemsize
            most = max(most, size)
            is_other = column.given.itemsize != size
            bits = np.dtype(f"<i{size}") if is_other or column.has_bits else column.given
            self._held.append(_Held(column, _type(bits), at, fields[column.name][1]))
            at += column.width
        names = [column.name for column in columns.all]
        self._held.sort(key=lambda held: names.index(held.column.name))  # as they were asked for
        self.width = -(-at // most) * most

    def empty(self, rows: int, device: Any) -> Any:
        """Make room for rows."""
        return torch.empty((rows, self.width // 8), dtype=torch.int64, device=device)

    def put(self, packed: Any, words: Any) -> None:
        """Put the columns of rows, as the bytes that a file has of them, where they belong."""
        raw, into = packed.view(len(words), self._size), words.view(torch.uint8)
        for held in self._held:
            width = held.column.width
            into[:, held.offset : held.offset + width].copy_(raw[:, held.packed : held.packed + width])

    def columns(self, words: Any) -> Tensors:
        """Give the columns of rows."""
        found = {}
        for column, kind, offset, _ in self._held:
            first = offset // column.held.itemsize
            values = words.view(kind)
            if column.shape:
                values = values[:, first : first + math.prod(column.shape)].reshape(len(words), *column.shape)
            else:
                values = values[:, first]
            if column.given.itemsize > column.held.itemsize:  # an unsigned number in a wider type
                values = values.to(_type(column.given)) & ((1 << 8 * column.held.itemsize) - 1)
            found[column.name] = values
        return found


class Resident:
    """A table on the device, which gathers its rows.

    Args:
        table: What to hold.
        columns: Which columns of it.
        device: Where.
    """

    def __init__(self, table: Table, columns: Columns, device: Any) -> None:
        self._table, self._columns, self._device = table, columns, device
        self._layout = Layout(table, columns)
        self._words = self._layout.empty(len(table), device)
        if _is_cuda(device):
            torch.cuda.synchronize(device)  # the memory may have been another's, which is not done with it
        starts = range(0, len(table), _SENT)
        if isinstance(table._rows, OneArray) and len(starts) > 1:
            with ThreadPoolExecutor(_SENDERS) as senders:
                list(senders.map(self._send, [starts[first::_SENDERS] for first in range(_SENDERS)]))
        else:
            self._send(starts)  # shards are loaded one after the other

    def _send(self, starts: range) -> None:
        """Bring some pieces of the table to the device, and put their columns where they belong."""
        size, total = self._table.dtype.itemsize, len(self._table)
        most = min(_SENT, total)
        staged = torch.empty(most * size, dtype=torch.uint8, pin_memory=_is_cuda(self._device))
        bare = staged.numpy()
        stream = _stream(self._device)
        with _on(stream):
            for start in starts:
                stop = min(start + most, total)
                count = (stop - start) * size
                if self._table.is_view or not isinstance(self._table._rows, OneArray):
                    self._table.get_batch(np.arange(start, stop), out=bare[:count].view(self._table.dtype))
                else:
                    bare[:count] = np.ascontiguousarray(self._table._rows.array[start:stop]).view(np.uint8)
                self._layout.put(staged[:count].to(self._device, non_blocking=True), self._words[start:stop])
                if stream is not None:
                    stream.synchronize()  # before the staged bytes are written over

    def gather(self, places: Any) -> Tensors:
        """Give the columns of rows whose numbers are in a tensor on the device."""
        return self._layout.columns(self._words.index_select(0, places))

    def work(self, plan: Plan, start: int, most: int) -> Iterator[tuple[Any, int]]:
        """Give the numbers of rows, as tensors on the device, and when they are there: what is done ahead."""
        stream = _stream(self._device)
        for numbers, count in _numbers(plan, start, most * _MORE, self._device, stream):
            yield (numbers, None if stream is None else stream.record_event()), count

    def finish(self, made: Any) -> Tensors:
        """Gather the rows, in the stream of the caller."""
        numbers, event = made
        _wait(event, numbers, self._device)
        return self.gather(numbers)


def _numbers(plan: Plan, start: int, most: int, device: Any, stream: Any) -> Iterator[tuple[Any, int]]:
    """Give the numbers of rows on the device, in the order of an epoch, computed there."""
    order = OrderOnDevice(plan.order, device) if isinstance(plan.order, Order) else plan.order
    for first, count, size in plan.pieces(start, most):
        with _on(stream):
            firsts = torch.arange(count, device=device).mul_(plan.stride).add_(first)
            numbers = (firsts[:, None] + torch.arange(size, device=device)).view(-1)
            if isinstance(order, OrderOnDevice):
                numbers = order[numbers]
            elif order is not None:
                numbers = torch.from_numpy(order[numbers.cpu().numpy()]).to(device)
        yield numbers, count


def fits(table: Table, columns: Columns, device: Any) -> bool:
    """Tell whether the device has room for a table."""
    return (
        not _is_cuda(device) or len(table) * Layout(table, columns).width <= SHARE * torch.cuda.mem_get_info(device)[0]
    )


class Sent:
    """Rows gathered on the host; sent to the device, if there is one, on a stream of its own.

    Args:
        table: What to gather from.
        columns: Which columns of it.
        device: Where they go.
    """

    def __init__(self, table: Table, columns: Columns, device: Any) -> None:
        self._table, self._columns, self._device = table, columns, device
        self._stream = _stream(device)

    def work(self, plan: Plan, start: int, most: int) -> Iterator[tuple[Any, int]]:
        """Give columns, and the event after which they are there: all of this is done ahead."""
        return self._sent(plan, start, most) if self._stream is not None else self._gathered(plan, start, most)

    def _gathered(self, plan: Plan, start: int, most: int) -> Iterator[tuple[Any, int]]:
        rows = np.empty(0, self._table.dtype)
        for places, count in plan.blocks(start, most):
            if len(rows) < len(places):
                rows = np.empty(len(places), self._table.dtype)
            packed = self._columns.pack(self._table.get_batch(places, out=rows[: len(places)]))
            yield ({name: torch.from_numpy(values) for name, values in packed.items()}, None, None), count

    def _sent(self, plan: Plan, start: int, most: int) -> Iterator[tuple[Any, int]]:
        """Send rows as they are: order and columns are made on the device, where that takes nothing from who trains."""
        layout, dtype = Layout(self._table, self._columns), self._table.dtype
        for numbers, count in _numbers(plan, start, most, self._device, self._stream):
            with _on(self._stream):
                places = numbers.cpu().numpy()
                staged = torch.empty(len(places) * dtype.itemsize, dtype=torch.uint8, pin_memory=True)
                self._table.get_batch(places, out=staged.numpy().view(dtype))
                words = layout.empty(len(places), self._device)
                layout.put(staged.to(self._device, non_blocking=True), words)
                found = layout.columns(words)
                event = self._stream.record_event()
            yield (found, [words, *found.values()], event), count

    def finish(self, made: Any) -> Tensors:
        """Let the stream of the caller wait for what was sent."""
        found, held, event = made
        for one in held or ():
            _wait(event, one, self._device)
        return dict(found)


def _on(stream: Any) -> Any:
    return contextlib.nullcontext() if stream is None else torch.cuda.stream(stream)


def _stream(device: Any) -> Any:
    make: Any = torch.cuda.Stream
    return make(device) if _is_cuda(device) else None


def _wait(event: Any, tensor: Any, device: Any) -> None:
    """Let the current stream wait for a tensor that another makes, and keep its memory until then."""
    if event is not None:
        current = torch.cuda.current_stream(device)
        current.wait_event(event)
        tensor.record_stream(current)


def _is_cuda(device: Any) -> bool:
    return bool(device.type == "cuda")


def _type(dtype: np.dtype[Any]) -> Any:
    return torch.from_numpy(np.empty(0, dtype)).dtype
