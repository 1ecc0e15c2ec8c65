"""What the shell offers when a trace is asked for. The user waits, so nothing large is imported."""

from __future__ import annotations

from click.shell_completion import CompletionItem

from playhead.layout import Layout, locate

_OFFERED = 50


def traces(given: str | None, begun: str) -> list[CompletionItem]:
    """Offer RUN/NAME of the traces of the store that begin so, the newest runs first; and paths, where none does."""
    layout = Layout(locate(given))
    run_id, slash, _ = begun.partition("/")
    runs = [one for one in reversed(layout.traced_runs()) if (one == run_id if slash else one.startswith(begun))]
    found = [f"{one}/{name}" for one in runs[:_OFFERED] for name in layout.traces(one).files()]
    fitting = [text for text in found if text.startswith(begun)]
    return [CompletionItem(text) for text in fitting[:_OFFERED]] or [CompletionItem(begun, type="file")]
