"""The declaration of a route: from it come its path, the checking of what is asked, and its description.

    ROUTES = (
        Route(
            "GET", "/api/runs/{id}/metrics", read_metrics, "Read metrics of a run.",
            parameters=(in_path("id", "The run."), integer("points", "At most so many.", default=1000, most=10_000)),
            answer=Answer("The points.", record({...})),
        ),
    )

A handler takes an `Ask` and gives a `Response`, or a value that is answered as JSON. A plain function runs in a thread;
an `async` one must not touch the store. What a handler finds in `ask["points"]` has been checked: a request that does
not fit its declaration is answered with 400 before the handler is called.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from playhead.web.schema import ANYTHING, Schema

if TYPE_CHECKING:
    from starlette.datastructures import Headers

    from playhead.store import Store
    from playhead.web.site import Site

Kind = Literal["text", "integer", "number", "flag"]
Method = Literal["GET", "POST", "PATCH"]
Handler = Callable[["Ask"], Any]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One thing that a request says: a part of the path, of the query, or a member of the body.

    Attributes:
        name: What it is called.
        about: What it means, for people.
        kind: What its text is read as.
        default: What the handler gets where it is not given.
        required: Whether a request without it is refused.
        many: `repeated` in the query or a list in the body, `listed` as one text with commas (a name with a comma in it
            stands in backquotes); the handler gets a tuple.
        least: The smallest number.
        most: The largest number; of many, how many there may be.
        longest: How many characters a text may have.
        choices: The only texts that are taken.
    """

    name: str
    about: str
    kind: Kind = "text"
    default: Any = None
    required: bool = False
    many: Literal["", "repeated", "listed"] = ""
    least: float | None = None
    most: float | None = None
    longest: int = 500
    choices: tuple[str, ...] = ()


def in_path(name: str, about: str, *, longest: int = 500) -> Parameter:
    """Declare a part of the path; it may hold anything that was percent-encoded, slashes too."""
    return Parameter(name, about, required=True, longest=longest)


def text(
    name: str,
    about: str,
    *,
    default: str | None = None,
    required: bool = False,
    longest: int = 500,
    choices: tuple[str, ...] = (),
) -> Parameter:
    """Declare a text."""
    return Parameter(name, about, default=default, required=required, longest=longest, choices=choices)


def texts(name: str, about: str, *, required: bool = False, longest: int = 500, most: int = 1000) -> Parameter:
    """Declare a text that may be given several times; the handler gets a tuple."""
    return Parameter(
        name, about, default=(), required=required, many="repeated", longest=longest, least=int(required), most=most
    )


def names(name: str, about: str, *, longest: int = 500, most: int = 200) -> Parameter:
    """Declare a list of names with commas between them; the handler gets a tuple."""
    return Parameter(name, about, default=(), many="listed", longest=longest, most=most)


def integer(
    name: str,
    about: str,
    *,
    default: int | None = None,
    required: bool = False,
    least: int | None = None,
    most: int | None = None,
) -> Parameter:
    """Declare a whole number."""
    return Parameter(name, about, "integer", default=default, required=required, least=least, most=most)


def number(
    name: str,
    about: str,
    *,
    default: float | None = None,
    required: bool = False,
    least: float | None = None,
    most: float | None = None,
) -> Parameter:
    """Declare a finite number."""
    return Parameter(name, about, "number", default=default, required=required, least=least, most=most)


def flag(name: str, about: str, *, default: bool = False) -> Parameter:
    """Declare a yes or no: `1`, `true`, `0` or `false`."""
    return Parameter(name, about, "flag", default=default)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a route answers when all goes well.

    Attributes:
        about: What it is, for people.
        schema: Its JSON; left out where it is something else.
        types: Its content types. `*/*` stands for any.
    """

    about: str
    schema: Schema = field(default_factory=lambda: ANYTHING)
    types: tuple[str, ...] = ("application/json",)


@dataclass(frozen=True, slots=True)
class Route:
    """One thing that the server can be asked.

    Attributes:
        method: `GET`, `POST` or `PATCH`.
        path: With `{name}` for its parameters.
        handler: Takes the `Ask`.
        summary: One line for people.
        parameters: Those of the path and of the query.
        body: The members of the JSON object that is sent along; None where there is no body.
        answer: What comes back.
        may_be_unchanged: Whether 304 is an answer.
        may_be_nothing: Whether 204 is an answer.
    """

    method: Method
    path: str
    handler: Handler
    summary: str
    parameters: tuple[Parameter, ...] = ()
    body: tuple[Parameter, ...] | None = None
    answer: Answer = field(default_factory=lambda: Answer("The answer."))
    may_be_unchanged: bool = False
    may_be_nothing: bool = False

    @property
    def in_path(self) -> tuple[Parameter, ...]:
        """The parameters that are parts of the path."""
        return tuple(parameter for parameter in self.parameters if f"{{{parameter.name}}}" in self.path)

    @property
    def in_query(self) -> tuple[Parameter, ...]:
        """The parameters of the query."""
        return tuple(parameter for parameter in self.parameters if f"{{{parameter.name}}}" not in self.path)

    @property
    def is_async(self) -> bool:
        """Whether the handler runs in the event loop itself."""
        return inspect.iscoroutinefunction(self.handler)

    def rank(self) -> tuple[tuple[bool, str], ...]:
        """Give what routes are sorted by, so that `/api/runs/fields` is looked at before `/api/runs/{id}`."""
        return tuple((part.startswith("{"), part) for part in self.path.split("/"))


@dataclass(frozen=True, slots=True)
class Ask:
    """A checked request, as a handler gets it.

    Attributes:
        site: The store and what the handlers share.
        values: The parameters and the members of the body, by name.
        headers: The headers of the request; names in any case.
        client: The address from which it came; empty where that is not known.
    """

    site: Site
    values: Mapping[str, Any]
    headers: Headers
    client: str = ""

    @property
    def store(self) -> Store:
        """The store."""
        return self.site.store

    def __getitem__(self, name: str) -> Any:
        return self.values[name]
