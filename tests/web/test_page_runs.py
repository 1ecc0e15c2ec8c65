"""The runs page in a real browser, on a real server and a real store."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus, urlsplit

import pytest

import playhead
from playhead.web.app import make_app
from playhead.web.server import Background, bind
from tests.web.conftest import DELETED, FAILED, FIRST, LIVE, SECOND
from tests.web.page_building import built_page

MANY = 130
OpenPage = Callable[..., Any]


@pytest.fixture
def here(own_store: playhead.Store) -> Iterator[str]:
    """The address of the page on a store that a test may change."""
    with Background(make_app(own_store, page=built_page())) as server:
        yield server.address.rstrip("/")


@pytest.fixture(scope="session")
def many_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with more runs than fit on a screen, or into one answer."""
    path = tmp_path_factory.mktemp("many") / "store"
    with playhead.open(path) as store:
        for number in range(MANY):
            config = {"lr": (1e-4, 1e-3, 1e-2)[number % 3], "number": number}
            name, project = f"run {number:04d}", ("even", "odd")[number % 2]
            tags = ["third"] if number % 3 == 0 else []
            with store.run(project, name, config=config, tags=tags, environment=False) as run:
                run.log({"loss": 1.0 / (number + 1)})
                run.log({"loss": 2.0 / (number + 1)})
    return path


@pytest.fixture(scope="session")
def many(many_store: Path, serving: Callable[..., str]) -> Iterator[str]:
    """The address of the page on that store, which no test changes."""
    with playhead.open(many_store, mode="r") as store:
        yield serving(store, page=built_page()).rstrip("/")


def names(page: Any) -> list[str]:
    """Give the names of the runs in sight, from the top down."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll("[data-run]")]
            .filter((one) => one.offsetParent !== null)
            .map((one) => [one.getBoundingClientRect().top, one.querySelector("a").textContent])
            .sort((a, b) => a[0] - b[0]).map((one) => one[1].trim())"""
    )
    return found


def wait(page: Any, is_so: Callable[[], bool], seconds: float = 8) -> None:
    """Wait until something holds; the page's rules allow no code as text, so it is asked from here."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it did not come to pass"
        page.wait_for_timeout(30)


def row(page: Any, run_id: str) -> Any:
    """Give the line of a run."""
    return page.locator(f'[data-run="{run_id}"]')


def head(page: Any, column: str) -> Any:
    """Give the button in the header of a column."""
    return page.locator(f'[data-column="{column}"] button')


def query_of(page: Any) -> str:
    """Give the query string of the page, readable."""
    return unquote_plus(urlsplit(page.url).query)


def has_no_sideways_scroll(page: Any) -> bool:
    """Tell whether the page is no wider than the window."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


# --- the list


def test_runs_are_listed_newest_first(here: str, open_page: OpenPage) -> None:
    page = open_page(here)
    page.wait_for_selector("[data-run]")
    assert page.title() == "Runs · store · Playhead"
    assert page.locator("[data-run]").evaluate_all("all => all.map((one) => one.dataset.run)")[0] != DELETED
    assert "failed" in row(page, FAILED).inner_text()
    first = row(page, FIRST).inner_text()
    assert all(word in first for word in ("finished", "baseline", "pong", "return"))
    assert row(page, DELETED).count() == 0
    assert page.get_by_text("4 runs").count() == 1
    assert has_no_sideways_scroll(page)


def test_a_long_list_draws_what_is_in_sight_and_scrolls_to_its_end(many: str, open_page: OpenPage) -> None:
    page = open_page(many)
    page.wait_for_selector("[data-run]")
    assert names(page)[0] == f"run {MANY - 1:04d}"
    assert page.locator("[data-run]").count() < 80
    scroller = page.get_by_role("table")
    height = scroller.evaluate("one => one.scrollHeight")
    assert height >= MANY * 30
    scroller.evaluate("one => { one.scrollTop = one.scrollHeight; }")
    wait(page, lambda: names(page)[-1:] == ["run 0000"])
    assert page.locator("[data-run]").count() < 80
    middle = scroller.evaluate("one => { one.scrollTop = one.scrollHeight / 2; return one.scrollTop; }")
    expected = MANY - 1 - round(middle / (height - 32) * MANY)
    wait(page, lambda: f"run {expected:04d}" in names(page))


def test_curves_are_drawn(many: str, open_page: OpenPage) -> None:
    page = open_page(many)
    page.get_by_role("img", name="Curve of loss").first.wait_for()
    path = page.locator("[data-run] svg[role=img] path").first.get_attribute("d")
    assert path.count("L") == 1  # of two points
    assert page.get_by_role("columnheader", name="loss curve").count() == 1


# --- order, filter, query


def test_headers_sort_and_the_address_says_so(many: str, open_page: OpenPage) -> None:
    page = open_page(many)
    page.wait_for_selector("[data-run]")
    head(page, "name").click()
    wait(page, lambda: names(page)[:1] == ["run 0000"])
    assert query_of(page) == "order=name"
    head(page, "project").click()
    wait(page, lambda: query_of(page) == "order=project")
    head(page, "name").click(modifiers=["Shift"])
    head(page, "name").click(modifiers=["Shift"])
    wait(page, lambda: names(page)[:1] == [f"run {MANY - 2:04d}"])  # the last even one
    assert query_of(page) == "order=project,-name"
    page.reload()
    wait(page, lambda: names(page)[:1] == [f"run {MANY - 2:04d}"])
    assert page.locator('[data-column="project"]').get_attribute("aria-sort") == "ascending"
    assert page.locator('[data-column="name"]').get_attribute("aria-sort") == "descending"


def test_words_are_searched_for(many: str, open_page: OpenPage) -> None:
    page = open_page(many)
    page.wait_for_selector("[data-run]")
    page.keyboard.press("/")
    page.keyboard.type("0017")
    wait(page, lambda: names(page) == ["run 0017"])
    assert query_of(page) == "q=0017"
    page.get_by_label("Clear the search").click()
    wait(page, lambda: len(names(page)) > 10)
    assert query_of(page) == ""


def test_a_query_is_completed_with_real_names(many: str, open_page: OpenPage) -> None:
    page = open_page(many)
    page.wait_for_selector("[data-run]")
    page.get_by_text("loss").first.wait_for()  # the fields are there
    page.keyboard.press("/")
    page.keyboard.type("numb")
    page.get_by_role("option", name="config.number").wait_for()
    page.keyboard.press("Tab")
    page.keyboard.type("< 2 and pro")
    page.get_by_role("option", name="project").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.keyboard.type("= ")
    page.get_by_role("option", name="'odd'").click()
    wait(page, lambda: names(page) == ["run 0001"])
    assert query_of(page).strip() == "q=config.number < 2 and project = 'odd'"


def test_a_mistake_is_shown_where_it_is(many: str, open_page: OpenPage) -> None:
    page = open_page(many)
    page.wait_for_selector("[data-run]")
    page.keyboard.press("/")
    page.keyboard.type("config.number < 5 and name ~ 3")
    page.keyboard.press("Enter")
    page.get_by_role("alert").wait_for()
    assert "cannot read '~'" in page.get_by_role("alert").inner_text()
    offset = page.evaluate(
        """() => {
            const input = document.querySelector("[role=combobox]");
            const canvas = document.createElement("canvas").getContext("2d");
            canvas.font = getComputedStyle(input).font;
            const wanted = input.getBoundingClientRect().left + canvas.measureText(input.value.slice(0, 27)).width;
            return document.querySelector("#query-error i").getBoundingClientRect().left - wanted;
        }"""
    )
    assert abs(offset) < 4
    assert len(names(page)) > 0  # what was there before stays
    open_page.complaints.clear()  # type: ignore[attr-defined]  # the browser notes the 400


def test_quick_filters_narrow_the_list_and_can_be_cleared(many: str, open_page: OpenPage) -> None:
    page = open_page(many)
    page.wait_for_selector("[data-run]")
    page.get_by_role("button", name="Project", exact=True).first.click()
    page.get_by_role("group", name="Project").get_by_role("button", name=re.compile("odd")).click()
    wait(page, lambda: set(names(page)[:3]) == {"run 0129", "run 0127", "run 0125"})
    page.get_by_role("button", name="Tags", exact=True).first.click()
    page.get_by_role("group", name="Tags").get_by_role("button", name=re.compile("third")).click()
    wait(page, lambda: names(page)[:2] == ["run 0129", "run 0123"])
    assert query_of(page) == "project=odd&tag=third"
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Running").click()
    page.get_by_text("No run fits").wait_for()
    page.get_by_role("button", name="Show all runs").click()
    wait(page, lambda: names(page)[:1] == [f"run {MANY - 1:04d}"])
    assert query_of(page) == ""
    page.go_back()
    page.get_by_text("No run fits").wait_for()


def test_runs_are_grouped(many: str, open_page: OpenPage) -> None:
    page = open_page(f"{many}?group=config.lr&cols=name,metric.loss,config.lr")
    page.get_by_role("button", name="Open the group 0.0001").wait_for()
    group = page.locator('[data-group="0.001"]')
    assert "43 runs" in group.inner_text()
    losses = [2.0 / (number + 1) for number in range(1, MANY, 3)]
    mean = float(f"{sum(losses) / len(losses):.4g}")
    assert str(mean) in group.inner_text()
    page.get_by_role("button", name="Open the group 0.001").click()
    wait(page, lambda: names(page)[:2] == ["run 0127", "run 0124"])
    page.get_by_role("button", name="Close the group 0.001").click()
    wait(page, lambda: names(page) == [])


# --- columns


def test_columns_are_chosen_moved_resized_and_remembered(many: str, open_page: OpenPage) -> None:
    page = open_page(many)
    page.wait_for_selector("[data-run]")
    page.get_by_text("loss").first.wait_for()
    page.get_by_role("button", name="Columns").click()
    page.get_by_label("Search columns").fill("number")
    page.get_by_role("button", name="config.number").click()
    page.keyboard.press("Escape")
    header = page.locator('[data-column="config.number"]')
    header.wait_for()
    wait(page, lambda: str(MANY - 1) in page.locator("[data-run]").first.inner_text().split())
    assert query_of(page).endswith(",config.number")

    header.drag_to(page.locator('[data-column="project"]'), target_position={"x": 5, "y": 10})
    wait(page, lambda: query_of(page).startswith("cols=status,name,config.number,project"))

    box = header.bounding_box()
    page.mouse.move(box["x"] + box["width"] - 1, box["y"] + 16)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] + 79, box["y"] + 16, steps=4)
    page.mouse.up()
    wait(page, lambda: "config.number:" in query_of(page))
    assert header.bounding_box()["width"] == pytest.approx(box["width"] + 80, abs=2)

    page.goto(many)  # without a word of columns in the address
    header.wait_for()
    assert header.bounding_box()["width"] == pytest.approx(box["width"] + 80, abs=2)


def test_the_view_is_downloaded(many: str, open_page: OpenPage) -> None:
    page = open_page(f"{many}?q=config.number<3&cols=name,config.number&order=name")
    page.wait_for_selector("[data-run]")
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    lines = Path(download.value.path()).read_text().splitlines()
    assert "config.number" in lines[0]
    assert ["run 000" in line for line in lines] == [False, True, True, True]
    assert "run 0002" in lines[3]


# --- choosing and changing


def test_chosen_runs_are_tagged_deleted_and_brought_back(
    here: str, own_store: playhead.Store, open_page: OpenPage
) -> None:
    page = open_page(here)
    row(page, FIRST).get_by_role("checkbox").click()
    row(page, SECOND).get_by_role("checkbox").click()
    bar = page.get_by_role("toolbar", name="Chosen runs")
    assert "2 chosen" in bar.inner_text()

    bar.get_by_role("button", name="Tag").click()
    page.get_by_label("Add").fill("new one, other")
    page.get_by_label("Take away").fill("baseline")
    page.keyboard.press("Enter")
    wait(page, lambda: "new one" in row(page, SECOND).inner_text())
    assert set(own_store.runs[FIRST].tags) == {"new one", "other", "paper"}

    row(page, FIRST).get_by_role("checkbox").click()
    row(page, SECOND).get_by_role("checkbox").click()
    bar.get_by_role("button", name="Delete").click()
    wait(page, lambda: row(page, FIRST).count() == 0)
    assert {run.id for run in own_store.runs.deleted} == {DELETED, FIRST, SECOND}
    page.get_by_role("button", name="Undo").click()
    row(page, FIRST).wait_for()
    assert {run.id for run in own_store.runs.deleted} == {DELETED}


def test_a_range_and_all_are_chosen(many: str, open_page: OpenPage) -> None:
    page = open_page(many)
    boxes = page.locator("[data-run]").get_by_role("checkbox")
    boxes.nth(1).click()
    boxes.nth(5).click(modifiers=["Shift"])
    assert page.locator('[data-run][aria-selected="true"]').count() == 5
    assert boxes.nth(3).is_checked()
    boxes.nth(3).click(modifiers=["Shift"])  # chosen already: stays so
    assert boxes.nth(3).is_checked()
    page.get_by_role("button", name=f"All {MANY}").click()
    assert f"{MANY} chosen" in page.get_by_role("toolbar", name="Chosen runs").inner_text()
    boxes.nth(2).click()
    assert f"{MANY - 1} chosen" in page.get_by_role("toolbar", name="Chosen runs").inner_text()
    page.keyboard.press("Escape")
    assert page.get_by_role("toolbar", name="Chosen runs").count() == 0
    assert not boxes.nth(1).is_checked()


def test_the_bin_restores_and_purges(here: str, own_store: playhead.Store, open_page: OpenPage) -> None:
    own_store.runs[FAILED].delete()
    page = open_page(f"{here}/bin")
    row(page, DELETED).wait_for()
    assert query_of(page) == "deleted=1"
    row(page, DELETED).get_by_role("checkbox").click()
    page.get_by_role("button", name="Restore").click()
    wait(page, lambda: row(page, DELETED).count() == 0)
    assert own_store.runs[DELETED].id == DELETED

    row(page, FAILED).get_by_role("checkbox").click()
    page.get_by_role("button", name="Purge …").click()
    dialog = page.get_by_role("dialog", name="Purge 1 run?")
    dialog.get_by_role("button", name="Keep it").click()
    assert row(page, FAILED).count() == 1
    page.get_by_role("button", name="Purge …").click()
    dialog.get_by_role("button", name="Purge 1 run").click()
    page.get_by_text("The bin is empty").wait_for()
    assert [run.id for run in own_store.runs.deleted] == []


def test_compare_takes_the_chosen_ids(here: str, open_page: OpenPage) -> None:
    page = open_page(here)
    row(page, FIRST).get_by_role("checkbox").click()
    assert page.get_by_role("button", name="Compare").is_disabled()
    row(page, SECOND).get_by_role("checkbox").click()
    page.get_by_role("button", name="Compare").click()
    wait(page, lambda: "/compare?ids=" in page.url and FIRST in page.url and SECOND in page.url)


def test_a_run_gives_its_id_and_a_snippet(here: str, open_page: OpenPage) -> None:
    page = open_page(here)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    row(page, FIRST).hover()
    row(page, FIRST).get_by_label("More for dqn").click()
    page.get_by_role("button", name="Copy store.runs").click()
    wait(page, lambda: page.evaluate("navigator.clipboard.readText()") == f'store.runs["{FIRST}"]')
    row(page, FIRST).get_by_label("More for dqn").click()
    page.get_by_role("button", name="Copy id").click()
    wait(page, lambda: page.evaluate("navigator.clipboard.readText()") == FIRST)
    assert page.get_by_role("button", name="Copy id").count() == 0  # the menu has closed


def test_a_store_for_reading_offers_no_changes(many: str, open_page: OpenPage) -> None:
    page = open_page(many)
    page.locator("[data-run]").first.get_by_role("checkbox").click()
    page.get_by_text("read-only").wait_for()
    assert page.get_by_role("button", name="Delete").is_disabled()
    assert page.get_by_role("button", name="Tag …").is_disabled()


# --- keys


def test_keys_move_choose_and_open(many: str, open_page: OpenPage) -> None:
    page = open_page(many)
    page.wait_for_selector("[data-run]")
    for key in "jjk":
        page.keyboard.press(key)
    page.keyboard.press("x")
    assert page.locator('[data-run][aria-selected="true"]').inner_text().count("run 0129") == 1
    page.keyboard.press("End")
    wait(page, lambda: names(page)[-1:] == ["run 0000"])
    page.keyboard.press("Enter")
    wait(page, lambda: "/run/" in page.url)
    page.go_back()
    page.wait_for_selector("[data-run]")
    page.keyboard.press("?")
    assert "next run" in page.get_by_role("dialog", name="Keys").inner_text()
    page.keyboard.press("Escape")
    wait(page, lambda: page.get_by_role("dialog").count() == 0)


def test_the_way_back_from_a_run_leads_to_the_same_place(many: str, open_page: OpenPage) -> None:
    page = open_page(f"{many}?order=name", height=600)
    page.wait_for_selector("[data-run]")
    page.get_by_role("table").evaluate("one => { one.scrollTop = 1500; }")
    wait(page, lambda: "run 0050" in names(page))
    page.get_by_role("link", name="run 0050").click()
    wait(page, lambda: "/run/" in page.url)
    page.go_back()
    wait(page, lambda: "run 0050" in names(page))
    assert page.get_by_role("table").evaluate("one => one.scrollTop") == 1500


# --- what changes while it is open


def test_a_running_run_ticks(
    here: str, own_store: playhead.Store, live_run: playhead.RunWriter, open_page: OpenPage
) -> None:
    page = open_page(f"{here}?cols=status,name,points,metric.loss")
    line = row(page, LIVE)
    line.wait_for()
    assert "running" in line.inner_text()
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "/api/runs?" in request.url else None)
    for number in range(40):
        live_run.log({"loss": 7.0 + number})
    live_run.flush()
    wait(page, lambda: "41" in line.inner_text().split())
    wait(page, lambda: "46" in line.inner_text().split())  # the last loss follows, asked for this run alone
    assert all(LIVE in url or "limit=1" in url.split("&") for url in asked)  # a count, but never the list
    live_run.finish()
    wait(page, lambda: "finished" in line.inner_text())


def test_new_runs_appear_at_the_top_and_are_announced_further_down(
    here: str, own_store: playhead.Store, open_page: OpenPage
) -> None:
    for number in range(60):
        with own_store.run("fill", f"fill {number}", environment=False):
            pass
    page = open_page(here, height=600)
    page.wait_for_selector("[data-run]")
    page.wait_for_selector(".link.open", state="attached")
    with own_store.run("fresh", "at once", environment=False):
        pass
    wait(page, lambda: names(page)[:1] == ["at once"])
    page.get_by_role("table").evaluate("one => { one.scrollTop = 600; }")
    page.wait_for_timeout(100)
    for number in range(2):
        with own_store.run("fresh", f"later {number}", environment=False):
            pass
    page.get_by_role("button", name="2 new runs").click()
    wait(page, lambda: names(page)[:2] == ["later 1", "later 0"])
    assert page.get_by_role("button", name="new runs").count() == 0


def test_tabs_share_one_connection(here: str, open_page: OpenPage) -> None:
    page = open_page(here)
    asked: list[str] = []
    page.context.on("request", lambda request: asked.append(request.url) if "/api/events" in request.url else None)
    page.wait_for_selector(".link.open", state="attached")
    page.wait_for_timeout(400)
    asked.clear()
    others = [page.context.new_page() for _ in range(3)]
    for other in others:
        other.goto(here)
        other.wait_for_selector(".link.open", state="attached")
    assert asked == []
    page.close()  # the leader goes, another takes its place
    wait(others[0], lambda: len(asked) == 1)
    others[2].wait_for_selector(".link.open", state="attached")


def test_a_lost_server_is_said_and_found_again(own_store: playhead.Store, open_page: OpenPage) -> None:
    first = Background(make_app(own_store, page=built_page()))
    first.start()
    page = open_page(first.address)
    page.wait_for_selector(".link.open", state="attached")
    port = int(first.address.rstrip("/").rsplit(":", 1)[1])
    first.stop()
    page.get_by_text("Reconnecting").wait_for()
    with Background(make_app(own_store, page=built_page()), bind(port=port)):
        page.wait_for_selector(".link.open", state="attached", timeout=15_000)
        assert page.get_by_text("Reconnecting").count() == 0
        page.close()
    open_page.complaints.clear()  # type: ignore[attr-defined]  # the browser notes the lost connection


# --- other sizes, other states


def test_an_empty_store_says_how_to_record(tmp_path: Path, open_page: OpenPage) -> None:
    with playhead.open(tmp_path / "empty") as store, Background(make_app(store, page=built_page())) as server:
        page = open_page(server.address)
        page.get_by_text("No runs yet").wait_for()
        page.locator("pre", has_text='playhead.open("empty")').wait_for()
        page.goto(server.address + "?deleted=1")
        page.get_by_text("The bin is empty").wait_for()
        page.goto(server.address)
        page.get_by_text("No runs yet").wait_for()
        page.wait_for_selector(".link.open", state="attached")
        with store.run("first", "one", environment=False):
            pass
        page.get_by_role("link", name="one").wait_for()
        page.close()


def test_a_phone_shows_cards(many: str, open_page: OpenPage) -> None:
    page = open_page(many, width=390, height=844)
    page.wait_for_selector("[data-run]")
    assert has_no_sideways_scroll(page)
    assert page.locator('[data-column="name"]').count() == 0
    page.get_by_role("button", name="Sort").click()
    page.get_by_role("group", name="Sort").get_by_role("button", name="Name", exact=True).click()
    wait(page, lambda: "run 0000" in page.locator("[data-run]").first.inner_text())
    page.locator("[data-run] a").first.click()
    wait(page, lambda: "/run/" in page.url)


def test_the_theme_is_remembered(here: str, open_page: OpenPage) -> None:
    page = open_page(here)
    page.wait_for_selector("[data-run]")
    ground = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    page.get_by_role("button", name="Theme: system").click()
    page.get_by_role("button", name="Theme: light").click()
    assert page.evaluate(ground) == "rgb(19, 21, 25)"
    page.reload()
    page.wait_for_selector("[data-run]")
    assert page.evaluate(ground) == "rgb(19, 21, 25)"


def test_an_address_that_leads_nowhere_says_so(here: str, open_page: OpenPage) -> None:
    page = open_page(f"{here}/no/such/page")
    page.get_by_text("There is no such page").wait_for()
    page.goto(f"{here}/%ff")
    page.get_by_text("There is no such page").wait_for()
    page.get_by_role("link", name="runs", exact=True).click()
    page.wait_for_selector("[data-run]")
    assert page.get_by_text("There is no such page").count() == 0


def test_hostile_names_are_only_text(here: str, own_store: playhead.Store, open_page: OpenPage) -> None:
    evil = "<img src=x onerror=alert(1)>"
    with own_store.run("evil", evil, tags=[evil], config={"a`b'\"": evil}, environment=False) as run:
        run.log({"loss,'\"": 1.0})
    page = open_page(here)
    page.on("dialog", lambda dialog: pytest.fail("a name ran as script"))
    wait(page, lambda: names(page)[:1] == [evil])
    page.goto(f"{here}?tag={evil}&q='{evil.replace('=', '%3D')}' in tags")
    wait(page, lambda: names(page) == [evil])
    assert page.locator("img[src=x]").count() == 0
