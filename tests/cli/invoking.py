"""Ways to run the program: in this process, in one of its own, in a terminal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from playhead.cli import NAME, program

BARE = {"PLAYHEAD_STORE": None, "NO_COLOR": None, "FORCE_COLOR": None}


def invoke(*arguments: str | Path, expect: int = 0, store: Path | None = None) -> Result:
    """Run the program in this process, and check how it ends."""
    environment = BARE | {"PLAYHEAD_STORE": str(store)} if store else BARE
    result = CliRunner(env=environment).invoke(program, [str(one) for one in arguments], prog_name=NAME)
    assert result.exit_code == expect, result.output
    return result


def answer(*arguments: str | Path, expect: int = 0, store: Path | None = None) -> Any:
    """Run the program in this process with `--json`, and give what it answers."""
    return json.loads(invoke(*arguments, "--json", expect=expect, store=store).stdout)


def environment(store: Path | None = None) -> dict[str, str]:
    """Give the variables for a process that knows no store but this one."""
    kept = {name: value for name, value in os.environ.items() if name not in BARE}
    return kept | ({"PLAYHEAD_STORE": str(store)} if store else {})


def start(
    *arguments: str | Path, store: Path | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `python -m playhead`."""
    command = [sys.executable, "-m", "playhead", *map(str, arguments)]
    return subprocess.run(
        command,
        env=environment(store),
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def in_terminal(*arguments: str | Path, store: Path, columns: int = 100, keys: bytes = b"") -> tuple[int, str]:
    """Run `python -m playhead` in a terminal; give its exit code and all that it showed."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    command = [sys.executable, "-m", "playhead", *map(str, arguments)]
    variables = environment(store) | {"TERM": "xterm-256color"}
    for name in ("COLUMNS", "LINES"):
        variables.pop(name, None)
    with subprocess.Popen(command, env=variables, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        os.write(ours, keys)
        shown = b""
        while True:
            try:
                block = os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                break
            shown += block
    os.close(ours)
    return process.returncode, shown.decode().replace("\r\n", "\n")
