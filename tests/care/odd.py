"""Odd values in every field of every JSON file of a store, and what every command makes of them."""

from __future__ import annotations

import contextlib
import copy
import json
import re
import shutil
import signal
import traceback
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

import playhead
from playhead.care import verify
from playhead.cli import program
from playhead.errors import PlayheadError
from tests.care import everything
from tests.test_recovery import killed_run

LIMIT = 20  # seconds a case

DEEP: Any = 7
for _ in range(200):
    DEEP = [DEEP]
TOO_DEEP = b'{"a":' * 3000 + b"1" + b"}" * 3000

Cases = Sequence["Case"]

ODD: list[Any] = [
    *(
        None,
        True,
        5,
        -1,
        2**70,
        10**400,
        1e300,
        float("nan"),
        "NaN",
        "Infinity",
        "",
        "x" * 100_000,
        "../../x",
        "\ud800",
    ),
    *([], {}, [5], [None], ["\ud800"], [[1]], [{}], {"a": 5}, {"": None}, {"\ud800": {"b": []}}, DEEP),
]
# Artifacts without digests, as another program saves them: of each, one file is tried.
BARE = {"bare": "versions.json", "bare_b": "v1/metadata.json", "bare_c": "v1/manifest.json"}
SEALED_SHARE = 5  # what is sealed is all the same to who reads it: one odd value of so many is tried

WHOLE: list[bytes] = [
    *(
        b"",
        b"null",
        b"true",
        b"5",
        b"1e300",
        b"NaN",
        b'"x"',
        b"[]",
        b"{}",
        b"[5]",
        b'{"a": 5}',
        TOO_DEEP,
        b"\xff\xfe\x00",
    ),
    *(
        b"\xef\xbb\xbf{}",
        b"{" * 100_000,
        b'{"a": "\\ud800"}',
        b'{"\\ud800": 1}',
        b'{"a": "\xed\xa0\x80"}',
        b"9" * 5000,
        b"\x00" * 50,
    ),
]
GONE = object()


@dataclass(frozen=True, slots=True)
class Case:
    """One file that is not as it was.

    Attributes:
        file: Its path in the store.
        what: What was done to it.
        data: Its bytes.
    """

    file: str
    what: str
    data: bytes

    def __str__(self) -> str:
        return f"{self.file}: {self.what}"


def make(path: Path) -> None:
    """Make a store with every kind of JSON file in it."""
    everything.make(path)
    with playhead.open(path) as store:
        with store.run("pong", "old", run_id="run_d", config={"a": {"b": [1, None]}}, tags=["x"]) as run:
            run.summary(final=1.5)
            run.log({"loss": 1.0, "n": 3}, step=1, stage="train")
            with store.attach("run_d") as other:
                other.log({"loss": 2.0})
            with run.trace("small", form="json") as trace:
                trace.append({"w": [1.0]}, error=0.5)
        store.runs["run_d"].note("seen")
        with store.run("pong", "old", run_id="run_e", environment=False) as run:
            run.log({"loss": 2.0}, step=1)
        store.runs["run_e"].delete("not needed")
        edited = store.dataset("teleop")
        edited.set_static("uid0", {"task": "pour", "n": [1, {"a": "b"}]})
        edited.drop("uid1")
        edited.undrop("uid1")
        sources = path.parent / "sources"
        with store.run("pong", "old", run_id="run_f", environment=False) as run:
            for name in BARE:
                run.log_artifact(name, sources, aliases=["best"], tags=["t"], metadata={"score": 1})
            run.use_artifact("policy:v1")
    for run_id in ("run_c", "run_d", "run_e", "run_f"):  # as earlier versions left them
        next(path.glob(f"*/*/runs/{run_id}/checksums.json")).unlink()
    for name in BARE:
        _unseal(path / "artifacts/model" / name)
    for name in ("artifacts_created", "artifacts_used"):
        file = path / f"pong/old/runs/run_f/{name}.json"
        content = json.loads(file.read_text())
        content.pop("digest", None)
        file.write_text(json.dumps(content))
    killed_run(path, "run_g")
    list(verify(path, share=everything_share()))


def everything_share() -> Any:
    """Give a share of a store."""
    from fractions import Fraction

    return Fraction(1, 30)


def _unseal(folder: Path) -> None:
    """Take the digests of an artifact away, as of one that another program saved."""
    for name, keys in {
        "versions.json": ("digest", "metadata_digests"),
        "v1/metadata.json": ("manifest_digest",),
    }.items():
        file = folder / name
        content = json.loads(file.read_text())
        for key in keys:
            content.pop(key, None)
        file.write_text(json.dumps(content, indent=2))


def files_of(path: Path) -> list[str]:
    """List the files of a store that hold JSON."""
    found = [file for file in path.rglob("*") if file.is_file() and file.suffix in (".json", ".jsonl")]
    found += path.rglob(".deleted")
    kept = [file.relative_to(path).as_posix() for file in found if not {"files", "v2"} & {*file.parts}]
    others = {f"artifacts/model/{name}/{file}" for name in BARE for file in BARE.values() if BARE[name] != file}
    return sorted(set(kept) - others)


def holds_json(path: Path) -> bool:
    """Return whether a file is JSON by what is in it."""
    if not path.is_file() or {"files", ".dedup"} & {*path.parts}:
        return False
    try:
        return isinstance(json.loads(path.read_text().partition("\n{")[0]), (dict, list))
    except ValueError:
        return False


def cases_of(path: Path, file: str) -> Iterator[Case]:
    """List what is done to one file."""
    raw = (path / file).read_bytes()
    for data in WHOLE:
        yield Case(file, f"the whole is {data[:20]!r}", data)
    yield Case(file, "half of it", raw[: len(raw) // 2])
    yield Case(file, "a BOM before it", b"\xef\xbb\xbf" + raw)
    if file.endswith(".jsonl"):
        lines = raw.split(b"\n")
        first = json.loads(lines[0] or b"{}")
        for what, content in _changed(first):
            yield Case(file, what, b"\n".join([_encoded(content), *lines[1:]]))
        for data in WHOLE:
            yield Case(file, f"a line is {data[:20]!r}", b"\n".join([lines[0], data, *lines[1:]]))
        return
    for what, content in _changed(json.loads(raw)):
        yield Case(file, what, _encoded(content))


def _encoded(content: Any) -> bytes:
    return json.dumps(content).encode()


def _changed(content: Any) -> Iterator[tuple[str, Any]]:
    for place in _places(content):
        for value in (*ODD, GONE):
            yield (
                f"{'.'.join(map(str, place))} is {'gone' if value is GONE else repr(value)[:30]}",
                _with(content, place, value),
            )
    for value in ODD:
        yield f"unknown is {repr(value)[:30]}", {**content, "unknown": value} if isinstance(content, dict) else content


def _places(content: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner: list[tuple[Any, Any]] = []
    if isinstance(content, dict):  # of many names, such as packages, two do
        inner = list(content.items())[: 2 if above and len(content) > 12 else None]
    elif isinstance(content, list):
        inner = list(enumerate(content))[:1]
    for key, value in inner:
        yield (*above, key)
        yield from _places(value, (*above, key))


def _with(content: Any, place: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(content)
    at = changed
    for key in place[:-1]:
        at = at[key]
    if value is GONE:
        del at[place[-1]]
    else:
        at[place[-1]] = value
    return changed


def batches_of(path: Path) -> list[list[Case]]:
    """List all cases, those that have nothing to do with each other together."""
    waiting: dict[str, list[Case]] = {}
    for file in files_of(path):
        cases = list(cases_of(path, file))
        is_sealed = "/policy/" in file or "run_c/artifacts" in file
        waiting.setdefault(_owner_of(file), []).extend(cases[:: SEALED_SHARE if is_sealed else 1])
    alone = [[case] for case in waiting.pop("playhead.json")]
    rounds = max(map(len, waiting.values()))
    # Spread over the rounds, so that the last ones are not of one owner.
    spread = [
        [cases[number * len(cases) // rounds] for cases in waiting.values() if _is_next(number, len(cases), rounds)]
        for number in range(rounds)
    ]
    return [*spread, *alone]


def _is_next(number: int, count: int, rounds: int) -> bool:
    return number == 0 or number * count // rounds != (number - 1) * count // rounds


def _owner_of(file: str) -> str:
    """Say what a file is of: where one file of it is odd, another is perhaps not looked at."""
    folder, _, name = file.rpartition("/")
    if name in ("meta.json", "status.json", "summary.json", ".deleted", "run_g.1.json"):
        return "run_g" if "run_g" in file else folder
    return "/".join(file.split("/")[:3]) if file.startswith("artifacts/") else file


class Problem(AssertionError):
    """A command that ended otherwise than with an answer or an error of ours."""


class Trial:
    """All commands on copies of one store.

    Args:
        store: The store as it should be.
        work: A folder for copies.
    """

    def __init__(self, store: Path, work: Path) -> None:
        self._store = store
        self._path = work / "store"
        self._runner = CliRunner()
        with playhead.open(store, mode="r") as opened:
            self._due = self._listed(opened)

    def run(self, cases: Sequence[Case], with_catalogue: Sequence[bool] = (True, False)) -> list[str]:
        """Try cases that have nothing to do with each other at once; give what went wrong, by the case that it is of."""
        signal.signal(signal.SIGALRM, _too_long)
        problems = self._problems(cases, with_catalogue)
        if not problems or len(cases) == 1:
            return problems
        return [found for case in cases for found in self._problems([case], with_catalogue)] or [
            f"only together: {problems}"
        ]

    def _problems(self, cases: Sequence[Case], with_catalogue: Sequence[bool]) -> list[str]:
        problems: list[str] = []
        for has_catalogue in with_catalogue:
            shutil.rmtree(self._path, ignore_errors=True)
            shutil.copytree(self._store, self._path)
            for case in cases:
                (self._path / case.file).write_bytes(case.data)
            if not has_catalogue:
                for file in self._path.glob("playhead.db*"):
                    file.unlink()
            signal.alarm(LIMIT)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    self._try(cases, has_catalogue)
            except Exception as error:  # noqa: BLE001  # each case is told of, and the next one tried
                where = "".join(traceback.format_tb(error.__traceback__)[-6:])
                cause = error if isinstance(error, Problem) else f"{error!r}\n{where}"
                said = "; ".join(map(str, cases))
                problems.append(f"{said} ({'with' if has_catalogue else 'without'} catalogue): {cause}")
            finally:
                signal.alarm(0)
        return problems

    def _try(self, cases: Cases, has_catalogue: bool) -> None:
        for mode in ("r", "a") if has_catalogue else ("r",):
            self._opened(cases, mode, has_catalogue)
        if has_catalogue:
            self._command(cases, "verify", "--full")
            self._command(cases, "du")
            self._command(cases, "gc", "--dry-run")
            for words in (
                ("trace", "ls"),
                ("table", "ls"),
                ("info",),
                ("episode", "verify", str(self._path / "episodes/teleop")),
            ):
                self._command(cases, *words)
            self._command(cases, "rebuild")
            self._opened(cases, "a", False)
            self._command(cases, "repair")
            self._opened(cases, "r", True)
        else:
            self._opened(cases, "a", has_catalogue)
            self._command(cases, "verify")
            self._lists(cases)

    def _lists(self, cases: Cases) -> None:
        for run in [run for run in RUNS if any(f"/{run}/" in case.file for case in cases)]:
            for more in ((), ("--json",)):
                self._command(cases, "show", run, *more)
        for words in (
            *(("ls", "--limit", "0"), ("ls", "--deleted"), ("ls", "--json"), ("diff", "run_a", "run_b")),
            *(
                ("episode", "ls", str(self._path / "episodes/teleop")),
                ("artifact", "ls"),
                ("artifact", "show", "policy:v1"),
            ),
            *(("artifact", "show", "bare:v1"), ("artifact", "lineage", "policy:v1")),
            ("episode", "show", str(self._path / "episodes/teleop/000000000000/000000000001")),
        ):
            self._command(cases, *words)

    def _command(self, cases: Cases, *words: str) -> Result:
        store = () if words[0] == "episode" else ("--store", str(self._path))
        result = self._runner.invoke(program, [*words, *store])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            where = "".join(traceback.format_tb(result.exc_info[2])[-5:]) if result.exc_info else ""
            raise Problem(f"{' '.join(words)}: {result.exception!r}\n{where}")
        if (
            result.exit_code == 1
            and words[0] not in ("verify", "repair", "rebuild")
            and words[:2] != ("episode", "verify")
        ):
            self._check_named(cases, " ".join(words), result.stderr)
        return result

    def _check_named(self, cases: Cases, what: str, said: str) -> None:
        names = {Path(case.file).name for case in cases}
        if not any(name in said for name in names) and not re.search("no run|no version|has format [0-9]+, and", said):
            raise Problem(f"{what}: names none of {names}: {said[:300]}")

    def _opened(self, cases: Cases, mode: str, has_catalogue: bool) -> None:
        try:
            store = playhead.open(self._path, mode=mode)
        except PlayheadError as error:
            self._check_named(cases, f"open {mode}", str(error))
            if cases[0].file != "playhead.json":
                raise
            return
        with store:
            found = self._listed(store)
            missing = {what for what in self._due - found if not any(what[1] in case.file for case in cases)}
            if missing:
                raise Problem(f"open {mode} {'with' if has_catalogue else 'without'} catalogue: not listed: {missing}")
            for run in [*store.runs, *store.runs.deleted]:
                with contextlib.suppress(PlayheadError):
                    repr((run, run.config, run.tags, run.summary(), run.duration, run._repr_html_()))
                with contextlib.suppress(PlayheadError):
                    repr((run.environment, run.artifacts_created, run.artifacts_used))

    def _listed(self, store: playhead.Store) -> set[tuple[str, str]]:
        found = {("run", run.id) for run in [*store.runs, *store.runs.deleted]}
        found |= {("artifact", artifact.name) for artifact in store.artifacts}
        found |= {("episode", row["folder"]) for row in store.sql("SELECT folder FROM episode_folders").to_pylist()}
        found |= {("table", name) for name in store.tables}
        return found


RUNS = ("run_a", "run_b", "run_c", "run_d", "run_e", "run_f", "run_g")


def _too_long(_signal: int, _frame: Any) -> None:
    raise Problem(f"took over {LIMIT} s")
