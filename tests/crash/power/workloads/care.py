"""The care of a store that has something of everything: what was there before is there after any cut."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import playhead
from playhead.care import collecting, optimizing
from tests.care.everything import make, values_of
from tests.crash.power.workloads.whole import hold_together

_HELD = "held "


def work(path: Path, tell: Callable[[str], None]) -> None:
    """Collect, compact, build a table again, rebuild."""
    make(path)
    with playhead.open(path) as store:
        assert list(store.artifacts)
    os.sync()
    tell(_HELD + json.dumps(needed(path)))
    with playhead.open(path) as store:
        (path / "artifacts/.dedup/00").mkdir(exist_ok=True)
        (path / f"artifacts/.dedup/00/{'0' * 64}").write_bytes(b"left")
        collecting.collect(store._home, older_than=0)
        optimizing.compact(store._home, level=9)
        store.tables.build("numbers", store.tables["numbers"][:], overwrite=True)
    playhead.rebuild(path)


def hold(path: Path, told: Sequence[str]) -> None:
    """All values are as they were, whoever reads them."""
    held = [line.removeprefix(_HELD) for line in told if line.startswith(_HELD)]
    if not held:
        return  # it was not on the medium yet
    with playhead.open(path) as store:
        collecting.collect(store._home, older_than=0)  # others would look into what is half made
        list(store.artifacts)
    before, found = json.loads(held[0]), needed(path)
    changed = {name for name in before if found.get(name) != before[name]}
    assert not changed, f"{sorted(changed)} are not as they were"
    hold_together(path)


def needed(path: Path) -> dict[str, str]:
    """Return what every reader gives, without what says when a file was made, and digests of such files."""
    made = (".h5", "metadata.db", ".npy", "checksums.json")
    return {name: value for name, value in values_of(path).items() if not name.endswith(made)}
