"""The address of one sample, as text; the only place that knows its forms.

    ep://{dataset}/{uid}/{signal}/{index}     a sample of an episode in a dataset
    h5://{reel}/{array}/{index}               a row of an array that was recorded while an agent played
    trace://{run_id}/{name}/{step}            a state of a trace

Names are percent-encoded where they hold anything but letters, digits and `-._~`, so that one address has one text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

from playhead.errors import BadRef

_EPISODE = re.compile(r"ep://([^/]+)/([A-Za-z0-9][A-Za-z0-9_-]*)/([^/]+)/(0|[1-9][0-9]{0,18})", re.ASCII)
_TRACE = re.compile(r"trace://([A-Za-z0-9][A-Za-z0-9_-]*)/([^/]+)/(0|[1-9][0-9]{0,18})", re.ASCII)
_FRAME = re.compile(r"h5://([A-Za-z0-9][A-Za-z0-9_-]*(?:\.[1-9][0-9]*)?)/([^/]+)/(0|[1-9][0-9]{0,18})", re.ASCII)

ROW, SAMPLE, STATE = "h5://run_id/frames/1523", "ep://dataset/uid/signal/17", "trace://run_id/name/730"
_MOST_TEXT = 200


def not_an_address(text: object, *forms: str, of: str = "sample") -> BadRef:
    """Build the error about a text that is none of the addresses that fit.

    Args:
        text: It.
        forms: Of those that fit, one each: `ROW`, `SAMPLE`, `STATE`.
        of: What it would be the address of.
    """
    shown = repr(text[:_MOST_TEXT] if isinstance(text, str) else text)
    fitting = " or ".join([*filter(None, [", ".join(forms[:-1])]), forms[-1]])
    return BadRef(f"{shown} is not the address of a {of}; one reads {fitting}")


@dataclass(frozen=True, slots=True)
class EpisodeRef:
    """A sample of a signal of an episode in a dataset.

    Attributes:
        dataset: The name of the dataset.
        uid: The identity of the episode.
        signal: The name of the signal.
        index: The position of the sample.
    """

    dataset: str
    uid: str
    signal: str
    index: int

    def __str__(self) -> str:
        return f"ep://{quote(self.dataset, safe='')}/{self.uid}/{quote(self.signal, safe='')}/{self.index}"

    @classmethod
    def parse(cls, text: str) -> EpisodeRef:
        """Read an address.

        Raises:
            BadRef: The text is not one, or not in the one form that it has.
        """
        match = _EPISODE.fullmatch(text) if isinstance(text, str) else None
        if match is not None:
            found = cls(unquote(match[1]), match[2], unquote(match[3]), int(match[4]))
            if str(found) == text:
                return found
        raise not_an_address(text, SAMPLE)


@dataclass(frozen=True, slots=True)
class FrameRef:
    """A row of an array of a replay.

    Attributes:
        run_id: The run, or one of its reels: `run_abc123`, `run_abc123.2`.
        dataset: The array: `frames`, `observations`, `observations.camera`.
        index: The row, which is the position of the step.
    """

    run_id: str
    dataset: str
    index: int

    def to_uri(self) -> str:
        """Give the text."""
        return f"h5://{self.run_id}/{quote(self.dataset, safe='')}/{self.index}"

    def __str__(self) -> str:
        return self.to_uri()

    @classmethod
    def parse(cls, text: str) -> FrameRef | None:
        """Read an address; None for anything that is not one."""
        match = _FRAME.fullmatch(text) if isinstance(text, str) else None
        if match is None:
            return None
        found = cls(match[1], unquote(match[2]), int(match[3]))
        return found if found.to_uri() == text else None


@dataclass(frozen=True, slots=True)
class TraceRef:
    """A state of a trace.

    Attributes:
        run_id: The run that recorded it.
        name: Its name.
        step: The number of the step.
    """

    run_id: str
    name: str
    step: int

    def __str__(self) -> str:
        return f"trace://{self.run_id}/{quote(self.name, safe='')}/{self.step}"

    @classmethod
    def parse(cls, text: str) -> TraceRef:
        """Read an address.

        Raises:
            BadRef: The text is not one, or not in the one form that it has.
        """
        match = _TRACE.fullmatch(text) if isinstance(text, str) else None
        if match is not None:
            found = cls(match[1], unquote(match[2]), int(match[3]))
            if str(found) == text:
                return found
        raise not_an_address(text, STATE, of="state")


def make_frame_ref(run_id: str, dataset: str, index: int) -> str:
    """Spell the address of a row."""
    return FrameRef(run_id, dataset, index).to_uri()


def parse(text: str) -> EpisodeRef | FrameRef | TraceRef:
    """Read an address of any form.

    Raises:
        BadRef: The text is none.
    """
    if isinstance(text, str) and text.startswith("ep://"):
        return EpisodeRef.parse(text)
    if isinstance(text, str) and text.startswith("trace://"):
        return TraceRef.parse(text)
    found = FrameRef.parse(text)
    if found is None:
        raise not_an_address(text, ROW, SAMPLE, STATE)
    return found
