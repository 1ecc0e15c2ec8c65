"""The pages as people who do not see, or do not point, meet them: what axe-core finds in a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import playhead
from tests.web.conftest import DATASET, FIRST, PLAYED, SECOND
from tests.web.page_building import built_page

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
PAGES = {
    "runs": ("/", "[data-run]"),
    "charts": (f"/run/{FIRST}", "canvas"),
    "log": (f"/run/{FIRST}?tab=log", "[role=tabpanel], main"),
    "config": (f"/run/{FIRST}?tab=config", "main"),
    "media": (f"/run/{FIRST}?tab=media", "main img"),
    "episodes": (f"/run/{PLAYED}?tab=episodes", "main a"),
    "comparison": (f"/compare?ids={FIRST},{SECOND}", "canvas"),
    "datasets": ("/datasets", "main a"),
    "dataset": (f"/datasets/{DATASET}", "main a"),
    "player": (f"/play/replay/{PLAYED}-ep0000", "canvas, img"),
    "nothing": ("/nowhere", "main"),
}
ASK = "() => axe.run(document, {resultTypes: ['violations']}).then((found) => found.violations)"
UNDIMMED = ".old .body { opacity: 1 !important; transition: none !important; }"


def violations(page: Any) -> list[str]:
    """Let axe-core look at a page; rows that a slow machine has dimmed until their answer comes are seen as they will be."""
    page.add_style_tag(content=UNDIMMED)
    page.add_script_tag(content=AXE.read_text())
    return [
        f"{one['id']} ({one['impact']}): {one['help']}: " + "; ".join(node["html"][:160] for node in one["nodes"][:4])
        for one in page.evaluate(ASK)
    ]


@pytest.fixture(scope="module")
def site(made_store: Path, serving: Callable[..., str]) -> Iterator[str]:
    with playhead.open(made_store, mode="r") as store:
        yield serving(store, page=built_page()).rstrip("/")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing(browser: Any, site: str, name: str, dark: bool) -> None:
    address, ready = PAGES[name]
    context = browser.new_context(
        viewport={"width": 1440, "height": 900}, color_scheme="dark" if dark else "light", bypass_csp=True
    )
    try:
        page = context.new_page()
        page.goto(site + address)
        page.wait_for_selector(ready)
        page.wait_for_load_state("networkidle")
        assert violations(page) == []
    finally:
        context.close()
