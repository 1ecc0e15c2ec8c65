"""What notebooks show: runs and episodes as HTML, and the page in a frame."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import httpx
import numpy as np
import pytest

import playhead
from playhead.errors import NotFound, WrongType
from playhead.markup import curve, text
from tests.web.conftest import DATASET, FIRST, PLAYED, UID


class Tags(HTMLParser):
    """Sees that what is opened is closed, and collects texts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.texts = ""
        self.feed(html)

    def handle_starttag(self, tag: str, _attributes: object) -> None:
        self.seen.append(tag)
        if tag != "img":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, _attributes: object) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts += data + "\n"


@pytest.fixture
def store(made_store: Path) -> Iterator[playhead.Store]:
    with playhead.open(made_store, mode="r") as found:
        yield found


def html_of(thing: object) -> Tags:
    found = Tags(thing._repr_html_())  # type: ignore[attr-defined]
    assert found.open == []
    return found


def test_a_run(store: playhead.Store) -> None:
    found = html_of(store.runs[FIRST])
    for expected in ("dqn", FIRST, "finished", "paper", "config.lr", "loss", "2,000 points"):
        assert expected in found.texts
    assert found.seen.count("svg") >= 2


def test_an_episode_of_an_agent(store: playhead.Store) -> None:
    found = html_of(store.runs[PLAYED].episodes[1])
    for expected in (f"{PLAYED}-ep0001", "60 steps", "return 8", "terminated", "frame", "reward"):
        assert expected in found.texts
    assert found.seen.count("img") == 1


def test_an_episode_of_a_dataset(store: playhead.Store) -> None:
    found = html_of(store.dataset(DATASET).by_uid(UID))
    for expected in (UID, "force", "10 samples", "pick up the cube"):
        assert expected in found.texts
    assert "img" not in found.seen


def test_what_is_recorded_never_becomes_markup(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"
    with playhead.open(tmp_path) as store:
        with store.run("a", "<b>x", config={evil: evil}, tags=["<i>"], environment=False) as run:
            run.log({evil: 1.0})
            run.log({evil: 2.0})
        found = html_of(store.runs[run.id])
    assert not {"script", "i"} & set(found.seen)
    assert found.seen.count("b") == 1
    assert evil in found.texts


def test_text_is_short_and_curves_have_gaps() -> None:
    assert len(text("x" * 1000)) == 120
    assert curve([1.0]) == "" == curve([None, float("nan")])
    assert curve([1.0, 2.0, None, 3.0, 1.0]).count("M") == 2


def test_the_page_shows_what_is_shown(store: playhead.Store) -> None:
    shown = store.runs[PLAYED].episodes[0].show(height=500)
    assert shown.address.endswith(f"/play/replay/{PLAYED}-ep0000")
    assert 'height="500"' in shown._repr_html_()
    assert html_of(shown).seen[0] == "iframe"
    robot = store.dataset("lab/left arm")[0].show()
    assert robot.address.endswith("/play/dataset/lab%2Fleft%20arm/cccc3333")
    run = store.runs[FIRST].show()
    whole = playhead.show(store)
    assert run.address == f"{whole.address}run/{FIRST}"
    with httpx.Client() as client:
        assert client.get(f"{whole.address}api/runs/{FIRST}").json()["id"] == FIRST
        address = robot.address.replace("/play/", "/api/episodes/")
        assert client.get(address).json()["id"] == "cccc3333"
        policy = client.get(whole.address).headers["content-security-policy"]
    assert "frame-ancestors 'self' http://localhost:*" in policy


def test_what_lies_in_no_store_is_not_shown(tmp_path: Path) -> None:
    with playhead.LocalDatasetWriter(tmp_path / "loose").new_episode() as episode:
        episode.append("x", np.float64(1.0), 1)
    loose = playhead.LocalDataset(tmp_path / "loose")[0]
    with pytest.raises(NotFound, match="does not lie in a store"):
        loose.show()
    with pytest.raises(WrongType, match="can be shown, not int"):
        playhead.show(3)


def test_without_the_extra_the_message_says_what_to_install() -> None:
    script = """
import sys
sys.modules["starlette"] = None
import playhead
try:
    playhead.show(3)
except playhead.MissingExtra as error:
    print(error)
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "pip install 'playhead[web]'" in found
