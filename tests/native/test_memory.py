"""What is written in C touches no memory but its own, whatever it is given: compiled with checks of each access."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from playhead import native
from playhead.native import repeats

PLACE = Path(native.__file__).parent

SCRIPT = """
import ctypes, sys
import numpy as np, zstandard
from playhead import native
native.library = ctypes.CDLL(sys.argv[1])
from playhead.lanes.arrays import gathering
from playhead.native import colours, repeats
assert repeats.library is native.library is gathering.library is colours.library

rng, packed = np.random.default_rng(7), 0
for turn in range(400):
    size = int(rng.choice([rng.integers(1, 40), rng.integers(1, 3000), rng.integers(130_000, 140_000)]))
    data = rng.integers(0, int(rng.choice([2, 5, 256])), size).astype(np.uint8)
    for _ in range(int(rng.integers(0, 200))):
        start, back, length = rng.integers(0, size), rng.integers(1, 2000), int(rng.integers(1, 900))
        found = data[max(0, start - back) :][:length]
        data[start : start + len(found)] = found[: size - start]
    exact = np.array(data)  # malloc's own, whose neighbours are guarded
    distances = tuple(int(each) for each in rng.choice([1, 3, 4, 16, 84, 160, 480, 7056, 200_000], rng.integers(1, 7)))
    [found] = repeats.Repeats(repeats.zstandard, native.library).pack([exact], [distances])
    if found is not None:
        packed += 1
        assert zstandard.ZstdDecompressor().decompress(found) == exact.tobytes()

values = [np.full(70_000, number, np.uint8) for number in range(40)]
target, copies = bytearray(40 * 70_000), gathering.Copies()
assert copies.add(memoryview(target), values)
copies.make()
assert target == b"".join(value.tobytes() for value in values)

palette = rng.integers(0, 256, (256, 3)).astype(np.uint8)
for height, width in [(1, 1), (1, 3), (2, 15), (3, 16), (5, 17), (700, 640)]:
    numbers, known = rng.integers(0, 200, (height, width)).astype(np.uint8), colours.Colours()
    assert not known.know(numbers)
    assert known.learn(numbers, palette[numbers]) and known.know(numbers)
    pixels, copies = bytearray(3 * numbers.size), gathering.Copies()
    assert copies.add(memoryview(pixels), [numbers], known)
    copies.make()
    assert pixels == palette[numbers].tobytes()

if sys.argv[2:]:  # a check that cannot fail is none: one byte too many
    copies = gathering.Copies()
    copies.add(memoryview(target), values)
    copies._all[0][2][-1] += 1
    copies.make()
print(packed)
"""


@pytest.mark.skipif(native.library is None or repeats.zstandard is None, reason="Playhead was installed without it")
def test_no_byte_beyond_is_touched(tmp_path: Path) -> None:
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    runtime = subprocess.run(["cc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True).stdout
    if not Path(runtime.strip()).is_absolute():
        pytest.skip("this compiler has no checks of memory")
    library = tmp_path / "checked.so"
    checks = "-fsanitize=address,undefined"
    sources = sorted(PLACE.glob("*.c"))
    assert len(sources) == 3
    command = ["cc", "-std=c11", "-O1", "-g", checks, "-fno-sanitize-recover=all", "-fPIC", "-shared", "-o", library]
    subprocess.run([*command, *sources], check=True)
    settings = {"LD_PRELOAD": runtime.strip(), "PYTHONMALLOC": "malloc", "ASAN_OPTIONS": "detect_leaks=0"}

    def ran(*more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", SCRIPT, str(library), *more]
        return subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, check=False)

    done = ran()
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 50
    wrong = ran("beyond")
    assert wrong.returncode != 0
    assert "heap-buffer-overflow" in wrong.stderr
