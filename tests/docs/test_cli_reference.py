"""docs/cli.md says what the program says."""

from __future__ import annotations

from playhead.cli import COMMANDS
from tests.docs import cli_reference


def test_the_page_is_current() -> None:
    written = cli_reference.PAGE.read_text(encoding="utf-8")
    assert written == cli_reference.page(), f"docs/cli.md is not current. Run: {cli_reference.COMMAND}"


def test_the_page_has_every_command() -> None:
    for name in COMMANDS:
        assert f"## playhead {name}\n" in cli_reference.page()
