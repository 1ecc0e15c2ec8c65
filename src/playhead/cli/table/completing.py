"""What the shell offers when a table is asked for. The user waits, so nothing large is imported."""

from __future__ import annotations

from click.shell_completion import CompletionItem

from playhead.layout import Layout, locate


def tables(given: str | None, begun: str) -> list[CompletionItem]:
    """Offer the tables of the store that begin so; and paths, where none does."""
    names = [name for name in Layout(locate(given)).tables() if name.startswith(begun)]
    return [CompletionItem(name) for name in names] or [CompletionItem(begun, type="dir")]
