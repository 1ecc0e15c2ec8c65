"""Ask another program for its output, bounded in time and in size."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from playhead import clock, forks

_CHUNK = 65536
_REASON_LIMIT = 4096
_LAST_WAIT_S = 1.0


class Output(NamedTuple):
    """What a program wrote to its standard output.

    Args:
        text: The output, decoded as UTF-8.
        cut: Whether there was more than the limit; the program was then stopped.
    """

    text: str
    cut: bool


def output_of(
    arguments: Sequence[str], *, seconds: float, limit: int, variables: Mapping[str, str] | None = None
) -> Output:
    """Run a program without a shell, a terminal or an input, and give what it wrote.

    Args:
        arguments: The program and its arguments.
        seconds: How long it may take.
        limit: How many bytes of its output are kept.
        variables: Its environment variables; those of this process when None.

    Raises:
        OSError: It could not be started.
        subprocess.TimeoutExpired: It took longer; it has been killed.
        subprocess.CalledProcessError: It ended with a status other than 0.
    """
    # A session of its own has no terminal: the program cannot ask for a password, and a Ctrl-C does not reach it.
    with forks.Working():  # a child would keep the pipe open on whose end `Popen` waits
        process = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=variables,
            start_new_session=True,
        )
    try:
        written, reason = _drain(process, seconds, limit)
        cut = len(written) > limit
        status = 0 if cut else process.wait(timeout=_LAST_WAIT_S)
    finally:
        _end(process)
    if status:
        raise subprocess.CalledProcessError(status, list(arguments), bytes(written), bytes(reason))
    return Output(bytes(written[:limit]).decode("utf-8", errors="replace"), cut)


def reason_of(error: OSError | subprocess.SubprocessError) -> str:
    """Say in one line why a program gave no output."""
    if isinstance(error, FileNotFoundError):
        return f"there is no program {error.filename}"
    if isinstance(error, subprocess.TimeoutExpired):
        return f"{error.cmd[0]} took longer than {error.timeout:g} s"
    if isinstance(error, subprocess.CalledProcessError):
        said = (error.stderr or error.output or b"").decode("utf-8", errors="replace").strip()
        return said.splitlines()[0] if said else f"{error.cmd[0]} ended with status {error.returncode}"
    return str(error)


def _drain(process: subprocess.Popen[bytes], seconds: float, limit: int) -> tuple[bytearray, bytearray]:
    assert process.stdout is not None
    assert process.stderr is not None
    written, reason = bytearray(), bytearray()
    deadline = clock.elapsed_ns() + round(seconds * clock.SECOND)
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ, written)
        selector.register(process.stderr, selectors.EVENT_READ, reason)
        while selector.get_map() and len(written) <= limit:
            left = deadline - clock.elapsed_ns()
            if left <= 0:
                raise subprocess.TimeoutExpired(process.args, seconds)
            for key, _ in selector.select(left / clock.SECOND):
                chunk = os.read(key.fd, _CHUNK)
                key.data.extend(chunk)
                if not chunk:
                    selector.unregister(key.fileobj)
            del reason[_REASON_LIMIT:]
    return written, reason


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        # A process that hangs inside a driver outlives even SIGKILL; whoever asked must not hang with it.
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=_LAST_WAIT_S)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
