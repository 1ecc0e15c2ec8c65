"""A store with everything in it, made once; tests that change it get a copy."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import playhead
from tests.care.everything import make


@pytest.fixture(scope="session")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("everything") / "store"
    make(path)
    return path


@pytest.fixture
def path(everything: Path, tmp_path: Path) -> Path:
    """A store that may be changed; its links to the pool are copies, as after a move to another disk."""
    copy = Path(shutil.copytree(everything, tmp_path / "store"))
    with playhead.open(copy) as store:
        assert list(store.artifacts)  # files that were copied are others to the catalogue, until they are listed
    return copy
