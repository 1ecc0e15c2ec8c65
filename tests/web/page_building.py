"""The real page, as `make setup` built it."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "src" / "playhead" / "web" / "page"


@functools.cache
def built_page() -> Path:
    """Give the folder of the built page; `PLAYHEAD_TEST_PAGE` names another one."""
    if given := os.environ.get("PLAYHEAD_TEST_PAGE"):
        return Path(given)
    index = PAGE / "index.html"
    sources = [path for path in (ROOT / "web" / "src").rglob("*") if path.is_file()]
    if not index.exists() or index.stat().st_mtime < max(path.stat().st_mtime for path in sources):
        pytest.fail("the page is not built, or older than its source: run make page")
    return PAGE
