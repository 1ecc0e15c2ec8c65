"""Pages: the title, strips and curves under each other, one time for all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from playhead import clock, strictjson
from playhead.episode import Episode
from playhead.paths import GivenPath
from playhead.plots import curves, strips, style
from playhead.plots.material import Camera, Curve, Material, gather
from playhead.plots.saving import check_ending, save
from playhead.plots.style import FAINT, HAIR, INK, PANEL, SOFT, fitted, put, width_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WIDTH = 12.0  # all in inches
_LEFT, _RIGHT, _TOP, _BOTTOM = 1.95, 0.3, 0.28, 0.62
_TITLE, _LINE, _STRIP_GAP, _PARTS_GAP, _MORE = 0.86, 0.2, 0.14, 0.16, 0.24
_NAME_SIZE, _SMALL = 9.0, 7.0
_TICKS = 0.5  # for the numbers beside a curve


@dataclass(frozen=True)
class _Look:
    """How large things are on one kind of page."""

    row: float
    gap: float
    most: int
    frames: int = 8


_SHEET = (_Look(0.66, 0.15, 12), _Look(0.46, 0.12, 32))
_PLOT = (_Look(1.25, 0.2, 6), _Look(0.8, 0.16, 20), _Look(0.5, 0.12, 64))


def contact_sheet(
    episode: Episode,
    path: GivenPath | None = None,
    *,
    signals: Iterable[str] | None = None,
    frames: int = 8,
    title: str | None = None,
) -> Figure:
    """Draw an episode on one page: a strip of frames for each camera, and the other signals below on the same time.

    Args:
        episode: The episode.
        path: Where to write the picture: PNG, SVG or PDF by the end of the name; nowhere where it is None.
        signals: Only these, in this order.
        frames: At most so many in a strip.
        title: What stands above it; the uid where it is None.

    Returns:
        The figure of Matplotlib.

    Raises:
        MissingExtra: Matplotlib is not installed.
        NotFound: There is no such signal.
        Empty: There is nothing to show.
        BadName: The path has another ending.
    """
    return _page(episode, path, signals, title, _SHEET, frames)


def plot_signals(
    episode: Episode,
    path: GivenPath | None = None,
    *,
    signals: Iterable[str] | None = None,
    title: str | None = None,
) -> Figure:
    """Draw the signals of an episode that are not images, one below the other on the same time.

    Args:
        episode: The episode.
        path: Where to write the picture: PNG, SVG or PDF by the end of the name; nowhere where it is None.
        signals: Only these, in this order.
        title: What stands above it; the uid where it is None.

    Returns:
        The figure of Matplotlib.

    Raises:
        MissingExtra: Matplotlib is not installed.
        NotFound: There is no such signal.
        Empty: There is nothing to show.
        BadName: The path has another ending.
    """
    return _page(episode, path, signals, title, _PLOT, 0)


def _page(
    episode: Episode,
    path: GivenPath | None,
    signals: Iterable[str] | None,
    title: str | None,
    looks: Sequence[_Look],
    frames: int,
) -> Figure:
    check_ending(path)
    with style.applied():
        material = gather(episode, signals)
        if not frames:
            material = Material([], material.curves, material.start, material.seconds)
        figure = _drawn(episode, material, title or episode.uid or "episode", looks, frames)
        save(figure, path)
    return figure


def _drawn(episode: Episode, material: Material, title: str, looks: Sequence[_Look], frames: int) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    look = next((look for look in looks if len(material.curves) <= look.most), looks[-1])
    shown = material.curves[: look.most]
    left_out = len(material.curves) - len(shown)
    width = _WIDTH - _LEFT - _RIGHT - _TICKS
    heights = [strips.cell_of(camera, width, frames)[2] + strips.LABEL + _STRIP_GAP for camera in material.cameras]
    strip_part = sum(heights) + (_PARTS_GAP if heights and shown else 0)
    curve_part = len(shown) * (look.row + look.gap)
    title_part = _TITLE if episode.static else _TITLE - _LINE
    foot = (_BOTTOM if shown else 0) + (_MORE if left_out else 0)
    height = _TOP + title_part + strip_part + curve_part + foot
    figure = Figure((_WIDTH, height), dpi=style.DPI, facecolor="white")
    FigureCanvasAgg(figure)
    top = height - _TOP
    _draw_title(figure, episode, material, title, top)
    top -= title_part
    for camera, tall in zip(material.cameras, heights, strict=True):
        strips.draw(figure, camera, material, (_LEFT, top - tall + _STRIP_GAP, width), frames)
        image_height = tall - strips.LABEL - _STRIP_GAP
        _draw_name(figure, camera.name, _about(camera), top - image_height / 2)
        top -= tall
    top -= _PARTS_GAP if heights and shown else 0
    axes = None
    for curve in shown:
        axes = _panel(figure, (_LEFT, top - look.row, width, look.row), material)
        curves.draw(axes, curve, material, width)
        _draw_name(figure, curve.name, _describe(curve), top - look.row / 2, curves.colours_of(curve), look.row)
        top -= look.row + look.gap
    if left_out:
        text = f"… and {left_out} more signal{'s' if left_out > 1 else ''}; choose with signals="
        put(figure, _LEFT, 0.08, text, size=_SMALL, color=SOFT)
    _draw_time(figure, axes, width)
    return figure


def _draw_title(figure: Any, episode: Episode, material: Material, title: str, top: float) -> None:
    room = _WIDTH - 2 * _RIGHT
    put(figure, _RIGHT, top - 0.17, fitted(title, room, 14, weight="bold"), size=14, weight="bold", color=INK)
    created = episode.meta.get("created_ts_ns")
    facts = [
        f"{clock.local(created):%Y-%m-%d %H:%M:%S}" if isinstance(created, int) else "",
        f"{material.seconds:.2f} s",
        _count(len(material.cameras), "camera"),
        _count(len(material.curves), "signal"),
        "" if not episode.uid or episode.uid == title else episode.uid,
    ]
    put(figure, _RIGHT, top - 0.42, fitted(" · ".join(fact for fact in facts if fact), room, 9), size=9, color=SOFT)
    static = " · ".join(f"{name}: {_value(value)}" for name, value in episode.static.items())
    put(figure, _RIGHT, top - 0.63, fitted(static, room, 9), size=9, color=INK)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}" if number else ""


def _value(value: Any) -> str:
    return value if isinstance(value, str) else strictjson.encode(strictjson.plain(value)).decode()


def _about(camera: Camera) -> str:
    height, width = camera.shape[:2]
    return f"{width}×{height}{_rate(camera.timing.rate_hz)}"


def _describe(curve: Curve) -> str:
    return f"{curves.kind_of(curve)}{_rate(curve.timing.rate_hz)}"


def _rate(rate: float | None) -> str:
    return "" if rate is None else f", {rate:.3g} Hz"


def _draw_name(
    figure: Any, name: str, about: str, middle: float, colours: Sequence[str] = (), row: float = 1.0
) -> None:
    """Write a name to the left, what it is below, and below that the numbers of a vector in their colours."""
    room = _LEFT - _RIGHT - 0.12
    with_numbers = bool(colours) and row >= 0.6
    y = middle + (0.1 if with_numbers else 0.03)
    put(
        figure,
        _RIGHT,
        y,
        fitted(name, room, _NAME_SIZE, weight="bold", middle=True),
        size=_NAME_SIZE,
        weight="bold",
        color=INK,
    )
    put(figure, _RIGHT, y - 0.15, fitted(about, room, _SMALL), size=_SMALL, color=SOFT)
    if with_numbers:
        x = _RIGHT
        for number, colour in enumerate(colours):
            put(figure, x, y - 0.29, str(number), size=_SMALL, color=colour, weight="bold")
            x += width_of(str(number), _SMALL, weight="bold") + 0.06


def _panel(figure: Any, box: tuple[float, float, float, float], material: Material) -> Any:
    wide, high = figure.get_size_inches()
    axes = figure.add_axes((box[0] / wide, box[1] / high, box[2] / wide, box[3] / high), facecolor=PANEL)
    _limit(axes, material)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.yaxis.tick_right()
    axes.tick_params(axis="y", length=0, pad=4, labelsize=_SMALL, labelcolor=SOFT)
    axes.tick_params(axis="x", length=0, labelbottom=False)
    axes.grid(axis="x", color="white", lw=1.0)
    axes.set_axisbelow(True)
    return axes


def _limit(axes: Any, material: Material) -> None:
    low, high = (0.0, material.seconds) if material.seconds > 0 else (-0.5, 0.5)
    axes.set_xlim(low, high)
    axes.set_xticks([tick for tick in axes.get_xticks() if low <= tick <= high])


def _draw_time(figure: Any, axes: Any, width: float) -> None:
    """Label the time once, below the last curve; frames have theirs below them."""
    if axes is None:
        return
    axes.tick_params(axis="x", length=3, color=FAINT, labelbottom=True, labelsize=8, labelcolor=SOFT, pad=3)
    axes.spines["bottom"].set_visible(True)
    axes.spines["bottom"].set_color(HAIR)
    _, high = figure.get_size_inches()
    bottom = axes.get_position().y0 * high
    put(figure, _LEFT + width / 2, bottom - 0.42, "seconds", size=8, color=SOFT, ha="center")
