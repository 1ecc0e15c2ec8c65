"""What a command says besides its answer: warnings, and one message where it fails, without a traceback."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import NoReturn

import click

from playhead.cli import words
from playhead.cli.spoken import as_typed
from playhead.errors import PlayheadError


@contextlib.contextmanager
def reporting(context: click.Context) -> Iterator[None]:
    """Turn errors that were written for the user, those of the operating system, and warnings into messages.

    Anything else is a mistake of the program and keeps its traceback.

    Args:
        context: Of the group of which a command runs.
    """
    try:
        with _warnings_as_messages():
            yield
    except BrokenPipeError:
        raise  # the reader has gone, as in `| head`: click ends without a word
    except PlayheadError as error:
        name, group = context.invoked_subcommand, context.command
        command = group.get_command(context, name) if name and isinstance(group, click.Group) else group
        _fail(as_typed(str(error), command))
    except OSError as error:
        _fail(f"{error.strerror}: {error.filename}" if error.strerror and error.filename else str(error))
    except KeyboardInterrupt:
        _fail("interrupted")


@contextlib.contextmanager
def _warnings_as_messages() -> Iterator[None]:
    with warnings.catch_warnings():
        for category in (RuntimeWarning, UserWarning):
            warnings.simplefilter("default", category)
        warnings.showwarning = _say_warning
        yield


def _say_warning(message: Warning | str, *_: object, **__: object) -> None:
    complain(f"warning: {message}")


def complain(message: str) -> None:
    """Write a message for the user to stderr."""
    click.echo(f"{click.style('playhead:', fg='red', bold=True)} {words.visible(message)}", err=True)


def _fail(message: str) -> NoReturn:
    complain(message)
    raise click.exceptions.Exit(1) from None
