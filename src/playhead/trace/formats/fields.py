"""Objects of a JSON file from anywhere: what is asked of them is there and of its kind, or the file is damaged."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from playhead import strictjson
from playhead.errors import Damaged, WrongType
from playhead.lanes.keyframes import tree

MOST_STEPS = 1 << 24  # of a trace in JSON; a file that claims more would only fill the memory

STEP_NAMES = ("step_idx", "stepIndex", "step")  # by which programs call the number of a step


class Fields:
    """One object of a file.

    Args:
        path: The file.
        data: The object.
        at: Where it lies, for messages: `keyframes[3]`.
    """

    def __init__(self, path: Path, data: Any, at: str = "") -> None:
        self.path, self.at = path, at
        if not isinstance(data, dict):
            raise Damaged(path, f"an object at {at or 'the top'}", shown(data))
        self.data: Mapping[str, Any] = data

    def damaged(self, expected: str, found: object) -> Damaged:
        """Say what is wrong with it."""
        return Damaged(self.path, f"{expected} in {self.at}" if self.at else expected, shown(found))

    def __contains__(self, name: str) -> bool:
        return self.data.get(name) is not None

    def whole(self, *names: str, below: int = 1 << 63) -> int:
        """Give a whole number from 0 that has one of these names."""
        name = next((name for name in names if name in self), names[0])
        value = self.data.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self.damaged(f"a whole number {name}", value)
        if value >= below:
            raise self.damaged(f"{name} below {below:,}", value)
        return value

    def step(self, total: int) -> int:
        """Give the number of the step that it is of."""
        return self.whole(*STEP_NAMES, below=total)

    def total(self, name: str) -> int:
        """Give how many steps there are."""
        return self.whole(name, below=MOST_STEPS + 1)

    def number(self, name: str) -> float:
        """Give a number; NaN where it is missing."""
        return self._number(self.data.get(name), name)

    def finite(self, name: str) -> float | None:
        """Give a finite number; None where it is missing."""
        if name not in self:
            return None
        value = self.number(name)
        if not math.isfinite(value):
            raise self.damaged(f"a finite number {name}", self.data[name])
        return value

    def numbers(self, name: str, count: int) -> list[float]:
        """Give a list of just so many numbers; NaN where one is missing."""
        found = self.listed(name)
        if len(found) != count:
            raise self.damaged(f"{count:,} {name}, one for each step", f"{len(found):,}")
        return [self._number(value, name) for value in found]

    def _number(self, value: Any, name: str) -> float:
        if isinstance(value, float):
            return value
        if value is None:
            return math.nan
        if isinstance(value, str) and value in strictjson.SPECIAL:
            return strictjson.SPECIAL[value]
        if isinstance(value, int) and not isinstance(value, bool):
            with contextlib.suppress(OverflowError):
                return float(value)
        raise self.damaged(f"a number {name}", value)

    def steps(self, name: str, total: int) -> list[int]:
        """Give a list of steps, strictly increasing."""
        found = self.listed(name)
        last = -1
        for step in found:
            if not isinstance(step, int) or isinstance(step, bool) or not last < step < total:
                raise self.damaged(f"steps below {total:,} in order as {name}", f"{shown(step)} behind {last}")
            last = step
        return found

    def text(self, name: str) -> str | None:
        """Give a text; None where it is missing."""
        value = self.data.get(name)
        if value is not None and not isinstance(value, str):
            raise self.damaged(f"a text {name}", value)
        return value

    def json(self, name: str) -> Any:
        """Give anything, strictly as JSON and not too deep; None where it is missing."""
        value = self.data.get(name)
        try:
            tree.pack(value)
        except WrongType as error:
            raise self.damaged(f"something flatter as {name}", error) from error
        return strictjson.decode(strictjson.encode(strictjson.plain(value)))  # as it will be read again

    def listed(self, name: str) -> list[Any]:
        """Give a list."""
        value = self.data.get(name)
        if not isinstance(value, list):
            raise self.damaged(f"a list {name}", value)
        return value

    def inner(self, name: str) -> Fields:
        """Give an object in it."""
        return Fields(self.path, self.data.get(name), f"{self.at}.{name}".lstrip("."))

    def inners(self, name: str) -> Iterator[Fields]:
        """Give the objects of a list in it; none where it is missing."""
        for place, one in enumerate(self.listed(name) if name in self else ()):
            yield Fields(self.path, one, f"{self.at}.{name}[{place}]".lstrip("."))


def shown(value: object) -> str:
    """Say shortly what was found."""
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return value if len(value) <= 200 else f"{value[:200]}…"
    if isinstance(value, dict):
        return f"an object with the keys {', '.join(map(str, list(value)[:12])) or '(none)'}{' …' * (len(value) > 12)}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return repr(value)[:80]
