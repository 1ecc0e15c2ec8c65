"""Every path in a store, and the rules for names that become paths."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from playhead.errors import BadName, Damaged

MARKER = "playhead.json"
DATABASE = "playhead.db"
RECORDING = ".recording"
TRASH = ".trash"
INCOMING = ".incoming"
QUARANTINE = ".quarantine"
RUNS = "runs"
EPISODES = "episodes"
REPLAY = "replay"
TABLES = "tables"
ARTIFACTS = "artifacts"
TRACES = "traces"
STEPS = "steps.npy"
BLOCK = 1000  # episodes in a folder of a dataset

TRACE_FORMS = ("trace", "json", "json.gz")

# Folders at the top of a store that hold lanes, not projects.
LANES = ("artifacts", "episodes", "replay", "runs", "tables", "traces")

MAX_NAME_BYTES = 200
EDITS = "edits.jsonl"

_UNFINISHED = ".unfinished"
_VECTOR, _VIDEO, _FRAMES = ".parquet", ".mp4", ".frames.parquet"
_NUMBER = re.compile(r"\d{12}")
_USED = re.compile(r"\.?(\d{12})(\.aborted)?$")

_DIGEST, _SHARD_OF_POOL = re.compile(r"[0-9a-f]{64}"), re.compile(r"[0-9a-f]{2}")
_VERSION = re.compile(r"v[1-9]\d{0,9}")
_VERSIONS = "versions.json"
_MEMBER = re.compile(r"(?!\.{1,2}(/|$))[^/\0]+(?:/(?!\.{1,2}(/|$))[^/\0]+)*")
_WINDOWS_PATH = 259  # characters of a whole path, without the byte that ends it
_UNSAFE_THERE = re.compile(r'[\\:*?"<>|\x00-\x1f]|[. ]$')
_WINDOWS_NAMES = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?", re.IGNORECASE)
_UNSAFE = re.compile(r'[/\\:*?"<>|%]|^\.|[. ]$')
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_REEL_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}(\.[1-9][0-9]{0,5})?")
_REEL, _JOURNAL = ".h5", ".journal"
_TAPE = re.compile(r"\.(.+)\.recording")
_TRACE = re.compile(r"(.+?)\.(trace|json|json\.gz)")
_SHARD, _FOREIGN_SHARD = re.compile(r"shards/steps_[0-9]{5,9}\.npy"), re.compile(r"steps-[0-9]{5,6}\.npy")
# Control, format (bidirectional marks, zero-width joiners), surrogate, private and unassigned characters, line and
# paragraph separators: two names that look alike must not differ in what cannot be seen.
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def check_label(name: str, what: str) -> str:
    """Check a name that never becomes a path, such as a metric's, and bring it into Unicode's composed form.

    Raises:
        BadName: The name cannot be stored; the message says why.
    """
    if not isinstance(name, str):
        raise BadName(f"a {what} is text, not {type(name).__name__}")
    if not name.strip():
        raise BadName(f"a {what} must not be empty")
    if name != name.strip():
        raise BadName(f"a {what} must not begin or end with white space: {name!r}")
    bad = next((char for char in name if unicodedata.category(char) in _INVISIBLE), None)
    if bad is not None:
        raise BadName(f"the {what} {name[:40]!r} contains the invisible character U+{ord(bad):04X}; leave it out")
    name = unicodedata.normalize("NFC", name)
    size = len(name.encode())
    if size > MAX_NAME_BYTES:
        raise BadName(f"the {what} {name[:40]!r}… has {size} bytes; at most {MAX_NAME_BYTES} are allowed")
    return name


def check_name(name: str, what: str = "name") -> str:
    """Check a name of a project or a run, from which a folder is made; otherwise as `check_label`.

    Slashes are allowed within (`ablation/lr`): they do not become folders.

    Raises:
        BadName: The name cannot be stored; the message says why.
    """
    name = check_label(name, what)
    if any(part.strip() in ("", ".", "..") for part in re.split(r"[/\\]", name)):
        raise BadName(f"the {what} {name!r} reads as a path; use 'a' or 'a/b', not '..', '/a' or 'a//b'")
    return name


def check_run_id(run_id: str) -> str:
    """Check an id, which is a part of file names and refs.

    Raises:
        BadName: It is not letters, digits, `_` and `-`, or too long.
    """
    if not isinstance(run_id, str) or not _RUN_ID.fullmatch(run_id) or _WINDOWS_NAMES.fullmatch(run_id):
        raise BadName(
            f"{run_id!r} cannot be a run id: use up to 128 letters, digits, '_' and '-', the first a letter or digit"
        )
    return run_id


def check_signal_name(name: str) -> str:
    """Check the name of a signal, which becomes the name of its files; otherwise as `check_label`.

    Raises:
        BadName: No file could be named so, or one that readers take for something else.
    """
    name = check_label(name, "signal name")
    if _UNSAFE.search(name) or _WINDOWS_NAMES.fullmatch(name):
        raise BadName(
            f'{name!r} cannot be the name of a signal, since it names its files: leave out / \\ : * ? " < > | % and '
            "a dot at either end; 'arm.joint' does what 'arm/joint' would"
        )
    if name.casefold().endswith(".frames"):
        raise BadName(f"{name!r} cannot be the name of a signal: '.frames' marks the index of a video")
    return name


def folder_name(name: str, *, top: bool = False) -> str:
    """Give the folder for a checked name: the name itself, with what file systems dislike percent-encoded.

    Args:
        name: A name that `check_name` gave.
        top: The folder lies at the top of the store, where lanes have theirs.
    """
    encoded = _UNSAFE.sub(lambda match: _percent(match[0]), name)
    if _WINDOWS_NAMES.fullmatch(encoded) or (top and encoded.casefold() in (*LANES, MARKER, DATABASE)):
        encoded = _percent(encoded[0]) + encoded[1:]
    if len(encoded.encode()) > 255:
        raise BadName(f"the name {name[:40]!r}… needs {len(encoded.encode())} bytes as a folder; make it shorter")
    return encoded


def _percent(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())


def name_of_folder(folder: str) -> str:
    """Give the name for which `folder_name` made a folder."""
    return unquote(folder)


def inside(relative: str, folder: Path) -> Path:
    """Check a relative path that was read from a file: what others wrote may be hostile.

    Raises:
        Damaged: It leads out of the folder.
    """
    path = PurePosixPath(relative)
    if path.is_absolute() or ".." in path.parts or "\x00" in relative or not path.parts:
        raise Damaged(folder, "paths that stay inside", repr(relative), "Do not use what you cannot trust")
    return Path(*path.parts)


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The files of one run, as people find them."""

    path: Path

    @property
    def meta(self) -> Path:
        """Identity, config, tags and notes."""
        return self.path / "meta.json"

    @property
    def status(self) -> Path:
        """Running or how it ended."""
        return self.path / "status.json"

    @property
    def summary(self) -> Path:
        """Final values, and the best of the primary metric."""
        return self.path / "summary.json"

    @property
    def environment(self) -> Path:
        """Where and with what the run ran."""
        return self.path / "environment.json"

    @property
    def logs(self) -> Path:
        """Text, a line each."""
        return self.path / "logs.txt"

    @property
    def media(self) -> Path:
        """Images."""
        return self.path / "media"

    @property
    def artifacts_created(self) -> Path:
        """The versions of artifacts that it made."""
        return self.path / "artifacts_created.json"

    @property
    def artifacts_used(self) -> Path:
        """The versions of artifacts that it used."""
        return self.path / "artifacts_used.json"

    @property
    def deleted(self) -> Path:
        """Present while the run is in the recycle bin."""
        return self.path / ".deleted"

    def events(self, part: int = 1) -> Path:
        """Give the event file of one recording process; the first has no number."""
        return self.path / ("events.jsonl" if part == 1 else f"events-{part}.jsonl")

    def parts(self) -> list[int]:
        """List the numbers of the event files that exist."""
        found = (re.fullmatch(r"events(?:-(\d+))?\.jsonl", path.name) for path in self.path.glob("events*.jsonl"))
        return sorted(int(match[1] or 1) for match in found if match)


@dataclass(frozen=True, slots=True)
class EpisodeFolder:
    """The files of one episode, as people and other programs find them.

    Attributes:
        root: The folder, as text: a dataset has tens of thousands, and paths are slow to make.
    """

    root: str

    @property
    def path(self) -> Path:
        """The folder."""
        return Path(self.root)

    @property
    def meta(self) -> str:
        """Identity and provenance."""
        return f"{self.root}/meta.json"

    @property
    def static(self) -> str:
        """What does not change during the episode."""
        return f"{self.root}/static.json"

    @property
    def unfinished(self) -> Path:
        """Present until the episode is whole."""
        return self.path / _UNFINISHED

    def is_unfinished(self) -> bool:
        """Tell whether the episode is not whole yet."""
        return os.path.exists(f"{self.root}/{_UNFINISHED}")

    @property
    def tape(self) -> Path:
        """What is recorded, until it is sealed into files."""
        return self.path / ".recording"

    @property
    def edits(self) -> Path:
        """Later facts about the episode; some programs keep them here, and not beside all episodes."""
        return self.path / EDITS

    def vector(self, signal: str) -> Path:
        """Name the file of a signal of numbers or texts."""
        return self.path / f"{signal}{_VECTOR}"

    def video(self, signal: str) -> Path:
        """Name the video of a signal of images."""
        return self.path / f"{signal}{_VIDEO}"

    def frames(self, signal: str) -> Path:
        """Name the index of a video."""
        return self.path / f"{signal}{_FRAMES}"

    def signals(self) -> dict[str, bool]:
        """List the signals that have files, and whether each is a video.

        Raises:
            Damaged: A video has no index.
        """
        names = sorted(os.listdir(self.root))
        videos = [name.removesuffix(_VIDEO) for name in names if name.endswith(_VIDEO) and name[0] != "."]
        for video in videos:
            if f"{video}{_FRAMES}" not in names:
                raise Damaged(self.video(video), f"its frames index {self.frames(video).name} beside it", "none")
        vectors = [
            name.removesuffix(_VECTOR)
            for name in names
            if name.endswith(_VECTOR) and not name.endswith(_FRAMES) and name[0] != "."
        ]
        return dict.fromkeys(vectors, False) | dict.fromkeys(videos, True)


@dataclass(frozen=True, slots=True)
class DatasetFolder:
    """The episodes of one dataset, in blocks."""

    path: Path

    @property
    def edits(self) -> Path:
        """Later facts about its episodes."""
        return self.path / EDITS

    def episode(self, number: int) -> EpisodeFolder:
        """Name the folder of an episode."""
        return EpisodeFolder(f"{self.path}/{number // BLOCK * BLOCK:012}/{number:012}")

    def tombstone(self, number: int) -> Path:
        """Name what an aborted episode leaves, so that its number is not used again."""
        return self.path / f"{number // BLOCK * BLOCK:012}" / f".{number:012}.aborted"

    def numbers(self) -> Iterator[int]:
        """Walk over the numbers of the episodes, in order."""
        for block in _numbered(self.path):
            yield from map(int, _numbered(self.path / block))

    def highest(self) -> int:
        """Give the highest number that was ever used; -1 where there is none."""
        highest = -1
        for block in reversed(_numbered(self.path)):
            for name in os.listdir(self.path / block):
                found = _USED.match(name)
                if found:
                    highest = max(highest, int(found[1]))
            if highest >= 0:
                break
        return highest


def _numbered(folder: Path) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if _NUMBER.fullmatch(name))
    except FileNotFoundError:
        return []


@dataclass(frozen=True, slots=True)
class ReelFiles:
    """The files of one reel: what one environment records in one run.

    Attributes:
        folder: Where reels lie.
        id: `{run_id}`, or `{run_id}.{number}` for all but the first reel of a run.
    """

    folder: Path
    id: str

    @property
    def file(self) -> Path:
        """What is sealed: arrays and rows, or where they lie in parts, a view of all parts."""
        return self.folder / f"{self.id}{_REEL}"

    @property
    def journal(self) -> Path:
        """What is recorded, until it is sealed."""
        return self.folder / f"{self.id}{_JOURNAL}"

    @property
    def parts(self) -> Path:
        """The folder of the parts."""
        return self.folder / self.id

    def part(self, number: int) -> Path:
        """Name a sealed part."""
        return self.parts / f"{number:04}{_REEL}"

    def next_parts(self) -> list[Path]:
        """Name the parts that exist, and the one that comes next."""
        count = sum(1 for _ in self.parts.glob(f"[0-9]*{_REEL}")) if self.parts.is_dir() else 0
        return [self.part(number) for number in range(count + 1)]

    def exist(self) -> bool:
        """Tell whether anything of the reel is there."""
        return self.file.exists() or self.journal.exists()

    def size(self) -> int:
        """Count the bytes of all of it."""
        within = [path for folder in (self.parts, self.journal) if folder.is_dir() for path in folder.iterdir()]
        return sum(path.stat().st_size for path in [self.file, *within] if path.is_file())


@dataclass(frozen=True, slots=True)
class ReplayFolder:
    """The reels of a store, or of any folder in which some lie."""

    path: Path

    @property
    def index(self) -> Path:
        """Which file holds which reel, for other programs."""
        return self.path / "index.json"

    def reel(self, reel_id: str) -> ReelFiles:
        """Name the files of a reel.

        Raises:
            BadName: The id cannot be one.
        """
        return ReelFiles(self.path, check_reel_id(reel_id))

    def reels(self) -> list[str]:
        """List the ids of all reels, those of one run in the order of their numbers."""
        try:
            names = os.listdir(self.path)
        except FileNotFoundError:
            return []
        stems = {name.removesuffix(end) for name in names for end in (_REEL, _JOURNAL) if name.endswith(end)}
        return sorted((stem for stem in stems if _REEL_ID.fullmatch(stem)), key=_run_and_number)

    def reels_of(self, run_id: str) -> list[str]:
        """List the ids of the reels of a run, in order."""
        return [reel_id for reel_id in self.reels() if _run_and_number(reel_id)[0] == run_id]


def reel_id_of(run_id: str, number: int) -> str:
    """Spell the id of a reel."""
    return run_id if number == 0 else f"{run_id}.{number}"


def run_of_reel(reel_id: str) -> str:
    """Give the run to which a reel belongs."""
    return _run_and_number(reel_id)[0]


def number_of_reel(reel_id: str) -> int:
    """Give the number of a reel within its run."""
    return _run_and_number(reel_id)[1]


def _run_and_number(reel_id: str) -> tuple[str, int]:
    run_id, _, number = reel_id.partition(".")
    return run_id, int(number or 0)


def check_reel_id(reel_id: str) -> str:
    """Check the id of a reel, which is a part of file names and refs.

    Raises:
        BadName: It is neither a run id nor one with a number behind a dot.
    """
    if not isinstance(reel_id, str) or not _REEL_ID.fullmatch(reel_id) or _WINDOWS_NAMES.fullmatch(reel_id):
        raise BadName(f"{reel_id!r} cannot name a replay: it is a run id, or one with a number, as in 'run_1.2'")
    return reel_id


@dataclass(frozen=True, slots=True)
class TableFolder:
    """The files of one training table."""

    path: Path

    @property
    def database(self) -> Path:
        """Where its rows come from, and how many of them count."""
        return self.path / "metadata.db"

    @property
    def manifest(self) -> Path:
        """What people and other programs read about it."""
        return self.path / "manifest.json"

    @property
    def steps(self) -> Path:
        """All of its rows, where they are in one file."""
        return self.path / STEPS

    def shard(self, number: int) -> str:
        """Name one file of rows, where there are several."""
        return f"shards/steps_{number:05}.npy"

    def part(self, name: str) -> Path:
        """Give a file of rows.

        Raises:
            Damaged: The name is none that a table gives.
        """
        if name != STEPS and not _SHARD.fullmatch(name):
            raise Damaged(self.database, "the name of a file of rows", repr(name), "Build the table again")
        return self.path / name

    def parts(self) -> list[str]:
        """Name the files of rows that are there."""
        found = [path.relative_to(self.path).as_posix() for path in (self.steps, *self.path.glob("shards/steps_*.npy"))]
        return sorted(
            name for name in found if (name == STEPS or _SHARD.fullmatch(name)) and (self.path / name).exists()
        )

    def foreign_parts(self) -> list[str]:
        """Name the files of rows as other programs number them, in order."""
        return sorted(path.name for path in self.path.glob("steps-*.npy") if _FOREIGN_SHARD.fullmatch(path.name))


def tape_beside(path: Path) -> Path:
    """Name the tape from which a file will be made: a hidden folder beside it."""
    return path.with_name(f".{path.name}.recording")


def check_trace_name(name: str) -> str:
    """Check the name of a trace, which is that of its file; otherwise as `check_label`.

    Raises:
        BadName: No file could be named so, or it would end twice.
    """
    name = check_label(name, "trace name")
    if _UNSAFE.search(name) or _WINDOWS_NAMES.fullmatch(name):
        raise BadName(
            f'{name!r} cannot be the name of a trace, since it names its file: leave out / \\ : * ? " < > | % and '
            "a dot at either end"
        )
    if _TRACE.fullmatch(name):
        raise BadName(f"{name!r} cannot be the name of a trace: its file gets such an ending from form=")
    return name


@dataclass(frozen=True, slots=True)
class TraceFolder:
    """The traces of one run: `{name}.trace`, `{name}.json` or `{name}.json.gz`, and the tapes of those in progress."""

    path: Path

    def file(self, name: str, form: str) -> Path:
        """Name the file of a trace.

        Raises:
            BadName: The name or the form cannot be one.
        """
        file = f"{check_trace_name(name)}.{form}"
        if not _TRACE.fullmatch(file) or form not in TRACE_FORMS:
            raise BadName(f"{form!r} is no form of a trace; there is: {', '.join(TRACE_FORMS)}")
        return self.path / file

    def files(self) -> dict[str, Path]:
        """Give the files of all traces by name, also of those of which there is only a tape yet."""
        try:
            names = os.listdir(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return {}
        taped = [match[1] for name in names if (match := _TAPE.fullmatch(name))]
        there = [name for name in names if not name.startswith(".")]
        found = {match[1]: self.path / name for name in [*taped, *there] if (match := _TRACE.fullmatch(name))}
        return dict(sorted(found.items()))


def check_artifact_name(name: str) -> str:
    """Check the name of an artifact, which is that of its folder; otherwise as `check_label`.

    Raises:
        BadName: No folder could be named so everywhere.
    """
    name = check_label(name, "artifact name")
    if _UNSAFE.search(name) or _WINDOWS_NAMES.fullmatch(name):
        raise BadName(
            f'{name!r} cannot be the name of an artifact, since it names its folder: leave out / \\ : * ? " < > | % '
            "and a dot at either end"
        )
    return name


def check_alias(alias: str) -> str:
    """Check a word that names a version of an artifact.

    Raises:
        BadName: It could be taken for something else.
    """
    alias = check_label(alias, "alias")
    if _UNSAFE.search(alias) or re.fullmatch(r"v?[0-9]+", alias):
        raise BadName(f"{alias!r} cannot be an alias: use a word such as 'best', not 'v3', without / \\ : or %")
    return alias


def check_member(path: str) -> str:
    """Check the path of a file within an artifact, or in what somebody says is one.

    Raises:
        BadName: It leads out, or no file system could have it.
    """
    if not _MEMBER.fullmatch(path):
        raise BadName(f"{path!r} cannot be a file of an artifact: it is a relative path such as 'a/b.txt'")
    if path.isascii() and len(path) < 256:  # nearly all
        return path
    try:
        size = max(len(part.encode()) for part in path.split("/"))
    except UnicodeEncodeError:
        raise BadName(f"the file name {path!r} is not UTF-8; rename the file") from None
    if size > 255:
        raise BadName(f"a name in {path[:60]!r}… has {size} bytes; file systems take at most 255")
    return path


def windows_problems(paths: Iterable[str]) -> Iterator[str]:
    """Say what Windows, and disks made for it, would refuse of some relative paths."""
    seen: dict[str, str] = {}
    for path in paths:
        parts = path.split("/")
        if len(path) > _WINDOWS_PATH:
            yield f"{path[:60]}… has {len(path)} characters; Windows takes {_WINDOWS_PATH} in all"
        bad = next((part for part in parts if _UNSAFE_THERE.search(part) or _WINDOWS_NAMES.fullmatch(part)), None)
        if bad is not None:
            yield f"{path}: {bad!r} cannot be a name on Windows"
        for end in range(1, len(parts) + 1):
            part = "/".join(parts[:end])
            other = seen.setdefault(part.casefold(), part)
            if other != part:
                yield f"{path} and {other} differ only in case, and are one file on Windows"
                break


@dataclass(frozen=True, slots=True)
class PoolFolder:
    """The contents of all artifacts, each once, named by its SHA-256."""

    path: Path

    @property
    def lock(self) -> Path:
        """Held together by those who save, and alone by who removes."""
        return self.path / ".lock"

    def blob(self, digest: str) -> str:
        """Name the file of a content, as text: there are many, and paths are slow to make.

        Raises:
            Damaged: The digest is none; it was read from a file.
        """
        if not _DIGEST.fullmatch(digest):
            raise Damaged(self.path, "a SHA-256 as 64 hexadecimal digits", repr(digest), "Restore it from a copy")
        return f"{self.path}/{digest[:2]}/{digest}"

    def shards(self) -> list[Path]:
        """List the folders that hold blobs."""
        try:
            return sorted(self.path / name for name in os.listdir(self.path) if _SHARD_OF_POOL.fullmatch(name))
        except FileNotFoundError:
            return []

    def is_blob(self, name: str) -> bool:
        """Tell whether a file of the pool is named as a blob is."""
        return _DIGEST.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class VersionFolder:
    """The files of one version of an artifact."""

    path: Path

    @property
    def metadata(self) -> Path:
        """What it is, who made it, and the digest of its manifest."""
        return self.path / "metadata.json"

    @property
    def manifest(self) -> Path:
        """Every file with its digest, and every reference."""
        return self.path / "manifest.json"

    @property
    def files(self) -> Path:
        """The files: links to the pool."""
        return self.path / "files"

    @property
    def deleted(self) -> Path:
        """Present while the version is deleted and can be restored."""
        return self.path / ".deleted"


@dataclass(frozen=True, slots=True)
class ArtifactFolder:
    """The versions of one artifact."""

    path: Path

    @property
    def type(self) -> str:
        """The kind of artifact."""
        return self.path.parent.name

    @property
    def name(self) -> str:
        """Its name."""
        return self.path.name

    @property
    def lock(self) -> Path:
        """Held by who changes what versions there are; other programs hold the same."""
        return self.path / ".lock"

    @property
    def versions(self) -> Path:
        """Which versions there are, and which words name them."""
        return self.path / _VERSIONS

    def version(self, number: int) -> VersionFolder:
        """Name the folder of a version."""
        return VersionFolder(self.path / f"v{number}")

    def numbers(self) -> list[int]:
        """List the numbers of the folders that are there, also of versions that do not count."""
        try:
            names = os.listdir(self.path)
        except FileNotFoundError:
            return []
        return sorted(int(name[1:]) for name in names if _VERSION.fullmatch(name))


@dataclass(frozen=True, slots=True)
class ArtifactsFolder:
    """The artifacts of a store, by type and name, and the pool of their contents."""

    path: Path

    @property
    def pool(self) -> PoolFolder:
        """Where the bytes are."""
        return PoolFolder(self.path / ".dedup")

    def artifact(self, type: str, name: str) -> ArtifactFolder:
        """Name the folder of an artifact.

        Raises:
            BadName: There can be none of this type or name.
        """
        return ArtifactFolder(self.path / check_artifact_name(type) / check_artifact_name(name))

    def at(self, type: str, name: str) -> ArtifactFolder:
        """Give a folder that was found there, whatever it is called."""
        return ArtifactFolder(self.path / type / name)

    def types(self) -> list[str]:
        """List the types that have a folder."""
        return [name for name in _names_in(self.path) if (self.path / name).is_dir()]

    def walk(self) -> Iterator[ArtifactFolder]:
        """Walk over the folders of all artifacts."""
        for type, name, _ in self.lists():
            yield self.at(type, name)

    def lists(self) -> Iterator[tuple[str, str, str]]:
        """Walk over type and name of all artifacts, each with its list of versions as text: there are many."""
        for type in self.types():
            with os.scandir(self.path / type) as found:
                names = sorted(entry.name for entry in found if entry.name[0] != "." and entry.is_dir())
            for name in names:
                yield type, name, f"{self.path}/{type}/{name}/{_VERSIONS}"


@dataclass(frozen=True, slots=True)
class Layout:
    """The files of one store."""

    root: Path

    @property
    def marker(self) -> Path:
        """What makes the folder a store: its format and identity."""
        return self.root / MARKER

    @property
    def database(self) -> Path:
        """The catalogue."""
        return self.root / DATABASE

    @property
    def recording(self) -> Path:
        """One small file for each process that is recording; what is left here after a crash names what to recover."""
        return self.root / RECORDING

    @property
    def trash(self) -> Path:
        """Where a run is while it is being removed for good."""
        return self.root / TRASH

    @property
    def incoming(self) -> Path:
        """Where runs of other programs are built before they are moved to their place; each in a folder named by id."""
        return self.root / INCOMING

    @property
    def quarantine(self) -> Path:
        """Where a repair puts what is damaged, in a folder for each time it was at work; nothing removes it."""
        return self.root / QUARANTINE

    @property
    def verified(self) -> Path:
        """How far the last check of a part of the store went, so that the next one goes on there."""
        return self.root / ".verified.json"

    def recording_entry(self, run_id: str, part: int) -> Path:
        """Name the file that says who records a part of a run."""
        return self.recording / f"{run_id}.{part}.json"

    def run(self, project: str, name: str, run_id: str) -> RunFolder:
        """Name the folder of a run."""
        return RunFolder(self.root / folder_name(project, top=True) / folder_name(name) / RUNS / run_id)

    def run_at(self, run_dir: str) -> RunFolder:
        """Give the folder that the catalogue or a claim knows by its relative path.

        Raises:
            Damaged: The path leads out of the store; it was not written by Playhead.
        """
        return RunFolder(self.root / inside(run_dir, self.root))

    def dataset(self, name: str) -> DatasetFolder:
        """Name the folder of a dataset."""
        return DatasetFolder(self.root / EPISODES / folder_name(name))

    def datasets(self) -> list[str]:
        """List the names of the datasets that have a folder."""
        return _names_in(self.root / EPISODES)

    def table(self, name: str) -> TableFolder:
        """Give the files of a training table."""
        return TableFolder(self.root / TABLES / folder_name(check_name(name, "name of a table")))

    def tables(self) -> list[str]:
        """List the names of the training tables that have a folder."""
        return _names_in(self.root / TABLES)

    def named(self, lane: str, name: str) -> list[Path]:
        """Give the folder of a table or a dataset, or the files of a trace (`run_id/name`); empty where there is none.

        Raises:
            BadName: The lane has none that can be named.
        """
        if lane == TABLES:
            found = [self.table(name).path]
        elif lane in ("datasets", EPISODES):
            found = [self.dataset(check_name(name, "dataset name")).path]
        elif lane == "traces":
            run_id, _, trace = name.partition("/")
            folder = self.root / lane / check_run_id(run_id)
            check_member(trace)
            there = os.listdir(folder) if folder.is_dir() else []
            found = [folder / file for file in sorted(there) if file == trace or file.startswith(f"{trace}.")]
        else:
            raise BadName(f"{lane!r} names no lane; use tables/NAME, datasets/NAME or traces/RUN/NAME")
        return [path for path in found if path.exists()]

    @property
    def artifacts(self) -> ArtifactsFolder:
        """Where artifacts and the pool of their contents lie."""
        return ArtifactsFolder(self.root / ARTIFACTS)

    @property
    def replay(self) -> ReplayFolder:
        """Where reels lie."""
        return ReplayFolder(self.root / REPLAY)

    def traces(self, run_id: str) -> TraceFolder:
        """Name the folder of the traces of a run.

        Raises:
            BadName: There can be no such run.
        """
        return TraceFolder(self.root / TRACES / check_run_id(run_id))

    def traced_runs(self) -> list[str]:
        """List the ids of the runs that have a folder of traces."""
        return [name for name in _names_in(self.root / TRACES) if _RUN_ID.fullmatch(name)]

    def relative(self, path: Path) -> str:
        """Give a path as the catalogue stores it: a store that moves takes it along."""
        return path.relative_to(self.root).as_posix()

    def run_folders(self) -> Iterator[RunFolder]:
        """Walk over the folders of all runs, found by their `meta.json`."""
        for meta in sorted(self.root.glob(f"*/*/{RUNS}/*/meta.json")):
            folder = meta.parent
            top = folder.relative_to(self.root).parts[0]
            if top not in LANES and not top.startswith(".") and not folder.name.startswith("."):
                yield RunFolder(folder)


def _names_in(folder: Path) -> list[str]:
    try:
        found = os.listdir(folder)
    except FileNotFoundError:
        return []
    return sorted(name_of_folder(name) for name in found if not name.startswith("."))


def locate(given: str | os.PathLike[str] | None = None) -> Path:
    """Find the store that a command means: the given path, else `PLAYHEAD_STORE`, else the one around the current
    folder, else `./store`.
    """
    chosen = given or os.environ.get("PLAYHEAD_STORE")
    if chosen:
        return Path(chosen)
    return store_around(Path.cwd()) or Path.cwd() / "store"


def dataset_of(path: Path, root: Path) -> str:
    """Name the dataset of a store that an episode's folder lies in."""
    return name_of_folder(path.absolute().relative_to(root / EPISODES).parts[0])


def store_around(path: Path) -> Path | None:
    """Find the store that a folder or file lies in; None where there is none."""
    return next((folder for folder in (path, *path.parents) if (folder / MARKER).is_file()), None)
