"""The signal of docs/contract.md keeps the contract, as that page says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from playhead.signal import Signal
from playhead.testing.signals.suite import SignalSuite

PAGE = Path(__file__).parents[2] / "docs" / "contract.md"


def test_the_example_keeps_the_contract(tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    (tmp_path / "test_example.py").write_text("\n\n".join(blocks))
    command = [sys.executable, "-m", "pytest", "test_example.py", "-W", "error", "-p", "no:cacheprovider"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    passed = re.search(r"(\d+) passed", run.stdout)
    assert passed is not None
    assert int(passed[1]) > 100


def test_the_page_names_what_there_is() -> None:
    text = PAGE.read_text()
    for name in SignalSuite.__annotations__:
        assert f"| `{name} = " in text, name
    for name in Signal.__abstractmethods__:
        assert f"| `{name}" in text, name
    for name in re.findall(r"^\| `(_\w+)", text, re.MULTILINE):
        assert hasattr(Signal, name), name
