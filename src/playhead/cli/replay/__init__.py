"""`playhead replay`: play an episode in the terminal, or write it as a film."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from playhead.cli.options import PathType, examples, json_option, store_option

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from playhead.cli.replay.address import Found
    from playhead.episode import Episode
    from playhead.export.film import Script

_SLOWEST, _FASTEST = 0.1, 16.0


def _complete(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    from playhead.cli import completing
    from playhead.cli.episode import completing as episodes

    given = context.params.get("store_path")
    found = [] if "/" in begun else completing.run_ids(given, begun)
    return found or episodes.episodes(given, begun)


@click.command(
    "replay",
    # Without this, the -1 for the last episode would be an option.
    context_settings={"ignore_unknown_options": True},
    epilog=examples(
        "playhead replay last",
        "playhead replay 20260101_10 -3 --speed 2",
        "playhead replay 20260101_100000_aaaaaa-ep0042",
        "playhead replay last 7 --out seventh.mp4 --from 100 --to 400",
        "playhead replay teleop/0 --signal cam.wrist --out grasp.gif",
        "playhead replay last --qt",
        "playhead replay last --json",
    ),
)
@click.argument("run", shell_complete=_complete)
@click.argument("episode", required=False)
@click.option("--signal", metavar="NAME", help="The pictures. Default: frame, else the first signal that has some.")
@click.option(
    "--speed", type=click.FloatRange(_SLOWEST, _FASTEST), default=1.0, metavar="X", help="X times as fast: 0.1 to 16."
)
@click.option(
    "--fps",
    type=click.FloatRange(min=0, max=1000, min_open=True),
    metavar="HZ",
    help="Steps a second. Default: as recorded; 30 where that was more than 100.",
)
@click.option("--from", "first", type=int, metavar="STEP", help="Begin with this step; -100 is 100 before the end.")
@click.option("--to", "stop", type=int, metavar="STEP", help="End before this step.")
@click.option("--loop", "loops", is_flag=True, help="Begin again at the end.")
@click.option("--once", is_flag=True, help="Leave at the end instead of waiting for a key.")
@click.option("--frames", type=click.IntRange(1), metavar="N", help="Print N frames, evenly spread, and leave.")
@click.option(
    "--out",
    type=PathType(dir_okay=False, path_type=Path),
    metavar="PATH",
    help="Write a film instead: .mp4 (extra video) or .gif.",
)
@click.option(
    "--scale",
    type=click.IntRange(1, 64),
    metavar="N",
    help="In a film, enlarge N times. Default: small pictures to about 480 pixels of height.",
)
@click.option("--force", is_flag=True, help="Replace the film where it is there.")
@click.option("--qt", is_flag=True, help="Play in a window (extra qt).")
@json_option
@store_option
@click.pass_context
def command(
    context: click.Context,
    run: str,
    episode: str | None,
    signal: str | None,
    speed: float,
    fps: float | None,
    first: int | None,
    stop: int | None,
    loops: bool,
    once: bool,
    frames: int | None,
    out: Path | None,
    scale: int | None,
    force: bool,
    qt: bool,
    as_json: bool,
    store_path: str | None,
) -> None:
    """Play an episode in the terminal, or write it as a film.

    RUN is `last`, an id or the beginning of one; EPISODE the number of an episode in it, where -1 is the last and the
    default, or its id. An id of an episode, or DATASET/INDEX, may stand alone.

    Keys: space pauses, ← and → step, ↑ and ↓ change the speed, 0 to 9 seek, l loops, s saves the frame as PNG, q
    leaves. Steps longer than two seconds are cut short. With --json, a line a step: step, ts_ns, action, reward,
    terminated, truncated, and action_name if the environment has names.
    """
    from playhead.cli.replay import address, endings

    _check_usage(context, run, episode, [("--json", as_json), ("--frames", frames), ("--out", out), ("--qt", qt)])
    _check_only_with("--out", out, [("--scale", scale), ("--force", force)])
    if loops and once:
        raise click.UsageError("--loop plays for ever and --once leaves at the end. Choose one.")
    with endings.orderly(), address.opened(store_path, run, episode) as found:
        if as_json:
            _print_steps(found.episode, signal, first, stop)
        elif out is not None:
            _write_film(
                found, out, signal=signal, speed=speed, fps=fps, first=first, stop=stop, scale=scale, force=force
            )
        elif qt:
            _open_window(found, signal, fps, speed=speed, loops=loops, first=first)
        else:
            from playhead.export.film import Script

            script = Script(found.episode, signal=signal, fps=fps, label=found.label)
            _show(script, script.scenes(first, stop), frames, speed=speed, loops=loops, once=once)


def _check_usage(context: click.Context, run: str, episode: str | None, exclusive: list[tuple[str, object]]) -> None:
    for text in (run, episode or ""):
        if text.startswith("-") and not text[1:].isdecimal():
            raise click.NoSuchOption(text.partition("=")[0], ctx=context)
    if episode is not None and "/" in run:
        raise click.UsageError(f"{run} names an episode: {episode} is one too many.")
    given = [name for name, value in exclusive if value not in (None, False)]
    if len(given) > 1:
        raise click.UsageError(f"{' and '.join(given)} exclude each other.")


def _check_only_with(name: str, given: object, others: list[tuple[str, object]]) -> None:
    for other, value in others:
        if given is None and value not in (None, False):
            raise click.UsageError(f"{other} is for films. Add {name} PATH.")


def _print_steps(episode: Episode, signal: str | None, first: int | None, stop: int | None) -> None:
    from playhead.cli.replay import steps

    steps.print_lines(episode, signal, first, stop)


def _write_film(found: Found, out: Path, **options: Any) -> None:
    from playhead.cli import words
    from playhead.cli.episode import progress
    from playhead.export.film import to_film

    count = to_film(found.episode, out, label=found.label, watch=progress.bar(f"Writing {out.name}"), **options)
    click.echo(f"Wrote {words.counted(count, 'frame')} to {out}.")


def _open_window(
    found: Found, signal: str | None, fps: float | None, *, speed: float, loops: bool, first: int | None
) -> None:
    from playhead import window
    from playhead.window.deck import Deck
    from playhead.window.timeline import Timeline

    window.application()  # before anything is read
    line = Timeline.of_episode(found.episode, signal=signal, fps=fps, label=found.label)
    deck = Deck(lambda: line, speed=speed, loops=loops)
    deck.seek(first + len(line) if first is not None and first < 0 else first or 0)
    window.show(deck)


def _show(script: Script, scenes: range, frames: int | None, *, speed: float, loops: bool, once: bool) -> None:
    from playhead.cli import output, words

    if frames is not None or not output.in_terminal():
        from playhead.cli.replay.printing import print_frames

        print_frames(script, scenes, frames or 1)
        if frames is None:
            click.echo(
                f"This is no terminal, so here is one frame of {words.counted(len(script.steps), 'step')}."
                " --frames N prints more of them, --json the steps, and --out FILE.mp4 or FILE.gif writes a film.",
                err=True,
            )
        return
    from playhead.cli.replay.player import Player

    player = Player(script, scenes, speed=speed, loops=loops, once=once)
    try:
        player.play()
    finally:
        for path in player.saved:
            click.echo(f"Wrote {path}.")
