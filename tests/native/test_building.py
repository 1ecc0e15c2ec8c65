"""The installer compiles what is written in C where it can, and installs Playhead without it where it cannot."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from playhead import native

ROOT = Path(__file__).parents[2]
LIBRARY = "playhead/native/native.so"


def wheel(tmp_path: Path, compiler: str) -> tuple[Path, str]:
    """Build a wheel of a copy of the sources; give it, and what the installer said."""
    copy = tmp_path / "sources"
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("page", "*.so", "__pycache__"))
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    done = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "--verbose", "--wheel-dir", tmp_path, copy],
        env=os.environ | {"CC": compiler},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    [found] = tmp_path.glob("*.whl")
    return found, done.stdout + done.stderr


def test_a_wheel_has_the_library_and_is_for_this_kind_of_machine(tmp_path: Path) -> None:
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    found, _ = wheel(tmp_path, "cc")
    assert "-py3-none-" in found.name
    assert not found.name.endswith("-any.whl")
    assert LIBRARY in zipfile.ZipFile(found).namelist()


@pytest.mark.parametrize(("compiler", "reason"), [("no-such-compiler", "no C compiler"), ("false", "false refused")])
def test_without_a_compiler_it_is_for_any_machine_and_says_so(tmp_path: Path, compiler: str, reason: str) -> None:
    found, said = wheel(tmp_path, compiler)
    assert found.name.endswith("-py3-none-any.whl")
    assert LIBRARY not in zipfile.ZipFile(found).namelist()
    assert reason in said


def test_what_was_compiled_of_older_sources_is_not_used(tmp_path: Path) -> None:
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    for number, names in enumerate((native._FUNCTIONS, native._FUNCTIONS[:-1])):
        source, library = tmp_path / f"{number}.c", tmp_path / f"{number}.so"
        source.write_text("".join(f"void {name}(void) {{}}\n" for name in names))
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
        assert (native._load(library) is None) == (number == 1)
    (tmp_path / "text.so").write_text("no library")
    assert native._load(tmp_path / "text.so") is None
    assert native._load(tmp_path / "none.so") is None
