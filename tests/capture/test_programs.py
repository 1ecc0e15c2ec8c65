"""A program is asked within bounds of time and size."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from playhead import clock
from playhead.capture.programs import output_of, reason_of


def ask(code: str, *, seconds: float = 20, limit: int = 1000):
    return output_of([sys.executable, "-I", "-c", code], seconds=seconds, limit=limit)


def test_the_whole_output_is_given():
    assert ask("print('héllo')") == ("héllo\n", False)


def test_bytes_that_are_no_text_are_replaced():
    assert ask(r"import sys; sys.stdout.buffer.write(b'a\xffb')").text == "a\ufffdb"


def test_endless_output_is_cut_and_the_program_ended():
    text, cut = ask("while True: print('x' * 99)", limit=5000)
    assert (len(text), cut) == (5000, True)


def test_a_program_that_takes_too_long_is_killed():
    began = clock.elapsed_ns()
    with pytest.raises(subprocess.TimeoutExpired) as caught:
        ask("import time; time.sleep(60)", seconds=0.3)
    assert clock.elapsed_ns() - began < 10 * clock.SECOND
    assert reason_of(caught.value).endswith("took longer than 0.3 s")


def test_its_children_are_killed_with_it(tmp_path: Path):
    pid_file = tmp_path / "pid"
    code = f"""
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
open({str(pid_file)!r}, "w").write(str(child.pid))
time.sleep(60)
"""
    with pytest.raises(subprocess.TimeoutExpired):
        ask(code, seconds=1)
    state = Path(f"/proc/{pid_file.read_text()}/stat")
    for _ in range(100):  # whoever adopts the child reaps it in its own time
        if not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] == "Z":
            break
        clock.sleep(0.02)
    else:
        pytest.fail("the child still runs")


def test_much_text_on_stderr_does_not_block_it():
    assert ask("import sys; sys.stderr.write('w' * 1_000_000); print('done')").text == "done\n"


def test_a_failure_gives_its_first_line_as_the_reason():
    with pytest.raises(subprocess.CalledProcessError) as caught:
        ask("import sys; sys.exit('fatal: no such thing\\nsecond line')")
    assert reason_of(caught.value) == "fatal: no such thing"


def test_a_silent_failure_gives_its_status_as_the_reason():
    with pytest.raises(subprocess.CalledProcessError) as caught:
        ask("import sys; sys.exit(7)")
    assert reason_of(caught.value).endswith("ended with status 7")


def test_a_missing_program_is_named():
    with pytest.raises(FileNotFoundError) as caught:
        output_of(["no-such-program-here"], seconds=1, limit=1)
    assert reason_of(caught.value) == "there is no program no-such-program-here"


def test_it_has_no_input_and_no_terminal():
    code = "import os, sys; print(repr(sys.stdin.read()), os.getsid(0) == os.getpid())"
    assert ask(code).text == "'' True\n"


def test_no_descriptor_stays_open():
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        ask("print(1)")
        with pytest.raises(subprocess.CalledProcessError):
            ask("raise SystemExit(1)")
    assert len(os.listdir("/proc/self/fd")) == before
