"""What is written beside a picture: the figures of a step as short texts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from playhead import strictjson
from playhead.export.film.steps import Step, Steps

PLAIN, GOOD, BAD, FAINT = "plain", "good", "bad", "faint"

_SAMPLES = 400  # steps whose texts are looked at for the widest


class Figure(NamedTuple):
    """A text and what it says.

    Attributes:
        label: What it is.
        text: Its value.
        tone: How it looks: `plain`, `good`, `bad` or `faint`.
    """

    label: str
    text: str
    tone: str = PLAIN


class Writer:
    """Writes the figures of steps.

    Args:
        steps: The steps.
    """

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._start = int(steps.stamps[0])
        span = int(steps.stamps[-1]) - self._start
        usual = span / max(1, len(steps) - 1)
        self._decimals = 2 if usual >= 1e7 else 3

    def at(self, step: Step) -> list[Figure]:
        """Give the figures of a step."""
        count = len(self._steps)
        figures = [
            Figure("step", f"{step.number} / {count - 1}"),
            Figure("time", seconds((step.ts_ns - self._start) / 1e9, self._decimals)),
        ]
        if step.agent is not None:
            figures.append(Figure("agent", one_line(step.agent)))
        if self._steps.has_rewards:
            figures += [
                Figure("reward", "-", FAINT) if step.reward is None else _reward(step.reward),
                Figure("return", "-" if step.total is None else number(step.total)),
            ]
        if self._steps.has_actions:
            figures.append(_action(step))
        return figures

    def widest(self) -> list[list[Figure]]:
        """Give the figures of steps spread over the episode, and of those with extreme ones: what needs most room."""
        places = set(np.linspace(0, len(self._steps) - 1, _SAMPLES).astype(int).tolist())
        return [self.at(self._steps[place]) for place in sorted(places | self._steps.extremes())]


def _action(step: Step) -> Figure:
    if step.action is None:
        return Figure("action", "-", FAINT)
    said = value(step.action)
    return Figure("action", said if step.action_name is None else f"{one_line(step.action_name)} ({said})")


def title_of(static: Mapping[str, Any], name: str) -> str:
    """Say what an episode is: its environment or task, its name, its seed."""
    what = next((static[key] for key in ("env_id", "task") if isinstance(static.get(key), str)), "")
    seed = static.get("seed")
    parts = [what, name, "" if seed is None else f"seed {seed}"]
    return " · ".join(one_line(part) for part in parts if part)


def ending_of(meta: Mapping[str, Any]) -> str:
    """Say how an episode ended, where its steps do not: `reset`, `error`, `closed`, or not at all."""
    if "how" not in meta:
        return ""
    how = meta["how"]
    return "unfinished" if how is None else "" if how in ("terminated", "truncated") else str(how)


def seconds(amount: float, decimals: int = 2) -> str:
    """Give a time: `4.12 s`, `1:04.12`."""
    if round(amount, decimals) < 60:
        return f"{amount:.{decimals}f} s"
    whole, hundredths = divmod(round(amount * 100), 100)
    hours, minutes = divmod(whole // 60, 60)
    front = f"{hours}:{minutes:02}" if hours else f"{minutes}"
    return f"{front}:{whole % 60:02}.{hundredths:02}"


def number(amount: Any, *, signed: bool = False) -> str:
    """Give a number, or several, with a few digits."""
    if np.ndim(amount):
        return f"[{' '.join(number(one, signed=signed) for one in np.asarray(amount).tolist())}]"
    amount = float(amount)
    if amount == 0:
        return "0"
    sign = "+" if signed else ""
    if math.isfinite(amount) and amount == int(amount) and abs(amount) < 1e9:
        return f"{int(amount):{sign}d}"
    return f"{amount:{sign}.4g}"


def value(thing: Any) -> str:
    """Give an action on one line: numbers short, what has parts as `name=value`."""
    if isinstance(thing, Mapping):
        return "  ".join(f"{name}={value(part)}" for name, part in thing.items())
    if isinstance(thing, (bool, np.bool_)):
        return "yes" if thing else "no"
    if isinstance(thing, np.ndarray) and thing.dtype.kind in "biuf":
        if thing.dtype.kind == "f":
            return f"[{' '.join(f'{one:.2f}' for one in thing.ravel().tolist())}]"
        return f"[{' '.join(str(int(one)) for one in thing.ravel().tolist())}]" if thing.ndim else str(thing.item())
    if isinstance(thing, (int, np.integer)):
        return str(int(thing))
    if isinstance(thing, (float, np.floating)):
        return f"{float(thing):.3g}"
    return one_line(_text(thing))


def one_line(text: str) -> str:
    """Put a text on one line, without characters that move a cursor."""
    return "".join(char if char.isprintable() else "?" for char in " ".join(text.split()))


def _text(thing: Any) -> str:
    return thing if isinstance(thing, str) else strictjson.encode(strictjson.plain(thing)).decode()


def _reward(reward: Any) -> Figure:
    total = float(np.sum(reward))
    tone = GOOD if total > 0 else BAD if total < 0 else FAINT
    return Figure("reward", number(reward, signed=True), tone)
