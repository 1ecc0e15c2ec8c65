"""A window that shows what an agent does now, and all that it did: one slider from live back into the recording.

`timeline` and `deck` know no Qt: what is shown, and how the place in it moves. `picture`, `bar` and `window` draw it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playhead.errors import MissingExtra

if TYPE_CHECKING:
    from playhead.window.deck import Deck


def show(deck: Deck) -> None:
    """Open a window, and wait until it is closed.

    Raises:
        MissingExtra: Qt is not installed.
    """
    application().show(deck)


def application() -> Any:
    """Give the module that speaks to Qt.

    Raises:
        MissingExtra: Qt is not installed.
    """
    try:
        from playhead.window import window
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith(("PySide6", "shiboken6")):
            raise
        raise MissingExtra("PySide6", "qt") from error
    return window
