"""How requests name episodes: `replay/{id}` for what an agent played, `dataset/{name}/{uid}` for what lies in one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from playhead.errors import BadRef
from playhead.layout import MAX_NAME_BYTES
from playhead.ref import ROW, SAMPLE, EpisodeRef, not_an_address
from playhead.web.routes import Answer, Ask, Handler, Parameter, Route, in_path

REPLAY, DATASET = "replay", "dataset"

_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}", re.ASCII)

_ID = in_path("id", "The id of an episode that an agent played.", longest=200)
_NAME = in_path("name", "The dataset.", longest=MAX_NAME_BYTES)
_UID = in_path("uid", "The identity of an episode in it.", longest=200)


@dataclass(frozen=True, slots=True)
class Address:
    """The name of an episode.

    Attributes:
        id: The id of what an agent played, or the uid of an episode in a dataset.
        dataset: The dataset; None for what an agent played.
    """

    id: str
    dataset: str | None = None

    @property
    def kind(self) -> str:
        """`replay` or `dataset`."""
        return REPLAY if self.dataset is None else DATASET

    def __str__(self) -> str:
        parts = [self.id] if self.dataset is None else [self.dataset, self.id]
        return "/".join([self.kind, *(quote(part, safe="") for part in parts)])


def sample_ref(address: Address, signal: str) -> str:
    """Give what stands before the number in the address of a sample: `ep://…`, else the address of the episode."""
    text = str(EpisodeRef(address.dataset or "", address.id, signal, 0))
    try:
        EpisodeRef.parse(text)
    except BadRef:  # what an agent played, or the uid of another program
        text = f"{address}/{quote(signal, safe='')}/0"
    return text.removesuffix("0")


def parse_sample(text: str) -> tuple[Address, str, int]:
    """Read the address of a sample: `ep://…`, or the address of an episode with a signal and a number behind it.

    Raises:
        BadRef: The text is none.
    """
    if text.startswith("ep://"):
        ref = EpisodeRef.parse(text)
        return Address(ref.uid, ref.dataset), ref.signal, ref.index
    parts = text.split("/")
    if len(parts) != {REPLAY: 4, DATASET: 5}.get(parts[0]) or not _NUMBER.fullmatch(parts[-1]):
        raise not_an_address(text, ROW, SAMPLE)
    names = [unquote(part) for part in parts[1:-1]]
    address = Address(names[0]) if parts[0] == REPLAY else Address(names[1], names[0])
    return address, names[-1], int(parts[-1])


def address_of(ask: Ask) -> Address:
    """Give the episode that a request names."""
    return Address(ask["id"]) if "id" in ask.values else Address(ask["uid"], ask["name"])


def routes_of_an_episode(
    tail: str,
    handler: Handler,
    summary: str,
    *,
    parameters: tuple[Parameter, ...] = (),
    answer: Answer,
    may_be_unchanged: bool = False,
) -> tuple[Route, Route]:
    """Declare what can be asked of an episode, under both kinds of addresses.

    Args:
        tail: The path behind the address.
        handler: Takes the `Ask`.
        summary: One line for people.
        parameters: Those of the tail and of the query.
        answer: What comes back.
        may_be_unchanged: Whether 304 is an answer.
    """
    common: dict[str, Any] = {"answer": answer, "may_be_unchanged": may_be_unchanged}
    played = f"/api/episodes/{REPLAY}/{{id}}{tail}"
    recorded = f"/api/episodes/{DATASET}/{{name}}/{{uid}}{tail}"
    return (
        Route("GET", played, handler, summary, parameters=(_ID, *parameters), **common),
        Route("GET", recorded, handler, summary, parameters=(_NAME, _UID, *parameters), **common),
    )
