"""Videos that other programs made: any order of frames, any keyframes, and the files of Positronic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import av
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from playhead.errors import Damaged
from playhead.lanes.video import VideoSignal
from tests.lanes.video.clips import Paths, clip

GOLDEN = Path(__file__).parents[4] / "shared" / "golden"
COUNT = 60

KINDS: dict[str, dict[str, Any]] = {
    "B-frames": {"codec": "libx264", "options": {"bf": "3", "b_strategy": "0", "g": "17", "sc_threshold": "0"}},
    "open GOPs": {"codec": "libx264", "options": {"bf": "3", "g": "12", "x264-params": "open-gop=1:scenecut=0"}},
    "open GOPs, H.265": {
        "codec": "libx265",
        "options": {"x265-params": "log-level=none:open-gop=1:bframes=4:keyint=12:min-keyint=12"},
    },
    "one keyframe": {"codec": "libx264", "options": {"g": "1000"}},
    "all keyframes": {"codec": "libx264", "options": {"g": "1", "bf": "0"}},
    "fragments": {
        "codec": "libx264",
        "options": {"g": "10", "bf": "2"},
        "mux": {"movflags": "frag_keyframe+empty_moov"},
    },
    "index in front": {"codec": "libx264", "options": {"g": "10"}, "mux": {"movflags": "faststart"}},
    "MPEG-4": {"codec": "mpeg4", "options": {"g": "12"}},
}


def encode(path: Path, frames: list[NDArray[np.uint8]], kind: dict[str, Any]) -> None:
    with av.open(str(path), "w", options=kind.get("mux", {})) as container:
        track = container.add_stream(kind["codec"], rate=30, options=kind["options"])
        track.width, track.height, track.pix_fmt = frames[0].shape[1], frames[0].shape[0], "yuv420p"
        for frame in frames:
            container.mux(track.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(track.encode(None))


@pytest.fixture(scope="module", params=KINDS)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Paths:
    paths = Paths(tmp_path_factory.mktemp("foreign"))
    encode(paths.video, clip(COUNT), KINDS[request.param])
    pq.write_table(pa.table({"ts_ns": np.arange(COUNT)}), paths.frames)
    return paths


def test_positions_are_in_the_order_in_which_frames_are_shown(made: Paths) -> None:
    with av.open(str(made.video)) as container:
        expected = np.stack([frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)])
    signal = made.read()
    np.testing.assert_array_equal(signal.values, expected)
    rng = np.random.default_rng(0)
    for positions in (rng.permutation(COUNT), rng.integers(0, COUNT, 30)):
        np.testing.assert_array_equal(signal[positions].values, expected[positions])
    for i in rng.permutation(COUNT)[:25].tolist():
        np.testing.assert_array_equal(signal[i][0], expected[i])
        np.testing.assert_array_equal(signal[i : i + 4].values, expected[i : i + 4])


def test_other_counts_are_told(made: Paths, tmp_path: Path) -> None:
    for count, words in ((COUNT + 1, "The index has more"), (COUNT - 1, "The video has more")):
        pq.write_table(pa.table({"ts_ns": np.arange(count)}), tmp_path / "index.parquet")
        with pytest.raises(Damaged, match=words):
            VideoSignal(made.video, tmp_path / "index.parquet")[0]


def test_what_cannot_be_decoded_is_damage(made: Paths, tmp_path: Path) -> None:
    data = bytearray(made.video.read_bytes())
    for content in (b"", data[: len(data) // 2], b"not a video at all" * 50):
        (tmp_path / "bad.mp4").write_bytes(content)
        with pytest.raises(Damaged, match=r"bad\.mp4"):
            VideoSignal(tmp_path / "bad.mp4", made.frames).values  # noqa: B018


def test_a_name_that_looks_like_an_address(made: Paths, tmp_path: Path) -> None:
    (tmp_path / "concat:a|b%d.mp4").write_bytes(made.video.read_bytes())
    assert len(VideoSignal(tmp_path / "concat:a|b%d.mp4", made.frames).values) == COUNT


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"ts_ns": [1, 2], "ts_ns.robot": [7, 8]}, [1, 2]),
        ({"ts.camera": [3, 4], "ts.recorded": [5, 6]}, [5, 6]),
        ({"ts.camera": [3, 4], "ts.other": [5, 6]}, [3, 4]),
    ],
)
def test_indexes_of_all_generations(tmp_path: Path, fields: dict[str, list[int]], expected: list[int]) -> None:
    pq.write_table(pa.table(fields), tmp_path / "index.parquet")
    assert VideoSignal(tmp_path / "none.mp4", tmp_path / "index.parquet").timestamps.tolist() == expected


@pytest.mark.skipif(not GOLDEN.exists(), reason="the golden files are not here")
@pytest.mark.parametrize("generation", ["g1", "g2", "g3"])
@pytest.mark.parametrize("episode", [0, 1])
def test_videos_of_positronic(generation: str, episode: int) -> None:
    folder = GOLDEN / f"positronic_{generation}" / "000000000000" / f"{episode:012d}"
    signal = VideoSignal(folder / "cam.mp4", folder / "cam.frames.parquet")
    assert signal.timestamps.tolist() == [episode * 10**9 + 33 * 10**6 * i + 1 for i in range(40)]
    assert signal.shape == (48, 64, 3)
    colours = np.array([(5 * i, 255 - 5 * i, 128) for i in range(40)])
    assert np.abs(signal.values.astype(int) - colours[:, None, None]).max() <= 4
    assert repr(signal) == "<VideoSignal, 64×48 h264, 40 samples over 1.29 s>"
    assert signal.loss is None
