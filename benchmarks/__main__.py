"""All benchmarks of this project itself: `make bench`. Those beside other programs: `make bench-peers`."""

from __future__ import annotations

from benchmarks import catalogue, episodes, journal, logging, page, replay, signals, tables, video


def main() -> None:
    """Run one after the other."""
    for benchmark in (logging, journal, catalogue, signals, episodes, video, replay, tables, page):
        benchmark.main()
        print()


if __name__ == "__main__":
    main()
