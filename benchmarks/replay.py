"""What recording and reading replays costs, on six real Atari games.

Run: python -m benchmarks.replay [--part 1|2|4] [--steps 1000] [--long 300000] [--folder PATH]

Part 1 is the loop of a real game, without and with an agent that learns from it, 2 is writing flat out and with it 3,
the bytes, and 4 is reading. Frames are 210 × 160 × 3, observations 84 × 84 × 4, made by a seeded random policy with
frameskip 4. Ours and theirs run in one process, in turns. CPU is that of all threads and the kernel, unless it says
otherwise.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.replay_games import STEPS, play_all


def main() -> None:
    """Print all figures, or those of one part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", type=int, choices=(1, 2, 3, 4), default=None, help="only this one")
    parser.add_argument("--steps", type=int, default=STEPS, help="of each game")
    parser.add_argument("--long", type=int, default=300_000, help="frames of the file that single ones are read from")
    parser.add_argument("--folder", type=Path, default=Path(), help="where to write")
    options = parser.parse_args()
    print("Replays of six Atari games")
    with tempfile.TemporaryDirectory(prefix="bench-replay-", dir=options.folder) as scratch:
        folder = Path(scratch)
        if options.part in (None, 1):
            from benchmarks.replay_agent import with_an_agent
            from benchmarks.replay_loop import in_a_loop

            in_a_loop(folder)
            with_an_agent(folder)
        if options.part == 1:
            return
        games = play_all(options.steps)
        if options.part in (None, 2, 3):
            from benchmarks.replay_writing import flat_out

            flat_out(folder, games)
        if options.part in (None, 4):
            from benchmarks.replay_reading import episodes, single_frames

            episodes(folder, games)
            single_frames(folder, games, options.long)


if __name__ == "__main__":
    main()
