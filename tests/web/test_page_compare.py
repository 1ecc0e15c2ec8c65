"""Runs side by side, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import playhead
from tests.web.conftest import FAILED, FIRST, SECOND, Serve
from tests.web.page_building import built_page
from tests.web.test_page_run import Open, card, colours, hover, overflow

SEEDS = [f"20260106_0{seed:02}000_aaaaaa" for seed in range(20)]
STEPS = 200


@pytest.fixture(scope="module")
def site(made_store: Path, serving: Serve) -> Iterator[str]:
    """The comparison over the store that no test changes."""
    with playhead.open(made_store, mode="r") as store:
        yield f"{serving(store, page=built_page()).rstrip('/')}/compare"


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory, serving: Serve) -> Iterator[str]:
    """The comparison of twenty seeds."""
    with playhead.open(tmp_path_factory.mktemp("seeds") / "store") as store:
        for seed, run_id in enumerate(SEEDS):
            config = {"seed": seed, "lr": 0.1}
            with store.run("seeds", f"seed {seed}", run_id=run_id, config=config, environment=False) as run:
                for step in range(STEPS):
                    run.log({"score": float(step + seed)}, step=step)
        yield f"{serving(store, page=built_page()).rstrip('/')}/compare?ids={','.join(SEEDS)}"


def legend(page: Any) -> Any:
    """Find the list of runs."""
    return page.get_by_role("complementary", name="Runs")


def test_metrics_lie_over_each_other_and_are_read_together(site: str, open_page: Open) -> None:
    page = open_page(f"{site}?ids={FIRST},{SECOND}")
    chart = card(page, "return")
    page.get_by_text("2 of 2 runs").first.wait_for()
    hover(page, chart, 25, last=2000)
    rows = [row.inner_text().split()[-1] for row in chart.locator(".readout .row").all()]
    values = [float(text.replace("−", "-").replace(",", "")) for text in rows]
    assert len(values) == 2
    assert values == sorted(values, reverse=True)
    assert values[0] == pytest.approx(-values[1], abs=6)
    colour = [one.get_attribute("style") for one in legend(page).locator("li i").all() if one.get_attribute("style")]
    assert len(set(colour)) == 2


def test_a_colour_belongs_to_a_run_whatever_is_beside_it(site: str, open_page: Open) -> None:
    both = legend(open_page(f"{site}?ids={FIRST},{SECOND}"))
    both.locator("li").nth(1).wait_for()
    other = legend(open_page(f"{site}?ids={SECOND},{FIRST}"))
    other.locator("li").nth(1).wait_for()
    find = ".name > i"
    assert both.locator(find).nth(0).get_attribute("style") == other.locator(find).nth(1).get_attribute("style")


def test_eyes_hide_runs_and_the_address_keeps_it(site: str, open_page: Open) -> None:
    page = open_page(f"{site}?ids={FIRST},{SECOND}")
    page.get_by_text("2 of 2 runs").first.wait_for()
    legend(page).get_by_role("button", name="Hide dqn").first.click()
    page.get_by_text("1 of 2 runs").first.wait_for()
    assert f"hide={FIRST}" in page.url
    page.reload()
    page.get_by_text("1 of 2 runs").first.wait_for()
    legend(page).get_by_role("button", name="Show dqn").click()
    page.get_by_text("2 of 2 runs").first.wait_for()


def test_only_what_differs_is_listed_beside_the_curves(site: str, open_page: Open) -> None:
    page = open_page(f"{site}?ids={FIRST},{SECOND}")
    legend(page).get_by_text("0.001").wait_for()
    assert "layers" not in legend(page).inner_text()
    page.get_by_role("tab", name="Differences").click()
    page.locator("tbody").first.wait_for()
    config = page.locator("section", has_text="Config").first
    keys = config.locator("tbody th").all_inner_texts()
    assert {"lr", "net.act", "limit", "seed"} <= set(keys)
    assert "net.layers" not in keys
    assert config.locator("tr", has_text="net.act").locator("td").all_inner_texts() == ["relu", "tanh"]


def test_numbers_differ_from_a_baseline_that_can_be_chosen(seeds: str, open_page: Open) -> None:
    page = open_page(f"{seeds}&tab=table")
    row = page.locator("tr", has_text="score")
    row.locator("td").nth(19).wait_for()
    cells = [cell.split() for cell in row.locator("td").all_inner_texts()]
    assert cells[0] == ["199"]
    assert cells[3] == ["202", "+3"]
    legend(page).locator("li").nth(3).hover()
    legend(page).get_by_role("button", name="Take seed 3 as the baseline").click()
    assert row.locator("td").first.inner_text().split() == ["199", "−3"]
    assert f"base={SEEDS[3]}" in page.url
    page.get_by_role("button", name="Smallest").click()
    assert row.locator("td").nth(5).inner_text().split() == ["5", "+2"]


def test_the_mean_of_all_runs_and_its_band(seeds: str, open_page: Open) -> None:
    page = open_page(seeds)
    chart = card(page, "score")
    page.get_by_text("20 of 20 runs").wait_for()
    page.get_by_role("button", name="Mean ± deviation").click()
    page.wait_for_url(re.compile("mean=1"))
    hover(page, chart, 100, last=STEPS - 1)
    mean = chart.locator(".readout .row").first
    mean.get_by_text("mean of 20").wait_for()
    step = int(chart.locator(".readout .x").first.inner_text().removeprefix("step "))
    assert float(mean.locator("b").inner_text()) == pytest.approx(step + 9.5, abs=1.1)
    assert colours(chart) > 100


def test_a_run_is_added_and_removed(seeds: str, open_page: Open) -> None:
    page = open_page(seeds.partition("?")[0] + f"?ids={SEEDS[0]}")
    legend(page).locator("li").first.wait_for()
    legend(page).get_by_role("button", name="Add").click()
    page.get_by_placeholder("Name, project or id").fill("seed 7")
    page.get_by_role("dialog").get_by_role("button", name="seed 7").click()
    page.get_by_text("2 of 2 runs").wait_for()
    assert SEEDS[7] in page.url
    legend(page).locator("li").first.hover()
    legend(page).get_by_role("button", name="Remove seed 0").click()
    page.get_by_text("1 of 1 runs").wait_for()


def test_runs_that_are_not_there_do_not_spoil_the_others(site: str, open_page: Open) -> None:
    page = open_page(f"{site}?ids={FIRST},nothing,{FAILED}")
    legend(page).get_by_text("Not found: nothing").wait_for()
    assert card(page, "return").is_visible()
    open_page.complaints.clear()  # type: ignore[attr-defined]  # the browser notes the 404
    page = open_page(site)
    page.get_by_text("Nothing to compare").wait_for()
    assert page.locator("canvas").count() == 0


def test_nothing_overflows_on_a_phone(seeds: str, open_page: Open) -> None:
    for tab in ("charts", "table", "differences"):
        page = open_page(f"{seeds}&tab={tab}", width=390, height=844)
        legend(page).locator("li").nth(19).wait_for()
        page.wait_for_timeout(300)
        assert overflow(page) <= 0
