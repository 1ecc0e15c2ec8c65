"""What the catalogue has yet to learn: what was recorded while it could not be written.

Files own the facts. So an index that cannot be brought up to date ends no recording: it is behind, says so once, and
is tried again.
"""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
import weakref
from collections.abc import Callable, Hashable, Iterator

from playhead.catalog.database import Database
from playhead.errors import Closed, NotFound

# How long whoever records waits for others who hold the catalogue: at first, and as long as it is behind.
FIRST_SECONDS, AGAIN_SECONDS = 2.0, 0.1

_all: weakref.WeakSet[Backlog] = weakref.WeakSet()


class Backlog:
    """Indexing that failed, and is done again. Safe in threads.

    Args:
        database: The catalogue.

    Attributes:
        has_left: A recording ended while its index was behind, and its claim says so.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._turn = threading.RLock()
        self._behind: dict[Hashable, Exception] = {}
        self._waiting: dict[Hashable, Callable[[], object]] = {}
        self.has_left = False
        _all.add(self)

    @property
    def trouble(self) -> Exception | None:
        """Why the catalogue is behind; None if it is not."""
        return next(iter(list(self._behind.values())), None)

    @contextlib.contextmanager
    def tolerating(self, key: Hashable | None, seconds: float = FIRST_SECONDS) -> Iterator[None]:
        """Let what the block does with the catalogue fail. The first failure warns.

        Args:
            key: What is indexed. It counts as behind until such a block succeeds, so the caller does it again. None
                for what nobody misses.
            seconds: How long to wait for others who hold the catalogue.

        Raises:
            NotFound: What is to be indexed is gone.
        """
        try:
            with self._database.patient(AGAIN_SECONDS if self._behind else seconds):
                yield
        except (NotFound, Closed):
            raise
        except Exception as error:  # noqa: BLE001  no mistake of an index, whatever it is, ends what is recorded
            is_first = not self._behind
            if key is not None:
                self._behind[key] = error
            if is_first:
                said = "the catalogue is behind what is recorded, of which nothing is lost; it catches up by itself"
                warnings.warn(f"{said}, or at the next open of the store: {error}", RuntimeWarning, stacklevel=3)
        else:
            self._behind.pop(key, None)

    def do(self, key: Hashable, work: Callable[[], object]) -> None:
        """Index something, or keep that to be done by `settle`; a later call for the same key takes its place."""
        with self._turn:
            self._waiting[key] = work
            self._try(key)
            if not self._behind:
                self.settle()

    def _try(self, key: Hashable) -> None:
        with self.tolerating(key):
            try:
                self._waiting[key]()
            except (NotFound, Closed):
                del self._waiting[key]  # nothing is left that could be indexed
                raise
            del self._waiting[key]

    def settle(self) -> None:
        """Do again what failed, up to the first that fails again."""
        if self._waiting:
            with self._turn:
                for key in list(self._waiting):
                    self._try(key)
                    if key in self._waiting:
                        return

    def leave(self, *keys: Hashable) -> None:
        """Forget what a recording that ends is behind with: its claim tells whoever recovers it."""
        with self._turn:
            for key in keys:
                self._behind.pop(key, None)
                self._waiting.pop(key, None)
            self.has_left = True

    def forget(self) -> None:
        """Let go in a forked child, where another thread of the parent may have held the lock."""
        self._turn, self._waiting, self._behind = threading.RLock(), {}, {}


def _after_fork() -> None:
    for backlog in list(_all):
        backlog.forget()


os.register_at_fork(after_in_child=_after_fork)
