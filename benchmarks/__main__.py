"""All benchmarks of this project itself: `make bench`. Those beside other programs: `make bench-peers`."""

from __future__ import annotations

from benchmarks import (
    artifacts,
    care,
    catalogue,
    episodes,
    identity,
    journal,
    live,
    logging,
    page,
    replay,
    resimulate,
    signals,
    tables,
    traces,
    video,
)


def main() -> None:
    """Run one after the other."""
    for benchmark in (
        logging,
        journal,
        catalogue,
        artifacts,
        care,
        signals,
        episodes,
        identity,
        video,
        replay,
        resimulate,
        traces,
        live,
        tables,
        page,
    ):
        benchmark.main()
        print()


if __name__ == "__main__":
    main()
