"""A server that goes away and comes back while a page is open, and one that has no room for another live link."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead.web.app import make_app
from playhead.web.limits import Limits
from playhead.web.server import Background, bind
from tests.web.conftest import FIRST, LIVE
from tests.web.page_building import built_page

Open = Callable[..., Any]
GONE = "The server does not answer"


class Switched:
    """A server on one port that can be switched off and on."""

    def __init__(self, store: playhead.Store) -> None:
        self._store = store
        self._port = 0
        self._running: Background | None = None
        self.on()

    def on(self) -> None:
        listening = bind(port=self._port)
        self._port = listening.getsockname()[1]
        self._running = Background(make_app(self._store, page=built_page()), listening)
        self._running.start()

    def off(self) -> None:
        assert self._running is not None
        self._running.stop()
        self._running = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._port}"


@pytest.fixture
def switched(own_store: playhead.Store) -> Any:
    server = Switched(own_store)
    yield server
    if server._running is not None:
        server.off()


def forget(page: Any, open_page: Open) -> None:
    """Close the page, and forget what the browser itself reported: what it could not fetch."""
    page.close()
    open_page.complaints.clear()  # type: ignore[attr-defined]


def expect_gone(page: Any, open_page: Open) -> None:
    alert = page.get_by_role("alert").filter(has_text=GONE).first
    alert.wait_for(timeout=10_000)
    said = alert.inner_text()
    assert "tried again" in said
    assert not re.search(r"css|preload|module|fetch", page.locator("body").inner_text(), re.IGNORECASE)
    if folder := os.environ.get("PLAYHEAD_TEST_PICTURES"):
        page.screenshot(path=Path(folder) / "gone.png")


@pytest.mark.parametrize("then", ["/datasets", f"/run/{FIRST}", "/compare?ids=" + FIRST])
def test_a_page_that_cannot_be_fetched_says_so_and_comes_by_itself(
    open_page: Open, switched: Switched, then: str
) -> None:
    page = open_page(f"{switched.address}/")
    page.get_by_role("link", name="dqn").first.wait_for()
    switched.off()
    page.evaluate(
        "to => { const a = document.createElement('a'); a.href = to; document.body.append(a); a.click(); a.remove(); }",
        then,
    )
    expect_gone(page, open_page)
    switched.on()
    page.get_by_role("alert").filter(has_text=GONE).first.wait_for(state="detached", timeout=15_000)
    page.locator("main h1, main h2, main section, main [role=tablist]").first.wait_for(timeout=10_000)
    assert page.url.endswith(then)
    forget(page, open_page)


def test_a_tab_that_cannot_be_fetched_says_so_and_comes_by_itself(open_page: Open, switched: Switched) -> None:
    page = open_page(f"{switched.address}/run/{FIRST}")
    page.get_by_role("tab", name="Charts").wait_for()
    switched.off()
    page.get_by_role("tab", name="Config").click()
    expect_gone(page, open_page)
    switched.on()
    page.get_by_text("layers").first.wait_for(timeout=15_000)
    assert page.get_by_role("tab", name="Config").get_attribute("aria-selected") == "true"
    forget(page, open_page)


def test_what_could_not_be_asked_is_asked_again(open_page: Open, switched: Switched) -> None:
    page = open_page(f"{switched.address}/datasets")
    page.get_by_text("teleop").first.wait_for()
    page.goto(f"{switched.address}/")
    page.get_by_role("link", name="dqn").first.wait_for()
    page.get_by_role("link", name="Datasets").click()
    page.get_by_text("teleop").first.wait_for()  # its file is there from now on
    page.get_by_role("link", name="Runs").first.click()
    page.get_by_role("link", name="dqn").first.wait_for()
    switched.off()
    page.get_by_role("link", name="Datasets").click()
    expect_gone(page, open_page)
    switched.on()
    page.get_by_text("teleop").first.wait_for(timeout=15_000)
    forget(page, open_page)


def test_a_page_without_a_live_link_asks_now_and_then(
    open_page: Open, own_store: playhead.Store, live_run: playhead.RunWriter
) -> None:
    app = make_app(own_store, page=built_page())
    with Background(app) as server:
        app.state.site.limits = Limits(connections=0)  # connections are taken, but no event streams
        page = open_page(f"{server.address}run/{LIVE}")
        page.locator('section[data-metric="loss"]').get_by_text("1 point").wait_for()
        for step in range(5):
            live_run.log({"loss": 0.5}, step=step + 1)
        page.locator('section[data-metric="loss"]').get_by_text("6 points").wait_for(timeout=45_000)
        assert "every few seconds" in page.locator("header [role=status]").inner_text()
        assert all("503" in line for line in open_page.complaints)  # type: ignore[attr-defined]
        forget(page, open_page)


def test_the_last_sign_of_life_moves(open_page: Open, own_store: playhead.Store, live_run: playhead.RunWriter) -> None:
    with Background(make_app(own_store, page=built_page())) as server:
        page = open_page(f"{server.address}run/{LIVE}")
        sign = page.locator("dt", has_text="Last sign of life").locator("xpath=following-sibling::dd")
        sign.wait_for()
        first = sign.get_attribute("title")
        time.sleep(1.5)
        live_run.log({"loss": 0.25})
        page.wait_for_function(
            "([element, before]) => element.title !== before", arg=[sign.element_handle(), first], timeout=5_000
        )
        page.wait_for_timeout(3_000)
        assert sign.inner_text() in ("just now", *(f"{n} s ago" for n in range(6))), sign.inner_text()
