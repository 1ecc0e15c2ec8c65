"""`playhead table split`: the runs of a table, parted by chance."""

from __future__ import annotations

import click

from playhead.cli import output
from playhead.cli.options import examples, json_option, store_option
from playhead.cli.table import naming
from playhead.cli.table.options import out_option, overwrite_option, shard_option, table_argument
from playhead.cli.table.printing import print_made


@click.command(
    "split",
    epilog=examples(
        "playhead table split 2048 train=0.9 test=0.1 --out 2048      # makes 2048-train and 2048-test",
        "playhead table split 2048 train=0.9 --seed 7 --out other     # makes other-train and other-rest",
    ),
)
@table_argument
@click.argument("shares", metavar="NAME=SHARE...", nargs=-1, required=True)
@click.option("--seed", type=int, default=0, metavar="N", help="Another one parts in another way. Default: 0.")
@out_option
@shard_option
@overwrite_option
@json_option
@store_option
def command(
    table: str,
    shares: tuple[str, ...],
    seed: int,
    target: str,
    shard_bytes: int | None,
    overwrite: bool,
    as_json: bool,
    store_path: str | None,
) -> None:
    """Part the runs of a table by chance, into new tables.

    No run is in two of them, and each stays in its part when the table grows. Training needs no copies: table.split in
    Python parts a table as it is.
    """
    wanted = _shares(shares)
    from playhead.table import Table, splitting

    whole = Table.open(naming.find(store_path, table), mmap=True)
    views = splitting.split(whole, wanted, seed)
    names = [*wanted, splitting.REST][: len(views)]
    if len(set(names)) < len(names):
        raise click.UsageError(f"{splitting.REST!r} is what is left over; give the share another name.")
    made = [
        Table.merge(
            [view],
            naming.new(store_path, f"{target.rstrip('/')}-{name}"),
            shard_bytes=shard_bytes,
            overwrite=overwrite,
            mmap=True,
        )
        for name, view in zip(names, views, strict=True)
    ]
    if as_json:
        output.print_json({name: naming.described(one) for name, one in zip(names, made, strict=True)})
        return
    for one in made:
        print_made(one, as_json=False)


def _shares(texts: tuple[str, ...]) -> dict[str, float]:
    found = {}
    for text in texts:
        name, equals, share = text.partition("=")
        try:
            found[name] = float(share)
        except ValueError:
            equals = ""
        if list(texts).count(text) > 1 or sum(other.partition("=")[0] == name for other in texts) > 1:
            raise click.UsageError(f"the share {name!r} is given twice.")
        if not equals or not name:
            raise click.UsageError(f"shares are NAME=SHARE, such as train=0.9, not {text!r}.")
    return found
