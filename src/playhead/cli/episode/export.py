"""`playhead episode export`: an episode as files of other programs."""

from __future__ import annotations

from pathlib import Path

import click

from playhead.cli import output, words
from playhead.cli.episode import progress
from playhead.cli.episode.options import episode_argument, signals_option
from playhead.cli.episode.source import find_episode
from playhead.cli.options import PathType, examples, json_option, store_option

_FORMATS = ("csv", "parquet", "npz", "frames")


@click.command(
    "export",
    epilog=examples(
        "playhead episode export teleop/0 force.csv --signals force,gripper",
        "playhead episode export teleop/0 aligned.parquet --rate 30 --rules force=linear",
        "playhead episode export teleop/-1 raw.npz",
        "playhead episode export teleop/-1 pictures --format frames --signals cam.wrist --rate 2",
    ),
)
@episode_argument
@click.argument("target", type=PathType(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    metavar="FORMAT",
    help="csv, parquet, npz or frames. Default: by the end of TARGET.",
)
@click.option(
    "--rate", type=click.FloatRange(min=0, min_open=True), metavar="HZ", help="So many rows, or frames, a second."
)
@click.option(
    "--rules",
    multiple=True,
    metavar="SIGNAL=RULE",
    help="How a signal is sampled at a rate: hold (the default), nearest, linear or next. Repeat for several.",
)
@signals_option
@click.option("--video", is_flag=True, help="Into an npz, decode images too. It becomes very large.")
@click.option("--force", is_flag=True, help="Replace what is there.")
@json_option
@store_option
def command(
    episode: str,
    target: Path,
    form: str | None,
    rate: float | None,
    rules: tuple[str, ...],
    signals: list[str],
    video: bool,
    force: bool,
    as_json: bool,
    store_path: str | None,
) -> None:
    """Write an episode as CSV, Parquet, NumPy arrays or images.

    csv and parquet are one table: with --rate a row a time and all signals beside each other, without it a row a sample
    (signal, ts_ns, value). npz has every signal raw, as values/NAME and timestamps/NAME. frames are PNG files of the
    cameras in the folder TARGET. EPISODE is DATASET/INDEX, DATASET/UID or a path.
    """
    chosen = form or _by_ending(target)
    rule_of = _rules(rules)
    if chosen in ("npz", "frames") and rules:
        raise click.UsageError(f"--rules are for csv and parquet, not for {chosen}.")
    if rules and rate is None:
        raise click.UsageError("--rules say how to sample at a rate. Add --rate.")
    if chosen == "npz" and rate is not None:
        raise click.UsageError("npz holds signals raw. For a rate, choose csv, parquet or frames.")
    if video and chosen != "npz":
        raise click.UsageError("--video is for npz; images go to --format frames.")
    opened = find_episode(store_path, episode).open()

    from playhead import export

    names = signals or None
    if chosen == "frames":
        written = export.to_frames(
            opened, target, signals=names, rate=rate, force=force, watch=progress.bar("Writing frames")
        )
        said = ", ".join(
            f"{words.counted(count, 'frame')} of {words.one_line(name)}" for name, count in written.items()
        )
        answer: dict[str, object] = {"frames": written}
    elif chosen == "npz":
        held = export.to_npz(opened, target, signals=names, video=video, force=force)
        said, answer = words.counted(len(held), "signal"), {"signals": held}
    else:
        to_table = export.to_csv if chosen == "csv" else export.to_parquet
        rows = to_table(opened, target, rate=rate, rules=rule_of, signals=names, force=force)
        said, answer = words.counted(rows, "row"), {"rows": rows}
    if as_json:
        output.print_json({"path": str(target), "format": chosen} | answer)
    else:
        click.echo(f"Wrote {said} to {target}.")


def _by_ending(target: Path) -> str:
    ending = target.suffix.lower().removeprefix(".")
    if ending not in _FORMATS[:3]:
        raise click.UsageError(f"{target} does not say what to write. Add --format {'|'.join(_FORMATS)}.")
    return ending


def _rules(texts: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for text in (part.strip() for given in texts for part in given.split(",") if part.strip()):
        name, equals, rule = text.rpartition("=")
        if not equals or not name:
            raise click.UsageError(f"--rules are SIGNAL=RULE, such as force=linear, not {text!r}.")
        found[name] = rule
    return found
