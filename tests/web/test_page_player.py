"""The player in a real browser, on a real server, compared with the store pixel by pixel."""

from __future__ import annotations

import hashlib
import itertools
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from numpy.typing import NDArray

import playhead
from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.sealed import SealedFile
from tests.check.making import flip
from tests.web.long_episode import ROBOT_UID, make_robot_episode
from tests.web.material import HOLES, RUN, picture, play_duel, play_kinds
from tests.web.page_building import built_page

GAME = "game"
GAME_STEPS = 3000
GAME_RATE = 60
CHUNK = 16

Open = Callable[..., Any]


def _game_frame(step: int) -> NDArray[np.uint8]:
    """Give a picture with few colours that no other step has: its number in bits, and a ball."""
    shown = np.zeros((72, 64, 3), np.uint8)
    for bit in range(16):
        if step >> bit & 1:
            shown[:8, bit * 4 : bit * 4 + 3] = (230, 120, 40)
    shown[20 + step % 40 : 24 + step % 40, step % 60 : step % 60 + 4] = (255, 255, 255)
    return shown


def _play_game(store: playhead.Store) -> None:
    with store.run("games", "bits", run_id=GAME, environment=False) as run:
        reel = run.new_reel(facts={"fps": GAME_RATE, "env_id": "Bits-v0"}, config=ReplayConfig(chunk=CHUNK))
        for seed in range(2):
            reel.begin({"seed": seed})
            for step in range(GAME_STEPS if seed == 0 else 40):
                reward = {100: 1.0, 200: -2.0}.get(step, 0.0)
                lives = b'{"lives": %d}' % (3 - step // 1000)
                reel.step({"frames": _game_frame(step), "actions": np.array(step % 4)}, reward, False, False, lives)
                if step % 500 == 0:
                    run.log({"loss": step / 10}, step=step)
            reel.end("terminated")
        reel.close()


@pytest.fixture(scope="module")
def page() -> Path:
    """The page, built from its source."""
    return built_page()


@pytest.fixture(scope="module")
def player_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a game, a robot, and recordings of every kind."""
    path = tmp_path_factory.mktemp("player") / "store"
    with playhead.open(path) as store:
        _play_game(store)
        play_kinds(store)
        play_duel(store)
    make_robot_episode(path, seconds=4.0)
    return path


@pytest.fixture(scope="module")
def player(player_store: Path, page: Path, serving: Callable[..., str]) -> Iterator[str]:
    """The address of a server with all of it."""
    with playhead.open(player_store, mode="r") as store:
        yield serving(store, page=page).rstrip("/")


def _digest(rgb: NDArray[np.uint8]) -> str:
    opaque = np.full((*rgb.shape[:2], 1), 255, np.uint8)
    return hashlib.sha256(np.concatenate([rgb, opaque], axis=2).tobytes()).hexdigest()


# Waits until the picture of a camera is that of the sample at the playhead, and gives the digest of its pixels.
_SETTLED = """async ([name, wanted]) => {
  const canvas = document.querySelector(`[data-camera="${name}"] canvas`);
  const slider = document.querySelector("[role=slider]");
  const end = performance.now() + 5000;
  const isRight = () => canvas.dataset.index === String(wanted ?? slider.getAttribute("aria-valuenow"));
  while (!isRight()) {
    if (performance.now() > end) throw new Error(`shows ${canvas.dataset.index}, not ${wanted ?? slider.getAttribute("aria-valuenow")}`);
    await new Promise((done) => setTimeout(done, 2));
  }
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", data));
  return [Number(canvas.dataset.index), [...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("")];
}"""


def _settled(page: Any, camera: str = "frame", index: int | None = None) -> tuple[int, str]:
    number, digest = page.evaluate(_SETTLED, [camera, index])
    return number, digest


def _slider(page: Any) -> tuple[float, float, float]:
    box = page.get_by_role("slider", name="Playhead").bounding_box()
    return box["x"] + 10, box["width"] - 20, box["y"] + box["height"] / 2


def _ready(page: Any, camera: str = "frame") -> Any:
    page.wait_for_selector(f'[data-camera="{camera}"] canvas[data-index]', state="attached")
    return page


def _until(page: Any, expression: str) -> None:
    """Wait until an expression is true in the page, whose policy forbids Playwright's own way to wait for it."""
    end = time.monotonic() + 10
    while not page.evaluate(expression):
        assert time.monotonic() < end, f"never became true: {expression}"
        page.wait_for_timeout(20)


# Counts the requests for pictures of cameras that are under way; those of the bubble over the timeline hold.
_COUNTING = """() => {
  const count = (window.pictures = { now: 0, most: 0, all: 0 });
  const ask = window.fetch;
  window.fetch = async (address, options) => {
    const isPicture = /\\/api\\/frame\\?|\\/frames\\//.test(address) && !address.includes("hold=1");
    if (!isPicture) return ask(address, options);
    count.all += 1;
    count.now += 1;
    count.most = Math.max(count.most, count.now);
    let isOver = false;
    const over = () => { if (!isOver) count.now -= 1; isOver = true; };
    options?.signal?.addEventListener("abort", over);
    try {
      const response = await ask(address, options);
      const body = await response.arrayBuffer();
      return new Response(body, response);
    } finally {
      over();
    }
  };
}"""


def test_200_positions_of_a_drag_show_200_right_frames(player: str, open_page: Open) -> None:
    page = _ready(open_page(f"{player}/play/replay/{GAME}-ep0000"))
    page.evaluate(_COUNTING)
    left, width, y = _slider(page)
    places = np.random.default_rng(5).random(200)
    page.mouse.move(left, y)
    page.mouse.down()
    seen = set()
    for place in places:
        page.mouse.move(left + place * width, y)
        index, digest = _settled(page)
        assert digest == _digest(_game_frame(index)), f"frame {index} is not that of the store"
        seen.add(index)
    page.mouse.up()
    assert len(seen) > 150
    page.wait_for_timeout(400)
    counted = page.evaluate("pictures")
    assert counted["all"] > 20
    assert counted["most"] <= 2
    assert counted["now"] == 0


# Drags the playhead to many places, as quickly as the page takes them; a pointer that is down goes on.
_DRAGGED = """async ([places, isPaced]) => {
  const slider = document.querySelector("[role=slider]");
  const box = slider.getBoundingClientRect();
  for (const place of places) {
    const at = { clientX: box.left + 10 + place * (box.width - 20), clientY: box.top + 30, bubbles: true, pointerId: 1 };
    slider.dispatchEvent(new PointerEvent("pointermove", at));
    if (isPaced) await new Promise((done) => requestAnimationFrame(done));
  }
}"""


def test_a_drag_too_quick_to_follow_leaves_no_backlog(player: str, open_page: Open) -> None:
    page = _ready(open_page(f"{player}/play/replay/{GAME}-ep0000"))
    page.evaluate(_COUNTING)
    left, _, y = _slider(page)
    page.mouse.move(left, y)
    page.mouse.down()
    for is_paced in (False, True):
        page.evaluate(_DRAGGED, [np.random.default_rng(6).random(200).tolist(), is_paced])
        began = time.monotonic()
        index, digest = _settled(page)
        assert time.monotonic() - began < 2.0
        assert digest == _digest(_game_frame(index))
    page.mouse.up()
    page.wait_for_timeout(400)
    counted = page.evaluate("pictures")
    assert counted["all"] > 20
    assert counted["most"] <= 2
    assert counted["now"] == 0


def test_a_seek_shows_its_pixels_soon(player: str, open_page: Open) -> None:
    page = _ready(open_page(f"{player}/play/replay/{GAME}-ep0000"))
    left, width, y = _slider(page)
    page.wait_for_timeout(500)
    taken = []
    for place in np.linspace(0.05, 0.95, 15):
        began = time.monotonic()
        page.mouse.click(left + place * width, y)
        _settled(page)
        taken.append(time.monotonic() - began)
    print(
        f"seek: median {np.median(taken) * 1000:.0f} ms, worst {max(taken) * 1000:.0f} ms, with the test's own way there"
    )
    assert np.median(taken) < 0.4  # a guard against a change of kind; benchmarks have the figures


def test_keys_step_jump_loop_and_speed(player: str, open_page: Open) -> None:
    page = _ready(open_page(f"{player}/play/replay/{GAME}-ep0000"))

    def press(*keys: str) -> int:
        for key in keys:
            page.keyboard.press(key)
        return _settled(page)[0]

    assert press("ArrowRight", "ArrowRight") == 2
    assert press(",") == 1
    assert press("Shift+ArrowRight") == 11
    assert press("End") == GAME_STEPS - 1
    assert press("Home") == 0
    assert press("n") == 100  # the first reward
    assert press("n") == 200
    assert press("p") == 100
    page.keyboard.press("g")
    page.get_by_label("Step or time").fill("1234")
    page.keyboard.press("Enter")
    assert _settled(page, index=1234)[1] == _digest(_game_frame(1234))
    page.keyboard.press("]")
    assert page.get_by_role("button", name="1.5×").is_visible()
    press("a", "Shift+ArrowRight", "b")
    _until(page, "location.search.includes('loop=')")
    page.keyboard.press("Space")
    page.wait_for_timeout(700)
    page.keyboard.press("Space")
    index, _ = _settled(page)
    assert 1234 <= index <= 1244
    page.keyboard.press("?")
    assert page.get_by_text("the loop begins here").is_visible()


def test_it_plays_at_its_rate_and_never_slower(player: str, open_page: Open) -> None:
    page = _ready(open_page(f"{player}/play/replay/{GAME}-ep0000"))
    page.wait_for_timeout(500)
    watch = """() => { window.seen = []; const canvas = document.querySelector("canvas[data-index]");
      const look = (now) => { window.seen.push([now, Number(canvas.dataset.index)]); requestAnimationFrame(look); }; requestAnimationFrame(look); }"""
    page.evaluate(watch)
    page.keyboard.press("Space")
    page.wait_for_timeout(2000)
    page.keyboard.press("Space")
    seen = [(now, index) for now, index in page.evaluate("window.seen") if index > 0]
    (first_ms, first), (last_ms, last) = seen[0], next(pair for pair in seen if pair[1] == seen[-1][1])
    rate = (last - first) / (last_ms - first_ms) * 1000
    print(f"played {rate:.1f} steps a second, {len({index for _, index in seen}) / 2:.0f} different pictures a second")
    assert rate == pytest.approx(GAME_RATE, rel=0.1)
    assert all(a[1] <= b[1] for a, b in itertools.pairwise(seen))
    index, digest = _settled(page)
    assert digest == _digest(_game_frame(index))


def test_space_plays_after_a_click_and_presses_what_tab_reached(player: str, open_page: Open) -> None:
    page = _ready(open_page(f"{player}/play/replay/{GAME}-ep0000"))
    page.get_by_role("button", name="Loop from here").click()
    page.keyboard.press("Space")
    page.get_by_role("button", name="Pause").wait_for()
    page.keyboard.press("Space")
    page.get_by_role("button", name="Play", exact=True).focus()
    page.keyboard.press("Tab")  # on to "On one step"
    before, _ = _settled(page)
    page.keyboard.press("Space")
    assert _settled(page, index=before + 1)[0] == before + 1
    assert page.get_by_role("button", name="Play", exact=True).is_visible()


def test_the_step_is_told_beside_the_picture(player: str, open_page: Open) -> None:
    page = _ready(open_page(f"{player}/play/replay/{GAME}-ep0000"))
    page.keyboard.press("n")
    told = page.get_by_label("This step")
    told.get_by_text("100 of").wait_for()
    assert "+1" in told.inner_text()
    page.keyboard.press("n")
    told.get_by_text("200 of").wait_for()
    text = " ".join(told.inner_text().split())
    assert "reward −2" in text
    assert "return so far −1" in text
    assert "lives 3" in text


def test_the_wheel_steps_one_by_one(player: str, open_page: Open) -> None:
    page = _ready(open_page(f"{player}/play/replay/{GAME}-ep0000"))
    left, width, y = _slider(page)
    page.mouse.move(left + width / 2, y)
    for _ in range(3):
        page.mouse.wheel(0, 100)
    assert _settled(page, index=3)[1] == _digest(_game_frame(3))
    page.mouse.wheel(0, -100)
    assert _settled(page, index=2)[0] == 2


def test_frames_are_right_without_the_quick_decoder(player: str, browser: Any) -> None:
    context = browser.new_context()
    context.add_init_script("delete window.ImageDecoder")  # as in a page that is neither on this machine nor encrypted
    page = context.new_page()
    page.goto(f"{player}/play/replay/{GAME}-ep0000")
    _ready(page)
    for key, index in (("End", GAME_STEPS - 1), ("Shift+ArrowLeft", GAME_STEPS - 11), ("ArrowLeft", GAME_STEPS - 12)):
        page.keyboard.press(key)
        assert _settled(page, index=index)[1] == _digest(_game_frame(index))
    assert page.evaluate("typeof ImageDecoder") == "undefined"
    context.close()


def test_a_link_leads_to_this_very_moment(player: str, open_page: Open) -> None:
    page = _ready(open_page(f"{player}/play/replay/{GAME}-ep0000"))
    page.keyboard.press("g")
    page.get_by_label("Step or time").fill("2345")
    page.keyboard.press("Enter")
    page.keyboard.press("]")
    _until(page, "location.search.includes('t=') && location.search.includes('speed=1.5')")
    again = _ready(open_page(page.url))
    assert _settled(again, index=2345)[1] == _digest(_game_frame(2345))
    assert again.get_by_role("button", name="1.5×").is_visible()
    assert set(parse_qs(urlsplit(page.url).query)) == {"t", "speed"}


def test_charts_share_the_playhead(player: str, open_page: Open) -> None:
    page = _ready(open_page(f"{player}/play/replay/{GAME}-ep0000"))
    chart = page.locator('[data-signal="return"] .plot')
    chart.wait_for()
    page.wait_for_timeout(600)
    box = chart.bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.6, box["y"] + box["height"] * 0.4)
    _until(page, "Number(document.querySelector('[role=slider]').getAttribute('aria-valuenow')) > 1000")
    index, digest = _settled(page)
    assert digest == _digest(_game_frame(index))
    page.keyboard.press("ArrowRight")  # not the chart's own cursor
    assert _settled(page, index=index + 1)[0] == index + 1
    page.get_by_role("button", name="Signals").click()
    page.get_by_role("checkbox", name="action").check()
    page.locator('[data-signal="action"]').wait_for()
    _until(page, "location.search.includes('action')")


def test_cameras_of_a_robot_are_those_of_the_same_instant(player: str, player_store: Path, open_page: Open) -> None:
    page = _ready(open_page(f"{player}/play/dataset/arm/{ROBOT_UID}?t=2.9"), "wrist")
    with playhead.open(player_store, mode="r") as store:
        episode = store.dataset("arm")[0]
        origin = min(int(signal.timestamps[0]) for signal in episode.signals.values())
        for seconds in (2.9, 1.2345, 0.16):
            page.keyboard.press("g")
            page.get_by_label("Step or time").fill(f"{seconds}s")
            page.keyboard.press("Enter")
            for camera in ("wrist", "overview"):
                stamps = episode[camera].timestamps
                expected = int(np.searchsorted(stamps, origin + round(seconds * 1e9), "right")) - 1
                assert _settled(page, camera, expected)[0] == expected
    values = page.get_by_label("Values at the playhead")
    values.get_by_text("phase 0").wait_for()


def test_a_camera_says_how_old_its_picture_is(player: str, open_page: Open) -> None:
    page = _ready(open_page(f"{player}/play/dataset/arm/{ROBOT_UID}?t=0.1"), "wrist")
    overview = page.locator('[data-camera="overview"]')
    assert "No picture" in overview.inner_text()  # it begins later
    page.keyboard.press("End")
    overview.locator("canvas[data-index]").wait_for(state="attached")
    assert "old" in overview.inner_text()


def test_a_step_without_a_frame_shows_the_one_before_and_says_so(player: str, open_page: Open) -> None:
    page = _ready(open_page(f"{player}/play/replay/{RUN}-ep0000"))
    page.keyboard.press("g")
    page.get_by_label("Step or time").fill(str(HOLES[2]))
    page.keyboard.press("Enter")
    before = HOLES[0] - 1
    assert _settled(page, index=before)[1] == _digest(picture(before))
    page.get_by_text(f"Nothing recorded at {HOLES[2]}: this is {before}").wait_for()
    open_page.complaints.clear()  # type: ignore[attr-defined]  # the browser writes to its console that it was not found


def test_agents_that_take_turns_are_stepped_through_one_by_one(player: str, open_page: Open) -> None:
    page = _ready(open_page(f"{player}/play/replay/duel-ep0000"), "red.frame")
    for _ in range(7):
        page.keyboard.press("ArrowRight")
    page.get_by_label("This step").get_by_text("7 of").wait_for()
    assert "blue" in page.get_by_label("This step").inner_text()
    assert _settled(page, "blue.frame", 3)[1] == _digest(picture(7))
    assert _settled(page, "red.frame", 3)[1] == _digest(picture(6))


def test_damage_is_said_on_the_frame(
    player_store: Path, tmp_path: Path, page: Path, serving: Any, open_page: Open
) -> None:
    path = Path(shutil.copytree(player_store, tmp_path / "store"))
    file = path / "replay" / f"{GAME}.h5"
    flip(file, int(SealedFile(file).datasets["frames"].table[5][0]) + 8)
    with playhead.open(path, mode="r") as store:
        address = serving(store, page=page).rstrip("/")
        shown = _ready(open_page(f"{address}/play/replay/{GAME}-ep0000"))
        shown.keyboard.press("g")
        shown.get_by_label("Step or time").fill(str(CHUNK * 5 + 3))
        shown.keyboard.press("Enter")
        told = shown.locator('[data-camera="frame"] .trouble')
        told.get_by_text("Damaged", exact=True).wait_for()
        assert "damaged" in told.inner_text()
        assert shown.locator('[data-camera="frame"] canvas[data-index]').count() == 0
        shown.keyboard.press("Home")
        assert _settled(shown, index=0)[1] == _digest(_game_frame(0))
        shown.close()  # before its store does
    open_page.complaints.clear()  # type: ignore[attr-defined]  # the browser writes refused requests to its console


def test_what_is_not_there_says_what_to_do(player: str, open_page: Open) -> None:
    page = open_page(f"{player}/play/replay/nothing-ep0000")
    page.get_by_role("alert").get_by_text("nothing-ep0000").wait_for()
    assert page.get_by_role("button", name="Try again").is_visible()
    open_page.complaints.clear()  # type: ignore[attr-defined]  # the browser writes the 404 to its console


def test_neighbours_and_the_run(player: str, open_page: Open) -> None:
    page = _ready(open_page(f"{player}/play/replay/{GAME}-ep0000"))
    assert page.get_by_role("link", name="bits").get_attribute("href") == f"/run/{GAME}?tab=episodes"
    page.keyboard.press("N")
    page.wait_for_url(f"**/play/replay/{GAME}-ep0001")
    page.get_by_role("heading", name="Episode 1").wait_for()
    assert _settled(page, index=0)[1] == _digest(_game_frame(0))
    page.keyboard.press("P")
    page.get_by_role("heading", name="Episode 0").wait_for()


def test_what_the_run_logged_at_this_instant(player: str, open_page: Open) -> None:
    page = _ready(open_page(f"{player}/play/replay/{GAME}-ep0000"))
    page.keyboard.press("End")
    link = page.get_by_role("link", name="Open its charts and log here")
    link.wait_for()
    assert link.get_attribute("href").startswith(f"/run/{GAME}?t=")
    page.get_by_text("loss", exact=True).wait_for()


def test_the_frame_is_downloaded_as_it_was_recorded(player: str, open_page: Open) -> None:
    page = _ready(open_page(f"{player}/play/replay/{GAME}-ep0000"))
    page.keyboard.press("n")
    page.get_by_role("button", name="Download").click()
    with page.expect_download() as coming:
        page.get_by_role("link", name="frame 100").click()
    from PIL import Image

    assert np.array_equal(np.asarray(Image.open(coming.value.path())), _game_frame(100))


def test_a_phone_shows_it_whole(player: str, open_page: Open) -> None:
    page = _ready(open_page(f"{player}/play/replay/{GAME}-ep0000", width=390, height=844))
    page.wait_for_timeout(600)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for name in ("Play", "Next mark", "Download", "Full screen"):
        box = page.get_by_role("button", name=name, exact=True).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
        assert box["y"] + box["height"] <= 844
    assert _settled(page)[1] == _digest(_game_frame(0))


def test_an_episode_grows_while_it_is_recorded(tmp_path: Path, page: Path, serving: Any, open_page: Open) -> None:
    with playhead.open(tmp_path / "store") as store:
        address = serving(store, page=page).rstrip("/")
        with store.run("games", "live", run_id="live", environment=False) as run:
            reel = run.new_reel(facts={"fps": 30}, config=ReplayConfig(chunk=CHUNK))
            reel.begin()

            def play(start: int, stop: int) -> None:
                for step in range(start, stop):
                    reel.step({"frames": _game_frame(step)}, 0.0, False, False)
                    if step % 10 == 0:
                        run.log({"loss": 1.0}, step=step)
                run.flush()

            play(0, 50)
            shown = _ready(open_page(f"{address}/play/replay/live-ep0000"))
            shown.keyboard.press("ArrowRight")
            live = shown.get_by_role("button", name="Go to live")
            live.wait_for()
            play(50, 120)
            _until(shown, "document.querySelector('[role=slider]').getAttribute('aria-valuemax') === '119'")
            assert _settled(shown, index=1)[1] == _digest(_game_frame(1))  # it stays
            live.click()
            assert _settled(shown, index=119)[1] == _digest(_game_frame(119))
            play(120, 150)
            assert _settled(shown, index=149)[1] == _digest(_game_frame(149))  # it follows
            reel.end("terminated")
            reel.close()
        shown.get_by_text("terminated", exact=True).first.wait_for()
        shown.close()  # before its store does


def test_scrubbing_leaves_nothing_behind(player: str, open_page: Open) -> None:
    page = _ready(open_page(f"{player}/play/replay/{GAME}-ep0000"))
    devtools = page.context.new_cdp_session(page)
    left, _, y = _slider(page)
    page.mouse.move(left, y)
    page.mouse.down()

    def heap_after(rounds: int) -> float:
        for _ in range(rounds):
            page.evaluate(_DRAGGED, [np.linspace(0, 1, 60).tolist(), True])
        _settled(page)
        devtools.send("HeapProfiler.collectGarbage")
        return float(devtools.send("Runtime.getHeapUsage")["usedSize"])

    before = heap_after(1)
    assert heap_after(3) - before < 2e6
    page.mouse.up()
