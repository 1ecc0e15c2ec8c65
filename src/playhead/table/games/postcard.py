"""Numbers and texts as the postcard format has them: varints of seven bits a byte, the lowest first."""

from __future__ import annotations

import struct

from playhead.table.games.rows import Place, text


class Cursor:
    """A place in bytes that moves on as values are read.

    Args:
        data: The bytes.
        place: Where they come from.
    """

    def __init__(self, data: bytes, place: Place) -> None:
        self.data = data
        self.at = 0
        self._place = place

    @property
    def left(self) -> int:
        """How many bytes follow."""
        return len(self.data) - self.at

    def integer(self, bits: int, what: str) -> int:
        """Read an unsigned integer.

        Raises:
            Damaged: The bytes end, or it is larger.
        """
        if self.left and self.data[self.at] < 0x80:
            self.at += 1
            return self.data[self.at - 1]
        value = shift = 0
        for byte in self.data[self.at : self.at + -(-bits // 7)]:
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                if value >> bits:
                    break
                self.at += shift // 7
                return value
        if shift // 7 < -(-bits // 7) and not value >> bits:
            raise self.ends(what)
        raise self._place.damaged(f"{what}, of {bits} bits", "a larger number", self.at)

    def float32(self, what: str) -> float:
        """Read a float."""
        return float(struct.unpack("<f", self.bytes(4, what))[0])

    def bytes(self, count: int, what: str) -> bytes:
        """Read so many bytes."""
        if count > self.left:
            raise self.ends(what)
        self.at += count
        return self.data[self.at - count : self.at]

    def optional_text(self, what: str) -> str | None:
        """Read a text, or None."""
        (is_there,) = self.bytes(1, what)
        if is_there > 1:
            raise self._place.damaged(f"0 or 1: whether there is {what}", f"{is_there}", self.at - 1)
        if not is_there:
            return None
        length = self.integer(64, f"the length of {what}")
        at = self.at
        return text(self.bytes(length, what), self._place, at)

    def ends(self, what: str) -> Exception:
        """Make the error that the bytes end too early."""
        return self._place.damaged(what, f"the end ({self.left:,} bytes are left)", self.at)


def integer(value: int) -> bytes:
    """Write an unsigned integer."""
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)
