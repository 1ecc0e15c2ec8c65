"""Pictures of traces: that everything is on them, nothing overlaps, and nothing odd stops them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from playhead import plots
from playhead.errors import BadName, Empty
from playhead.lanes.keyframes import tiers, tree
from playhead.lanes.keyframes.contents import MemoryContents
from playhead.trace import Trace
from tests.test_plots import overlaps, shown

pytest.importorskip("matplotlib")

GENERATOR = np.random.default_rng(0)


def trace(errors: Any, bucket: int = 20, **parameters: Any) -> Trace:
    values = np.asarray(errors, float)
    states = {step: tree.pack(step) for step in range(len(values)) if tiers.is_keyframe(step, bucket)}
    return Trace(MemoryContents({"parameters": parameters}, np.arange(len(values)), values, states))


def falling(count: int) -> Any:
    return np.exp(-np.arange(count) / count * 8) * (1 + GENERATOR.random(count))


def test_all_of_it_is_on_the_picture(tmp_path: Path) -> None:
    one = trace(falling(20_000), 500, learning_rate=0.05)
    figure = plots.plot_trace(one, tmp_path / "fit.png", title="run_1/fit")
    texts = shown(figure)
    assert {"run_1/fit", "error", "best so far", "keyframes", "step"} <= set(texts)
    assert f"20,000 steps · {len(one.keyframes):,} keyframes · best " in " ".join(texts)
    assert "learning_rate 0.05" in " ".join(texts)
    assert not overlaps(figure)
    with Image.open(tmp_path / "fit.png") as image:
        assert image.size == (1800, 765)


@pytest.mark.parametrize(
    ("errors", "scale"),
    [
        (falling(500), "log"),
        (np.linspace(1, 2, 500), "linear"),
        (np.linspace(-1, 200, 500), "linear"),
        (np.append(falling(500), 0.0), "linear"),
        (np.append(falling(500), np.nan), "log"),
    ],
)
def test_the_axis_is_logarithmic_where_that_fits(errors: Any, scale: str) -> None:
    assert plots.plot_trace(trace(errors)).axes[0].get_yscale() == scale


def test_the_best_steps_are_marked() -> None:
    one = trace([5.0, 3.0, 4.0, 3.0, np.nan, 2.0, 6.0], 2)
    axes = plots.plot_trace(one).axes[0]
    marked = [line for line in axes.get_lines() if line.get_marker() == "."]
    assert marked[0].get_xdata().tolist() == [0, 1, 5]
    (best,) = [line for line in axes.get_lines() if line.get_marker() == "o"]
    assert (best.get_xdata().tolist(), best.get_ydata().tolist()) == ([5], [2.0])


def test_the_strip_shows_the_share_of_steps_that_is_kept() -> None:
    one = trace(np.ones(64), 4)
    (strip,) = plots.plot_trace(one).axes[1].get_images()
    assert np.flatnonzero(strip.get_array()[0]).tolist() == one.keyframes.tolist()
    many = trace(np.ones(14_000), 1750)
    (strip,) = plots.plot_trace(many).axes[1].get_images()
    shares = np.asarray(strip.get_array()[0]) ** 2
    assert shares[0] == 1
    assert shares[500] == pytest.approx(0.5)
    assert shares[1000] == pytest.approx(0.25, abs=0.06)


@pytest.mark.parametrize(
    "errors",
    [[1.0], [np.nan] * 5, [np.inf, 1.0, -np.inf], [0.0] * 10, [1e300, -1e300], [1e-300, 1e300], [7.000001, 7.000002]],
)
def test_nothing_odd_stops_it(errors: list[float], tmp_path: Path) -> None:
    figure = plots.plot_trace(trace(errors, 1), tmp_path / "odd.svg", title="$x_1$\n" + "long " * 100)
    assert not overlaps(figure)
    assert (tmp_path / "odd.svg").stat().st_size > 1000


def test_what_cannot_be_drawn_is_said_and_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(Empty, match="no steps"):
        plots.plot_trace(trace([]), tmp_path / "none.png")
    with pytest.raises(BadName, match=r"let it end with \.png"):
        plots.plot_trace(trace([1.0]), tmp_path / "none.txt")
    assert list(tmp_path.iterdir()) == []
