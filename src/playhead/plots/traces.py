"""A trace drawn: the error of every step, what was the best so far, and of which steps the state is kept."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from playhead.errors import Empty
from playhead.paths import GivenPath
from playhead.plots import style
from playhead.plots.curves import thinned
from playhead.plots.saving import check_ending, save
from playhead.plots.style import ALARM, FAINT, HAIR, INK, LINES, PANEL, SOFT, fitted, put
from playhead.wording import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from playhead.trace import Trace

_WIDTH, _HEIGHT = 12.0, 5.1  # all in inches
_LEFT, _RIGHT, _TICKS = 1.55, 0.3, 0.55
_PLOT = (1.06, 3.1)  # bottom and height of the curve
_STRIP = (0.74, 0.16)  # and of the keyframes
_SMALL, _NAME_SIZE = 7.5, 9.0
_ERROR, _BEST, _KEPT = FAINT, LINES[0], LINES[4]
_COLUMNS = 1400  # of the strip of keyframes
_MOST_DOTS = 100  # marks; more of them would be a thick line
_FEW = 8  # steps that all have their number
_WIDE_RANGE = 50  # from which on equal ratios tell more than equal differences
_WIDEST = 1e100  # beyond it, logarithms overflow


def plot_trace(trace: Trace, path: GivenPath | None = None, *, title: str | None = None) -> Figure:
    """Draw the error of a trace over its steps, with its best so far and its keyframes.

    The error has a logarithmic axis where all errors are above zero and differ much. The strip below is the darker the
    more of the steps are kept.

    Args:
        trace: The trace.
        path: Where to write the picture: PNG, SVG or PDF by the end of the name; nowhere where it is None.
        title: What stands above it.

    Returns:
        The figure of Matplotlib.

    Raises:
        MissingExtra: Matplotlib is not installed.
        Empty: There is no step.
        BadName: The path has another ending.
    """
    check_ending(path)
    if not len(trace):
        raise Empty("there is nothing to draw: the trace has no steps")
    with style.applied():
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure((_WIDTH, _HEIGHT), dpi=style.DPI, facecolor="white")
        FigureCanvasAgg(figure)
        _draw_title(figure, trace, title or "trace")
        _draw_errors(figure, trace)
        _draw_keyframes(figure, trace)
        save(figure, path)
    return figure


def _draw_title(figure: Any, trace: Trace, title: str) -> None:
    room, top = _WIDTH - 2 * _RIGHT, _HEIGHT - 0.28
    put(figure, _RIGHT, top - 0.17, fitted(title, room, 14, weight="bold"), size=14, weight="bold", color=INK)
    best = trace.best
    facts = [
        counted(len(trace), "step"),
        counted(len(trace.keyframes), "keyframe"),
        "" if best is None else f"best {_number(trace.errors[best])} at step {best:,}",
        *(f"{name} {value}" for name, value in trace.parameters.items() if isinstance(value, (int, float, str))),
    ]
    put(figure, _RIGHT, top - 0.42, fitted(" · ".join(filter(None, facts)), room, 9), size=9, color=SOFT)


def _draw_errors(figure: Any, trace: Trace) -> None:
    axes = _panel(figure, _PLOT, len(trace))
    errors = np.where(np.isfinite(trace.errors), trace.errors, np.nan)
    finite = errors[~np.isnan(errors)]
    name = _PLOT[0] + _PLOT[1]
    _write(figure, name - 0.16, "error", weight="bold", color=INK, size=_NAME_SIZE)
    if not len(finite):
        axes.text(
            0.5, 0.5, "no step has an error", transform=axes.transAxes, ha="center", va="center", color=ALARM, size=8
        )
        axes.set_yticks([])
        return
    curve = thinned(np.arange(len(errors), dtype=float), errors)
    axes.plot(*curve, color=_ERROR, lw=0.8, alpha=1.0 if len(curve[0]) == len(errors) else 0.7)
    _draw_best(axes, trace)
    _scale(axes, finite)
    left_out = len(errors) - len(finite)
    _write(figure, name - 0.33, f"{counted(left_out, 'step')} without" if left_out else "of each step", color=SOFT)
    if len(trace.marks):
        _write(figure, name - 0.62, "best so far", weight="bold", color=_BEST, size=_NAME_SIZE)
        _write(figure, name - 0.79, counted(len(trace.marks), "time"), color=SOFT)


def _draw_best(axes: Any, trace: Trace) -> None:
    marks = np.array(trace.marks[:], np.int64)
    if not len(marks):
        return
    errors = trace.errors[marks]
    ends = np.append(marks, len(trace) - 1), np.append(errors, errors[-1])
    axes.step(*ends, where="post", color=_BEST, lw=1.4, zorder=3)
    if len(marks) <= _MOST_DOTS:
        axes.plot(marks, errors, ".", color=_BEST, ms=5, zorder=3)
    axes.plot(marks[-1:], errors[-1:], "o", ms=7, mfc="white", mec=_BEST, mew=1.6, zorder=4, clip_on=False)


def _scale(axes: Any, finite: NDArray[np.float64]) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    low, high = float(finite.min()), float(finite.max())
    if low > 0 and _WIDE_RANGE * low <= high < min(1.0, low) * _WIDEST:
        axes.set_yscale("log")
        pad = (high / low) ** 0.06
        axes.set_ylim(low / pad, high * pad)
        axes.yaxis.set_major_locator(LogLocator(numticks=7))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.tick_params(axis="y", which="minor", length=0)
    else:
        pad = (high - low) * 0.06 or abs(low) * 0.1 or 1.0
        axes.set_ylim(low - pad, high + pad)
        axes.yaxis.set_major_locator(MaxNLocator(6))
    digits = 4 + max(0, round(math.log10(max(abs(low), abs(high)) / (high - low)))) if high > low else 4
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _number(value, digits)))


def _draw_keyframes(figure: Any, trace: Trace) -> None:
    """Draw how many of the steps are kept, all along: where there is room for each, every keyframe is a tick."""
    from matplotlib.colors import LinearSegmentedColormap

    axes = _panel(figure, _STRIP, len(trace))
    columns = min(len(trace), _COLUMNS)
    edges = np.linspace(0, len(trace), columns + 1)
    kept = np.histogram(trace.keyframes, edges)[0]
    share = kept / np.diff(np.searchsorted(np.arange(len(trace)), edges)).clip(1)
    shades = LinearSegmentedColormap.from_list("kept", [PANEL, _KEPT])
    # A column is around its steps; the root shows a sixty-fourth as an eighth.
    axes.imshow(
        np.sqrt(share)[None], cmap=shades, vmin=0, vmax=1, aspect="auto", interpolation="nearest",
        extent=(-0.5, len(trace) - 0.5, 0, 1),
    )  # fmt: skip
    axes.set_xlim(*_limits(len(trace)))
    axes.set_yticks([])
    axes.grid(visible=False)
    axes.tick_params(axis="x", length=3, color=FAINT, labelbottom=True, labelsize=8, labelcolor=SOFT, pad=3)
    _write(figure, _STRIP[0] + 0.05, "keyframes", weight="bold", color=_KEPT, size=_NAME_SIZE)
    _write(figure, _STRIP[0] - 0.12, f"{100 * len(trace.keyframes) / len(trace):.3g} % of the steps", color=SOFT)
    put(figure, _LEFT + (_WIDTH - _LEFT - _RIGHT - _TICKS) / 2, 0.28, "step", size=8, color=SOFT, ha="center")


def _panel(figure: Any, place: tuple[float, float], steps: int) -> Any:
    from matplotlib.ticker import MaxNLocator

    bottom, height = place
    width = _WIDTH - _LEFT - _RIGHT - _TICKS
    axes = figure.add_axes((_LEFT / _WIDTH, bottom / _HEIGHT, width / _WIDTH, height / _HEIGHT), facecolor=PANEL)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_xlim(*_limits(steps))
    ticks = range(steps) if steps <= _FEW else MaxNLocator(8, integer=True).tick_values(0, steps - 1)
    within = [int(tick) for tick in ticks if 0 <= tick < steps]
    axes.set_xticks(within, [f"{tick:,}" for tick in within])
    axes.yaxis.tick_right()
    axes.tick_params(axis="y", length=0, pad=5, labelsize=_SMALL, labelcolor=SOFT)
    axes.tick_params(axis="x", length=0, labelbottom=False)
    axes.grid(axis="x", color="white", lw=1.0)
    axes.grid(axis="y", color=HAIR, lw=0.6)
    axes.set_axisbelow(True)
    return axes


def _limits(steps: int) -> tuple[float, float]:
    return -0.5, steps - 0.5


def _write(figure: Any, y: float, text: str, *, size: float = _SMALL, **looks: Any) -> None:
    weight = looks.get("weight", "normal")
    put(figure, _RIGHT, y, fitted(text, _LEFT - _RIGHT - 0.1, size, weight=weight), size=size, **looks)


def _number(value: float, digits: int = 4) -> str:
    return f"{value:.{digits}g}".replace("-", "−")
