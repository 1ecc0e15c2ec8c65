"""The order of `playhead.order` computed on the device that gathers the rows: a host could not keep up with it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from playhead.order import Order
from playhead.train.pytorch import torch


class OrderOnDevice:
    """The same permutation as an `Order`, item by item.

    Args:
        order: Which.
        device: Where it is computed.
    """

    def __init__(self, order: Order, device: Any) -> None:
        self._n = order.n
        self._drawn = None
        if not order.is_computed:  # few items: the permutation itself
            self._drawn = torch.from_numpy(order[np.arange(order.n)]).to(device)
            return
        self._width = 8 * np.dtype(order._type).itemsize
        self._low_bits, self._high = int(order._low_bits), int(order._high)
        self._keys = [[_signed(int(key)) for key in keys] for keys in order._rounds]
        self._kernel = _kernel(self._width, len(self._keys)) if torch.device(device).type == "cuda" else None

    def __getitem__(self, positions: Any) -> Any:
        """Give the items at positions, both tensors of int64 on the device; waits for it to know that all are there."""
        if self._drawn is not None:
            return self._drawn[positions]
        if self._kernel is not None:
            facts = {"last": self._n - 1, "low_bits": self._low_bits, "count": self._high}
            keys = (key for keys in self._keys for key in keys)
            return self._kernel(positions, **facts, **{f"key{number}": key for number, key in enumerate(keys)})
        found = self._shuffled(positions)
        while True:
            outside = (found >= self._n).nonzero()[:, 0]
            if not len(outside):
                return found
            found[outside] = self._shuffled(found[outside])

    def _shuffled(self, numbers: Any) -> Any:
        low_bits, half = self._low_bits, self._width // 2
        high, low = numbers >> low_bits, numbers & ((1 << low_bits) - 1)
        for first_add, first_times, second_add, second_times in self._keys:
            mixed = self._mixed(low, first_add, first_times, half).mul_(self._high)
            high += self._shifted(mixed, half)
            high -= (high >= self._high) * self._high
            low ^= self._mixed(high, second_add, second_times, self._width - low_bits)
        return high.bitwise_left_shift_(low_bits).bitwise_or_(low)

    def _mixed(self, numbers: Any, add: int, times: int, shift: int) -> Any:
        """Give the upper bits of (times · number + add)², which wraps around at the width."""
        mixed = numbers * times
        mixed += add
        if self._width == 32:
            mixed &= 0xFFFFFFFF
        mixed *= mixed
        return self._shifted(mixed, shift)

    def _shifted(self, numbers: Any, shift: int) -> Any:
        """Shift right, as if the numbers had no sign and no more than their width."""
        numbers >>= shift
        numbers &= (1 << (self._width - shift)) - 1
        return numbers


_SOURCE = """
template <typename T> T item(T position, T last, T low_bits, T count, {arguments}) {{
  typedef {unsigned} U;
  const U keys[] = {{{keys}}};
  U number = U(position);
  do {{
    U high = number >> low_bits, low = number & ((U(1) << low_bits) - 1);
    for (int at = 0; at < {number}; at += 4) {{
      U mixed = low * keys[at + 1] + keys[at];
      mixed *= mixed;
      high += ((mixed >> {half}) * U(count)) >> {half};
      if (high >= U(count)) high -= U(count);
      mixed = high * keys[at + 3] + keys[at + 2];
      mixed *= mixed;
      low ^= mixed >> ({width} - low_bits);
    }}
    number = (high << low_bits) | low;
  }} while (number > U(last));
  return T(number);
}}
"""


@lru_cache(maxsize=4)
def _kernel(width: int, rounds: int) -> Any:
    """Compile the whole of it for a GPU: some ninety small kernels, and a wait for them, become one."""
    names = [f"key{number}" for number in range(4 * rounds)]
    source = _SOURCE.format(
        arguments=", ".join(f"T {name}" for name in names),
        unsigned="unsigned int" if width == 32 else "unsigned long long",
        keys=", ".join(f"U({name})" for name in names),
        number=len(names),
        half=width // 2,
        width=width,
    )
    make: Any = torch.cuda.jiterator._create_jit_fn
    return make(source, **dict.fromkeys(["last", "low_bits", "count", *names], 0))


def _signed(key: int) -> int:
    return key - (1 << 64) if key >> 63 else key
