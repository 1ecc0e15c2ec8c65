"""2048, many games at a time: the rules, and a player that looks two moves ahead.

A board is 64 bits, four for each tile, the upper left one first: 0 is empty, e is the tile 2^e. Rows of four tiles are
16 bits, so everything that happens in a row is looked up in a table.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from playhead.table import games

Boards = np.ndarray  # of 64 bits each
Chooser = Callable[[Boards], np.ndarray]  # boards to the value of each of the four moves, larger is better

_ROWS = np.array([48, 32, 16, 0], np.uint64)
_CELLS = np.arange(0, 64, 4, dtype=np.uint64)
_BELOW_ONE = 1 - np.finfo(np.float32).eps
_ILLEGAL = -np.inf
_LOST = -1.6e6  # below the worth of any board


def _all_rows() -> np.ndarray:
    return np.arange(65536)[:, None] >> np.array([12, 8, 4, 0]) & 15


def _slide(row: list[int]) -> tuple[list[int], int]:
    """Move the tiles of a row to the left, and give what that scores."""
    tiles, moved, score = [tile for tile in row if tile], [], 0
    while tiles:
        tile = tiles.pop(0)
        if tiles and tiles[0] == tile:
            tiles.pop(0)
            tile = min(tile + 1, 15)
            score += 1 << tile
        moved.append(tile)
    return moved + [0] * (4 - len(moved)), score


def _tables() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    slid = [_slide(row) for row in _all_rows().tolist()]
    packed = np.array([row for row, _ in slid]) @ np.array([4096, 256, 16, 1])
    reverse = _all_rows() @ np.array([1, 16, 256, 4096])
    return packed.astype(np.uint64), reverse[packed[reverse]].astype(np.uint64), np.array([score for _, score in slid])


def _worth() -> np.ndarray:
    """Say how good each row is: empty places and merges to come are good, large tiles in the middle are not."""
    rows = _all_rows().astype(float)
    empty = (rows == 0).sum(1)
    merges = ((rows[:, 1:] == rows[:, :-1]) & (rows[:, 1:] > 0)).sum(1)
    falls = np.maximum(rows[:, :-1] ** 4 - rows[:, 1:] ** 4, 0).sum(1)
    rises = np.maximum(rows[:, 1:] ** 4 - rows[:, :-1] ** 4, 0).sum(1)
    return 270 * empty + 700 * merges - 47 * np.minimum(falls, rises) - 11 * (rows**3.5).sum(1)


LEFT, RIGHT, SCORE = _tables()
WORTH = _worth()


def transposed(boards: Boards) -> Boards:
    """Swap rows and columns."""
    for bits, stay, there in (
        (12, 0xF0F0_0F0F_F0F0_0F0F, 0x0000_F0F0_0000_F0F0),
        (24, 0xFF00_FF00_00FF_00FF, 0xFF00_FF00),
    ):
        up = boards >> np.uint64(bits) & np.uint64(there)
        boards = boards & np.uint64(stay) | (boards & np.uint64(there)) << np.uint64(bits) | up
    return boards


def _rows_of(boards: Boards) -> np.ndarray:
    return (boards[..., None] >> _ROWS & np.uint64(0xFFFF)).astype(np.intp)


def moved(boards: Boards) -> tuple[Boards, np.ndarray]:
    """Give each board after up, down, left and right, before a new tile comes, and what each of them scores."""
    rows, columns = _rows_of(boards), _rows_of(transposed(boards))
    after = [(table[lines] << _ROWS).sum(-1, dtype=np.uint64) for lines in (columns, rows) for table in (LEFT, RIGHT)]
    up_down, left_right = SCORE[columns].sum(-1), SCORE[rows].sum(-1)
    ends = [transposed(after[0]), transposed(after[1]), after[2], after[3]]
    return np.stack(ends, -1), np.stack([up_down, up_down, left_right, left_right], -1)


def with_new_tiles(boards: Boards, generator: np.random.Generator) -> Boards:
    """Put a 2, or one time in ten a 4, on an empty place of each board."""
    is_empty = (boards[:, None] >> _CELLS & np.uint64(15)) == 0
    place = np.argmax(is_empty * generator.random(is_empty.shape), 1)
    tile = np.where(generator.random(len(boards)) < 0.9, 1, 2).astype(np.uint64)
    return boards | tile << _CELLS[place]


def looking_ahead(boards: Boards) -> np.ndarray:
    """Value each move by the best moves that follow it, whatever the place of the next tile."""
    after, _ = moved(boards)
    which, move = np.nonzero(after != boards[:, None])
    legal = after[which, move]
    number, cell = np.nonzero((legal[:, None] >> _CELLS & np.uint64(15)) == 0)
    follows = legal[number] | np.uint64(1) << _CELLS[cell]
    ends, _ = moved(follows)
    worth = WORTH[_rows_of(ends)].sum(-1) + WORTH[_rows_of(transposed(ends))].sum(-1)
    best = np.where(ends == follows[:, None], _LOST, worth).max(1)
    values = np.full((len(boards), 4), _ILLEGAL)
    values[which, move] = np.bincount(number, best, len(legal)) / np.bincount(number, minlength=len(legal))
    return values


def normalised(values: np.ndarray) -> np.ndarray:
    """Bring the values of legal moves to 0..1, as `.a2run2` files have them."""
    is_legal = values > _ILLEGAL
    least = np.where(is_legal, values, np.inf).min(1, keepdims=True)
    spread = values.max(1, keepdims=True) - least
    found = np.where(is_legal, np.minimum((values - least) / np.where(spread > 0, spread, 1), _BELOW_ONE), 0)
    found[is_legal & (spread == 0)] = 0.5
    found[is_legal & (is_legal.sum(1, keepdims=True) == 1)] = _BELOW_ONE
    return found


class Played:
    """Games that were played to their end: the moves of each, its score and its last board."""

    def __init__(self, rows: list[np.ndarray], scores: np.ndarray, boards: Boards) -> None:
        self.rows, self.scores, self.boards = rows, scores, boards

    @property
    def highest_tiles(self) -> np.ndarray:
        """The largest tile of each game."""
        return 1 << (self.boards[:, None] >> _CELLS & np.uint64(15)).max(1).astype(int)


def play(count: int, choose: Chooser, seed: int) -> Played:
    """Play games to their end, all of them at once.

    Args:
        count: How many.
        choose: The player.
        seed: Of the tiles that come.
    """
    generator = np.random.default_rng(seed)
    boards = with_new_tiles(with_new_tiles(np.zeros(count, np.uint64), generator), generator)
    scores, alive, made = np.zeros(count, int), np.arange(count), [np.zeros(0, games.STEP)]
    while True:
        legal = games.legal_moves(boards[alive])
        alive, legal = alive[legal > 0], legal[legal > 0]
        if not len(alive):
            break
        values = np.where(legal[:, None] >> np.arange(4) & 1, choose(boards[alive]), _ILLEGAL)
        chosen = values.argmax(1)
        steps = np.zeros(len(alive), games.STEP)
        steps["board"], steps["move"], steps["ev_legal"], steps["run_id"] = boards[alive], chosen, legal, alive
        steps["ev_values"] = normalised(values)
        made.append(steps)
        after, gained = moved(boards[alive])
        each = np.arange(len(alive))
        scores[alive] += gained[each, chosen]
        boards[alive] = with_new_tiles(after[each, chosen], generator)
    together = np.concatenate(made)
    together = together[np.argsort(together["run_id"], kind="stable")]
    return Played(np.split(together, np.cumsum(np.bincount(together["run_id"], minlength=count))[:-1]), scores, boards)
