"""`playhead completion`: completion of commands, options and run ids by the shell."""

from __future__ import annotations

import os
from pathlib import Path

import click

from playhead.cli.options import examples

_SHELLS = ("bash", "zsh", "fish")


@click.command(
    "completion",
    epilog=examples(
        'eval "$(playhead completion bash)"          # in ~/.bashrc',
        'eval "$(playhead completion zsh)"           # in ~/.zshrc',
        "playhead completion fish | source           # in ~/.config/fish/config.fish",
    ),
)
@click.argument("shell", type=click.Choice(_SHELLS), metavar="[SHELL]", required=False)
@click.pass_context
def command(context: click.Context, shell: str | None) -> None:
    """Print the completion script for your shell.

    With it, the Tab key completes commands, options, projects and run ids. SHELL is bash, zsh or fish; by default the
    one that the variable SHELL names. Put the line for yours, as below, where it reads its settings.
    """
    from click.shell_completion import get_completion_class

    chosen = shell or Path(os.environ.get("SHELL", "")).name
    kind = get_completion_class(chosen) if chosen in _SHELLS else None
    if kind is None:
        raise click.UsageError(f"name the shell: {', '.join(_SHELLS)}.")
    program = context.find_root()
    name = program.info_name or "playhead"
    variable = f"_{name}_COMPLETE".replace("-", "_").upper()
    click.echo(kind(program.command, {}, name, variable).source())
