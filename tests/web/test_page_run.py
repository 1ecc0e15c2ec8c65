"""The page of a run in a real browser, over real recordings."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import playhead
from playhead.web.app import make_app
from playhead.web.server import Background
from tests.web.conftest import FIRST, LIVE, PLAYED, POINTS, SECOND, SPIKE_STEP, Serve
from tests.web.page_building import built_page

Open = Callable[..., Any]
MANY = "20260105_080000_aaaaaa"
METRICS, MANY_STEPS = 100, 300


@pytest.fixture(scope="module")
def site(made_store: Path, serving: Serve) -> Iterator[str]:
    """The real page over the store that no test changes."""
    with playhead.open(made_store, mode="r") as store:
        yield serving(store, page=built_page()).rstrip("/")


@pytest.fixture
def own_site(own_store: playhead.Store) -> Iterator[str]:
    """The real page over a copy that a test may change."""
    with Background(make_app(own_store, page=built_page())) as server:
        yield server.address.rstrip("/")


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory, serving: Serve) -> Iterator[str]:
    """The page of a run with a hundred metrics."""
    with playhead.open(tmp_path_factory.mktemp("many") / "store") as store:
        names = [f"group {index // 20}/metric {index}" for index in range(METRICS)]
        with store.run("many", "metrics", run_id=MANY, environment=False) as run:
            for step in range(MANY_STEPS):
                run.log({name: math.sin(step / 30 + at) for at, name in enumerate(names)}, step=step)
        yield f"{serving(store, page=built_page()).rstrip('/')}/run/{MANY}"


def card(page: Any, name: str) -> Any:
    """Find the chart of a metric, drawn."""
    found = page.locator(f'section[data-metric="{name}"]')
    found.locator("canvas").wait_for()
    found.locator(".note", has_text="point").wait_for()
    page.wait_for_timeout(50)
    return found


def hover(page: Any, chart: Any, step: float, first: float = 0, last: float = POINTS - 1, y: float = 0.5) -> None:
    """Put the pointer on a step of a chart."""
    box = chart.get_by_test_id("plot").bounding_box()
    page.mouse.move(box["x"] + box["width"] * (step - first) / (last - first), box["y"] + box["height"] * y)


def drag(page: Any, chart: Any, start: float, stop: float, y: float = 0.5) -> None:
    """Drag from one place of a chart to another, both as shares of its width."""
    box = chart.get_by_test_id("plot").bounding_box()
    top = box["y"] + box["height"] * y
    page.mouse.move(box["x"] + box["width"] * start, top)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * stop, top + 2, steps=5)
    page.mouse.up()


def colours(chart: Any) -> int:
    """Count the pixels of a chart that are neither empty nor grey."""
    count = chart.locator("canvas").evaluate(
        """canvas => {
            const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
            let count = 0;
            for (let i = 0; i < data.length; i += 4)
                if (data[i + 3] > 100 && Math.max(...data.slice(i, i + 3)) - Math.min(...data.slice(i, i + 3)) > 40) count += 1;
            return count;
        }"""
    )
    assert isinstance(count, int)
    return count


def until(page: Any, expression: str, seconds: float = 10) -> None:
    """Wait until an expression is true; the page's policy forbids the browser library's own way."""
    deadline = time.monotonic() + seconds
    while not page.evaluate(expression):
        assert time.monotonic() < deadline, f"still not: {expression}"
        page.wait_for_timeout(30)


def overflow(page: Any) -> int:
    """How many pixels the page is wider than its window."""
    width = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert isinstance(width, int)
    return width


def test_a_chart_draws_and_reads_out_the_spike_and_the_gap(site: str, open_page: Open) -> None:
    page = open_page(f"{site}/run/{FIRST}")
    loss = card(page, "loss")
    assert re.search(r"^(\d{3}|1,000) of 2,000 points$", loss.locator(".note").inner_text())
    assert colours(loss) > 100
    hover(page, loss, SPIKE_STEP, y=0.02)
    readout = loss.locator(".readout")
    assert readout.locator(".x").inner_text() == f"step {SPIKE_STEP}"
    assert readout.locator("b").inner_text() == "1,000,000"
    hover(page, loss, 102)
    assert readout.locator("b").inner_text() == "NaN"
    # The other charts of the page read out the same place.
    assert card(page, "return").locator(".readout.other b").first.inner_text() in ("101", "102", "103")
    assert "2 points, all NaN or infinite" in page.locator('section[data-metric="odd"]').inner_text()


def test_stages_are_lines_of_their_own(site: str, open_page: Open) -> None:
    page = open_page(f"{site}/run/{FIRST}")
    chart = card(page, "return")
    assert chart.locator("footer li").all_inner_texts() == ["no stage", "eval"]
    hover(page, chart, POINTS - 4, last=POINTS)
    readout = chart.locator(".readout .row b").first.inner_text()
    assert float(readout.replace(",", "")) == pytest.approx(POINTS - 4, abs=6)
    assert [row.inner_text().split() for row in chart.locator(".readout .row").all()] == [
        ["no", "stage", readout],
        ["eval", "55.5"],
    ]


def test_zoom_is_shared_finer_and_in_the_address(site: str, open_page: Open) -> None:
    page = open_page(f"{site}/run/{FIRST}")
    loss = card(page, "loss")
    with page.expect_response(lambda answer: "from=" in answer.url) as finer:
        drag(page, loss, 0.35, 0.45)
    total = finer.value.json()["series"][0]
    assert total["is_sampled"] is False
    page.wait_for_url(re.compile("range="))
    low, high = (float(part) for part in re.findall(r"range=([\d.]+)(?:%3A|:)([\d.]+)", page.url)[0])
    assert low == pytest.approx(700, abs=15)
    assert high == pytest.approx(900, abs=15)
    hover(page, card(page, "return"), 801, low, high)
    # Every point is there now, also in the other chart.
    until(page, "document.querySelector('section[data-metric=\"return\"] .readout .x')?.innerText === 'step 801'")
    assert loss.locator(".readout.other b").inner_text() == "0.20149"
    page.reload()
    page.get_by_role("button", name="Show all").wait_for()
    box = card(page, "loss").get_by_test_id("plot").bounding_box()
    page.mouse.dblclick(box["x"] + 50, box["y"] + 50)
    page.get_by_role("button", name="Show all").wait_for(state="detached")
    until(page, "!location.search.includes('range')")


def test_wheel_zooms_only_with_a_key_and_shift_pans(site: str, open_page: Open) -> None:
    page = open_page(f"{site}/run/{FIRST}?q=loss")
    loss = card(page, "loss")
    hover(page, loss, 1000)
    page.mouse.wheel(0, -300)
    assert page.get_by_role("button", name="Show all").count() == 0
    page.keyboard.down("Alt")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Alt")
    page.get_by_role("button", name="Show all").wait_for()
    page.wait_for_url(re.compile("range="))
    before = float(re.findall(r"range=([\d.]+)", page.url)[0])
    page.keyboard.down("Shift")
    drag(page, loss, 0.7, 0.5)
    page.keyboard.up("Shift")
    until(page, f"Number(location.search.match(/range=([\\d.]+)/)[1]) > {before + 50}")


def test_fingers_read_out_and_zoom(site: str, open_page: Open) -> None:
    page = open_page(f"{site}/run/{FIRST}?q=return", width=390, height=844)
    chart = card(page, "return")
    chart.scroll_into_view_if_needed()
    box = chart.get_by_test_id("plot").bounding_box()
    touch = page.context.new_cdp_session(page)

    def put(kind: str, *shares: float) -> None:
        points = [
            {"x": box["x"] + box["width"] * share, "y": box["y"] + box["height"] / 2, "id": finger}
            for finger, share in enumerate(shares)
        ]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    put("touchStart", 0.4)
    put("touchMove", 0.5)
    first = chart.locator(".readout .row b").first.inner_text()
    assert float(first.replace(",", "")) == pytest.approx(1000, abs=20)
    put("touchEnd")
    put("touchStart", 0.45)
    put("touchStart", 0.45, 0.55)
    for wider in (0.05, 0.1, 0.2):
        put("touchMove", 0.45 - wider, 0.55 + wider)
    put("touchEnd")
    page.get_by_role("button", name="Show all").wait_for()
    page.wait_for_url(re.compile("range="))
    low, high = (float(part) for part in re.findall(r"range=([\d.]+)(?:%3A|:)([\d.]+)", page.url)[0])
    assert high - low < 800
    assert (low + high) / 2 == pytest.approx(1000, abs=80)


def test_a_click_shows_the_moment_and_leads_to_the_log(site: str, open_page: Open) -> None:
    page = open_page(f"{site}/run/{FIRST}")
    loss = card(page, "loss")
    hover(page, loss, 1200, y=0.9)
    page.mouse.down()
    page.mouse.up()
    moment = page.get_by_role("complementary", name="This moment")
    moment.get_by_text("step 1,200").or_(moment.get_by_text("step 1,201")).or_(
        moment.get_by_text("step 1,199")
    ).wait_for()
    value = moment.locator("tr", has_text="return").first.locator("td").inner_text()
    assert float(value.replace(",", "")) == pytest.approx(1200, abs=3)
    page.wait_for_url(re.compile(r"t=\d"))
    assert page.get_by_test_id("playhead").count() >= 3
    moment.locator("li button").first.click()
    page.wait_for_url(re.compile("tab=log"))
    page.locator(".row.shown").wait_for()
    page.keyboard.press("Escape")
    moment.wait_for(state="detached")
    until(page, "!/[?&]t=/.test(location.search)")


def test_the_moment_of_an_episode_has_its_frame(site: str, open_page: Open) -> None:
    began, ended = httpx.get(f"{site}/api/runs/{PLAYED}/returns").json()["times"][1:3]  # less than a millisecond apart
    page = open_page(f"{site}/run/{PLAYED}?t={(began + ended) / 2:.6f}")
    moment = page.get_by_role("complementary", name="This moment")
    picture = moment.locator("img").first
    picture.wait_for()
    until(page, "document.querySelector('aside img')?.naturalWidth > 0")
    assert "frame?ref=h5" in picture.get_attribute("src")
    link = moment.get_by_role("link", name="Open the player here").last
    assert link.get_attribute("href").startswith(f"/play/replay/{PLAYED}-ep0001?t=")


def test_the_playhead_can_be_dragged(site: str, open_page: Open) -> None:
    times = httpx.get(f"{site}/api/runs/{FIRST}/metrics?name=loss&x=time").json()["series"][0]["times"]
    middle = times[len(times) // 2]
    page = open_page(f"{site}/run/{FIRST}?q=^loss&x=time&t={middle}")
    card(page, "loss")
    handle = page.get_by_test_id("playhead")
    box = handle.bounding_box()
    page.mouse.move(box["x"] + 6, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 66, box["y"] + 60, steps=4)
    page.mouse.up()
    assert handle.bounding_box()["x"] == pytest.approx(box["x"] + 60, abs=2)
    until(page, "Number(new URLSearchParams(location.search).get('t')) > " + str(middle))


def test_settings_are_remembered(site: str, open_page: Open) -> None:
    page = open_page(f"{site}/run/{FIRST}")
    loss = card(page, "loss")
    page.get_by_label("Smoothing").fill("0.9")
    hover(page, loss, SPIKE_STEP, y=0.02)
    assert loss.locator(".readout .raw").inner_text() == "1,000,000"  # as logged, beside the smoothed value
    page.get_by_role("button", name="log y").click()
    loss.hover()
    loss.get_by_role("button", name="Pin to the top").click()
    assert page.locator("h2").first.inner_text().startswith("Pinned")
    until(page, "location.search.includes('smooth=0.9') && location.search.includes('log=y')")
    page.goto(f"{site}/run/{SECOND}")
    assert page.locator("h2").first.inner_text().startswith("Pinned")
    assert page.get_by_label("Smoothing").input_value() == "0.9"
    page.get_by_role("button", name="Pinned").click()
    assert page.locator('section[data-metric="loss"]').count() == 0


def test_metrics_are_searched_by_regular_expression(many: str, open_page: Open) -> None:
    page = open_page(many)
    page.locator("canvas").first.wait_for()
    page.keyboard.press("/")
    page.keyboard.type(r"metric 1\d$")
    until(page, "document.querySelectorAll('section[data-metric]').length === 10")
    assert "q=metric" in page.url or page.wait_for_url(re.compile("q=metric")) is None
    page.get_by_placeholder("Search metrics").fill("metric 1(")
    page.get_by_text("No metric matches").wait_for()


def test_a_hundred_charts_are_lazy_quick_and_leave_nothing_behind(many: str, open_page: Open) -> None:
    page = open_page("about:blank")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/metrics?" in request.url else None)
    page.goto(many)
    until(page, "[...document.querySelectorAll('canvas')].length >= 8")
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    assert paint < 1000
    page.wait_for_timeout(300)
    assert len(asked) <= 3  # many names in one request
    assert sum(url.count("name=") for url in asked) < METRICS * 0.6
    assert page.locator("canvas").count() < METRICS * 0.6
    session = page.context.new_cdp_session(page)

    def to_and_fro(times: int) -> float:
        for _ in range(times):
            for share in (0, 0.33, 0.66, 1):
                page.evaluate(f"scrollTo(0, document.body.scrollHeight * {share})")
                page.wait_for_timeout(60)
        page.evaluate("scrollTo(0, 0)")
        page.wait_for_timeout(300)
        for _ in range(3):
            session.send("HeapProfiler.collectGarbage")
        used = session.send("Runtime.getHeapUsage")["usedSize"]
        return float(used)

    before = to_and_fro(1)
    nodes = page.evaluate("document.querySelectorAll('*').length")
    after = to_and_fro(4)
    assert page.evaluate("document.querySelectorAll('*').length") <= nodes * 1.1
    assert after - before < 2_000_000
    assert sum(url.count("name=") for url in asked) <= METRICS + 20  # each is asked for once


def test_what_is_logged_appears_and_a_pause_holds_it(
    own_site: str, live_run: playhead.RunWriter, open_page: Open
) -> None:
    page = open_page(f"{own_site}/run/{LIVE}")
    loss = card(page, "loss")
    assert loss.locator(".note").inner_text() == "1 point"
    queries: list[str] = []
    page.on("request", lambda request: queries.append(request.url) if "/metrics?" in request.url else None)
    for step in range(1, 50):
        live_run.log({"loss": 1.0 / step}, step=step)
    live_run.flush()
    loss.get_by_text("50 points").wait_for(timeout=10_000)
    assert all("after_ns=" in query for query in queries)
    live_run.log({"new/metric": 3.0}, step=50)
    live_run.flush()
    page.locator('section[data-metric="new/metric"]').wait_for(timeout=10_000)
    page.get_by_role("button", name="Live").click()
    live_run.log({"loss": 0.5}, step=51)
    live_run.flush()
    time.sleep(1.2)
    assert loss.locator(".note").inner_text() == "50 points"
    page.get_by_role("button", name="Paused").click()
    loss.get_by_text("51 points").wait_for(timeout=10_000)
    live_run.finish()
    page.locator("header .status.finished").wait_for(timeout=10_000)


def test_the_log_follows_searches_and_runs_no_script(site: str, open_page: Open) -> None:
    page = open_page(f"{site}/run/{FIRST}?tab=log")
    page.get_by_text("<script>alert(1)</script>").wait_for()
    assert page.locator(".row .text span", has_text="red").get_attribute("style") == "color: var(--ansi-red);"
    assert page.locator(".row").count() < 120  # of 1,201 lines
    page.get_by_placeholder("Search the log").fill("needle")
    page.get_by_text("1 of 1", exact=True).wait_for()
    hit = page.locator("mark")
    hit.wait_for()
    assert hit.inner_text() == "needle"
    assert page.locator(".row.shown .text").inner_text() == "line 600 needle"
    assert "q=needle" in page.url
    page.get_by_role("button", name=".*", exact=True).click()
    page.get_by_placeholder("Search the log").fill(r"line 6\d$")
    page.get_by_text("1 of 10", exact=True).wait_for()
    page.get_by_role("button", name="Next match").click()
    page.get_by_text("2 of 10", exact=True).wait_for()
    assert page.locator(".row.shown .text").inner_text() == "line 61"
    page.get_by_role("button", name="Start").click()
    page.get_by_text("line 0", exact=True).wait_for()
    page.get_by_role("button", name="Jump to end").click()
    page.get_by_text("<script>alert(1)</script>").wait_for()


def test_older_lines_come_when_one_scrolls_up(site: str, open_page: Open) -> None:
    page = open_page(f"{site}/run/{FIRST}?tab=log")
    page.get_by_text("line 1199", exact=True).wait_for()
    lines = page.get_by_role("log")
    for _ in range(12):
        lines.evaluate("box => box.scrollTop = 0")
        page.wait_for_timeout(80)
    page.get_by_text("line 0", exact=True).wait_for()
    assert "line 1\n" in lines.inner_text()


def test_the_log_follows_its_end_until_one_scrolls_up(
    own_site: str, live_run: playhead.RunWriter, open_page: Open
) -> None:
    for line in range(100):
        live_run.log_text(f"early {line}")
    live_run.flush()
    page = open_page(f"{own_site}/run/{LIVE}?tab=log")
    page.get_by_text("early 99", exact=True).wait_for()
    live_run.log_text("newest")
    live_run.flush()
    page.get_by_text("newest", exact=True).wait_for(timeout=10_000)
    assert page.get_by_text("newest", exact=True).is_visible()
    page.get_by_role("log").evaluate("box => box.scrollTop = 400")
    page.get_by_role("button", name="Jump to end").wait_for()
    live_run.log_text("later")
    live_run.flush()
    time.sleep(1.2)
    assert page.get_by_role("log").evaluate("box => box.scrollTop") == 400
    page.get_by_role("button", name="Jump to end").click()
    page.get_by_text("later", exact=True).wait_for()


def test_config_is_searched_and_compared_with_another_run(site: str, open_page: Open) -> None:
    page = open_page(f"{site}/run/{FIRST}?tab=config")
    page.get_by_role("heading", name="Packages").wait_for()
    page.get_by_placeholder("Search names and values").fill("relu")
    assert page.locator("tbody th").all_inner_texts()[:2] == ["net\n2", "act"]
    page.get_by_placeholder("Search names and values").fill("")
    page.get_by_role("button", name="Compare with…").click()
    page.get_by_role("dialog").get_by_role("button", name=re.compile("dqn")).first.click()
    page.wait_for_url(re.compile(f"with={SECOND}"))
    page.locator("thead").first.wait_for()
    differing = page.locator("section", has_text="Config").first.locator("tbody th").all_inner_texts()
    assert "lr" in differing
    assert "net.act" in differing
    assert "net.layers" not in differing


def test_media_go_by_step(site: str, open_page: Open) -> None:
    page = open_page(f"{site}/run/{FIRST}?tab=media")
    page.locator("figure img").wait_for()
    assert "step 8" in page.locator("figcaption").inner_text()
    page.keyboard.press("ArrowLeft")
    page.get_by_text("grey", exact=True).wait_for()
    assert "step=7" in page.url
    until(page, "document.querySelector('figure img').naturalWidth === 4")


def test_episodes_have_a_curve_thumbnails_and_a_way_to_the_player(site: str, open_page: Open) -> None:
    page = open_page(f"{site}/run/{PLAYED}?tab=episodes")
    rows = page.locator("a.row")
    rows.nth(2).wait_for()
    assert [row.inner_text().split()[:2] for row in rows.all()] == [
        ["Episode", "0"],
        ["Episode", "1"],
        ["Episode", "2"],
    ]
    assert "60" in rows.nth(1).inner_text()
    assert "terminated" in rows.nth(1).inner_text()
    until(page, "[...document.querySelectorAll('a.row img')].filter(one => one.naturalWidth > 0).length === 6")
    chart = page.get_by_role("group", name="returns of each episode")
    hover(page, chart, 1, 0, 2, y=0.2)
    assert chart.locator(".readout .x").inner_text() == "episode 1"
    assert chart.locator(".readout b").inner_text() == "8"
    rows.nth(1).click()
    page.wait_for_url(f"**/play/replay/{PLAYED}-ep0001**")


def test_tags_notes_delete_and_undo(own_store: playhead.Store, own_site: str, open_page: Open) -> None:
    page = open_page(f"{own_site}/run/{SECOND}")
    page.get_by_role("button", name="tag", exact=True).click()
    page.keyboard.type("good, <b>bold</b>")
    page.keyboard.press("Enter")
    page.get_by_text("<b>bold</b>", exact=True).wait_for()
    page.get_by_role("button", name="Remove the tag paper").click()
    page.get_by_text("paper", exact=True).wait_for(state="detached")
    assert sorted(own_store.runs[SECOND].tags) == ["<b>bold</b>", "good"]
    page.get_by_role("button", name="Add notes").click()
    page.keyboard.type("two\nlines")
    page.keyboard.press("Control+Enter")
    page.get_by_role("button", name="two").wait_for()
    assert own_store.runs[SECOND].notes == "two\nlines"
    page.get_by_role("button", name="Delete the run").click()
    page.get_by_text("This run was deleted").wait_for()
    assert own_store.runs.get(SECOND) is None or own_store.runs.deleted.get(SECOND) is not None
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("This run was deleted").wait_for(state="detached")
    assert not own_store.runs[SECOND].is_deleted


def test_a_chart_can_be_taken_away(site: str, open_page: Open) -> None:
    page = open_page(f"{site}/run/{SECOND}")
    loss = card(page, "loss")
    loss.hover()
    loss.get_by_role("button", name="Download").click()
    with page.expect_download() as table:
        page.get_by_role("button", name="Points shown (CSV)").click()
    lines = Path(table.value.path()).read_text().splitlines()
    assert lines[:3] == ["line,step,value", "loss,0,2", "loss,1,1"]
    assert len(lines) == 51
    loss.hover()
    loss.get_by_role("button", name="Download").click()
    with page.expect_download() as picture:
        page.get_by_role("button", name="Picture (PNG)").click()
    assert Path(picture.value.path()).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    loss.hover()
    loss.get_by_role("button", name="Full screen").click()
    assert loss.bounding_box()["width"] > 1300
    page.keyboard.press("Escape")
    until(page, "document.querySelector('section[data-metric]').getBoundingClientRect().width < 800")


def test_charts_are_read_by_keys(site: str, open_page: Open) -> None:
    page = open_page(f"{site}/run/{SECOND}?q=loss")
    chart = card(page, "loss").get_by_role("group", name="loss")
    chart.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert chart.locator(".readout .x").inner_text() == "step 1"
    page.keyboard.press("Enter")
    page.get_by_role("complementary", name="This moment").wait_for()


@pytest.mark.parametrize("tab", ["charts", "log", "config", "media", "episodes", "system"])
def test_nothing_overflows_on_a_phone(site: str, open_page: Open, tab: str) -> None:
    page = open_page(f"{site}/run/{FIRST}?tab={tab}", width=390, height=844, dark=True)
    page.get_by_role("tab", name="Charts").wait_for()
    page.wait_for_timeout(400)
    assert overflow(page) <= 0


def test_colours_follow_the_theme(site: str, open_page: Open) -> None:
    page = open_page(f"{site}/run/{SECOND}?q=loss")
    loss = card(page, "loss")
    read = "canvas => canvas.toDataURL()"
    light = loss.locator("canvas").evaluate(read)
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.wait_for_timeout(200)
    assert loss.locator("canvas").evaluate(read) != light


def test_a_run_that_is_not_there_says_so(site: str, open_page: Open) -> None:
    page = open_page(f"{site}/run/nothing")
    page.get_by_role("alert").get_by_text("Not found").wait_for()
    assert page.locator("canvas").count() == 0
    open_page.complaints.clear()  # type: ignore[attr-defined]  # the browser notes the 404
