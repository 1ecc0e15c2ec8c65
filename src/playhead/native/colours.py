"""Pictures whose pixels are numbers of colours, one byte each, and what colours these are: `colours.c`.

The emulator of the Atari draws in such numbers, and takes ten times as long to spell a picture out in red, green and
blue as to copy it. So whoever waits for it keeps numbers, and the spelling is left to the background.
"""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from playhead.native import library

if library is not None:
    _address, _size = ctypes.c_void_p, ctypes.c_size_t
    library.playhead_know.argtypes = [_address, _size, _size, _address]
    library.playhead_learn.argtypes = [_address, _address, _size, _address]


class Colours:
    """The colours of numbers from 0 to 255, as far as they have been seen. One that is known never changes.

    Attributes:
        table: Red, green and blue of each number, and whether they are known.
        address: Where it lies.

    Raises:
        RuntimeError: The part in C is not there.
    """

    def __init__(self) -> None:
        if library is None:
            raise RuntimeError("the part in C was not compiled")
        self._know, self._learn = library.playhead_know, library.playhead_learn
        self.table = np.zeros((256, 4), np.uint8)
        self.address: int = self.table.ctypes.data

    def learn(self, numbers: NDArray[np.uint8], picture: NDArray[np.uint8]) -> bool:
        """Learn the colours of a picture; tell whether its pixels have one colour for each number, the known one.

        Where they have not, nothing is learnt.
        """
        if numbers.dtype != np.uint8 or picture.dtype != np.uint8 or picture.shape != (*numbers.shape, 3):
            return False
        numbers, picture, table = np.ascontiguousarray(numbers), np.ascontiguousarray(picture), self.table.copy()
        if not self._learn(numbers.ctypes.data, picture.ctypes.data, numbers.size, table.ctypes.data):
            return False
        self.table[:] = table
        return True

    def know(self, numbers: NDArray[np.uint8]) -> bool:
        """Tell whether all colours of a picture, height x width, are known.

        Raises:
            TypeError, ValueError: It is not contiguous, or can only be read.
        """
        address = ctypes.addressof(ctypes.c_char.from_buffer(numbers.data))
        return bool(self._know(address, numbers.size, numbers.shape[-1], self.address))

    def spelled(self, picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Give the pixels of a picture; one that is no numbers, but pixels, is as it is."""
        return np.ascontiguousarray(self.table[:, :3])[picture] if is_numbered(picture) else picture


def is_numbered(picture: NDArray[np.uint8]) -> bool:
    """Tell whether a picture is numbers of colours, and not pixels."""
    return picture.ndim == 2
