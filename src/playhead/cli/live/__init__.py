"""`playhead live`: watch what runs now, in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from playhead.cli.options import examples, json_option, store_option

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def _complete(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    from playhead import live

    return [CompletionItem(one.run_id, help=one.state) for one in live.runs() if one.run_id.startswith(begun)]


@click.command(
    "live",
    epilog=examples(
        "playhead live",
        "playhead live 20260101_10",
        "playhead live last --once",
        "playhead live --qt",
        "playhead live --json",
    ),
)
@click.argument("run", required=False, shell_complete=_complete)
@click.option("--once", is_flag=True, help="Print the newest frame, and leave.")
@click.option("--qt", is_flag=True, help="Watch in a window, with a slider back into the recording (extra qt).")
@json_option
@store_option
def command(run: str | None, once: bool, qt: bool, as_json: bool, store_path: str | None) -> None:
    """Watch what runs now: its frames, reward, return and step rate.

    RUN is `last`, an id or the beginning of one, among those that are published on this machine with live=True; without
    it, the one that published last. Programs that write MOSAIC's fast lane are shown too. No store is needed, but for
    what --qt shows of the recording.

    Keys: ← and → or 1 to 9 show another run, space holds the picture, q leaves. With --json, a list of what is live.
    """
    from playhead import live
    from playhead.cli import output
    from playhead.cli.live import choosing

    live.remove_stale()
    if as_json:
        output.print_json([choosing.described(one) for one in choosing.fitting(live.runs(), run)])
        return
    chosen = choosing.chosen(live.runs(), run)
    if qt:
        from playhead.cli.live.windowed import watch_in_window

        watch_in_window(chosen, store_path)
        return
    if once or not output.in_terminal():
        from playhead.cli.live.view import print_once

        print_once(chosen)
        return
    from playhead.cli.live.watching import watch
    from playhead.cli.replay import endings

    with endings.orderly():
        watch(chosen)
