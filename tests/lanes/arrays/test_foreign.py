"""HDF5 files of another program: read as they are; a damaged one is refused, whatever the HDF5 library makes of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from playhead.errors import Damaged
from playhead.lanes.arrays.reel import Reel
from playhead.layout import ReelFiles
from tests.lanes.arrays.reels import assert_same, reel_in

GOLDEN = Path(__file__).parents[4] / "shared" / "golden" / "mosaic" / "replay"
CAMPAIGN = float(os.environ.get("PLAYHEAD_CAMPAIGN", "0.1"))

needs_golden = pytest.mark.skipif(not GOLDEN.exists(), reason="the files of the other program are not here")


def copied(folder: Path, name: str) -> ReelFiles:
    files = reel_in(folder, name)
    files.file.write_bytes((GOLDEN / files.file.name).read_bytes())
    return files


@needs_golden
def test_a_file_with_frames(tmp_path: Path) -> None:
    reel = Reel(copied(tmp_path, "run_disc"))
    assert reel.length == 60
    assert [(span.start, span.length) for span in reel.spans] == [(0, 25), (25, 35)]
    frames = reel.read("frames", 0, 60)
    assert frames.shape == (60, 42, 40, 3)
    for number in range(60):
        assert (frames[number, number % 42] == 4 * number % 256).all()
        assert_same(reel.row("frames", number), frames[number])
        assert_same(reel.row("observations", number), np.full((8, 8, 4), number, np.uint8))
    assert_same(reel.read("actions", 0, 60), np.arange(60, dtype=np.int32) % 4)
    assert reel.rows(0, 60)["reward"].tolist() == [number / 2 for number in range(60)]
    positions = np.array([59, 3, 3, 40, 0])
    assert_same(reel.take("frames", positions), frames[positions])
    reel.close()


@needs_golden
def test_a_file_without_frames(tmp_path: Path) -> None:
    reel = Reel(copied(tmp_path, "run_cont"))
    assert sorted(reel.kinds) == ["actions", "observations"]
    expected = np.stack([np.linspace(0, 1, 5, dtype=np.float32) + number for number in range(30)]).astype(np.float32)
    np.testing.assert_allclose(reel.read("observations", 0, 30), expected, rtol=1e-6)
    np.testing.assert_allclose(reel.rows(0, 30)["reward"], np.arange(30) * 0.1, rtol=1e-6)
    assert_same(reel.read("actions", 0, 30)[:, 0], (np.arange(30) / 30).astype(np.float32))
    reel.close()


# -- odd files --------------------------------------------------------------------------------------------------------


def made(folder: Path, **datasets: object) -> Reel:
    files = reel_in(folder)
    with h5py.File(files.file, "w") as file:
        for path, values in datasets.items():
            file[path.replace("__", "/")] = values
    return Reel(files)


def test_one_start_too_few(tmp_path: Path) -> None:
    """As where the other program was stopped in the middle of an episode."""
    reel = made(tmp_path, rewards=np.arange(8.0), episodes__starts=[0], episodes__lengths=[5, 3])
    assert [(span.start, span.length) for span in reel.spans] == [(0, 5), (5, 3)]


@pytest.mark.parametrize("starts", [[-5, 3], [3, 3], [6, 2], [100], [], [1 << 62]], ids=str)
def test_starts_that_cannot_be(tmp_path: Path, starts: list[int]) -> None:
    reel = made(tmp_path, rewards=np.arange(8.0), episodes__starts=starts, episodes__lengths=[8])
    assert sum(span.length for span in reel.spans) == 8
    assert reel.rows(0, 8)["reward"].tolist() == list(range(8))


def test_datasets_of_different_lengths(tmp_path: Path) -> None:
    reel = made(
        tmp_path, rewards=np.arange(5.0), dones=[True], actions=np.arange(8), frames=np.ones((3, 2, 2), np.uint8)
    )
    assert reel.length == 8
    assert reel.rows(0, 8)["reward"].tolist() == [0, 1, 2, 3, 4, 0, 0, 0]
    assert reel.row("frames", 2) is not None
    assert reel.row("frames", 3) is None
    assert reel.read("actions", 0, 8).tolist() == list(range(8))


def test_datasets_that_are_no_arrays(tmp_path: Path) -> None:
    texts = np.array(["a", "bc"], dtype=h5py.string_dtype())
    reel = made(
        tmp_path, rewards=np.arange(2.0), actions=np.arange(2), name="x", texts=texts, group__inner=np.arange(2)
    )
    assert reel.length == 2
    assert "actions" in reel.kinds
    assert_same(reel.read("actions", 0, 2), np.arange(2))


def test_a_file_without_steps(tmp_path: Path) -> None:
    reel = made(tmp_path)
    assert (reel.length, reel.spans, reel.kinds) == (0, [], {})


@pytest.mark.parametrize(
    "content", [b"", b"junk" * 100, b"\x89HDF\r\n\x1a\n", b"\x89HDF\r\n\x1a\n" + bytes(3000)], ids=len
)
def test_what_is_no_hdf5_file(tmp_path: Path, content: bytes) -> None:
    files = reel_in(tmp_path)
    files.file.write_bytes(content)
    with pytest.raises(Damaged, match=r"run\.h5"):
        Reel(files)


def test_a_dataset_that_no_array_can_be_called_is_left_alone(tmp_path: Path) -> None:
    """Was a bug: one more dataset made the whole file damaged."""
    more = {"my notes": np.zeros(9), "steps": np.arange(9), "playhead": np.zeros(9)}
    reel = made(tmp_path, rewards=np.arange(4.0), actions=np.arange(4), **more)
    assert (reel.length, list(reel.kinds)) == (4, ["actions"])
    assert reel.read("actions", 0, 4).tolist() == [0, 1, 2, 3]


def test_more_datasets_than_a_step_can_tell_of(tmp_path: Path) -> None:
    """Was a bug: the seventeenth ended in an OverflowError."""
    reel = made(tmp_path, frames=np.ones((4, 2)), **{f"more_{number:02}": np.arange(4) for number in range(20)})
    assert len(reel.kinds) == 14  # and observations and actions, which are not here, make 16
    assert reel.rows(0, 4)["has"].tolist() == [0b1111111111111001] * 4


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("rewards", np.zeros((4, 2)), r"float64 of the shape \(4, 2\)"),
        ("rewards", np.array([b"a"] * 4), r"S1"),
        ("rewards", 1.0, r"the shape \(\)"),
        ("dones", np.zeros((4, 1), np.bool_), r"bool of the shape \(4, 1\)"),
    ],
)
def test_what_is_not_one_number_a_step_is_refused(tmp_path: Path, name: str, values: object, said: str) -> None:
    """Was a bug: it ended in a ValueError of NumPy when a step was read."""
    with pytest.raises(Damaged, match=f"{name} that are one number a step, found .*{said}"):
        made(tmp_path, frames=np.zeros((4, 4, 4)), **{name: values})


# -- files that lead to other files -------------------------------------------------------------------------------------


def _raw(file: h5py.File, private: Path) -> None:
    file.create_dataset("frames", (4, 10), np.uint8, external=[(str(private / "key.txt"), 0, 40)])


def _link(file: h5py.File, private: Path) -> None:
    file["frames"] = h5py.ExternalLink(str(private / "other.h5"), "frames")


def _soft_link(file: h5py.File, private: Path) -> None:
    file["group/elsewhere"] = h5py.ExternalLink(str(private / "other.h5"), "/")
    file["frames"] = h5py.SoftLink("/group/elsewhere/frames")


def _soft_link_to_raw(file: h5py.File, private: Path) -> None:
    file.create_dataset("group/raw", (4, 10), np.uint8, external=[(str(private / "key.txt"), 0, 40)])
    file["group/first"] = h5py.SoftLink("raw")
    file["frames"] = h5py.SoftLink("group/first")


def _virtual(file: h5py.File, private: Path) -> None:
    layout = h5py.VirtualLayout((4, 10), np.uint8)
    layout[:] = h5py.VirtualSource(str(private / "other.h5"), "frames", (4, 10))
    file.create_virtual_dataset("frames", layout)


def _virtual_within(file: h5py.File, private: Path) -> None:
    _link(file, private)
    file.move("frames", "hidden")
    layout = h5py.VirtualLayout((4, 10), np.uint8)
    layout[:] = h5py.VirtualSource(".", "hidden", (4, 10))
    file.create_virtual_dataset("frames", layout)


def _starts(file: h5py.File, private: Path) -> None:
    file["episodes/starts"] = h5py.ExternalLink(str(private / "other.h5"), "frames")


@pytest.mark.parametrize("lead", [_raw, _link, _soft_link, _soft_link_to_raw, _virtual, _virtual_within, _starts])
def test_a_file_that_leads_to_others_is_refused(tmp_path: Path, lead: Callable[[h5py.File, Path], None]) -> None:
    """Was a bug: a file of a stranger handed out the bytes of any file on the machine."""
    (private := tmp_path / "private").mkdir()
    (private / "key.txt").write_bytes(b"top secret" * 4)
    with h5py.File(private / "other.h5", "w") as file:
        file["frames"] = np.frombuffer(b"private!!!" * 4, np.uint8).reshape(4, 10)
    files = reel_in(tmp_path)
    with h5py.File(files.file, "w") as file:
        file["rewards"] = np.zeros(4)
        lead(file, private)
    with pytest.raises(Damaged, match=r"expected .* in the file itself, found"):
        Reel(files)


def test_another_file_is_not_even_opened(tmp_path: Path) -> None:
    """A pipe would keep who opens it waiting for ever."""
    os.mkfifo(tmp_path / "pipe")
    files = reel_in(tmp_path)
    with h5py.File(files.file, "w") as file:
        file["frames"] = h5py.ExternalLink(str(tmp_path / "pipe"), "frames")
    script = "import sys, playhead; playhead.ReplayReader(sys.argv[1]).open()"
    command = [sys.executable, "-c", script, str(files.file)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert f"found a link to frames in {tmp_path / 'pipe'}" in result.stderr


def test_links_within_a_file_are_followed(tmp_path: Path) -> None:
    files = reel_in(tmp_path)
    with h5py.File(files.file, "w") as file:
        file["group/inner/kept"] = np.arange(4)
        file["group/also"] = h5py.SoftLink("inner/kept")
        file["actions"] = h5py.SoftLink("/group/also")
        file["frames"] = h5py.SoftLink("/nothing")
        file["observations"] = h5py.SoftLink("/observations")
    reel = Reel(files)
    assert list(reel.kinds) == ["actions"]
    assert reel.read("actions", 0, 4).tolist() == [0, 1, 2, 3]


# -- damaged files, in a process of their own: the HDF5 library may crash over them -------------------------------------

SURVEY = """
import json, random, sys, warnings
from pathlib import Path
from playhead.errors import PlayheadError
from playhead.lanes.arrays.reel import Reel
from playhead.layout import ReplayFolder

folder, name, source, first, stop, kind = sys.argv[1:]
files = ReplayFolder(Path(folder)).reel(name)
whole = Path(source).read_bytes()
counted = {"read": 0, "refused": 0}
for n in range(int(first), int(stop)):
    print(n, file=sys.stderr, flush=True)  # so that a crash can be found again
    chance, broken = random.Random(n), bytearray(whole)
    if kind == "cut":
        del broken[chance.randrange(len(broken)):]
    else:
        end = len(broken) if n % 3 else 4096  # most of what the library reads of itself lies at the front
        for _ in range(1 if kind == "flip" else 30):
            broken[chance.randrange(end)] ^= 1 << chance.randrange(8)
    files.file.unlink(missing_ok=True)
    files.file.write_bytes(broken)
    try:
        reel = Reel(files)
        length = min(reel.length, 200)
        reel.rows(0, length), reel.infos(0, length), reel.spans
        for array in reel.kinds:
            reel.read(array, 0, length), reel.row(array, 0) if length else None
        reel.close()
        counted["read"] += 1
    except PlayheadError as error:
        counted["refused"] += 1
        assert files.file.name in str(error) or files.id in str(error), error
print(json.dumps(counted))
"""


@needs_golden
@pytest.mark.parametrize("kind", ["flip", "scribble", "cut"])
def test_a_damaged_file_is_read_or_refused(tmp_path: Path, kind: str) -> None:
    """Was a bug: several errors of h5py come through.

    Numbers that the other program did not compress have no checksum: nobody can tell that they are damaged.
    """
    count = int(500 * CAMPAIGN)
    for name in ("run_disc", "run_cont"):
        command = [sys.executable, "-c", SURVEY, str(tmp_path), name, str(GOLDEN / f"{name}.h5"), "0", str(count), kind]
        result = subprocess.run(command, capture_output=True, text=True, timeout=250, check=False)
        assert result.returncode == 0, f"{name}: {result.stderr[-3000:]}"
        found = json.loads(result.stdout)
        print(f"{kind} {name}: {found}")
        assert found["refused"] > 0
