"""Episodes as films: what is in them, pixel by pixel, and when."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from playhead.episode import EpisodeView
from playhead.errors import BadKey, BadName, Empty, Exists, NotFound, OutOfRange, WrongShape, WrongType
from playhead.export.film import Script, figures, timing, to_film
from playhead.export.film.canvas import BADGE, Canvas
from playhead.export.film.pictures import choose
from playhead.export.film.steps import Steps
from playhead.signal import ArraySignal, Positions, Signal

START = 1_790_000_000_000_000_000
COLOURS = np.array([(200, 72, 72), (180, 122, 48), (162, 162, 42), (72, 160, 72), (66, 72, 200)], np.uint8)


def game(number: int, *, height: int = 70, width: int = 54) -> np.ndarray:
    """A picture such as old games have: few colours, sharp edges, something small that moves."""
    picture = np.full((height, width, 3), (144, 72, 17), np.uint8)
    for row, colour in enumerate(COLOURS):
        picture[8 + 4 * row : 12 + 4 * row, 2:-2] = colour
    picture[40:44, number % (width - 4) : number % (width - 4) + 4] = 236
    return picture


def stamps_of(count: int, *, ms: float = 50) -> np.ndarray:
    return START + (np.arange(count) * ms * 1e6).astype(np.int64)


def episode(count: int = 30, *, ms: float = 50, stamps: Any = None, **more: Any) -> EpisodeView:
    """An episode of an agent: a reward each tenth step, terminated at the end."""
    stamps = stamps_of(count, ms=ms) if stamps is None else stamps
    rewards = np.where(np.arange(count) % 10 == 9, -1.0, 0.0)
    signals = {
        "frame": ArraySignal(np.stack([game(number) for number in range(count)]), stamps),
        "action": ArraySignal(np.arange(count) % 4, stamps),
        "reward": ArraySignal(rewards, stamps),
        "terminated": ArraySignal(np.arange(count) == count - 1, stamps),
        "truncated": ArraySignal(np.zeros(count, bool), stamps),
    }
    return EpisodeView(signals | more, {"env_id": "Old/Game-v5", "seed": 3}, {"uid": "a-ep0007"})


def pictures_only(values: Any, name: str = "cam", *, ms: float = 50) -> EpisodeView:
    return EpisodeView({name: ArraySignal(values, stamps_of(len(values), ms=ms))}, {}, {})


def read_mp4(path: Path) -> tuple[list[np.ndarray], list[float], Any]:
    """Give the pictures of a film, the second at which each begins and the last ends, and its track."""
    with av.open(path) as container:
        track = container.streams.video[0]
        found = [(frame.to_ndarray(format="rgb24"), float(frame.time)) for frame in container.decode(track)]
        end = float(track.duration * track.time_base)
        return [picture for picture, _ in found], [*(time for _, time in found), end], track


def read_gif(path: Path) -> tuple[list[np.ndarray], list[int]]:
    """Give the pictures of a film, and for how many milliseconds each is shown."""
    pictures, durations = [], []
    with Image.open(path) as film:
        assert film.info["loop"] == 0
        for number in range(film.n_frames):
            film.seek(number)
            durations.append(film.info["duration"])
            pictures.append(np.asarray(film.convert("RGB")))
    return pictures, durations


def test_an_mp4_has_a_picture_a_step_in_the_right_colours(tmp_path: Path) -> None:
    target = tmp_path / "a.mp4"
    assert to_film(episode(), target) == 30
    pictures, times, track = read_mp4(target)
    assert len(pictures) == 30
    assert (track.codec_context.name, track.codec_context.pix_fmt) == ("h264", "yuv420p")
    assert track.width % 2 == track.height % 2 == 0
    assert times == pytest.approx([*(0.05 * number for number in range(30)), 1.45 + 1.0], abs=2e-3)
    for number, picture in enumerate(pictures):
        expected = game(number).repeat(7, axis=0).repeat(7, axis=1).astype(int)
        shown = picture[: expected.shape[0], : expected.shape[1]].astype(int)
        assert np.abs(shown - expected).mean() < 2.5
        middles = np.s_[3::7, 3::7]  # of the enlarged pixels, where no neighbour bleeds in
        assert np.percentile(np.abs(shown[middles] - expected[middles]), 99) <= 12
        assert np.abs(shown[35 * 7 : 38 * 7, 10:-10] - (144, 72, 17)).max() <= 4


def test_a_gif_has_exactly_the_colours_of_the_pictures(tmp_path: Path) -> None:
    target = tmp_path / "a.gif"
    assert to_film(episode(), target) == 30
    pictures, durations = read_gif(target)
    assert durations == [50] * 29 + [1000]
    for number, picture in enumerate(pictures):
        expected = game(number).repeat(7, axis=0).repeat(7, axis=1)
        assert (picture[: expected.shape[0], : expected.shape[1]] == expected).all()


@pytest.mark.parametrize("ending", ["mp4", "gif"])
def test_the_band_tells_each_step_and_how_it_ended(tmp_path: Path, ending: str) -> None:
    target = tmp_path / f"a.{ending}"
    to_film(episode(12), target, scale=2)
    pictures = read_mp4(target)[0] if ending == "mp4" else read_gif(target)[0]
    bands = [picture[140:].astype(int) for picture in pictures]
    for before, after in itertools.pairwise(bands):
        assert (np.abs(after - before) > 40).sum() > 20
    badges = [(np.abs(band - BADGE).max(axis=-1) < 24).sum() for band in bands]
    assert badges[-1] > 300
    assert max(badges[:-1]) < 50


def test_rewards_in_words_and_flags_of_several_are_shown_all_the_same(tmp_path: Path) -> None:
    """Was a bug: errors of NumPy came through."""
    times = stamps_of(3)
    signals = {
        "frame": ArraySignal(np.stack([game(number) for number in range(3)]), times),
        "reward": ArraySignal(np.array(["good", "bad"], object), times[:2]),
        "terminated": ArraySignal(np.array([[False, False], [False, True]]), times[1:]),
    }
    view = EpisodeView(signals, {})
    assert to_film(view, tmp_path / "a.gif") == 3
    steps = Steps(view, times)
    assert [steps[number].reward for number in range(3)] == [None] * 3
    assert [steps[number].terminated for number in range(3)] == [None, False, True]


def test_pictures_of_many_colours_stay_near_in_a_gif(tmp_path: Path) -> None:
    y, x = np.mgrid[0:120, 0:160]
    photos = [np.stack([x * 1.5, y * 2, 128 + 100 * np.sin((x + y + 8 * n) / 30)], -1) for n in range(6)]
    values = np.stack(photos).astype(np.uint8)
    to_film(pictures_only(values), tmp_path / "a.gif", scale=1)
    for shown, expected in zip(read_gif(tmp_path / "a.gif")[0], values, strict=True):
        # Eyes, and this, mix dots that lie side by side.
        difference = shown[:120, 80:240].astype(float) - expected
        mixed = difference.reshape(30, 4, 40, 4, 3).mean(axis=(1, 3))
        assert np.abs(mixed).mean() < 4
        assert np.abs(difference).mean() < 16


def test_times_are_those_of_the_recording_and_long_ones_are_cut(tmp_path: Path) -> None:
    stamps = START + np.array([0, 40, 140, 150, 4_000_000, 4_000_040]) * 1_000_000
    to_film(episode(6, stamps=stamps), tmp_path / "a.mp4", scale=1)
    times = read_mp4(tmp_path / "a.mp4")[1]
    # 150 ms comes too soon after 140 ms.
    assert times == pytest.approx([0, 0.04, 0.14, 2.15, 2.19, 3.19], abs=2e-3)
    to_film(episode(6, stamps=stamps), tmp_path / "a.gif", scale=1)
    assert read_gif(tmp_path / "a.gif")[1] == [40, 100, 2010, 40, 1000]


def test_what_was_recorded_too_fast_to_watch_is_played_at_30_or_as_the_environment_says() -> None:
    fast = episode(ms=0.2)
    assert Script(fast).rate == 30
    assert Script(fast).times == pytest.approx(np.arange(31) / 30)
    named = EpisodeView(fast.signals, {"render_fps": 12}, {})
    assert Script(named).rate == 12
    assert Script(EpisodeView(fast.signals, {"fps": 15, "render_fps": 12}, {})).rate == 15
    assert Script(EpisodeView(fast.signals, {"render_fps": "many"}, {})).rate == 30
    assert Script(fast, fps=5).rate == 5
    assert Script(episode(ms=10)).rate is None
    assert Script(episode(1)).rate == 30


@pytest.mark.parametrize(
    ("options", "count", "seconds"),
    [
        ({"speed": 2}, 30, 29 * 0.025 + 1),
        ({"speed": 16}, 5, 29 * 0.05 / 16 + 1),
        ({"fps": 10}, 30, 3.9),
        ({"first": 10, "stop": 20}, 10, 0.45 + 1),
        ({"first": -5}, 5, 0.2 + 1),
        ({"stop": 1}, 1, 1),
    ],
)
def test_speed_and_part(tmp_path: Path, options: dict[str, Any], count: int, seconds: float) -> None:
    assert to_film(episode(), tmp_path / "a.mp4", scale=3, **options) == count
    pictures, times, _ = read_mp4(tmp_path / "a.mp4")
    assert len(pictures) == count
    assert times[-1] == pytest.approx(seconds, abs=0.02)
    chosen = slice(options.get("first"), options.get("stop"))
    for place, number in ((0, range(30)[chosen][0]), (-1, range(30)[chosen][-1])):
        left = 79 + 3 * (number % 50)  # the film is wider than the picture
        ball = pictures[place][41 * 3 : 43 * 3, left + 3 : left + 9]
        assert ball.mean() == pytest.approx(236, abs=6)


@given(
    st.lists(st.floats(0, 3), min_size=1, max_size=60).map(np.cumsum),
    st.sampled_from([(1 / 60, 1e-3), (0.02, 1e-2)]),
)
def test_a_film_is_as_long_as_it_should_be(times: Any, kind: tuple[float, float]) -> None:
    least, unit = kind
    times = times - times[0]
    chosen = timing.thinned(times, least)
    assert (chosen[0], chosen[-1]) == (0, len(times) - 1)
    assert all(before < after for before, after in itertools.pairwise(chosen))
    # Only the last two may be nearer, where the first is all there is before the last.
    gaps = np.diff(times[chosen])
    assert (gaps[: len(gaps) - (len(chosen) == 2)] >= least * 0.99).all()
    durations = timing.shown_for(times, chosen, float(times[-1]) + 0.1, unit)
    assert sum(durations) * unit == pytest.approx(times[-1] + 1.0, abs=2 * unit)


@pytest.mark.parametrize(
    ("height", "width", "scale", "size"),
    [
        (210, 160, None, (420, 320)),
        (84, 84, None, (504, 504)),
        (400, 600, None, (400, 600)),
        (720, 1280, None, (720, 1280)),
        (10, 30, None, (480, 1440)),
        (48, 64, 1, (48, 320)),
        (51, 333, 1, (51, 334)),
        (48, 64, 3, (144, 320)),
    ],
)
def test_small_pictures_are_enlarged_by_whole_factors(
    height: int, width: int, scale: int | None, size: tuple[int, int]
) -> None:
    script = Script(pictures_only(np.full((1, height, width, 3), 200, np.uint8)))
    canvas = Canvas(script, script.scenes(None, None), scale)
    assert (canvas.band, canvas.width) == size
    drawn = canvas.draw(0)
    assert drawn.shape == (canvas.height, canvas.width, 3)
    lit = (drawn[: canvas.band] == 200).all(axis=-1)
    assert lit.sum() == height * width * canvas.scale**2
    assert abs((canvas.width - width * canvas.scale) // 2 - canvas.left) <= 1
    assert lit[:, canvas.left : canvas.left + width * canvas.scale].all()


def test_every_kind_of_picture_is_shown() -> None:
    grey = np.tile(np.arange(0, 240, 10, dtype=np.uint8), (20, 1))
    colour = np.repeat(grey[..., None], 3, axis=2)

    def shown(value: np.ndarray, name: str | None = None) -> np.ndarray:
        return choose(pictures_only(np.stack([value] * 3)), name)[1]

    assert (shown(grey) == colour).all()
    assert (shown(grey[..., None]) == colour).all()
    assert (shown(colour) == colour).all()
    assert (shown(np.moveaxis(colour, 2, 0)) == colour).all()
    older = grey * 0
    assert (shown(np.stack([older, older, older, grey])) == colour).all()
    assert (shown(np.stack([older, older, older, grey], axis=-1)) == colour).all()
    opaque = np.dstack([colour, np.full_like(grey, 255)])
    assert (shown(opaque) == colour).all()
    deep = shown(grey.astype(np.uint16) * 100)
    assert (deep[:, 0], deep[:, -1]) == (pytest.approx(0), pytest.approx(255))
    assert (np.diff(deep[0, :, 0].astype(int)) > 0).all()
    fractions = (grey / 255).astype(np.float32)
    fractions[0, 0] = np.nan
    assert shown(fractions, "cam")[3, -1].tolist() == [255] * 3
    with pytest.raises(Empty):
        shown(fractions)


def test_a_step_without_a_picture_shows_the_one_before_and_says_so() -> None:
    found = episode(20)
    thinned = ArraySignal(found["frame"].values[3::4], found["frame"].timestamps[3::4])
    script = Script(EpisodeView({**found.signals, "frame": thinned}, {}, {}))
    assert len(script) == 20
    assert not script.picture(2).any()
    assert script.remark(2) == "no picture yet"
    assert [script.remark(number) for number in (3, 4, 6, 7)] == ["", "picture of step 3", "picture of step 3", ""]
    for number in range(3, 20):
        assert (script.picture(number) == game(number - (number - 3) % 4)).all()


class _Ended(EpisodeView):
    """An episode that keeps what was seen after its last step."""

    final: dict[str, Any]


def test_what_was_seen_after_the_last_step_is_shown_too(tmp_path: Path) -> None:
    found = episode(10)
    ended = _Ended(found.signals, found.static, found.meta)
    ended.final = {"frame": game(33)}
    script = Script(ended)
    assert len(script) == 11
    assert (script.picture(10) == game(33)).all()
    assert (script.ending(8), script.ending(9), script.ending(10)) == ("", "terminated", "terminated")
    assert script.figures(10) == script.figures(9)
    assert to_film(ended, tmp_path / "a.gif") == 11
    assert to_film(ended, tmp_path / "b.gif", stop=10, scale=1) == 10
    assert (read_gif(tmp_path / "a.gif")[0][-1][:490:7, :378:7] == game(33)).all()


def test_what_is_written_beside_a_picture() -> None:
    script = Script(episode(21))
    assert script.title == "Old/Game-v5 · a-ep0007 · seed 3"
    assert [(one.label, one.text) for one in script.figures(9)] == [
        ("step", "9 / 20"),
        ("time", "0.45 s"),
        ("reward", "-1"),
        ("return", "-1"),
        ("action", "1"),
    ]
    assert script.figures(9)[2].tone == "bad"
    assert [one.text for one in script.figures(20)] == ["20 / 20", "1.00 s", "0", "-2", "0"]
    assert script.ending(20) == "terminated"


@pytest.mark.parametrize(
    ("meta", "said"),
    [({"how": "reset"}, "reset"), ({"how": None}, "unfinished"), ({"how": "terminated"}, ""), ({}, "")],
)
def test_an_episode_that_was_cut_off_says_how(meta: dict[str, Any], said: str) -> None:
    found = EpisodeView({name: episode()[name] for name in ("frame", "reward")}, {}, meta)
    script = Script(found)
    assert [script.ending(place) for place in (0, 28, 29)] == ["", "", said]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.int64(3), "3"),
        (np.float32(0.123456), "0.123"),
        (np.array([0.5, -1.25]), "[0.50 -1.25]"),
        (np.array([1, 2], np.int32), "[1 2]"),
        (True, "yes"),
        ("go\x1b[2J\nleft", "go?[2J left"),
        ({"arm": np.array([0.1]), "grip": 1}, "arm=[0.10]  grip=1"),
        ([1, "a"], '[1,"a"]'),
    ],
)
def test_actions_as_text(value: Any, text: str) -> None:
    assert figures.value(value) == text


def test_numbers_and_times_as_text() -> None:
    assert [figures.number(one) for one in (0.0, 12.0, -3.14159, 1e12, float("nan"))] == [
        "0",
        "12",
        "-3.142",
        "1e+12",
        "nan",
    ]
    assert figures.number(1.0, signed=True) == "+1"
    assert figures.number(np.array([1.0, -2.5])) == "[1 -2.5]"
    assert [figures.seconds(one) for one in (0, 59.994, 59.996, 61.5, 3661.25)] == [
        "0.00 s", "59.99 s", "1:00.00", "1:01.50", "1:01:01.25",
    ]  # fmt: skip


def test_a_camera_and_actions_with_times_of_their_own() -> None:
    cam = ArraySignal(np.stack([game(number) for number in range(10)]), stamps_of(10, ms=100))
    action = ArraySignal(np.arange(100.0), stamps_of(100, ms=10) - 5_000_000)
    reward = ArraySignal(np.array([1.0, 2.0]), stamps_of(2, ms=450) + 20_000_000)
    script = Script(EpisodeView({"cam": cam, "action": action, "reward": reward}, {}, {}))
    assert len(script) == 10
    assert [script.step(number).action for number in (0, 1, 9)] == [0, 10, 90]
    assert [script.step(number).reward for number in range(6)] == [None, 1.0, None, None, None, 2.0]
    assert [script.step(number).total for number in (0, 1, 4, 5, 9)] == [0, 1, 1, 3, 3]
    assert {script.remark(number) for number in range(10)} == {""}


def test_several_agents_in_the_order_of_time() -> None:
    stamps = stamps_of(10)
    signals: dict[str, Signal[Any]] = {}
    for name, part, gain in (("red", slice(0, 10, 2), 1.0), ("blue", slice(1, 10, 2), -2.0)):
        signals |= {
            f"{name}.frame": ArraySignal(np.stack([game(number) for number in range(10)[part]]), stamps[part]),
            f"{name}.action.arm": ArraySignal(np.arange(5), stamps[part]),
            f"{name}.action.leg": ArraySignal(np.arange(5) * 10, stamps[part]),
            f"{name}.reward": ArraySignal(np.full(5, gain), stamps[part]),
        }
    script = Script(EpisodeView(signals, {}, {}))
    assert script.pictures.name == "red.frame"
    assert len(script) == 10
    assert [script.step(number).agent for number in range(4)] == ["red", "blue", "red", "blue"]
    assert [script.step(number).total for number in range(6)] == [1, -2, 2, -4, 3, -6]
    assert script.step(5).action == {"arm": 2, "leg": 20}
    assert ("agent", "blue") in [(one.label, one.text) for one in script.figures(5)]
    assert Script(EpisodeView(signals, {}, {}), signal="blue.frame").remark(0) == "no picture yet"


def test_an_action_that_was_not_recorded_is_not_made_up() -> None:
    found = episode(10)
    some = ArraySignal(np.array([7, 8]), found["action"].timestamps[[2, 5]])
    steps = Steps(EpisodeView({**found.signals, "action": some}, {}, {}))
    assert [steps[number].action for number in range(7)] == [None, None, 7, None, None, 8, None]


class _Watched(Signal[Any]):
    """Pictures that are made when they are asked for, and how many at once."""

    def __init__(self, count: int) -> None:
        self._stamps = stamps_of(count)
        self.largest = 0
        self.made: list[int] = []

    @property
    def timestamps(self) -> Any:
        return self._stamps

    def _values_at(self, positions: Positions) -> Any:
        self.largest = max(self.largest, len(positions))
        self.made += [int(position) for position in positions]
        return np.stack([game(int(number), height=210, width=160) for number in positions])


def test_pictures_are_read_once_and_a_few_at_a_time(tmp_path: Path) -> None:
    signal = _Watched(120)
    found = EpisodeView({"frame": signal}, {}, {})
    assert to_film(found, tmp_path / "a.mp4", scale=1, fps=60) == 120
    assert signal.largest * 210 * 160 * 3 <= 4 << 20
    assert len(signal.made) <= 120 + 5


def test_one_picture_is_enough(tmp_path: Path) -> None:
    for ending in ("mp4", "gif"):
        assert to_film(pictures_only(game(0)[None]), tmp_path / f"a.{ending}") == 1
    assert len(read_mp4(tmp_path / "a.mp4")[0]) == len(read_gif(tmp_path / "a.gif")[0]) == 1


def test_a_text_that_is_too_long_is_cut() -> None:
    texts = ArraySignal(["push " * 200] * 3, stamps_of(3))
    values = ArraySignal(np.stack([game(0)] * 3), stamps_of(3))
    script = Script(EpisodeView({"cam": values, "action": texts}, {"task": "words " * 100}, {"uid": "x"}))
    canvas = Canvas(script, script.scenes(None, None))
    band = canvas.draw(0)[canvas.band + 4 :]
    assert canvas.width == 378
    assert (band[:, -10:] == band[0, 0]).all()
    assert (band[:, 100:300] != band[0, 0]).any()


@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        ("a.avi", {}, BadName, r"a.avi does not say what to write: let it end with .mp4 or .gif"),
        ("a", {}, BadName, "does not say"),
        (
            "a.mp4",
            {"signal": "nothing"},
            NotFound,
            "no signal 'nothing'; there is: frame, action.*Pictures are in: frame",
        ),
        ("a.mp4", {"signal": "reward"}, WrongType, "'reward' has no pictures. Pictures are in: frame"),
        ("a.mp4", {"fps": 0}, BadKey, "fps is a number above 0"),
        ("a.gif", {"speed": -1}, BadKey, "speed is a number above 0"),
        ("a.gif", {"scale": 0}, BadKey, "scale is a number above 0"),
        ("a.gif", {"scale": 9000}, BadKey, "up to 64"),
        ("a.mp4", {"first": 30}, OutOfRange, "no steps from 30 to the end: the episode has steps 0 to 29"),
        ("a.mp4", {"first": 5, "stop": 5}, OutOfRange, "no steps from 5 to 5"),
    ],
)
def test_what_cannot_be_written(
    tmp_path: Path, name: str, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        to_film(episode(), tmp_path / "new" / name, **options)
    assert list(tmp_path.iterdir()) == []


def test_an_episode_without_pictures_names_its_signals(tmp_path: Path) -> None:
    found = EpisodeView(
        {"reward": episode()["reward"], "board": ArraySignal(np.zeros((2, 3, 3), np.uint8), [1, 2])}, {}
    )
    with pytest.raises(Empty, match="no pictures in this episode; its signals are: reward, board"):
        to_film(found, tmp_path / "a.mp4")
    assert to_film(found, tmp_path / "a.gif", signal="board", scale=1) == 30
    nothing = EpisodeView({"frame": ArraySignal(np.zeros((0, 9, 9), np.uint8), [])}, {})
    with pytest.raises(Empty, match="'frame' has no samples"):
        to_film(nothing, tmp_path / "b.gif", signal="frame")
    with pytest.raises(Empty, match="its signals are: frame"):
        to_film(nothing, tmp_path / "b.gif")


def test_pictures_that_are_too_large_or_differ(tmp_path: Path) -> None:
    with pytest.raises(WrongShape, match="no room for pictures of 9000×300 pixels; enlarge them less than 30 times"):
        to_film(pictures_only(np.zeros((1, 10, 300), np.uint8)), tmp_path / "a.gif", scale=30)
    values = np.empty(2, object)
    values[:] = [game(0), game(0)[:30]]
    with pytest.raises(WrongShape, match=r"'cam' differ in size: .*number 1 of \(30, 54, 3\)"):
        to_film(pictures_only(values), tmp_path / "a.gif", scale=1)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_is_replaced_only_by_force(tmp_path: Path) -> None:
    target = tmp_path / "a.gif"
    target.write_bytes(b"precious")
    with pytest.raises(Exists, match="exists; choose another name"):
        to_film(episode(3), target)
    assert target.read_bytes() == b"precious"
    to_film(episode(3), target, force=True)
    assert len(read_gif(target)[0]) == 3
    with pytest.raises(Exists, match="is a folder"):
        (tmp_path / "b.mp4").mkdir()
        to_film(episode(3), tmp_path / "b.mp4", force=True)


@pytest.mark.parametrize("ending", ["mp4", "gif"])
def test_an_interrupted_film_leaves_nothing(tmp_path: Path, ending: str) -> None:
    target = tmp_path / f"a.{ending}"
    target.write_bytes(b"precious")

    def interrupted(numbers: Sequence[int]) -> Iterable[int]:
        yield from numbers[:20]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        to_film(episode(), target, force=True, scale=1, watch=interrupted)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [(target.name, b"precious")]


def test_an_mp4_without_pyav_names_the_extra(tmp_path: Path) -> None:
    script = f"""
import sys
sys.modules["av"] = None
import numpy as np
from playhead.episode import EpisodeView
from playhead.export.film import to_film
from playhead.signal import ArraySignal
found = EpisodeView({{"cam": ArraySignal(np.zeros((2, 9, 9), np.uint8), [1, 2])}}, {{}})
to_film(found, {str(tmp_path / "a.gif")!r})
try:
    to_film(found, {str(tmp_path / "new" / "a.mp4")!r})
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "this needs av, which is not installed. Run: pip install 'playhead[video]'\n"
    assert [path.name for path in tmp_path.iterdir()] == ["a.gif"]
