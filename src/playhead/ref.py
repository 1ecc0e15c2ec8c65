"""The address of one sample, as text; the only place that knows its form.

    ep://{dataset}/{uid}/{signal}/{index}

Names are percent-encoded where they hold anything but letters, digits and `-._~`, so that one address has one text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

from playhead.errors import BadRef

_EPISODE = re.compile(r"ep://([^/]+)/([A-Za-z0-9][A-Za-z0-9_-]*)/([^/]+)/(0|[1-9][0-9]{0,18})", re.ASCII)


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
        raise BadRef(f"{text!r} is not the address of a sample; one reads ep://dataset/uid/signal/17")
