"""Run all tests in lanes beside each other: most wait now and then, for a disk, a child or a browser.

Run: python -m tests.side_by_side [OPTIONS OF PYTEST]

What the last lane prints is shown as it comes, what the others print when they end. Each is a process that a Ctrl-C
reaches, also where this one was started in the background of a shell, which has it ignored.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO

TESTS = Path(__file__).parent

# The long ones by name; whatever is new goes into the last lane.
LANES = (("crash", "integrations"), ("artifact", "care", "signal", "simulators", "table", "trace", "train", "web"))


def arguments() -> list[list[str]]:
    """Give what each lane asks pytest for; together that is every test once."""
    named = [f"{TESTS.name}/{name}" for lane in LANES for name in lane]
    missing = [name for name in named if not (TESTS.parent / name).is_dir()]
    if missing:
        raise SystemExit(f"there is no folder {', '.join(missing)}: mend LANES in {Path(__file__).name}")
    lanes = [[f"{TESTS.name}/{name}" for name in lane] for lane in LANES]
    return [*lanes, [f"--ignore={name}" for name in named]]


def main(options: Sequence[str]) -> int:
    """Run the lanes; give the worst of their exit codes."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    running: list[tuple[subprocess.Popen[bytes], IO[bytes] | None]] = []
    *beside, last = arguments()
    try:
        for lane in beside:
            printed = tempfile.TemporaryFile()
            running.append((_start([*lane, *options], printed), printed))
        running.append((_start([*last, *options], None), None))
        codes = [process.wait() for process, _ in reversed(running)]
    except BaseException:
        for process, _ in running:
            process.terminate()
        raise
    for _, text in running:
        if text is not None:
            text.seek(0)
            sys.stdout.buffer.write(text.read())
            sys.stdout.flush()
    return max(abs(code) for code in codes)


def _start(arguments: Sequence[str], printed: IO[bytes] | None) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "pytest", "--durations=15", *arguments]
    return subprocess.Popen(command, stdout=printed, stderr=subprocess.STDOUT if printed else None, cwd=TESTS.parent)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
