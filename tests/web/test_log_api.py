"""The log of a run over HTTP: stretches by bytes, times, search; and one moment of a run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import playhead
from playhead.web.runs.logfile import LONGEST, Days, LogFile
from playhead.web.runs.searching import search
from tests.web.conftest import EPISODES, FIRST, PLAYED, SECOND

LINES = 1_201


def get(ask: httpx.Client, path: str, **query: object) -> dict:
    answer = ask.get(f"/api/runs/{path}", params=query)  # type: ignore[arg-type]
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_last_lines_and_those_before_them(ask: httpx.Client) -> None:
    tail = get(ask, f"{FIRST}/log", tail=3)
    assert [line["text"] for line in tail["lines"][:2]] == ["line 1198", "line 1199"]
    assert tail["lines"][2]["text"] == "<script>alert(1)</script> \x1b[31mred\x1b[0m"
    assert tail["end"] == tail["size"]
    assert tail["start"] == tail["lines"][0]["at"]
    before = get(ask, f"{FIRST}/log", before=tail["start"], lines=2)
    assert [line["text"] for line in before["lines"]] == ["line 1196", "line 1197"]
    assert before["end"] == tail["start"]


def test_walking_forward_gives_every_line_once(ask: httpx.Client) -> None:
    at, seen = 0, []
    while True:
        part = get(ask, f"{FIRST}/log", **{"from": at, "lines": 500})
        if not part["lines"]:
            break
        seen += [line["text"] for line in part["lines"]]
        at = part["end"]
    assert len(seen) == LINES
    assert seen[600] == "line 600 needle"
    assert at == part["size"]


def test_a_byte_within_a_line_means_the_line(ask: httpx.Client) -> None:
    first, second = get(ask, f"{FIRST}/log", lines=2)["lines"]
    part = get(ask, f"{FIRST}/log", **{"from": second["at"] + 3, "lines": 1})
    assert part["lines"] == [second]
    assert first["at"] == 0


def test_lines_have_times(ask: httpx.Client) -> None:
    run = get(ask, FIRST)
    for line in get(ask, f"{FIRST}/log", lines=5)["lines"]:
        assert 0 <= line["time_s"] <= run["duration"] + 1


def test_a_run_without_a_log(own_store: playhead.Store, own_ask: httpx.Client) -> None:
    (own_store.runs[SECOND].path / "logs.txt").unlink()
    assert get(own_ask, f"{SECOND}/log", tail=10) == {"size": 0, "start": 0, "end": 0, "lines": []}
    assert get(own_ask, f"{SECOND}/log/search", q="x") == {"matches": [], "is_more": False}
    assert own_ask.get(f"/api/runs/{SECOND}/log/raw").content == b""


@pytest.mark.parametrize("query", ["tail=-1", "tail=1&before=5", "from=-1", "lines=0", "lines=100000", "from=1e3"])
def test_wrong_stretches_are_refused(ask: httpx.Client, query: str) -> None:
    assert ask.get(f"/api/runs/{FIRST}/log?{query}").status_code == 400


def test_search(ask: httpx.Client) -> None:
    (match,) = get(ask, f"{FIRST}/log/search", q="NEEDLE".lower())["matches"]
    assert match["text"] == "line 600 needle"
    assert get(ask, f"{FIRST}/log", **{"from": match["at"], "lines": 1})["lines"] == [match]
    assert get(ask, f"{FIRST}/log/search", q="Needle")["matches"] == []
    assert get(ask, f"{FIRST}/log/search", q="line 1")["is_more"] is True
    assert get(ask, f"{FIRST}/log/search", q=" | ")["matches"] == []  # the time is not part of the text
    pattern = get(ask, f"{FIRST}/log/search", q=r"^line 60\d$", regex=1, limit=500)
    assert [line["text"] for line in pattern["matches"]] == [f"line {n}" for n in range(601, 610)]
    rest = get(ask, f"{FIRST}/log/search", q=r"line 60\d", regex=1, **{"from": match["at"] + 1})
    assert rest["matches"][0]["text"] == "line 601"
    assert ask.get(f"/api/runs/{FIRST}/log/search").status_code == 400


@pytest.mark.parametrize("pattern", ["(", "a{9999}", "(?P<x", r"(a)\1", "[z-a]", "*"])
def test_a_pattern_that_is_none_is_refused(ask: httpx.Client, pattern: str) -> None:
    answer = ask.get(f"/api/runs/{FIRST}/log/search", params={"q": pattern, "regex": 1})
    assert answer.status_code == 400
    assert "regular expression" in answer.json()["error"]["message"]


def test_no_pattern_hangs(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("10:00:00 | " + "a" * 50_000 + "\n")
    assert search(LogFile(tmp_path / "log"), "(a+)+$b", is_pattern=True, start=0, limit=5) == ([], False)


def test_the_raw_log_is_a_download(ask: httpx.Client, made_store: Path) -> None:
    answer = ask.get(f"/api/runs/{FIRST}/log/raw")
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.content == (made_store / "pong" / "dqn" / "runs" / FIRST / "logs.txt").read_bytes()


LINE = st.text(st.characters(blacklist_characters="\n\r", blacklist_categories=["Cs"]), max_size=30)


@settings(deadline=None, max_examples=60)
@given(lines=st.lists(LINE, max_size=40), ended=st.booleans(), count=st.integers(1, 50), place=st.integers(0, 2000))
def test_stretches_of_any_log_fit_together(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], ended: bool, count: int, place: int
) -> None:
    path = tmp_path_factory.mktemp("log") / "log"
    content = "\n".join(lines).encode() + (b"\n" if ended and lines else b"")
    path.write_bytes(content)
    log = LogFile(path)
    whole, end = log.from_byte(0, 10_000)
    assert end == len(content)
    expected = content.split(b"\n")
    expected = expected if expected[-1] else expected[:-1]
    assert [line.text for line in whole] == [line.decode() for line in expected]
    before, stop = log.before_byte(place, count)
    assert before == [line for line in whole if line.at < place][-count:]
    after, _ = log.from_byte(stop, 10_000) if stop < len(content) else ([], 0)
    assert after == [line for line in whole if line.at >= place]


def test_a_very_long_line_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"10:00:00 | " + b"x" * (3 * LONGEST) + b"\n10:00:01 | short\n")
    lines, end = LogFile(path).from_byte(0, 10)
    assert [len(line.text) for line in lines] == [LONGEST - 11, 5]
    assert end == path.stat().st_size


def test_days_pass(tmp_path: Path) -> None:
    path = tmp_path / "log"
    times = ["23:59:58", "00:00:02", "23:59:59", "00:00:03", "12:00:00", "09:00:00", "none"]
    path.write_text("".join(f"{time} | x\n" for time in times))
    created = datetime.fromisoformat("2026-03-01T23:59:50").timestamp()
    days = Days(created)
    days.look(LogFile(path))
    found = [days.moment(line) for line in LogFile(path).from_byte(0, 100)[0]]
    day = 86_400
    assert found == [8, 12, 9, 13, 10 + day / 2, 10 + day + 9 * 3600, None]
    with path.open("a") as file:
        file.write("07:00:00 | the day after\n")
    days.look(LogFile(path))
    last = LogFile(path).before_byte(10_000, 1)[0][0]
    assert days.moment(last) == 10 + 2 * day + 7 * 3600


def found_in(path: Path, created: float) -> list[tuple[float | None, str]]:
    days, log = Days(created), LogFile(path)
    days.look(log)
    return [(days.moment(line), line.text) for line in log.from_byte(0, 1000)[0]]


@pytest.fixture(params=["UTC", "America/Los_Angeles", "Asia/Kathmandu"])
def _zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("_zone")
def test_a_line_with_date_and_zone_needs_no_other(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(
        "2026-03-01T23:59:50.250000+01:00 | first\n"
        "2026-03-04T23:59:50.500000+00:00 | three days and an hour later\n"
        "2026-03-01T14:59:51.000000-08:00 | by another process\n"
        "2026-02-31T10:00:00.000000+00:00 | of no day\n"
        "9999-12-31T23:59:59.000000-12:00 | of no run\n"
        "2026-03-01T23:59:50.25+01:00 | something else\n"
    )
    created = datetime.fromisoformat("2026-03-01T22:59:50+00:00").timestamp()
    assert found_in(path, created) == [
        (0.25, "first"),
        (3 * 86_400 + 3600.5, "three days and an hour later"),
        (1, "by another process"),
        (None, "2026-02-31T10:00:00.000000+00:00 | of no day"),
        (None, "9999-12-31T23:59:59.000000-12:00 | of no run"),
        (None, "2026-03-01T23:59:50.25+01:00 | something else"),
    ]
    assert not search(LogFile(path), "23:59:50.5", is_pattern=False, start=0, limit=9)[0]


def test_lines_without_a_date_go_on_from_the_one_before_that_has_one(tmp_path: Path) -> None:
    path = tmp_path / "log"
    day = 86_400
    began = datetime.fromisoformat("2026-03-01T10:00:00").astimezone()
    later = (began + timedelta(days=3)).isoformat(timespec="microseconds")
    pieces = [("10:00:01", 1), (later, 3 * day), ("10:00:05", 3 * day + 5), ("09:00:00", 4 * day - 3600)]
    path.write_text("".join(f"{text} | x\n" for text, _ in pieces))
    assert [when for when, _ in found_in(path, began.timestamp())] == [when for _, when in pieces]
    # and however the log grows, line by line
    days, grown = Days(began.timestamp()), tmp_path / "grown"
    for text, when in pieces:
        with grown.open("a") as file:
            file.write(f"{text} | x\n")
        days.look(LogFile(grown))
        assert days.moment(LogFile(grown).before_byte(10_000, 1)[0][0]) == when


# -- one moment -----------------------------------------------------------------------------------------------------


def test_a_moment_has_metrics_lines_and_media(ask: httpx.Client) -> None:
    series = get(ask, f"{FIRST}/metrics", name="loss", points=5000)["series"][0]
    moment = get(ask, f"{FIRST}/moment", time_s=series["times"][500])
    loss = next(metric for metric in moment["metrics"] if metric["name"] == "loss")
    assert (loss["step"], loss["value"]) == (500, series["values"][500])
    assert moment["media"] is None
    end = get(ask, f"{FIRST}/moment", time_s=1e6)
    assert end["media"]["step"] == 8
    assert {metric["name"] for metric in end["metrics"]} == {"loss", "return", "odd", "odd, name"}
    assert end["lines"][-1]["text"].startswith("<script>")
    assert 0 < len(end["lines"]) <= 40
    begin = get(ask, f"{FIRST}/moment", time_s=-5)
    assert begin["metrics"] == []
    assert begin["episode"] is None
    assert len(begin["lines"]) <= 40


def test_a_moment_of_an_agent_names_the_step(ask: httpx.Client, made_store: Path) -> None:
    with playhead.open(made_store, mode="r") as store:
        episode = store.runs[PLAYED].episodes[1]
        origin = int(get(ask, PLAYED)["origin_ns"])
        stamps = [
            step["ts_ns"]
            for step in store.sql("SELECT ts_ns FROM steps WHERE episode_id = ? ORDER BY row", [episode.id]).to_pylist()
        ]
    moment = get(ask, f"{PLAYED}/moment", time_s=(stamps[17] - origin) / 1e9)
    assert moment["episode"]["address"] == f"replay/{episode.id}"
    assert moment["episode"]["index"] == 17
    assert moment["episode"]["time_s"] >= 0
    last = get(ask, f"{PLAYED}/moment", time_s=1e6)
    assert last["episode"]["address"].endswith(f"ep{EPISODES - 1:04}")


def test_a_moment_of_a_dataset_names_its_episode(own_store: playhead.Store, own_ask: httpx.Client) -> None:
    with own_store.run("p", "arm", run_id="arm", environment=False) as run:
        with run.new_episode("lab/left arm", uid="eeee5555") as episode:
            for number in range(3):
                episode.append("force", float(number), round(run.created_at * 1e9) + number * 1_000_000_000)
    found = own_store.sql("SELECT created_ns, duration_ns FROM episode_folders WHERE uid = 'eeee5555'").to_pylist()[0]
    inside = (found["created_ns"] + found["duration_ns"] / 2) / 1e9 - run.created_at
    moment = get(own_ask, "arm/moment", time_s=inside)
    assert moment["episode"]["address"] == "dataset/lab%2Fleft%20arm/eeee5555"
    assert moment["episode"]["index"] is None
