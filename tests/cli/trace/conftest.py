"""A store with traces, made once; tests that change it get a copy."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.trace.making import make_store


@pytest.fixture(scope="session")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_store(tmp_path_factory.mktemp("traced") / "store")


@pytest.fixture
def changeable(traced: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(traced, tmp_path / "store"))
