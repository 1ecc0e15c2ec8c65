"""What the shell offers when an artifact is asked for. The user waits, so only file names are looked at."""

from __future__ import annotations

from click.shell_completion import CompletionItem

from playhead.errors import Damaged
from playhead.layout import ArtifactFolder, Layout, locate


def names(given: str | None, begun: str) -> list[CompletionItem]:
    """Offer the names of artifacts that begin so."""
    found = [folder for folder in _folders(given) if folder.name.startswith(begun)]
    return [CompletionItem(folder.name, help=folder.type) for folder in found]


def versions(given: str | None, begun: str) -> list[CompletionItem]:
    """Offer names, and behind a colon the aliases and numbers of versions."""
    name, colon, which = begun.partition(":")
    if not colon:
        return [CompletionItem(f"{item.value}:latest", help=item.help) for item in names(given, begun)]
    type, _, bare = name.rpartition("/")
    for folder in _folders(given):
        if folder.name == bare and type in ("", folder.type):
            offered = [*_aliases(folder), *(f"v{number}" for number in reversed(folder.numbers()))]
            return [CompletionItem(f"{name}:{word}") for word in offered if word.startswith(which)]
    return []


def _folders(given: str | None) -> list[ArtifactFolder]:
    return list(Layout(locate(given)).artifacts.walk())


def _aliases(folder: ArtifactFolder) -> list[str]:
    from playhead.lanes.files.versions import Versions

    try:
        return list(Versions.load(folder).aliases)
    except Damaged:
        return []
