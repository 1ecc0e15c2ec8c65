"""Runicorn folders, made the way its versions make them."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

MOMENT = 1_700_000_000.125  # when every run here begins
DEAD_PID = 2**22 + 1  # past the largest number that Linux gives


def png() -> bytes:
    """Give a picture of one white point."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    image = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\x00\xff")) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + image


class RunicornFolder:
    """Writes runs as Runicorn does: JSON with bare NaN, empty lock files, absolute paths."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()

    def old(self, project: str, name: str, run_id: str, **changes: Any) -> Path:
        """Make a run in the layout up to 0.5."""
        meta = {"project": project, "name": name} | changes.pop("meta", {})
        return self.at(self.path / project / name / "runs" / run_id, meta=meta, **changes)

    def new(self, path: str, run_id: str, **changes: Any) -> Path:
        """Make a run in the layout since 0.6."""
        meta = {"path": path, "alias": None, "workspace_root": "/home/someone/project"} | changes.pop("meta", {})
        folder = self.at(self.path / "runs" / path / run_id, meta=meta, **changes)
        assets = {"code": {}, "config": {"args": {"lr": 0.5}, "extra": {"seed": 7}}, "datasets": [], "outputs": []}
        write(folder / "assets.json", assets)
        return folder

    def recycled(self, run_id: str, **changes: Any) -> Path:
        """Make a run that 0.7's viewer has deleted."""
        meta = {"path": "demo/expA"} | changes.pop("meta", {})
        folder = self.at(self.path / "runs" / ".recycle" / run_id, meta=meta, **changes)
        write(folder / ".deleted", {"deleted_at": MOMENT + 99, "reason": "no good", "original_path": "demo/expA"})
        return folder

    def at(self, folder: Path, *, meta: dict[str, Any], status: dict[str, Any] | None = None) -> Path:
        """Make a run in a folder."""
        folder.mkdir(parents=True)
        common = {"created_at": MOMENT, "python": "3.11.7", "platform": "Linux", "hostname": "elsewhere", "pid": 1}
        write(folder / "meta.json", {"id": folder.name, **common, "storage_dir": str(self.path), **meta})
        write(folder / "status.json", status or {"status": "finished", "started_at": MOMENT, "ended_at": MOMENT + 9})
        best = {"best_metric_name": "loss", "best_metric_mode": "min", "best_metric_value": 0.2, "best_metric_step": 5}
        write(folder / "summary.json", {"note": "x", "worst": float("nan"), **best})
        (folder / "logs.txt").write_text("07:23:40 | hello\n")
        (folder / "media").mkdir()
        (folder / "media" / "1_abcdef_img.png").write_bytes(png())
        (folder / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events()))
        for name in ("events.jsonl.lock", "status.json.lock", "summary.json.lock", "logs.txt.lock"):
            (folder / name).touch()
        return folder


def events() -> list[dict[str, Any]]:
    """Give the events of every run here: 11 points, one of them NaN, and a picture."""
    found = []
    for i in range(5):
        ts = MOMENT + i
        data = {"loss": 1 / (i + 1), "acc": i / 5, "global_step": i + 1, "time": ts, "stage": "train"}
        found.append({"ts": ts, "type": "metrics", "data": data})
    data = {"loss": float("nan"), "global_step": 100, "time": MOMENT + 5}
    found.append({"ts": MOMENT + 5, "type": "metrics", "data": data})
    picture = {"key": "img", "path": "media/1_abcdef_img.png", "step": 1, "caption": None}
    return [*found, {"ts": MOMENT + 6, "type": "image", "data": picture}]


def write(path: Path, content: dict[str, Any]) -> None:
    """Write JSON as Python's own encoder does, with bare NaN."""
    path.write_text(json.dumps(content, indent=2))


def append(folder: Path, *lines: str | bytes) -> None:
    """Add lines to the events of a run."""
    with (folder / "events.jsonl").open("ab") as file:
        for line in lines:
            file.write(line.encode() if isinstance(line, str) else line)
            file.write(b"\n")


def tree(folder: Path) -> dict[str, bytes | None]:
    """Give the content of all files in a folder, and its folders."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
        if not path.is_symlink()
    }


@pytest.fixture
def folder(tmp_path: Path) -> RunicornFolder:
    return RunicornFolder(tmp_path / "runicorn")
