"""A folder with a bit of everything that can be saved, and a store with it."""

from __future__ import annotations

from pathlib import Path

import pytest

CONTENTS = {
    "model.pt": b"weights " * 4000,
    "config.json": b'{"lr": 0.1}\n',
    "tokens/a.txt": b"hello",
    "tokens/copy of a.txt": b"hello",
    "tokens/deep/b.bin": bytes(range(256)) * 300,
    "empty.txt": b"",
    "größe.txt": "ß".encode(),
    ".hidden": b"kept",
}


def make(folder: Path, contents: dict[str, bytes] = CONTENTS) -> Path:
    """Write files."""
    for name, content in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def read(folder: Path) -> dict[str, bytes]:
    """Read all files of a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


@pytest.fixture
def files(tmp_path: Path) -> Path:
    return make(tmp_path / "files")
