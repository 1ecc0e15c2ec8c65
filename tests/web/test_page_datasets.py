"""The datasets pages in a real browser, on a real server and a real store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import playhead
from playhead.web.app import make_app
from playhead.web.server import Background
from tests.check.making import START
from tests.web.conftest import DATASET
from tests.web.page_building import built_page
from tests.web.test_page_runs import has_no_sideways_scroll, wait

OpenPage = Callable[..., Any]
LONG = 70


@pytest.fixture(scope="module")
def here(made_store: Path, serving: Callable[..., str]) -> Iterator[str]:
    """The address of the page on the store that no test changes."""
    with playhead.open(made_store, mode="r") as store:
        yield serving(store, page=built_page()).rstrip("/")


def test_datasets_are_listed_and_opened(here: str, open_page: OpenPage) -> None:
    page = open_page(f"{here}/datasets")
    rows = page.get_by_role("table", name="Datasets").get_by_role("row")
    page.get_by_text("lab/left arm").wait_for()
    assert rows.count() == 3  # the header and two
    assert page.get_by_role("link", name="Datasets 2").get_attribute("aria-current") == "page"
    page.get_by_text("lab/left arm").click()
    wait(page, lambda: page.url.endswith(f"/datasets/{quote('lab/left arm', safe='')}"))
    page.locator('a[href^="/play/dataset/"]').wait_for()
    assert page.title() == "lab/left arm · Playhead"


def test_an_episode_shows_its_first_frame_and_leads_to_the_player(here: str, open_page: OpenPage) -> None:
    page = open_page(f"{here}/datasets/{DATASET}")
    tile = page.locator('a[href="/play/dataset/teleop/bbbb2222"]')
    picture = tile.get_by_role("img", name="First frame")
    picture.wait_for()
    wait(page, lambda: picture.evaluate("one => one.naturalWidth") > 0)
    assert page.locator('a[href^="/play/dataset/teleop/"]').count() == 2
    assert has_no_sideways_scroll(page)
    tile.click()
    wait(page, lambda: page.url.endswith("/play/dataset/teleop/bbbb2222"))


def test_many_episodes_are_drawn_as_they_come_into_sight(tmp_path: Path, open_page: OpenPage) -> None:
    with playhead.open(tmp_path / "store") as store, Background(make_app(store, page=built_page())) as server:
        for number in range(LONG):
            with store.dataset("long").new_episode(created_ts_ns=START + number) as episode:
                episode.append("force", 1.0, START + number)
        page = open_page(f"{server.address}datasets/long", height=500)
        page.get_by_text(f"{LONG} episodes").wait_for()
        tiles = page.locator('a[href^="/play/"]')
        tiles.first.wait_for()
        assert tiles.count() < 45
        page.locator(".scroller").evaluate("one => { one.scrollTop = one.scrollHeight; }")
        page.get_by_text(f"Episode {LONG - 1}").wait_for()
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        wait(page, lambda: "/play/dataset/long/" in page.url)
        page.close()
    open_page.complaints.clear()  # type: ignore[attr-defined]  # of the player, which another test looks at


def test_a_dataset_that_is_not_there_says_so(here: str, open_page: OpenPage) -> None:
    page = open_page(f"{here}/datasets/nothing")
    page.get_by_text("Not found").wait_for()
    assert "nothing" in page.locator("main").inner_text()
    open_page.complaints.clear()  # type: ignore[attr-defined]  # the browser notes the 404


def test_a_store_without_datasets_says_how_to_record_one(tmp_path: Path, open_page: OpenPage) -> None:
    with playhead.open(tmp_path / "empty") as store, Background(make_app(store, page=built_page())) as server:
        page = open_page(f"{server.address}datasets")
        page.get_by_text("No datasets yet").wait_for()
        assert "new_episode" in page.locator("pre").inner_text()
        page.close()  # before its server goes


@pytest.mark.parametrize("path", ["/", "/datasets"])
def test_the_code_of_an_empty_page_stays_on_a_phone(tmp_path: Path, open_page: OpenPage, path: str) -> None:
    with playhead.open(tmp_path / "empty") as store, Background(make_app(store, page=built_page())) as server:
        page = open_page(server.address.rstrip("/") + path, width=390, height=844)
        code = page.locator("pre")
        code.wait_for()
        box = code.bounding_box()
        assert 0 <= box["x"] <= box["x"] + box["width"] <= 390
        page.close()  # before its server goes


def test_a_phone_has_room_for_them(here: str, open_page: OpenPage) -> None:
    page = open_page(f"{here}/datasets", width=390, height=844)
    page.get_by_text(DATASET).wait_for()
    assert has_no_sideways_scroll(page)
    page.goto(f"{here}/datasets/{DATASET}")
    page.locator('a[href^="/play/"]').first.wait_for()
    assert has_no_sideways_scroll(page)
