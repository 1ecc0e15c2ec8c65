"""How a manifest spells files: taken apart and put together, its text is the same as written anew."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.lanes.files import entries
from playhead.lanes.files.entries import FileEntry
from playhead.lanes.files.manifest import Manifest, Reference

NAMES = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="/\0"), min_size=1, max_size=8)
PATHS = st.lists(st.lists(NAMES, min_size=1, max_size=3).map("/".join), unique=True, max_size=12).map(sorted)


def is_inside(path: str) -> bool:
    return not {".", "..", ""} & {*path.split("/")}


def entry(path: str, size: int = 3) -> FileEntry:
    return FileEntry(path, size, "sha256:" + "0a" * 32, 1.5)


@given(PATHS, st.integers(0, 1 << 52))
def test_what_is_parted_is_the_same_when_joined(paths: list[str], size: int) -> None:
    files = tuple(entry(path, size) for path in paths)
    references = (Reference('s3://a/"},\n    {', None, 7, {"files": [{"path": "x"}]}),)
    manifest = Manifest(files, references, 2.5, ("empty",), tuple(paths[:1]))
    data = manifest.encode()
    written = json.loads(data)
    assert [one["path"] for one in written["files"]] == paths
    assert written["total_size"] == size * len(paths) + 7
    assert list(written)[:6] == ["files", "references", "total_size", "total_files", "total_references", "created_at"]
    parted = entries.parts_of(data)
    if parted is None:
        assert any(json.dumps(path, ensure_ascii=False) != f'"{path}"' or not is_inside(path) for path in paths)
        return
    assert all(map(is_inside, paths))
    assert parted.files == entries.spelled(files)
    assert parted.rest.get("executables", []) == paths[:1]
    assert entries.size_of(parted.files) == size * len(paths)
    rest = {key: value for key, value in parted.rest.items() if key != "files"}
    assert entries.joined(parted.files, rest) == data
    assert data == json.dumps(written, indent=2, ensure_ascii=False).encode() + b"\n"


@given(PATHS, NAMES)
def test_what_lies_in_a_folder_is_found(paths: list[str], name: str) -> None:
    lines = entries.spelled(map(entry, paths))
    for prefix in {"", f"{name}/", *(path.rpartition("/")[0] + "/" for path in paths)}:
        expected = [path for path in paths if path.startswith(prefix)]
        assert entries.below(lines, prefix) == entries.spelled(map(entry, expected))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'{\n  "files"', b'{"files"'),
        (b'"a"', b'"../a"'),
        (b'"a"', b'"/a"'),
        (b'"a"', b'"a/.."'),
        (b'"a"', b'"x//a"'),
        (b'"a"', b'"a/"'),
        (b'"a"', b'"\\u002e./a"'),
        (b'"a"', b'"%b"' % (b"a" * 256)),
        (b"1.5", b"[]"),
        (b'"created_at": 0.0', b'"created_at": 0.0, "executables": [1]'),
        (b'"size": 3', b'"size": -3'),
        (b'"size": 3', b'"size": 3.5'),
        (b"sha256:", b"md5:"),
        (b'      "path": "a",\n      "size": 3,\n', b'      "size": 3,\n      "path": "a",\n'),
        (b"\n  ],", b"],"),
    ],
)
def test_what_was_written_otherwise_is_not_taken_apart(old: bytes, new: bytes) -> None:
    data = Manifest((entry("a"), entry("b"))).encode()
    assert entries.parts_of(data) is not None
    assert old in data
    assert entries.parts_of(data.replace(old, new)) is None
