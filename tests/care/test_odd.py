"""An odd value in any field of any JSON file of a store ends no command, and hides nothing else.

Here a tenth of the cases, each in turn with and without a catalogue; `make campaign` does all of them, both ways.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from tests.care import odd

SHARE = float(os.environ.get("PLAYHEAD_CAMPAIGN", "0.1"))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("odd") / "store"
    odd.make(path)
    return path


def test_every_kind_of_json_file_is_tried(store: Path) -> None:
    kinds = {path.name for path in store.rglob("*") if odd.holds_json(path)}
    assert kinds <= {Path(file).name for file in odd.files_of(store)}
    names = {"static.json", "edits.jsonl", ".verified.json", ".deleted", "events-2.jsonl", "small.json", "run_g.1.json"}
    assert kinds >= names | {"checksums.json", "environment.json", "summary.json", "index.json", "artifacts_used.json"}


@pytest.mark.timeout(14_400)
def test_every_command_ends_with_an_answer_or_names_the_file(store: Path, tmp_path: Path) -> None:
    trial, batches = odd.Trial(store, tmp_path), odd.batches_of(store)
    step = round(1 / SHARE)
    tried: Counter[str] = Counter()
    problems: list[str] = []
    for number, batch in enumerate(batches[::step]):
        ways = (True, False) if SHARE >= 1 else (number % 2 == 0,)
        problems += trial.run(batch, ways)
        tried.update(Path(case.file).name for case in batch for _ in ways)
    print(f"odd values: {sum(tried.values()):,} cases, {len(problems)} problems: {dict(tried)}")
    assert problems == []
    assert set(tried) >= {"meta.json", "status.json", "versions.json", "manifest.json", "events.jsonl", "playhead.json"}
