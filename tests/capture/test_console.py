"""Printing reaches the screen unchanged, and its lines are captured."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TextIO

import pytest
from rich.console import Console
from rich.progress import Progress

from playhead.capture import console
from playhead.capture.console import ConsoleCapture


@pytest.fixture
def lines() -> list[str]:
    return []


def test_lines_of_both_streams_are_captured_and_shown_unchanged(capsys: pytest.CaptureFixture[str], lines: list[str]):
    with ConsoleCapture(lines.append):
        print("one")
        print("two", file=sys.stderr)
        print("three")
        sys.stdout.writelines(["fo", "ur\n"])
    assert lines == ["one", "two", "three", "four"]
    assert capsys.readouterr() == ("one\nthree\nfour\n", "two\n")


def test_a_line_of_one_stream_never_lands_inside_a_line_of_the_other(lines: list[str]):
    with ConsoleCapture(lines.append):
        print("working", end="... ")
        print("a warning", file=sys.stderr)
        print("done")
    assert lines == ["a warning", "working... done"]


def test_a_line_is_given_as_soon_as_it_ends_and_a_begun_one_at_stop(lines: list[str]):
    capture = ConsoleCapture(lines.append)
    capture.start()
    print("whole")
    print("begun", end="")
    assert lines == ["whole"]
    capture.stop()
    assert lines == ["whole", "begun"]


def test_after_stop_the_originals_are_back_and_nothing_is_captured(
    capsys: pytest.CaptureFixture[str], lines: list[str]
):
    originals = sys.stdout, sys.stderr
    capture = ConsoleCapture(lines.append)
    capture.start()
    capture.start()
    assert sys.stdout is not originals[0]
    capture.stop()
    capture.stop()
    print("after")
    assert lines == []
    assert (sys.stdout, sys.stderr) == originals
    assert capsys.readouterr().out == "after\n"


def test_it_can_be_started_again(lines: list[str]):
    capture = ConsoleCapture(lines.append)
    for number in range(2):
        with capture:
            print(number)
    assert lines == ["0", "1"]


def test_a_bar_drawn_by_hand_is_collapsed_and_shown_in_full(capsys: pytest.CaptureFixture[str], lines: list[str]):
    with ConsoleCapture(lines.append):
        print("start")
        for done in range(101):
            bar = "#" * (done // 10)
            sys.stderr.write(f"\r{done:3}%|{bar:10}| {done}/100 [{done / 7:.1f}it/s]")
            sys.stderr.flush()
        sys.stderr.write("\n")
        print("end")
    assert lines == ["start", "100%|##########| 100/100 [14.3it/s]", "end"]
    assert capsys.readouterr().err.count("\r") == 101


def test_nested_bars_drawn_as_tqdm_does_are_collapsed(lines: list[str]):
    with ConsoleCapture(lines.append):
        for epoch in range(5):
            sys.stderr.write(f"\repoch {epoch + 1}/5")
            for batch in range(20):
                sys.stderr.write("\n")
                sys.stderr.write(f"\rbatch {batch + 1:2}/20")
                sys.stderr.write("\x1b[A")
        sys.stderr.write("\n\n")
    assert lines[-2:] == ["epoch 5/5", "batch 20/20"]
    assert len(lines) <= 3


@pytest.mark.parametrize("tasks", [1, 3])
def test_a_rich_progress_is_collapsed(capsys: pytest.CaptureFixture[str], lines: list[str], tasks: int):
    with ConsoleCapture(lines.append):
        print("start")
        with Progress(console=Console(force_terminal=True, width=80)) as progress:
            ids = [progress.add_task(f"task {number}", total=40) for number in range(tasks)]
            for step in range(40):
                for task in ids:
                    progress.advance(task)
                progress.refresh()
                if step == 20:
                    progress.console.print("[green]halfway[/green]")
                    print("printed beside it")
        print("end")
    assert lines[0] == "start"
    assert lines[-1] == "end"
    assert [line.split("━")[0].strip() for line in lines[-1 - tasks : -1]] == [f"task {i}" for i in range(tasks)]
    assert all("100%" in line for line in lines[-1 - tasks : -1])
    assert lines.count("halfway") == lines.count("printed beside it") == 1
    assert len(lines) <= 4 + 2 * tasks
    assert capsys.readouterr().out.count("\x1b[2K") > 40


def test_threads_that_print_at_once_lose_nothing_and_never_meet_in_the_function(lines: list[str]):
    inside = threading.Lock()

    def write_line(line: str) -> None:
        assert inside.acquire(blocking=False), "two threads are in the function"
        lines.append(line)
        inside.release()

    def work(name: int) -> None:
        for number in range(500):
            sys.stdout.write(f"{name} {number}\n")

    with ConsoleCapture(write_line):
        threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(lines) == sorted(f"{name} {number}" for name in range(8) for number in range(500))
    for name in range(8):
        assert [line for line in lines if line.startswith(f"{name} ")] == [f"{name} {i}" for i in range(500)]


def test_a_function_that_waits_for_a_printing_thread_is_no_deadlock(lines: list[str]):
    recording, entered = threading.Lock(), threading.Event()

    def write_line(line: str) -> None:
        entered.set()
        with recording:
            lines.append(line)

    with ConsoleCapture(write_line):
        with recording:
            thread = threading.Thread(target=print, args=("from the thread",))
            thread.start()
            assert entered.wait(10)
            print("while the lock is held")
        thread.join(10)
        assert not thread.is_alive()
    assert sorted("".join(lines)) == sorted("from the threadwhile the lock is held")


def test_a_function_that_never_returns_holds_up_neither_printing_nor_stop(
    lines: list[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(console, "_BACKLOG", 5)
    monkeypatch.setattr(console, "_BACKLOG_WAIT_S", 0.01)
    monkeypatch.setattr(console, "_LAST_WAIT_S", 0.1)
    entered, released = threading.Event(), threading.Event()

    def write_line(line: str) -> None:
        entered.set()
        released.wait(60)

    capture = ConsoleCapture(write_line)
    capture.start()
    thread = threading.Thread(target=sys.stdout.write, args=("stuck\n",))
    thread.start()
    assert entered.wait(10)
    for number in range(10):
        print(number)
    with pytest.raises(TimeoutError, match="10 printed lines could not be given out"):
        capture.stop()
    released.set()
    thread.join(10)
    assert not thread.is_alive()


def test_a_function_that_prints_does_not_call_itself(capsys: pytest.CaptureFixture[str], lines: list[str]):
    def write_line(line: str) -> None:
        print(f"noted {line}")
        lines.append(line)

    with ConsoleCapture(write_line):
        print("one")
    assert lines == ["one"]
    assert capsys.readouterr().out == "one\nnoted one\n"


def test_a_signal_handler_may_print_at_any_moment(capsys: pytest.CaptureFixture[str], lines: list[str]):
    before = signal.signal(signal.SIGALRM, lambda *_: sys.stderr.write("tick\n"))
    signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
    try:
        with ConsoleCapture(lines.append):
            for number in range(5000):
                print(number)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert [line for line in lines if line != "tick"] == [str(number) for number in range(5000)]


def test_an_error_of_the_function_ends_the_capture_and_comes_from_stop(
    capsys: pytest.CaptureFixture[str], lines: list[str]
):
    def write_line(line: str) -> None:
        lines.append(line)
        if line == "two":
            raise OSError("disk full")

    capture = ConsoleCapture(write_line)
    capture.start()
    for line in ("one", "two", "three"):
        print(line)
    with pytest.raises(OSError, match="disk full"):
        capture.stop()
    capture.stop()
    assert lines == ["one", "two"]
    assert capsys.readouterr().out == "one\ntwo\nthree\n"


def test_an_error_of_the_body_is_not_hidden_by_one_of_the_function(lines: list[str]):
    def write_line(line: str) -> None:
        raise OSError("disk full")

    def print_and_fail() -> None:
        with ConsoleCapture(write_line):
            print("one")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        print_and_fail()
    assert "disk full" in caught.value.__notes__[0]


def test_an_error_of_the_stream_reaches_who_prints(capsys: pytest.CaptureFixture[str], lines: list[str]):
    with ConsoleCapture(lines.append):
        with pytest.raises(TypeError):
            sys.stdout.write(b"bytes")  # type: ignore[arg-type]
        print("fine")
    assert lines == ["fine"]


def test_nested_captures_both_see_the_lines(lines: list[str]):
    inner_lines: list[str] = []
    with ConsoleCapture(lines.append):
        print("outer")
        with ConsoleCapture(inner_lines.append):
            print("both")
        print("outer again")
    assert (lines, inner_lines) == (["outer", "both", "outer again"], ["both"])


def test_captures_may_end_in_any_order(lines: list[str]):
    original = sys.stdout
    inner_lines: list[str] = []
    outer, inner = ConsoleCapture(lines.append), ConsoleCapture(inner_lines.append)
    outer.start()
    inner.start()
    outer.stop()
    print("inner only")
    inner.stop()
    assert (lines, inner_lines) == ([], ["inner only"])
    assert sys.stdout is original


class Shouting:
    """Wraps a stream, as other libraries do."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> None:
        self.stream.write(text.upper())


def test_a_stream_that_somebody_else_wrapped_stays_and_still_reaches_the_screen(
    capsys: pytest.CaptureFixture[str], lines: list[str], monkeypatch: pytest.MonkeyPatch
):
    capture = ConsoleCapture(lines.append)
    capture.start()
    wrapper = Shouting(sys.stdout)
    monkeypatch.setattr(sys, "stdout", wrapper)
    print("one")
    capture.stop()
    assert sys.stdout is wrapper
    print("two")
    assert lines == ["ONE"]
    assert capsys.readouterr().out == "ONE\nTWO\n"


def test_whoever_kept_our_stream_can_still_write_to_it(capsys: pytest.CaptureFixture[str], lines: list[str]):
    with ConsoleCapture(lines.append):
        kept = sys.stdout
    print("late", file=kept)
    assert lines == []
    assert capsys.readouterr().out == "late\n"


def test_it_is_used_like_the_stream_it_stands_for(tmp_path: Path, lines: list[str], monkeypatch: pytest.MonkeyPatch):
    with (tmp_path / "out").open("w", encoding="latin-1", errors="ignore") as file, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", file)
        with ConsoleCapture(lines.append):
            stream = sys.stdout
            assert (stream.encoding, stream.errors, stream.isatty()) == ("latin-1", "ignore", False)
            assert (stream.fileno(), stream.buffer, stream.name) == (file.fileno(), file.buffer, file.name)
            assert stream.writable()
            assert not stream.closed
            stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
            assert file.line_buffering
            assert stream.write("four") == 4
            stream.flush()
            assert (tmp_path / "out").read_text() == "four"
            with pytest.raises(AttributeError):
                _ = stream.no_such_thing  # type: ignore[union-attr]


def test_bytes_to_the_buffer_pass_by(capsys: pytest.CaptureFixture[str], lines: list[str]):
    with ConsoleCapture(lines.append):
        sys.stdout.buffer.write(b"bytes\n")
        sys.stdout.buffer.flush()
    assert lines == []
    assert capsys.readouterr().out == "bytes\n"


def test_the_stream_can_be_a_context_as_any_file_can(tmp_path: Path, lines: list[str], monkeypatch: pytest.MonkeyPatch):
    file = (tmp_path / "out").open("w")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", file)
        with ConsoleCapture(lines.append):
            with sys.stdout as stream:
                stream.write("last\n")
            assert file.closed
    assert lines == ["last"]


def test_a_process_without_a_console_has_nothing_to_capture(lines: list[str], monkeypatch: pytest.MonkeyPatch):
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", None)
        with ConsoleCapture(lines.append):
            print("to nowhere")
            print("to stderr", file=sys.stderr)
        assert sys.stdout is None
    assert lines == ["to stderr"]


def test_a_forked_child_prints_but_does_not_record():
    code = """
import os, sys
from playhead.capture.console import ConsoleCapture
lines = []
with ConsoleCapture(lines.append):
    print("parent", flush=True)
    child = os.fork()
    if child == 0:
        print("child", flush=True)
    else:
        os.waitpid(child, 0)
print(lines, flush=True)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["parent", "child", "['parent']", "['parent']"]


def test_lines_survive_kill_9_when_the_function_writes_them_out(tmp_path: Path):
    code = """
import os, signal, sys
from playhead.capture.console import ConsoleCapture
file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
ConsoleCapture(lambda line: os.write(file, line.encode() + b"\\n")).start()
for number in range(1000): print(number)
os.kill(os.getpid(), signal.SIGKILL)
"""
    log = tmp_path / "logs.txt"
    done = subprocess.run([sys.executable, "-c", code, log], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    assert log.read_text().split() == [str(number) for number in range(1000)]
