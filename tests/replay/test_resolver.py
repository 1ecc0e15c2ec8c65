"""FrameResolver: refs that resolve, refs that cannot, and refs that mean harm."""

from __future__ import annotations

import os
import pickle
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from playhead.errors import BadRef, Damaged, NotFound, WrongType
from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.sealed import SealedFile
from playhead.lanes.arrays.writer import ReelWriter
from playhead.layout import ReplayFolder
from playhead.ref import FrameRef, make_frame_ref
from playhead.replay.resolver import FrameResolver
from playhead.replay.writer import ReplayWriter


def frame(number: int) -> NDArray[np.uint8]:
    return np.full((6, 5, 3), number % 256, np.uint8)


def observed(number: int) -> NDArray[np.float32]:
    return np.arange(4, dtype=np.float32) + number


def record(folder: Path, run_id: str, count: int = 50) -> None:
    """Record steps; the seventh has no frame, and the eleventh no observation."""
    with ReplayWriter(run_id, folder, chunk_size=8) as writer:
        for i in range(count):
            seen = None if i == 11 else {"state": observed(i), "camera": frame(i)}
            writer.record_step(None if i == 7 else frame(i), seen, i % 4, 0.1 * i, i % 20 == 19)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("replay")
    record(path, "run_1")
    record(path, "run_2", 10)
    return path


@pytest.fixture
def resolver(folder: Path) -> Iterator[FrameResolver]:
    with FrameResolver(folder) as opened:
        yield opened


# -- one ref ----------------------------------------------------------------------------------------------------------


def test_refs_resolve(resolver: FrameResolver) -> None:
    for i in (0, 6, 8, 49):
        assert (resolver[f"h5://run_1/frames/{i}"] == frame(i)).all()
        assert (resolver.resolve(FrameRef("run_1", "frames", i)) == frame(i)).all()
        assert (resolver.resolve(f"h5://run_1/observations.state/{i}") == observed(i)).all()
        assert (resolver[make_frame_ref("run_1", "observations.camera", i)] == frame(i)).all()
        assert resolver.resolve(f"h5://run_1/actions/{i}") == i % 4
        assert resolver.resolve(f"h5://run_1/rewards/{i}") == 0.1 * i
    assert [bool(resolver[f"h5://run_1/dones/{i}"]) for i in (18, 19, 20)] == [False, True, False]
    taken = resolver["h5://run_1/frames/3"]
    taken[:] = 0
    assert (resolver["h5://run_1/frames/3"] == frame(3)).all()


def test_what_is_structured_resolves_to_its_parts(resolver: FrameResolver) -> None:
    found = resolver["h5://run_1/observations/5"]
    assert set(found) == {"camera", "state"}
    assert (found["state"] == observed(5)).all()
    refs = [f"h5://run_1/observations/{i}" for i in (30, 11, 2, 30)]
    assert [one and one["state"][0] for one in resolver.resolve_batch(refs)] == [30, None, 2, 30]


MISSES = {
    "h5://a/b/1x": (BadRef, "'h5://a/b/1x' is not the address of a row; one reads h5://run_id/frames/1523"),
    "h5://run_1/frames/-1": (BadRef, "is not the address"),
    "h5://run_1/frames/01": (BadRef, "is not the address"),
    "h5://run_1/frames/1\n": (BadRef, "is not the address"),
    "h5://../run_1/frames/0": (BadRef, "is not the address"),
    "h5://..%2Frun_1/frames/0": (BadRef, "is not the address"),
    "ep://dataset/uid/signal/1": (BadRef, "is not the address"),
    "": (BadRef, "is not the address"),
    None: (BadRef, "None is not the address"),
    7: (BadRef, "7 is not the address"),
    "h5://run_3/frames/0": (NotFound, "no run 'run_3'; there is: run_1, run_2. Replays are looked for in "),
    "h5://run_1.4/frames/0": (NotFound, "no run 'run_1.4'"),
    "h5://nul/frames/0": (NotFound, "no run 'nul'"),
    f"h5://{'r' * 300}/frames/0": (NotFound, "no run 'rrr"),
    "h5://run_1/sounds/0": (
        NotFound,
        "no dataset 'sounds'; there is: actions, frames, observations.camera, observations.state, rewards, dones. "
        "That is what run run_1 has",
    ),
    "h5://run_1/observation/0": (NotFound, "no dataset 'observation'"),
    "h5://run_1/..%2F..%2Fpasswd/0": (NotFound, "no dataset '../../passwd'"),
    "h5://run_1/steps%2Fts_ns/0": (NotFound, "no dataset 'steps/ts_ns'"),
    "h5://run_1/episodes/0": (NotFound, "no dataset 'episodes'"),
    "h5://run_1/frames/50": (NotFound, "no step 50 in run run_1: there are 50"),
    "h5://run_1/rewards/50": (NotFound, "no step 50 in run run_1: there are 50"),
    "h5://run_1/frames/9999999999999999999": (NotFound, "no step 9999999999999999999 in run run_1: there are 50"),
    "h5://run_1/frames/7": (NotFound, "step 7 of run run_1 has no frame: it was recorded without one"),
    "h5://run_1/observations/11": (NotFound, "step 11 of run run_1 has no observation"),
    "h5://run_1/observations.state/11": (NotFound, "step 11 of run run_1 has no row in observations.state"),
    FrameRef("../run_1", "frames", 0): (NotFound, "no run '../run_1'"),
    FrameRef("run_1", "frames", -1): (NotFound, "no step -1 in run run_1"),
}


@pytest.mark.parametrize("ref", MISSES, ids=str)
def test_refs_that_cannot_be_had(resolver: FrameResolver, ref: Any) -> None:
    kind, message = MISSES[ref]
    assert resolver.resolve(ref) is None
    assert [one is None for one in resolver.resolve_batch([ref, "h5://run_1/frames/1", ref])] == [True, False, True]
    with pytest.raises(kind) as caught:
        resolver[ref]
    assert type(caught.value) is kind
    assert message in str(caught.value)


@settings(max_examples=50, deadline=None)
@given(st.one_of(st.text(), st.from_regex(r"h5://[^/]*/[^/]*/[0-9]*"), st.from_regex(r"h5://(\.\.|run_1)/.*/[0-9]+")))
@example("h5://run_1/../../outside/frames/0")
@example("h5://run_1\x00/frames/0")
def test_no_text_leads_out_of_the_folder(folder: Path, text: str) -> None:
    outside = folder.parent / "outside.h5"
    if not outside.exists():
        shutil.copy(folder / "run_1.h5", outside)
    with FrameResolver(folder) as resolver:
        found = resolver.resolve(text)
        assert (found is None) == (resolver.resolve_batch([text])[0] is None)
        parsed = FrameRef.parse(text)
        assert found is None or (parsed is not None and parsed.run_id in ("run_1", "run_2"))


def test_damage_is_not_a_miss(tmp_path: Path) -> None:
    record(tmp_path, "run_1")
    path = tmp_path / "run_1.h5"
    file = SealedFile(path)
    offset = int(file.datasets["frames"].table[2]["offset"]) + 5  # rows 16 to 23
    file.close()
    data = bytearray(path.read_bytes())
    data[offset] ^= 0xFF
    path.write_bytes(data)
    with FrameResolver(tmp_path) as resolver:
        assert (resolver["h5://run_1/frames/15"] == frame(15)).all()
        for call in (resolver.resolve, resolver.__getitem__, lambda ref: resolver.resolve_batch([ref])):
            with pytest.raises(Damaged, match=r"run_1\.h5.*frames"):
                call("h5://run_1/frames/16")
        assert [one is None for one in resolver.resolve_batch(["h5://run_1/frames/24", "h5://run_1/actions/16"])] == [
            False,
            False,
        ]
    path.write_bytes(b"nothing at all")
    with FrameResolver(tmp_path) as resolver, pytest.raises(Damaged):
        resolver.resolve("h5://run_1/frames/0")


# -- many refs --------------------------------------------------------------------------------------------------------


def test_a_batch_keeps_its_order(resolver: FrameResolver) -> None:
    rng = np.random.default_rng(1)
    names = ("frames", "observations.state", "actions", "rewards", "dones")
    refs = [
        f"h5://run_{rng.integers(1, 4)}/{names[rng.integers(len(names))]}/{rng.integers(60)}" for _ in range(400)
    ] + ["nonsense", None]
    found = resolver.resolve_batch(refs)
    assert len(found) == len(refs)
    for ref, value in zip(refs, found, strict=True):
        alone = resolver.resolve(ref)
        assert (alone is None) == (value is None)
        assert alone is None or (np.array_equal(alone, value) and np.asarray(value).dtype == np.asarray(alone).dtype)
    assert sum(one is not None for one in found) > 100
    assert resolver.resolve_batch([]) == []


def test_a_ref_may_come_twice(resolver: FrameResolver) -> None:
    found = resolver.resolve_batch(["h5://run_1/frames/9", "h5://run_1/frames/3", "h5://run_1/frames/9"])
    assert [one.max() for one in found if one is not None] == [9, 3, 9]
    assert found[0] is not None
    found[0][:] = 0
    assert found[2] is not None
    assert found[2].max() == 9


def cpu_seconds(call: Callable[[], Any]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


def test_scattered_refs_are_fast(tmp_path: Path) -> None:
    for run_id, compression in {"ours": "zstd", "plain": "gzip"}.items():
        scene = np.zeros((210, 160, 3), np.uint8)
        scene[::7] = 90
        with ReplayWriter(run_id, tmp_path, compression=compression) as writer:
            for i in range(400):
                scene[i % 210] = i % 256
                writer.record_step(scene, None, 0, 0.0, False)
    rng = np.random.default_rng(0)
    chosen = rng.choice(400, 100, replace=False)
    with FrameResolver(tmp_path) as resolver, h5py.File(tmp_path / "plain.h5", "r") as file:
        refs = [f"h5://ours/frames/{i}" for i in chosen]
        mine = min(cpu_seconds(lambda: resolver.resolve_batch(refs)) for _ in range(3))
        theirs = cpu_seconds(lambda: file["frames"][np.sort(chosen)])
        assert theirs > 20 * mine
        for i, found in zip(chosen[:20], resolver.resolve_batch(refs), strict=False):
            assert (found == file["frames"][i]).all()


# -- runs -------------------------------------------------------------------------------------------------------------


def test_runs_are_described(resolver: FrameResolver, folder: Path) -> None:
    assert resolver.list_runs() == ["run_1", "run_2"]
    assert [resolver.has_run(run) for run in ("run_1", "run_3", "../run_1", "", "run_1.h5")] == [True, *[False] * 4]
    info = resolver.get_run_info("run_1")
    assert info is not None
    assert info.pop("created_at").startswith("20")
    assert info == {
        "run_id": "run_1",
        "total_steps": 50,
        "total_episodes": 3,
        "version": "1.0",
        "has_frames": True,
        "has_observations": True,
        "datasets": ["actions", "frames", "observations.camera", "observations.state", "rewards", "dones"],
        "path": str(folder / "run_1.h5"),
    }
    assert resolver.get_run_info("run_3") is None
    assert resolver.get_run_info("../run_1") is None
    with FrameResolver(folder / "nowhere") as nowhere:
        assert nowhere.list_runs() == []
        with pytest.raises(NotFound, match="there is no run at all"):
            nowhere["h5://run_1/frames/0"]


def test_a_resolver_goes_to_another_process(resolver: FrameResolver) -> None:
    resolver["h5://run_1/frames/3"]
    with pickle.loads(pickle.dumps(resolver)) as sent:
        assert (sent["h5://run_1/frames/3"] == frame(3)).all()


def test_reels_of_one_run(tmp_path: Path) -> None:
    for run_id in ("run_1", "run_1.1", "run_1.10", "run_1.2"):
        with ReplayWriter(run_id, tmp_path) as writer:
            ref = writer.record_step(frame(len(run_id)), None, 0, 0.0, False)
            assert ref == f"h5://{run_id}/frames/0"
    with FrameResolver(tmp_path) as resolver:
        assert resolver.list_runs() == ["run_1", "run_1.1", "run_1.2", "run_1.10"]
        assert [resolver[f"h5://{run}/frames/0"].max() for run in resolver.list_runs()] == [5, 7, 7, 8]


def open_files(folder: Path) -> int:
    links = [Path("/proc/self/fd") / name for name in os.listdir("/proc/self/fd")]
    return sum(1 for link in links if link.is_symlink() and str(folder) in os.readlink(link))


def test_few_files_stay_open(tmp_path: Path) -> None:
    for number in range(6):
        record(tmp_path, f"run_{number}", 3)
    resolver = FrameResolver(tmp_path, max_open_files=2)
    for number in (0, 1, 2, 3, 4, 5, 4, 0, 4, 5):
        assert (resolver[f"h5://run_{number}/frames/1"] == frame(1)).all()
        assert open_files(tmp_path) <= 2
    assert all(one is not None for one in resolver.resolve_batch([f"h5://run_{i}/frames/1" for i in range(6)] * 2))
    assert open_files(tmp_path) <= 2
    resolver.close()
    resolver.close()
    assert open_files(tmp_path) == 0
    assert resolver.resolve("h5://run_0/frames/1") is not None
    resolver.close()
    for wrong in (0, -1, None, 2.5):
        with pytest.raises(WrongType, match="max_open_files"):
            FrameResolver(tmp_path, wrong)  # type: ignore[arg-type]


def test_what_grows_and_what_goes_is_noticed(tmp_path: Path) -> None:
    resolver = FrameResolver(tmp_path)
    assert resolver.resolve("h5://run_1/frames/0") is None
    with ReplayWriter("run_1", tmp_path) as writer:
        assert resolver.has_run("run_1")
        for i in range(20):
            ref = writer.record_step(frame(i) if i else None, None, 0, 0.0, False)
            writer.flush()
            found = resolver.resolve(ref)
            assert (found is None) == (i == 0)
            assert resolver.resolve_batch([ref, "h5://run_1/actions/0"])[1] == 0
        info = resolver.get_run_info("run_1")
        assert info is not None
        assert info["total_steps"] == 20
    assert (resolver["h5://run_1/frames/5"] == frame(5)).all()
    with ReplayWriter("run_1", tmp_path) as writer:
        assert (resolver["h5://run_1/frames/6"] == frame(6)).all()
        writer.record_step(frame(20), None, 0, 0.0, False)
    assert (resolver["h5://run_1/frames/20"] == frame(20)).all()
    assert (resolver["h5://run_1/frames/7"] == frame(7)).all()
    (tmp_path / "run_1.h5").unlink()
    shutil.rmtree(tmp_path / "run_1")
    assert resolver.resolve("h5://run_1/frames/5") is None
    with ReplayWriter("run_1", tmp_path) as writer:
        writer.record_step(frame(99), None, 0, 0.0, False)
    assert (resolver["h5://run_1/frames/0"] == frame(99)).all()
    resolver.close()


def test_stacks_resolve_whole(tmp_path: Path) -> None:
    reel = ReelWriter(ReplayFolder(tmp_path).reel("run_1"), ReplayConfig(), stacks={"observations": 3})
    planes = [np.full((4, 4), i, np.uint8) for i in range(12)]
    reel.begin(prefixes={"observations": np.stack(planes[:2])})
    for i in range(10):
        reel.step({} if i == 9 else {"observations": planes[i + 2]}, 0.0, False, False)
    reel.close()
    with FrameResolver(tmp_path) as resolver:
        expected = [np.stack(planes[i : i + 3]) for i in range(9)]
        assert all((resolver[f"h5://run_1/observations/{i}"] == expected[i]).all() for i in range(9))
        order = [8, 0, 9, 4, 0]
        found = resolver.resolve_batch([f"h5://run_1/observations/{i}" for i in order])
        assert all(
            value is None if i == 9 else (value == expected[i]).all() for i, value in zip(order, found, strict=True)
        )
        assert resolver.resolve("h5://run_1/observations/9") is None
