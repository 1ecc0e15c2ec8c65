"""What the installer runs: compile the part in C where there is a compiler, and go without where there is none."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NATIVE = Path(__file__).parent / "src" / "playhead" / "native"
LIBRARY = NATIVE / "native.so"
FLAGS = ["-std=c11", "-O3", "-Wall", "-Wextra", "-Wpedantic", "-fPIC", "-shared"]


class NotCompiled(Exception):
    """There is no compiler, or it refused."""


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Put the library beside its sources, and into the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Compile; a wheel with the library in it is for this kind of machine alone, but for any Python."""
        LIBRARY.unlink(missing_ok=True)
        try:
            compile_into(LIBRARY)
        except NotCompiled as error:
            self.app.display_warning(f"Playhead goes without its part in C, and packs frames larger: {error}")
            return
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"
        build_data["pure_python"] = False


def compile_into(library: Path) -> None:
    """Make one library of all files in C, whole or not at all.

    Raises:
        NotCompiled: Says what is missing.
    """
    compiler = shlex.split(os.environ.get("CC", "cc"))
    if not compiler or shutil.which(compiler[0]) is None:
        raise NotCompiled(f"there is no C compiler {' '.join(compiler)!r}; on Debian: apt-get install gcc libc6-dev")
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        made = Path(folder) / library.name
        command = [*compiler, *FLAGS, "-o", made, *sorted(library.parent.glob("*.c"))]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise NotCompiled(f"{' '.join(compiler)} refused: {done.stderr.strip()}")
        made.replace(library)
