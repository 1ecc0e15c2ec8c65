"""The rules of the house: imports go down, importing is light, and each thing is done in one place."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import playhead

SOURCE = Path(playhead.__file__).parent

# From the ground up; a module may import its own layer's equals and anything before it.
LAYERS: list[set[str]] = [
    {"errors", "wording"},
    {"at_exit", "clock", "forks", "process", "ref", "order", "memory", "native", "owner", "paths"},
    {"strictjson", "zstd", "layout", "disk", "filesystem", "markup", "progress", "typed"},
    {"journal", "catalog"},
    {"facts", "claims", "settled", "quarantine", "arrow", "writer", "infos", "backlog"},
    {"checksums"},
    {"tape"},
    {"signal"},
    {"lanes", "capture"},
    {"sampling", "trace", "simulators", "live"},
    {"episode"},
    {"dataset", "replay"},
    {"signs"},
    {"home"},
    {"episode_index", "replay_index", "artifact"},
    {"datasets", "replays", "run_seals", "artifacts", "traces"},
    {"holdings"},
    {"run"},
    {"recording", "runs"},
    {"recovery"},
    {"copies"},
    {"table", "train"},
    {"tables"},
    {"store", "reading", "opening"},
    {"check", "export", "plots", "testing"},
    {"care"},
    {"integrations"},
    {"window"},
    {"cli", "web", "__main__"},
]
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
HEAVY = {
    "h5py",
    "av",
    "torch",
    "pyarrow",
    "starlette",
    "uvicorn",
    "sqlalchemy",
    "numpy",
    "rich",
    "PIL",
    "click",
    "pandas",
}

MODULES = sorted(SOURCE.rglob("*.py"))


def room_of(path: Path) -> str:
    part = path.relative_to(SOURCE).parts[0]
    return part.removesuffix(".py")


def imports_of(path: Path) -> set[str]:
    """Give the rooms of this package that a module imports, anywhere in it."""
    rooms: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "playhead":
            rooms |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("playhead."):
            rooms.add(node.module.split(".")[1])
        elif isinstance(node, ast.Import):
            rooms |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("playhead.")}
    return rooms & LEVEL.keys()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_down(path: Path) -> None:
    room = room_of(path)
    if room == "__init__":
        return
    assert room in LEVEL, f"say in LAYERS of this test, and in ARCHITECTURE.md, where {room} stands"
    upward = {other for other in imports_of(path) if LEVEL[other] > LEVEL[room]}
    assert not upward, (
        f"{path.name} is in the layer of {sorted(LAYERS[LEVEL[room]])} and may not import {upward} above it"
    )


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_lanes_do_not_import_each_other(path: Path) -> None:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    if parts[0] != "lanes" or len(parts) < 2:
        return
    others = re.findall(r"playhead\.lanes\.(\w+)|from playhead\.lanes import (\w+)", path.read_text())
    assert {one or two for one, two in others} <= {parts[1]}


def test_importing_playhead_loads_nothing_heavy() -> None:
    script = "import sys, playhead; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert HEAVY & {name.partition(".")[0] for name in loaded} == set()


def cpu_seconds(code: str) -> float:
    script = f"import time\n{code}\nprint(time.process_time())"
    return min(
        float(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout)
        for _ in range(5)
    )


def test_importing_playhead_costs_at_most_120_ms() -> None:
    assert cpu_seconds("import playhead") - cpu_seconds("pass") < 0.120


RULES = {
    "SQL outside catalog/": (r"\b(sqlite3|sqlalchemy)\b", {"catalog"}, {"cli/info.py"}),
    "a clock read outside clock.py": (
        r"\btime\.(time|monotonic|perf_counter|time_ns|monotonic_ns)\(|datetime\.now",
        {"clock"},
        set(),
    ),
    "the message of a store that is open for reading, outside errors.py": (
        r"is open for reading; open it",
        {"errors"},
        set(),
    ),
    "a path of the command line without its type": (r"click\.Path\b(?!\))", set(), set()),
    "pickle": (r"^\s*(import pickle|from pickle)", set(), set()),
    "a file written outside disk/": (
        r"\.write_(text|bytes)\(|(?<![\w.])(?<!def )open\([^)]*[\"'][wax]b?\+?[\"']|os\.(rename|replace|unlink|remove|mkdir|link|truncate)\(|shutil\.(rmtree|move)\(",
        {"disk"},
        {"store.py", "reading.py"},  # the private copy of a catalogue on a medium that cannot be written
    ),
}


@pytest.mark.parametrize("rule", RULES)
def test_each_thing_is_done_in_one_place(rule: str) -> None:
    pattern, rooms, excepted = RULES[rule]
    found = [
        f"{path.relative_to(SOURCE)}:{number}"
        for path in MODULES
        if room_of(path) not in rooms and str(path.relative_to(SOURCE)) not in excepted
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(pattern, line.split("#")[0]) and '"""' not in line
    ]
    assert not found, f"{rule}: {found}"


def test_a_fork_waits_for_whoever_connects_to_a_database() -> None:
    connecting = [path for path in MODULES if "sqlite3.connect(" in path.read_text()]
    assert connecting
    assert [path for path in connecting if "forks.Working()" not in path.read_text()] == []


def test_every_public_name_loads() -> None:
    for name in playhead.__all__:
        assert getattr(playhead, name).__doc__, name
    assert set(playhead.__all__) <= set(dir(playhead))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        playhead.nothing  # noqa: B018


def test_integrations_are_reached_from_the_top() -> None:
    """Was a bug: the README's `playhead.integrations.gymnasium.Recorder` needed an import that it does not show."""
    script = (
        "import playhead; print(playhead.integrations.gymnasium.Recorder.__name__)\n"
        "print(*(getattr(playhead.integrations, name).__name__ for name in playhead.integrations.__all__))"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    places = sorted(path.parent.name for path in SOURCE.glob("integrations/*/__init__.py"))
    assert said == ["Recorder", *(f"playhead.integrations.{place}" for place in places)]
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        playhead.integrations.nothing  # noqa: B018


def test_the_error_tree_in_the_docstring_is_the_tree() -> None:
    from playhead import errors

    drawn = re.findall(r"^ +(?:[│├└─ ]*)(\w+)", errors.__doc__ or "", re.MULTILINE)
    defined = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}
    assert {name for name in drawn if name in defined} == defined
