"""What is appended comes back: within the measured loss, or exactly where that was asked for."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction

import av
import numpy as np
import pyarrow.parquet as pq
import pytest

from playhead.errors import WrongShape, WrongType
from playhead.lanes.video import Encoding, VideoSignalWriter
from tests.lanes.video.clips import TICK, Paths, clip, depth, grey, psnr

SIZES = [(48, 64), (47, 63), (1, 1), (33, 17), (2, 300)]


@pytest.mark.parametrize("codec", ["h264", "h265"])
@pytest.mark.parametrize("size", SIZES)
def test_colour_comes_back_nearly(paths: Paths, codec: str, size: tuple[int, int]) -> None:
    frames = clip(12, *size)
    signal = paths.write(frames, codec=codec, gop_size=5)
    assert signal.values.shape == (12, *size, 3)
    assert signal.values.dtype == np.uint8
    # Half as much colour as light costs the most where a frame is a few pixels wide.
    assert psnr(signal.values, np.stack(frames)) > 26
    assert signal.timestamps.tolist() == [i * TICK for i in range(12)]


@pytest.mark.parametrize("codec", ["h264", "h265"])
@pytest.mark.parametrize("size", SIZES)
def test_lossless_colour_comes_back_exactly(paths: Paths, codec: str, size: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    frames = [rng.integers(0, 256, (*size, 3), dtype=np.uint8) for _ in range(7)]
    signal = paths.write(frames, codec=codec, gop_size=3, lossless=True)
    np.testing.assert_array_equal(signal.values, np.stack(frames))
    assert signal.loss is None


@pytest.mark.parametrize("codec", ["h264", "h265"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("axes", [(), (1,)])
def test_depth_comes_back_exactly(paths: Paths, codec: str, size: tuple[int, int], axes: tuple[int, ...]) -> None:
    frames = [frame.reshape(*size, *axes) for frame in depth(7, *size)]
    signal = paths.write(frames, codec=codec, gop_size=3, pixel_format="depth16")
    assert signal.values.dtype == np.uint16
    np.testing.assert_array_equal(signal.values, np.stack(frames))


@pytest.mark.parametrize("preset", [None, "veryfast", "medium"])
@pytest.mark.parametrize("size", [(16, 16), (40, 32), (20, 34), (30, 64), (20, 66)])
def test_h265_is_exact_where_a_picture_is_no_wider_than_a_unit_of_the_codec(
    paths: Paths, preset: str | None, size: tuple[int, int]
) -> None:
    height, width = size
    rows, columns = np.mgrid[:height, :width]
    frames = [(columns * 3 + rows * 2 + i * 7).astype(np.uint8) for i in range(12)]
    signal = paths.write(frames, codec="h265", preset=preset, pixel_format="gray8", lossless=True)
    np.testing.assert_array_equal(signal.values, np.stack(frames))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("axes", [(), (1,)])
@pytest.mark.parametrize("lossless", [False, True])
def test_grey_comes_back(paths: Paths, size: tuple[int, int], axes: tuple[int, ...], lossless: bool) -> None:
    frames = [frame.reshape(*size, *axes) for frame in grey(7, *size)]
    signal = paths.write(frames, gop_size=3, pixel_format="gray8", lossless=lossless)
    assert signal.values.shape == (7, *size, *axes)
    assert psnr(signal.values, np.stack(frames)) > (1000 if lossless else 35)


def test_frames_that_are_views_and_change_after_append(paths: Paths) -> None:
    frames = clip(6)
    shared = np.empty((64, 48, 3), np.uint8).transpose(1, 0, 2)
    with VideoSignalWriter(paths.video, paths.frames, lossless=True) as writer:
        for i, frame in enumerate(frames):
            shared[...] = frame
            writer.append(shared, i)
    np.testing.assert_array_equal(paths.read().values, np.stack(frames))


def test_the_loss_is_measured_and_true(paths: Paths) -> None:
    frames = clip(40)
    signal = paths.write(frames, gop_size=6)
    metadata = pq.read_schema(paths.frames).metadata
    noted = json.loads(metadata[b"playhead.video"])["loss"]
    sampled = [0, 3, 9, 21]  # the first, and the middles of the GOPs 0, 1 and 3
    differences = signal.values[sampled].astype(float) - np.stack(frames)[sampled]
    assert noted["frames"] == len(sampled)
    assert noted["max"] == np.abs(differences).max()
    assert noted["mean_squared"] == pytest.approx(np.square(differences).mean())
    assert signal.loss == (noted["psnr_db"], noted["max"], noted["frames"])
    assert noted["psnr_db"] == pytest.approx(10 * np.log10(255**2 / np.square(differences).mean()), abs=0.001)


def test_one_frame_is_measured_too(paths: Paths) -> None:
    loss = paths.write(clip(1)).loss
    assert loss is not None
    assert loss.frames == 1


def test_better_quality_is_larger_and_closer(paths: Paths) -> None:
    frames, found = clip(10, 96, 96), []
    for quality in (10, 25, 40):
        values = paths.write(frames, quality=quality).values
        found.append((psnr(values, np.stack(frames)), paths.video.stat().st_size))
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize("codec", ["h264", "h265"])
def test_any_player_opens_it(paths: Paths, codec: str) -> None:
    signal = paths.write(clip(25, 47, 63), codec=codec, gop_size=10, fps=20)
    with av.open(str(paths.video)) as container:
        track = container.streams.video[0]
        assert track.average_rate == Fraction(20)
        assert (track.width, track.height, track.frames) == (64, 48, 25)
        assert track.codec_context.codec_tag in {"avc1", "hvc1"}
        packets = [packet for packet in container.demux(track) if packet.size]
        assert [i for i, packet in enumerate(packets) if packet.is_keyframe] == [0, 10, 20]
        assert all(packet.pts == packet.dts for packet in packets)
    with av.open(str(paths.video)) as container:
        shown = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    np.testing.assert_array_equal(signal.values, np.stack(shown)[:, :47, :63])


def test_grey_plays_as_grey_and_depth_as_its_high_bytes(paths: Paths) -> None:
    signal = paths.write(grey(3), pixel_format="gray8")
    with av.open(str(paths.video)) as container:
        shown = next(container.decode(video=0)).to_ndarray(format="rgb24")
    np.testing.assert_array_equal(shown, signal[0][0][..., None].repeat(3, axis=2))
    frames = depth(3)
    paths.write(frames, pixel_format="gray16")
    with av.open(str(paths.video)) as container:
        shown = next(container.decode(video=0)).to_ndarray(format="rgb24")
    np.testing.assert_array_equal(shown[:48, :, 0], frames[0] >> 8)


def test_no_frame_makes_an_index_and_no_video(paths: Paths) -> None:
    signal = paths.write([])
    assert pq.read_table(paths.frames).to_pydict() == {"ts_ns": []}
    assert sorted(path.name for path in paths.video.parent.iterdir()) == [paths.frames.name]
    assert len(signal) == 0
    assert len(signal.values) == 0
    assert list(signal) == []
    assert repr(signal) == "<VideoSignal, empty>"


def test_repr(paths: Paths) -> None:
    assert repr(paths.write(clip(31))) == "<VideoSignal, 64×48 h264, 31 samples over 0.99 s>"


def test_settings_that_there_are_not() -> None:
    for options, words in (
        ({"codec": "av1"}, "real-time priority"),
        ({"codec": "libsvtav1"}, "real-time priority"),
        ({"codec": "vp9"}, "h264"),
        ({"preset": "placebo!"}, "veryfast"),
        ({"pixel_format": "bgr24"}, "gray16"),
        ({"quality": 52}, "from 0 to 51"),
        ({"quality": 20, "lossless": True}, "lossless"),
        ({"gop_size": 0}, "gop_size"),
        ({"fps": 0}, "fps"),
        ({"threads": 0}, "threads"),
    ):
        with pytest.raises(WrongType, match=words):
            Encoding(**options)  # type: ignore[arg-type]


def test_settings_survive_the_tape() -> None:
    encoding = Encoding("h265", 7, 29.97, pixel_format="depth16")
    assert Encoding.from_facts(json.loads(json.dumps(encoding.facts())) | {"later": 1}) == encoding


def test_a_frame_too_large_for_the_codec_is_refused_and_nothing_changes(paths: Paths) -> None:
    with VideoSignalWriter(paths.video, paths.frames) as writer:
        with pytest.raises(WrongShape, match="17000"):
            writer.append(np.zeros((4, 17000, 3), np.uint8), 5)
        writer.append(clip(1)[0], 1)
    assert len(paths.read()) == 1


def test_without_av_the_extra_is_named() -> None:
    script = "import sys; sys.modules['av'] = None\nimport playhead.lanes.video"
    found = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, text=True)
    assert found.returncode != 0
    assert "pip install 'playhead[video]'" in found.stderr
