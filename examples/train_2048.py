"""Teach a small network to play 2048: games, their files, a training table, random batches, a better player.

A player that looks two moves ahead plays some hundred games, which are written as `.a2run2` files. They become a
training table, one row per move, and a network learns from it, batch by batch, to choose as the player did. It does
not look ahead, and still plays far better than before. About a minute on two cores.

    python examples/train_2048.py --store 2048-store
"""

from __future__ import annotations

import argparse
from pathlib import Path

import game_2048
import numpy as np
import torch
from torch import nn

import playhead
from playhead.table import games

BATCH = 1024
SHIFTS = torch.arange(60, -1, -4)
MOVES = torch.arange(4)


class Policy(nn.Module):
    """Turn a board so that each of the four moves is one to the left, and value them all in the same way."""

    def __init__(self, width: int = 48) -> None:
        super().__init__()
        self.line = nn.Linear(4 * 16, width)  # a row or a column, each tile as one of sixteen
        self.board = nn.Sequential(nn.Linear(8 * width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, boards: torch.Tensor) -> torch.Tensor:
        tiles = (boards[:, None] >> SHIFTS & 15).view(-1, 4, 4)
        up, down = tiles.transpose(1, 2), tiles.flip(1).transpose(1, 2)
        turned = nn.functional.one_hot(torch.stack([up, down, tiles, tiles.flip(2)], 1), 16).float()
        lines = torch.cat([turned, turned.transpose(2, 3)], 2).flatten(3)
        return self.board(self.line(lines).relu().flatten(2)).squeeze(2)


@torch.no_grad()
def mean_score(policy: Policy, count: int, seed: int) -> float:
    """Let the network play, always the legal move that it values most."""

    def choose(boards: np.ndarray) -> np.ndarray:
        return policy(torch.from_numpy(boards.view(np.int64))).double().numpy()

    return float(game_2048.play(count, choose, seed).scores.mean())


def write_games(folder: Path, count: int, seed: int) -> float:
    """Play games and write each to a file; give their mean score."""
    folder.mkdir(parents=True)
    played = game_2048.play(count, game_2048.looking_ahead, seed)
    for number, rows in enumerate(played.rows):
        games.write_a2run2(
            folder / f"{number:06}.a2run2",
            rows,
            int(played.boards[number]),
            max_score=int(played.scores[number]),
            highest_tile=int(played.highest_tiles[number]),
            engine="two-moves-ahead",
        )
    return float(played.scores.mean())


def accuracy(policy: Policy, table: playhead.Table) -> float:
    """Say how often the network chooses as the player did."""
    right = 0
    with torch.no_grad():
        for batch in table.loader(BATCH, shuffle=False, columns=["board", "move", "ev_legal"]):
            right += int((values(policy, batch).argmax(1) == batch["move"]).sum())
    return right / len(table)


def values(policy: Policy, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """Value the moves of boards, the illegal ones not at all."""
    is_legal = batch["ev_legal"][:, None] >> MOVES & 1 == 1
    return policy(batch["board"]).masked_fill(~is_legal, -1e9)


def train(policy: Policy, table: playhead.Table, epochs: int, seed: int, run: playhead.RunWriter) -> None:
    """Improve the network: what it values most shall be what the player chose."""
    loader = table.loader(BATCH, seed=seed, columns=["board", "move", "ev_legal"])
    optimizer = torch.optim.Adam(policy.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 5e-3, total_steps=epochs * -(-len(table) // BATCH))
    for _ in range(epochs):
        losses = []
        for batch in loader:
            loss = nn.functional.cross_entropy(values(policy, batch), batch["move"].long())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        run.log({"loss": float(np.mean(losses))})


def main() -> None:
    """Play, build, train, compare."""
    parser = argparse.ArgumentParser(description="Teach a small network to play 2048.")
    parser.add_argument("--store", default="store")
    parser.add_argument("--games", type=int, default=200, help="how many are played to learn from")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(1)  # the network is small: a second thread would mostly wait

    with playhead.open(arguments.store) as store, store.run("2048", "imitation", config=vars(arguments)) as run:
        folder = Path(f"{arguments.store}-games") / run.id
        teacher = write_games(folder, arguments.games, arguments.seed)
        table = store.tables.build("2048", folder, overwrite=True)
        print(f"{table!r}, mean score {teacher:,.0f}")

        learn, test = table.split(train=0.9, test=0.1, seed=arguments.seed)
        policy = Policy()
        before = mean_score(policy, 100, seed=arguments.seed + 1)
        train(policy, learn, arguments.epochs, arguments.seed, run)
        after = mean_score(policy, 100, seed=arguments.seed + 1)
        same = accuracy(policy, test) if len(test) else float("nan")
        run.summary({"score/teacher": teacher, "score/untrained": before, "score/trained": after, "accuracy": same})
    print(
        f"The network scored {before:,.0f} untrained and {after:,.0f} trained; it chose {same:.0%} of new moves right."
    )


if __name__ == "__main__":
    main()
