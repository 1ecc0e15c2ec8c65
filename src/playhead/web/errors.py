"""What went wrong, as an answer: a status and JSON with a message for people."""

from __future__ import annotations

import errno
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

from playhead import errors
from playhead.errors import PlayheadError
from playhead.web import answers
from playhead.web.schema import INTEGER, TEXT, record

SCHEMA = record({"error": record({"type": TEXT, "message": TEXT}, optional={"position": INTEGER})})

# The first that fits is meant.
_STATUS: tuple[tuple[type[PlayheadError], int], ...] = (
    (errors.NotFound, 404),
    (errors.OutOfRange, 404),
    (errors.Empty, 404),
    (errors.ReadOnly, 409),
    (errors.StoreLocked, 409),
    (errors.Exists, 409),
    (errors.Damaged, 422),
    (errors.QueryStopped, 503),
    (errors.Closed, 503),
    (errors.NotAStore, 503),
    (errors.StoreTooNew, 503),
    (errors.MissingExtra, 503),
)
_MOVING_S = 1
# Of a request that names no resource of ours, or one too many.
_NAMES = {
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "WrongMethod",
    408: "TooSlow",
    413: "TooLarge",
    415: "WrongType",
}


class Refused(PlayheadError):
    """A request that is answered with a status of its own, and not with that of an error of the library.

    Args:
        status: The HTTP status.
        message: What is wrong and what to do.
        headers: Further ones for the answer, such as Retry-After.
    """

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers or {}


class BadRequest(PlayheadError, ValueError):
    """A parameter or a body that cannot be understood."""


def status_of(error: PlayheadError) -> int:
    """Give the HTTP status of an error."""
    if isinstance(error, Refused):
        return error.status
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 400)


def name_of(status: int) -> str:
    """Give the word for a status that no error of the library stands behind."""
    return _NAMES.get(status) or HTTPStatus(status).phrase.title().replace(" ", "")


def answer(
    status: int,
    kind: str,
    message: str,
    *,
    position: int | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    """Make the answer for something that went wrong."""
    content: dict[str, Any] = {"type": kind, "message": message}
    if position is not None:
        content["position"] = position
    response = answers.json({"error": content}, status=status)
    response.headers.update({"Cache-Control": "no-store"} | (headers or {}))
    return response


def answer_for(error: PlayheadError, root: str) -> Response:
    """Make the answer for an error of the library.

    Args:
        error: The error.
        root: The folder of the store, which the message then does not give away.
    """
    status = status_of(error)
    kind = name_of(status) if isinstance(error, Refused) else type(error).__name__
    message, position = str(error), getattr(error, "position", None)
    if position is not None:  # the page shows the place in its own way
        message = message.partition("\n")[0]
    headers = error.headers if isinstance(error, Refused) else None
    return answer(status, kind, without_root(message, root), position=position, headers=headers)


def answer_for_system(error: OSError, root: str) -> Response:
    """Make the answer for an error of the operating system: a file that has gone, a medium that fails."""
    if isinstance(error, FileNotFoundError):
        return answer(404, "NotFound", without_root(f"a file is not there any more: {error.filename}", root))
    reason = error.strerror or errno.errorcode.get(error.errno or 0, "unknown")
    return answer(503, "SystemError", without_root(f"{reason}: {error.filename}", root))


def answer_for_moving() -> Response:
    """Make the answer for a replay whose files were put together anew each time that it was looked at."""
    message = "the replay is being put together right now; ask again"
    return answer(503, "Moving", message, headers={"Retry-After": str(_MOVING_S)})


def without_root(message: str, root: str) -> str:
    """Take the path of the store's folder out of a message."""
    return message.replace(f"{root}/", "").replace(f"the store {root}", "the store").replace(root, "the store")
