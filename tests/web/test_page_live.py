"""What runs right now, seen in a real browser."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import playhead
from playhead import clock, live
from playhead.integrations.gymnasium import Recorder
from playhead.web.app import make_app
from playhead.web.server import Background
from tests.web.conftest import LIVE, Walk
from tests.web.page_building import built_page
from tests.web.test_page_accessibility import violations

Open = Callable[..., Any]
COLOUR = """canvas => {
    const {data} = canvas.getContext('2d').getImageData(canvas.width / 2, canvas.height / 2, 1, 1);
    return [...data.slice(0, 3)];
}"""


@pytest.fixture
def site(own_store: playhead.Store) -> Iterator[str]:
    with Background(make_app(own_store, page=built_page())) as server:
        yield server.address.rstrip("/")


@contextmanager
def walking(run: playhead.RunWriter) -> Iterator[None]:
    """Play beside, and show it."""
    over = threading.Event()

    def play() -> None:
        env = Recorder(Walk(), run, live=True)
        env.reset(seed=0)
        while not over.is_set():
            if env.step(1)[2]:
                env.reset()
            clock.sleep(0.005)
        env.close()

    player = threading.Thread(target=play)
    player.start()
    try:
        yield
    finally:
        over.set()
        player.join()


def colour_of(page: Any) -> list[int]:
    return list(page.locator("[data-live] canvas").evaluate(COLOUR))


def wait_for_colour(page: Any, wanted: tuple[int, int, int]) -> None:
    """Wait until the middle of the picture has a colour, as far as its encoding keeps colours."""
    page.wait_for_function(
        f"wanted => ({COLOUR})(document.querySelector('[data-live] canvas')).every((one, at) => Math.abs(one - wanted[at]) < 12)",
        arg=list(wanted),
        timeout=10_000,
    )


def test_the_newest_frame_and_its_figures_are_seen_until_it_ends(
    site: str, live_run: playhead.RunWriter, open_page: Open
) -> None:
    page = open_page(f"{site}/run/{LIVE}")
    page.get_by_role("tab", name="Charts").wait_for()
    assert page.locator("[data-live]").count() == 0
    with live.LiveWriter(LIVE, facts={"env_id": "Here-v0"}, rate=None) as writer:
        writer.step(np.full((60, 80, 3), (200, 30, 30), np.uint8), reward=2.5)
        view = page.get_by_role("region", name="Here-v0, live")
        view.wait_for()
        wait_for_colour(page, (200, 30, 30))
        assert view.locator("dd").all_inner_texts()[1:] == ["2.5", "2.5", "0", "1"]
        writer.step(np.full((60, 80, 3), (30, 30, 200), np.uint8), reward=-1.0, ended=True)
        wait_for_colour(page, (30, 30, 200))
        assert view.locator("dd").all_inner_texts()[1:] == ["−1", "1.5", "1", "2"]
    page.get_by_role("region", name="Here-v0, ended").wait_for()
    wait_for_colour(page, (30, 30, 200))  # the last frame stays
    page.reload()
    page.get_by_role("tab", name="Charts").wait_for()
    page.wait_for_timeout(300)
    assert not page.locator("[data-live]").is_visible()


def test_what_a_recorder_plays_is_followed_at_a_bounded_rate(
    site: str, live_run: playhead.RunWriter, open_page: Open
) -> None:
    asked: list[float] = []
    with walking(live_run):
        page = open_page(f"{site}/run/{LIVE}")
        page.on("request", lambda request: asked.append(clock.now()) if "/frame" in request.url else None)
        page.get_by_role("region", name="Walk, live").wait_for()
        seen = set()
        for _ in range(20):
            seen.add(page.locator("[data-live] dd").last.inner_text())
            page.wait_for_timeout(100)
        within = [at for at in asked if at <= asked[0] + 2]
        assert len(seen) >= 4
        assert 4 <= len(within) <= 22
        page.get_by_role("button", name="Larger").click()
        page.get_by_role("button", name="Smaller").wait_for()
        assert page.locator("[data-live] canvas").bounding_box()["height"] == 480


def test_several_environments_are_seen_beside_each_other(
    site: str, live_run: playhead.RunWriter, open_page: Open
) -> None:
    names = [LIVE, f"{LIVE}.1", f"{LIVE}.2"]
    writers = [live.LiveWriter(name) for name in names]
    for writer in writers[:2]:
        writer.publish(np.zeros((40, 40, 3), np.uint8))
    writers[2].publish(np.zeros((1, 1, 3), np.uint8))  # one without pictures
    page = open_page(f"{site}/run/{LIVE}", width=390, height=844)
    for number in (1, 2, 3):
        page.get_by_role("region", name=f"Environment {number}, live").wait_for()
    page.wait_for_function("document.querySelectorAll('[data-live] dd').length === 15")
    shown = [page.locator(f"[data-live='{name}'] canvas").is_visible() for name in names]
    assert shown == [True, True, False]
    for writer in writers:
        writer.close()


def test_the_list_says_which_runs_are_live(site: str, live_run: playhead.RunWriter, open_page: Open) -> None:
    page = open_page(site)
    line = page.locator(f"[data-run='{LIVE}']")
    line.wait_for()
    badge = line.get_by_text("live", exact=True).and_(page.locator(".badge"))
    assert badge.count() == 0
    with live.LiveWriter(LIVE) as writer:
        writer.publish(np.zeros((40, 40, 3), np.uint8))
        badge.wait_for(timeout=6_000)
        assert page.locator(".badge").count() == 1
    badge.wait_for(state="detached", timeout=6_000)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing(browser: Any, site: str, live_run: playhead.RunWriter, dark: bool) -> None:
    context = browser.new_context(color_scheme="dark" if dark else "light", bypass_csp=True)
    try:
        page = context.new_page()
        with live.LiveWriter(LIVE) as writer:
            writer.step(np.full((60, 80, 3), 90, np.uint8), reward=2.5)
            for address in ("/", f"/run/{LIVE}"):
                page.goto(site + address)
                page.locator(".badge").wait_for()
                assert violations(page) == []
        page.get_by_role("region", name="Environment 1, ended").wait_for()
        assert violations(page) == []
    finally:
        context.close()
