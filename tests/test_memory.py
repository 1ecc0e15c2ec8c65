"""Large arrays lie in memory that was used before, and never in memory that somebody still holds."""

from __future__ import annotations

import ast
import os
import platform
import subprocess
import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from playhead import memory

LARGE = (600, 100, 100)
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere NumPy's own memory is used")


@pytest.fixture(autouse=True)
def _nothing_idle() -> Iterator[None]:
    memory.forget()
    yield
    memory.forget()


def address_of(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


@pytest.mark.parametrize("dtype", [np.uint8, np.float64, "<i2", "S7", object])
@pytest.mark.parametrize("shape", [(), (0, 3), (5,), LARGE, (1, *LARGE)])
def test_an_array_is_as_numpy_makes_it(shape: tuple[int, ...], dtype: object) -> None:
    found, expected = memory.empty(shape, dtype), np.empty(shape, dtype)
    assert type(found) is np.ndarray
    assert (found.shape, found.dtype, found.strides) == (expected.shape, expected.dtype, expected.strides)
    assert found.flags.writeable
    assert found.flags.aligned
    assert found.flags.c_contiguous


@LINUX
def test_memory_is_used_again_once_the_last_view_is_gone() -> None:
    first = memory.empty(LARGE, np.uint8)
    first[:] = 7
    view, was = first[10:20, :5], address_of(first)
    del first
    second = memory.empty(LARGE, np.uint8)
    second[:] = 8
    assert address_of(second) != was
    assert (view == 7).all()
    del view
    third = memory.empty((LARGE[0] - 5, *LARGE[1:]), np.uint8)
    assert address_of(third) == was
    third[:] = 9
    assert (second == 8).all()


@LINUX
def test_a_small_array_does_not_lie_in_the_memory_of_a_large_one() -> None:
    large = memory.empty((50 << 20,), np.uint8)
    was = address_of(large)
    del large
    small = memory.empty((5 << 20,), np.uint8)
    assert not was <= address_of(small) < was + (50 << 20)


@LINUX
def test_what_is_kept_is_bounded() -> None:
    held = [memory.empty((60 << 20,), np.uint8) for _ in range(8)]
    held.clear()
    assert 0 < sum(map(len, memory._idle)) <= memory._MOST_IDLE


def test_threads_never_share_memory() -> None:
    wrong: list[int] = []

    def work(mark: int) -> None:
        for _ in range(40):
            array = memory.empty(LARGE, np.uint8)
            array[:] = mark
            if not (array == mark).all():
                wrong.append(mark)

    threads = [threading.Thread(target=work, args=(mark,)) for mark in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_writes_into_its_own_copy() -> None:
    array = memory.empty(LARGE, np.uint8)
    array[:] = 1
    child = os.fork()
    if not child:
        array[:] = 2
        os._exit(0)
    os.waitpid(child, 0)
    assert (array == 1).all()


SCARCE = """
import resource
import numpy as np
from playhead import memory

resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
memory.keep_freed()
try:
    memory.empty((2 << 30,), np.uint8)
except MemoryError:
    print("scarce")
held = [np.empty(8 << 20, np.uint8)]
try:
    while True:
        held.append(np.empty(8 << 20, np.uint8))
except MemoryError:
    memory.keep_freed()
    print("still alive")
"""


@LINUX
def test_where_memory_is_scarce_it_is_as_with_numpy() -> None:
    found = subprocess.run([sys.executable, "-c", SCARCE], capture_output=True, text=True, check=True)
    assert found.stdout.split("\n")[:2] == ["scarce", "still alive"]


FREED = """
import resource, sys
import numpy as np
from playhead import memory

if sys.argv[1] == "kept":
    memory.keep_freed()
for _ in range(3):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    frames = [np.ones(100_800, np.uint8) for _ in range(128)]
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    frames.clear()
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a hint for glibc")
def test_freed_frames_are_not_given_back_to_the_kernel() -> None:
    def faults(how: str) -> int:
        found = subprocess.run([sys.executable, "-c", FREED, how], capture_output=True, text=True, check=True)
        return int(found.stdout.split()[-1])

    assert faults("given back") > 1000
    assert faults("kept") < 300


HEAP = """
from pathlib import Path
from playhead import memory

for _ in range(5):
    memory.keep_freed()
places = Path("/proc/self/smaps").read_text().split("VmFlags:")
print([flags.split("\\n")[0].split() for place, flags in zip(places, places[1:]) if "[heap]" in place])
"""


@LINUX
def test_keeping_what_is_freed_makes_no_large_pages_of_small_memory() -> None:
    """The first who writes to one waits until all of it is cleared: up to 15 ms were seen, with the interpreter held."""
    found = subprocess.run([sys.executable, "-c", HEAP], capture_output=True, text=True, check=True)
    parts = ast.literal_eval(found.stdout)
    assert all("rd" in flags and "hg" not in flags for flags in parts)
    assert parts
