"""What the shell offers when a dataset or an episode is asked for. The user waits, so nothing large is imported."""

from __future__ import annotations

from click.shell_completion import CompletionItem

from playhead.layout import Layout, locate

_OFFERED = 50


def datasets(given: str | None, begun: str) -> list[CompletionItem]:
    """Offer the datasets of the store that begin so; and paths, where none does."""
    names = [name for name in Layout(locate(given)).datasets() if name.startswith(begun)]
    return [CompletionItem(name) for name in names] or [CompletionItem(begun, type="dir")]


def episodes(given: str | None, begun: str) -> list[CompletionItem]:
    """Offer datasets and, behind the slash, the places of their episodes, the last ones first."""
    layout = Layout(locate(given))
    head, slash, key = begun.rpartition("/")
    if not slash or head not in layout.datasets():
        names = [name for name in layout.datasets() if name.startswith(begun)]
        return [CompletionItem(f"{name}/") for name in names] or [CompletionItem(begun, type="dir")]
    folder = layout.dataset(head)
    count = sum(not folder.episode(number).is_unfinished() for number in folder.numbers())
    fitting = [f"{head}/{index}" for index in reversed(range(count)) if str(index).startswith(key)]
    return [CompletionItem(name) for name in fitting[:_OFFERED]]
