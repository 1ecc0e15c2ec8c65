"""The whole snapshot."""

from __future__ import annotations

import json
import os
import platform
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from playhead.capture.environment import capture

KEYS = {
    "git",
    "packages",
    "argv",
    "executable",
    "cwd",
    "python",
    "platform",
    "hostname",
    "user",
    "cpu",
    "memory_bytes",
    "gpus",
    "env",
    "notes",
}


def as_json(snapshot: dict[str, object]) -> str:
    text = json.dumps(snapshot, allow_nan=False, ensure_ascii=False)
    text.encode("utf-8")
    return text


def test_a_snapshot_has_every_part_and_survives_json(tmp_path: Path):
    snapshot = capture(tmp_path)
    assert set(snapshot) == KEYS
    assert json.loads(as_json(snapshot)) == snapshot
    assert snapshot["python"] == platform.python_version()
    assert snapshot["hostname"] == socket.gethostname()
    assert snapshot["executable"] == sys.executable
    assert snapshot["cwd"] == os.getcwd()
    assert snapshot["user"]
    assert snapshot["packages"]["pytest"] == pytest.__version__


def test_a_dirty_repository_is_described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    (tmp_path / "train.py").write_text("lr = 1\n")
    for arguments in (["init", "-b", "trunk"], ["add", "."], [*identity, "commit", "-m", "first"]):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / "train.py").write_text("lr = 2\n")
    state = capture(tmp_path)["git"]
    assert (state["branch"], state["dirty"]) == ("trunk", True)
    assert "+lr = 2" in state["diff"]


def test_a_part_that_cannot_be_had_is_null_and_the_reason_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.chdir(tmp_path)
    snapshot = capture()
    assert snapshot["git"] is None
    assert snapshot["gpus"] is None
    assert {"git: there is no program git", "gpus: there is no program nvidia-smi"} <= set(snapshot["notes"])


def test_no_secret_of_the_surroundings_is_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setattr(sys, "argv", ["train.py", "--api-key", "hunter2", "--password=hunter2", "--lr", "0.1"])
    snapshot = capture(tmp_path)
    text = as_json(snapshot)
    assert "hunter2" not in text
    assert "AWS_SECRET_ACCESS_KEY" not in text
    assert snapshot["env"]["CUDA_VISIBLE_DEVICES"] == "0"
    assert snapshot["argv"] == ["train.py", "--api-key", "***", "--password=***", "--lr", "0.1"]


def test_arguments_that_are_no_text_do_not_break_the_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "argv", ["train.py", os.fsdecode(b"caf\xe9")])
    snapshot = capture(tmp_path)
    as_json(snapshot)
    assert snapshot["argv"][1] == "caf\\udce9"


def test_a_working_folder_that_is_gone_is_noted(tmp_path: Path):
    code = """
import json, os, sys
from playhead.capture.environment import capture
os.makedirs(sys.argv[1]); os.chdir(sys.argv[1]); os.rmdir(sys.argv[1])
print(json.dumps(capture()))
"""
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "gone"], capture_output=True, text=True, check=True)
    snapshot = json.loads(done.stdout)
    assert (snapshot["cwd"], snapshot["git"]) == (None, None)
    assert any(note.startswith("cwd: the working folder is gone") for note in snapshot["notes"])


def test_an_account_without_a_name_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_001)
    snapshot = capture(tmp_path)
    assert snapshot["user"] is None
    assert any(note.startswith("user: ") for note in snapshot["notes"])


def test_a_background_thread_can_take_it_without_changing_the_process(tmp_path: Path):
    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    folder = os.getcwd()
    taken: list[dict[str, object]] = []
    thread = threading.Thread(target=lambda: taken.append(capture(tmp_path)))
    thread.start()
    thread.join(60)
    assert taken
    assert {number: signal.getsignal(number) for number in signal.valid_signals()} == handlers
    assert os.getcwd() == folder
