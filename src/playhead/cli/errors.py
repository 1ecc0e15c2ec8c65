"""How a command fails: one message on stderr, exit code 1, no traceback."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NoReturn

import click

from playhead.errors import PlayheadError


@contextlib.contextmanager
def reporting() -> Iterator[None]:
    """Turn errors that were written for the user, and those of the operating system, into a message.

    Anything else is a mistake of the program and keeps its traceback.
    """
    try:
        yield
    except BrokenPipeError:
        raise  # the reader has gone, as in `| head`: click ends without a word
    except PlayheadError as error:
        _fail(str(error))
    except OSError as error:
        _fail(f"{error.strerror}: {error.filename}" if error.strerror and error.filename else str(error))
    except KeyboardInterrupt:
        _fail("interrupted")


def complain(message: str) -> None:
    """Write a message for the user to stderr."""
    click.echo(f"{click.style('playhead:', fg='red', bold=True)} {message}", err=True)


def _fail(message: str) -> NoReturn:
    complain(message)
    raise click.exceptions.Exit(1) from None
