"""Episode and EpisodeWriter: the contract, and all that follows from it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, KeysView, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast, final

from playhead import markup
from playhead.episode import shown
from playhead.errors import Empty, NotFound
from playhead.signal import Signal, keys

if TYPE_CHECKING:
    from playhead.sampling import Sample


class Keys(KeysView[str]):
    """The names of an episode's items; `episode.keys` and `episode.keys()` are the same."""

    def __call__(self) -> Keys:
        """Give the names; `dict(episode)` asks so."""
        return self


class Episode(ABC):
    """Signals that were recorded together, and static items. A mapping by name, and a window on time.

    `episode.time[t]` is a dict of the static items and each signal's sample at or before t; `episode.time[a:b]`,
    `[a:b:step]` and `[[t1, t2]]` are episodes whose signals are what `signal.time[…]` gives for the same key.

    An implementation gives `signals`, `static` and `meta`; the rest follows.
    """

    @property
    @abstractmethod
    def signals(self) -> Mapping[str, Signal[Any]]:
        """The signals by name."""

    @property
    @abstractmethod
    def static(self) -> dict[str, Any]:
        """The items that do not change."""

    @property
    @abstractmethod
    def meta(self) -> dict[str, Any]:
        """Identity and provenance; none of it is an item."""

    @property
    def uid(self) -> str | None:
        """The identity of the recording, by which edits and refs know it."""
        uid = self.meta.get("uid")
        return None if uid is None else str(uid)

    @property
    @final
    def keys(self) -> Keys:
        """The names of all items, signals and static ones."""
        return Keys(cast("Mapping[str, Any]", self))

    @final
    def __getitem__(self, name: str) -> Any:
        """Give a signal, or the value of a static item.

        Raises:
            NotFound: There is no such item; the message lists what there is.
        """
        signals = self.signals
        if name in signals:
            return signals[name]
        static = self.static
        if name in static:
            return static[name]
        raise NotFound.among("item", name, [*signals, *static])

    @final
    def __iter__(self) -> Iterator[str]:
        yield from self.signals
        yield from (name for name in self.static if name not in self.signals)

    @final
    def __len__(self) -> int:
        return len(set(self.signals) | set(self.static))

    def __bool__(self) -> bool:
        return True

    @final
    def __contains__(self, name: object) -> bool:
        return name in self.signals or name in self.static

    @property
    def start_ts(self) -> int:
        """The time at which every signal has begun: the latest of their first stamps.

        Raises:
            Empty: No signal has a sample.
        """
        return max(signal.start_ts for signal in self._with_samples())

    @property
    def last_ts(self) -> int:
        """The newest stamp of all signals.

        Raises:
            Empty: No signal has a sample.
        """
        return max(signal.last_ts for signal in self._with_samples())

    @property
    def duration_ns(self) -> int:
        """The time from the first sample of all to the last, 0 where there is none."""
        found = [signal for signal in self.signals.values() if len(signal)]
        return max(s.last_ts for s in found) - min(s.start_ts for s in found) if found else 0

    def _with_samples(self) -> list[Signal[Any]]:
        found = [signal for signal in self.signals.values() if len(signal)]
        if not found:
            raise Empty("the episode has no samples: it has no first and no last time")
        return found

    @property
    @final
    def time(self) -> EpisodeTimeIndexer:
        """Access by time: `episode.time[t]`, `[a:b]`, `[a:b:step]`, `[[t1, t2]]`."""
        return EpisodeTimeIndexer(self)

    @final
    def sample(
        self,
        times: Any,
        rules: Mapping[str, str] | None = None,
        *,
        default: str = "hold",
        tolerance: int | Mapping[str, int] | None = None,
    ) -> Sample:
        """Sample signals at any times, each by a rule of its own; see `playhead.sampling.sample`.

        Args:
            times: Times in nanoseconds: an array, a list, a range, or a slice with start, stop and step.
            rules: For each signal `hold`, `nearest`, `linear` or `next`.
            default: The rule of the signals that are not named.
            tolerance: How old a value may be, in nanoseconds, before it counts as padding; for all signals, or by name.

        Returns:
            The values by name, a row a time, with a mask and the staleness of each.
        """
        from playhead import sampling

        end = max((signal.last_ts for signal in self.signals.values() if len(signal)), default=None)
        return sampling.sample(self.signals, times, rules, default=default, tolerance=tolerance, until=end)

    def _repr_html_(self) -> str:
        return markup.block(
            self.uid or type(self).__name__,
            markup.line(*map(markup.soft, self._about())),
            shown.picture_of(self.signals),
            markup.table(map(shown.line_of, self.signals.items())),
            markup.facts(self.static),
        )

    def _about(self) -> list[str]:
        """Say what a notebook shows first."""
        return [f"{self.duration_ns / 1e9:.3g} s", f"{len(self.signals)} signals"]

    def show(self, *, height: int = 720) -> Any:
        """Show the episode in the page's player within a notebook, as `playhead.show` does.

        Args:
            height: In pixels.

        Raises:
            NotFound: It does not lie in a store.
        """
        import playhead

        return playhead.show(self, height=height)

    def __repr__(self) -> str:
        label = f" {self.uid}" if self.uid else ""
        names = ", ".join(list(self.signals)[:8]) + (", …" if len(self.signals) > 8 else "")
        return f"<{type(self).__name__}{label}, {self.duration_ns / 1e9:.3g} s, signals: {names or 'none'}>"


class EpisodeView(Episode):
    """An episode made of what is at hand.

    Args:
        signals: The signals by name.
        static: The items that do not change.
        meta: Identity and provenance.
    """

    def __init__(
        self, signals: Mapping[str, Signal[Any]], static: Mapping[str, Any], meta: Mapping[str, Any] | None = None
    ) -> None:
        self._signals = dict(signals)
        self._static = dict(static)
        self._meta = dict(meta or {})

    @property
    def signals(self) -> Mapping[str, Signal[Any]]:
        """The signals by name."""
        return self._signals

    @property
    def static(self) -> dict[str, Any]:
        """The items that do not change."""
        return dict(self._static)

    @property
    def meta(self) -> dict[str, Any]:
        """Identity and provenance."""
        return dict(self._meta)

    @property
    def start_ts(self) -> int:
        """The latest of the first stamps; 0 where there are no signals at all."""
        return super().start_ts if self._signals else 0

    @property
    def last_ts(self) -> int:
        """The newest stamp; 0 where there are no signals at all."""
        return super().last_ts if self._signals else 0


class EpisodeTimeIndexer:
    """Access to an episode by time; see `Episode`."""

    __slots__ = ("_episode",)

    def __init__(self, episode: Episode) -> None:
        self._episode = episode

    def __getitem__(self, key: Any) -> Any:
        """Give a snapshot as a dict, or an episode of windows or samples."""
        episode = self._episode
        if (
            isinstance(key, slice)
            and key.step is not None
            and key.stop is None
            and any(map(len, episode.signals.values()))
        ):
            key = slice(key.start, episode.last_ts + 1, key.step)
        if isinstance(key, slice) or keys.are_several(key):
            views = {name: signal.time[key] for name, signal in episode.signals.items()}
            return EpisodeView(views, episode.static, episode.meta)
        return {**episode.static, **{name: signal.time[key] for name, signal in episode.signals.items()}}


class EpisodeWriter(ABC):
    """Records an episode; a context manager whose end makes it whole.

    Leaving by an exception keeps what was recorded, marked as unfinished.
    """

    @abstractmethod
    def append(self, signal_name: str, data: Any, ts_ns: int) -> None:
        """Add a sample to a signal, made by its first one.

        Args:
            signal_name: The signal.
            data: The value, of the same type, shape and dtype as those before.
            ts_ns: Its time in nanoseconds, greater than the last one of this signal.

        Raises:
            OutOfOrder: The time does not increase.
            WrongShape, WrongType: The value differs from those before, or cannot be recorded.
            BadName: There can be no signal of this name.
            Exists: A static item has the name.
            Closed: The episode has ended.
        """

    @abstractmethod
    def set_static(self, name: str, data: Any) -> None:
        """Set an item that does not change.

        Args:
            name: The item.
            data: Text, a number, a boolean, bytes, or lists and dicts of them.

        Raises:
            Exists: An item or a signal of this name is there.
            WrongType: It cannot be kept as JSON.
            Closed: The episode has ended.
        """

    @abstractmethod
    def flush(self, *, sync: bool = False) -> None:
        """Wait until everything appended so far survives a kill of the process; with `sync`, a power cut."""

    @abstractmethod
    def close(self) -> None:
        """Make the episode whole. Closing twice is fine."""

    @abstractmethod
    def _leave_unfinished(self) -> None:
        """Keep what was recorded, marked as unfinished."""

    @abstractmethod
    def abort(self) -> None:
        """Stop, and remove all that was recorded. Aborting twice is fine.

        Raises:
            Closed: The episode is whole.
        """

    @final
    def __enter__(self) -> Self:
        return self

    @final
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self._leave_unfinished()
