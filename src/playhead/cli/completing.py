"""What the shell offers when a run or a project is asked for. The user waits, so nothing large is imported."""

from __future__ import annotations

from pathlib import Path

from click.shell_completion import CompletionItem

from playhead.catalog import glance
from playhead.cli.resolve import LAST
from playhead.layout import Layout, locate


def run_ids(given: str | None, begun: str, *, deleted: bool = False) -> list[CompletionItem]:
    """Offer the newest runs whose ids begin so, each with its project, name and status."""
    found = glance.runs(_database(given), begun, deleted=deleted)
    items = [CompletionItem(run.id, help=f"{run.project}/{run.name} {run.status}") for run in found]
    last = [CompletionItem(LAST, help="the newest of them")] if LAST.startswith(begun) else []
    return last + items


def projects(given: str | None, begun: str) -> list[CompletionItem]:
    """Offer the projects that begin so."""
    return [CompletionItem(name) for name in glance.projects(_database(given)) if name.startswith(begun)]


def _database(given: str | None) -> Path:
    return Layout(locate(given)).database
