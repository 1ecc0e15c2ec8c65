"""What the documents say is so."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import playhead
from playhead.catalog import fields, schema

ROOT = Path(__file__).parent.parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL)


def test_the_example_in_the_readme_runs(tmp_path: Path) -> None:
    (example,) = blocks(ROOT / "README.md", "python")
    result = subprocess.run([sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "0.01 " in result.stdout
    assert len(example.strip().splitlines()) <= 24


@pytest.mark.parametrize(
    "name",
    [
        "episodes",
        "replay",
        "training",
        "derived",
        "contract",
        "tables",
        "traces",
        "resimulation",
        "live",
        "environments",
        "data-safety",
    ],
)
def test_the_examples_in_a_document_run(name: str, tmp_path: Path) -> None:
    example = "\n".join(blocks(ROOT / "docs" / f"{name}.md", "python"))
    environment = {**os.environ, "SB3_LOGDIR": str(tmp_path / "logs")}  # else a trainer leaves a folder behind
    result = subprocess.run(
        [sys.executable, "-c", example], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert "assert " in example


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text()):
        assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_every_table_and_column_is_described() -> None:
    text = (ROOT / "docs" / "format.md").read_text()
    for table in schema.metadata.tables.values():
        (row,) = re.findall(rf"^\| `{table.name}` \|.*$", text, re.MULTILINE)
        assert re.findall(r"`(\w+)`", row.split("|")[2]) == [column.name for column in table.columns]
    for view in schema.VIEWS:
        assert f"| `{view}` |" in text


def test_every_field_of_the_where_language_is_described() -> None:
    text = (ROOT / "docs" / "where.md").read_text()
    for name in [*fields._COLUMNS, *fields._SERIES, "tags", "config", "summary"]:
        assert re.search(rf"`{name}(\.…)?`", text), name


def test_the_map_has_every_room() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    for path in Path(playhead.__file__).parent.iterdir():
        if path.suffix == ".py" and not path.name.startswith("__"):
            assert f"── {path.name} " in text, path.name
        elif path.is_dir() and any(path.glob("*.py")):
            assert f"── {path.name}/ " in text, path.name


def test_the_version_is_said_once() -> None:
    assert f'version = "{playhead.__version__}"' in (ROOT / "pyproject.toml").read_text()
    assert f"## {playhead.__version__}" in (ROOT / "CHANGELOG.md").read_text()
