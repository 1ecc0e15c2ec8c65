"""Pictures of episodes: that everything is on them, nothing overlaps, and nothing odd stops them."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from playhead import plots
from playhead.episode import DiskEpisode, Episode, EpisodeView
from playhead.errors import BadName, Empty, NotFound
from playhead.signal import ArraySignal
from tests.check.making import SECOND, START, frame, record, usual

matplotlib = pytest.importorskip("matplotlib")


def camera(frames: int = 12, **size: int) -> ArraySignal:
    values = np.stack([frame(number, **size) for number in range(frames)])
    return ArraySignal(values, START + np.arange(frames) * SECOND // 10)


def curve(count: int = 200, start: int = START, step: int = SECOND // 100) -> ArraySignal:
    return ArraySignal(np.sin(np.arange(count) / 9), start + np.arange(count) * step)


def view(static: dict[str, object] | None = None, **signals: ArraySignal) -> EpisodeView:
    return EpisodeView(signals, static or {}, {"uid": "cafe" * 8, "created_ts_ns": START})


def shown(figure: object) -> list[str]:
    """All texts on a page."""
    from matplotlib.text import Text

    return [text.get_text() for text in figure.findobj(Text) if text.get_text() and text.get_visible()]  # type: ignore[attr-defined]


def boxes(figure: object) -> list[tuple[str, object]]:
    from matplotlib.text import Text

    figure.canvas.draw()  # type: ignore[attr-defined]
    texts = [text for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()]  # type: ignore[attr-defined]
    return [(text.get_text(), text.get_window_extent()) for text in texts]


def overlaps(figure: object) -> list[tuple[str, str]]:
    """Texts that lie on each other, or leave the page."""
    found = boxes(figure)
    wide, high = figure.canvas.get_width_height()  # type: ignore[attr-defined]
    outside = [(text, "the edge") for text, box in found if box.x0 < 0 or box.y0 < 0 or box.x1 > wide or box.y1 > high]  # type: ignore[attr-defined]
    crossing = [
        (one, two)
        for (one, a), (two, b) in itertools.combinations(found, 2)
        if min(a.x1, b.x1) - max(a.x0, b.x0) > 1 and min(a.y1, b.y1) - max(a.y0, b.y0) > 1  # type: ignore[attr-defined]
    ]
    return outside + crossing


def test_a_sheet_of_a_recording_shows_all_of_it(tmp_path: Path) -> None:
    episode = DiskEpisode(record(tmp_path / "data", usual))
    figure = plots.contact_sheet(episode, tmp_path / "sheet.png", title="teleop/0")
    texts = shown(figure)
    for expected in (
        "teleop/0",
        "cam",
        "joint",
        "force",
        "count",
        "closed",
        "label",
        "64×48, 30 Hz",
        "reach",
        "seconds",
    ):
        assert expected in texts
    assert "task: pick up the cube · success: true" in texts
    assert overlaps(figure) == []
    with Image.open(tmp_path / "sheet.png") as image:
        assert image.format == "PNG"
        assert image.width == 1800
        assert np.asarray(image.convert("RGB"))[2, 2].tolist() == [255, 255, 255]
        assert len(image.convert("RGB").getcolors(1 << 24)) > 500


def test_a_plot_shows_no_cameras(tmp_path: Path) -> None:
    episode = DiskEpisode(record(tmp_path / "data", usual))
    texts = shown(plots.plot_signals(episode, tmp_path / "plot.pdf"))
    assert "cam" not in texts
    assert "joint" in texts
    assert (tmp_path / "plot.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("cameras", [0, 1, 4])
@pytest.mark.parametrize("curves", [0, 1, 20])
def test_nothing_overlaps_whatever_there_is(cameras: int, curves: int) -> None:
    if not cameras and not curves:
        pytest.skip("nothing to draw")
    sizes = [{}, {"height": 96, "width": 40}, {"height": 40, "width": 320}, {"height": 64, "width": 64}]
    signals = {f"cam{number}": camera(**sizes[number]) for number in range(cameras)}
    signals |= {
        f"a.very.long.name.of.a.signal.number.{number}": ArraySignal(
            np.sin(np.arange(90) / 9) * 10.0 ** (number - 9), START + np.arange(90) * SECOND // 50
        )
        for number in range(curves)
    }
    episode = view({"task": "a long task " * 40, "n": 1}, **signals)
    assert overlaps(plots.contact_sheet(episode, title="x" * 400)) == []


def test_frames_are_those_of_their_time() -> None:
    values = np.zeros((100, 16, 16, 3), np.uint8)
    values[50:] = 250
    episode = view(cam=ArraySignal(values, START + np.arange(100) * SECOND // 10))
    figure = plots.contact_sheet(episode, frames=4)
    strip = [axes.images[0].get_array() for axes in figure.axes if axes.images]
    assert [int(image.mean()) for image in strip] == [0, 0, 250, 250]
    assert [text for text in shown(figure) if text.endswith(" s") and " · " not in text] == [
        "1.20 s",
        "3.70 s",
        "6.10 s",
        "8.60 s",
    ]


def test_a_camera_that_begins_late_or_ends_early_has_empty_places() -> None:
    late = ArraySignal(np.stack([frame(n) for n in range(10)]), START + SECOND + np.arange(10) * SECOND // 10)
    figure = plots.contact_sheet(view(cam=late, force=curve()), frames=4)
    assert shown(figure).count("no frame") == 2
    figure = plots.contact_sheet(view(cam=camera(10), force=curve(400)), frames=8)
    assert shown(figure).count("no frame") == 5


ODD = {
    "constant": ArraySignal(np.full(50, 3.5), START + np.arange(50)),
    "nan": ArraySignal(np.full(50, np.nan), START + np.arange(50)),
    "inf": ArraySignal(np.array([1.0, np.inf, -np.inf, 2.0]), START + np.arange(4)),
    "one": ArraySignal(np.array([3]), [START]),
    "empty": ArraySignal(np.empty(0), np.empty(0, np.int64)),
    "wide": ArraySignal(np.random.default_rng(0).normal(size=(40, 300)), START + np.arange(40)),
    "matrix": ArraySignal(np.random.default_rng(0).normal(size=(40, 4, 4)), START + np.arange(40)),
    "unsigned": ArraySignal(np.arange(40, dtype=np.uint64) + np.uint64(1 << 63), START + np.arange(40)),
    "truths": ArraySignal(np.random.default_rng(0).random((40, 3)) > 0.5, START + np.arange(40)),
    "words": ArraySignal(np.array([f"text {n}" for n in range(4000)], object), START + np.arange(4000)),
    "long": curve(300_000, step=1000),
    "other clock": curve(start=SECOND),
    "名前 $x_{1$ \u202e": curve(),
    "ragged": ArraySignal(np.array([np.zeros(2), np.zeros(3), None], object)[:3], START + np.arange(3)),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("together", [True, False])
def test_odd_signals_are_drawn(name: str, together: bool) -> None:
    signals = {name: ODD[name]} | ({"force": curve(), "cam": camera()} if together else {})
    if name == "empty" and not together:
        with pytest.raises(Empty):
            plots.contact_sheet(view(**signals))
        return
    assert overlaps(plots.contact_sheet(view(**signals))) == []
    assert overlaps(plots.plot_signals(view(**signals))) == []


def test_many_signals_are_cut_and_said() -> None:
    signals = {f"s{number:03}": curve(20) for number in range(40)}
    texts = shown(plots.contact_sheet(view(**signals)))
    assert "… and 8 more signals; choose with signals=" in texts
    assert overlaps(plots.contact_sheet(view(**signals))) == []


def test_chosen_signals_come_in_their_order() -> None:
    episode = view(a=curve(), b=curve(), c=curve())
    texts = shown(plots.plot_signals(episode, signals=["c", "a"]))
    assert texts.index("c") < texts.index("a")
    assert "b" not in texts
    with pytest.raises(NotFound, match="there is: a, b, c"):
        plots.plot_signals(episode, signals=["d"])


def test_a_gap_is_not_bridged() -> None:
    stamps = START + np.concatenate([np.arange(100), np.arange(300, 400)]) * SECOND // 100
    figure = plots.plot_signals(view(force=ArraySignal(np.arange(200.0), stamps)))
    (line,) = figure.axes[0].lines
    assert np.isnan(line.get_ydata()).sum() == 1


def test_peaks_survive_the_thinning() -> None:
    values = np.zeros(100_000)
    values[12_345] = 9.0
    figure = plots.plot_signals(view(force=ArraySignal(values, START + np.arange(100_000) * 1000)))
    (line,) = figure.axes[0].lines
    assert line.get_ydata().max() == 9.0
    assert len(line.get_ydata()) < 10_000


def test_a_damaged_signal_is_said_and_the_rest_drawn(tmp_path: Path) -> None:
    path = record(tmp_path, usual)
    (path / "force.parquet").write_bytes(b"PAR1")
    video = path / "cam.mp4"
    data = bytearray(video.read_bytes())
    data[len(data) // 2] ^= 1
    video.write_bytes(data)
    figure = plots.contact_sheet(DiskEpisode(path))
    assert shown(figure).count("cannot be read") == 2
    assert overlaps(figure) == []


def test_an_ending_that_says_nothing(tmp_path: Path) -> None:
    episode: Episode = view(a=curve())
    for name in ("picture", "picture.doc"):
        with pytest.raises(BadName, match=r"\.png, \.svg, \.pdf"):
            plots.contact_sheet(episode, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_drawing_leaves_no_trace_in_matplotlib() -> None:
    before = dict(matplotlib.rcParams)
    plots.contact_sheet(view(a=curve()))
    assert dict(matplotlib.rcParams) == before


def test_matplotlib_is_named_where_it_is_missing(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from playhead import plots\n"
        "from playhead.episode import EpisodeView\n"
        "plots.plot_signals(EpisodeView({}, {}))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "pip install 'playhead[plot]'" in done.stderr
