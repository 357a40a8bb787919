"""Alpha-beta for Gomoku: a fixed depth over the most promising moves, fives and forced replies seen exactly.

It needs no network: an opponent of another kind, to measure against. Values are whole numbers of the player to move:
WON less the plies it takes to complete five, or what the open windows of five cells are worth. A reply to a four is
forced and costs no depth.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from alphazero.game import EXTRA, Position
from alphazero.kernel import bind
from gomoku import lines as board
from gomoku.lines import CELLS, FIELD, LINE_OF, LINES, POWER, SIZE, TABLE

WON = 100_000
INFINITE = 1_000_000
MAX_DEPTH = 12
WIDTH = 14  # moves looked at in a position; the rest are taken to be worse
FORCED = 24  # replies to fours that one line of play may hold beside its depth
NEAR = 2  # a move further than this from all stones is not looked at

# What five cells with stones of one side only are worth, by how many: the mover's, who goes on, and the other's.
MOVERS = (0, 2, 12, 80, 0)
OTHERS = (0, 2, 10, 50, 0)


def _worth_of(length: int) -> np.ndarray:
    """int64 [3 ** length]: the worth of every filling of a line for its reader, who is to move."""
    digits = np.arange(3**length)[:, None] // 3 ** np.arange(length) % 3
    worth = np.zeros(3**length, np.int64)
    for start in range(length - 4):
        window = digits[:, start : start + 5]
        own, other = (window == 1).sum(axis=1), (window == 2).sum(axis=1)
        worth += np.where(other == 0, np.take((*MOVERS, 0), own), 0)
        worth -= np.where(own == 0, np.take((*OTHERS, 0), other), 0)
    return worth


# By the numbers of gomoku/lines.py, like TABLE there.
WORTH = np.concatenate([_worth_of(length) for length in range(5, SIZE + 1)])

# Stand-ins for what `bind` puts in their place.
put: Any = None
read: Any = None
all_fives: Any = None
evaluate: Any = None
candidates: Any = None
enter: Any = None
search: Any = None


def _evaluate(lines, side):
    """What all windows are worth to `side`, who is to move."""
    value = 0
    for line in range(LINES):
        value += WORTH[lines[side, line]]
    return value


def _candidates(cells, lines, side, most, moves):
    """Write up to `most` moves near the stones, the most promising first; how many there are.

    Promising is what a stone there changes for the mover, and what a stone of the other's would.
    """
    scores = np.empty(CELLS, np.int64)
    count = 0
    for cell in range(CELLS):
        if cells[cell] != 0:
            continue
        row, col = divmod(cell, SIZE)
        near = False
        for r in range(max(0, row - NEAR), min(SIZE, row + NEAR + 1)):
            for c in range(max(0, col - NEAR), min(SIZE, col + NEAR + 1)):
                near |= cells[r * SIZE + c] != 0
        if not near:
            continue
        score = 0
        for k in range(4):
            line, power = LINE_OF[cell, k], POWER[cell, k]
            own, other = lines[side, line], lines[1 - side, line]
            score += WORTH[own + power] - WORTH[own] + WORTH[other + power] - WORTH[other]
            if TABLE[own + power] & FIELD:  # a four, of either side's, is looked at first
                score += 4000
            if TABLE[other + power] & FIELD:
                score += 2000
        slot = count
        while slot > 0 and scores[slot - 1] < score:
            scores[slot], moves[slot] = scores[slot - 1], moves[slot - 1]
            slot -= 1
        scores[slot], moves[slot] = score, cell
        count += 1
    return min(count, most)


def _enter(cells, lines, side, stones, left, moves):
    """(settled, value_to_move, moves to look at, depth left after them) of a position that nobody has won yet."""
    if all_fives(lines, side)[0] > 0:
        return True, WON - 1, 0, left
    threats, where = all_fives(lines, 1 - side)
    if threats > 1:
        return True, 2 - WON, 0, left
    if stones == CELLS:
        return True, 0, 0, left
    if threats == 1:
        moves[0] = where
        return False, 0, 1, left
    if left == 0:
        return True, evaluate(lines, side), 0, 0
    return False, 0, candidates(cells, lines, side, WIDTH, moves), left - 1


def _search(cells, lines, side, stones, depth, alpha, beta):
    """The value_to_move `depth` moves deep: exact between alpha and beta, else a bound.

    Negamax with a stack of its own; ends are counted from this position. `cells` and `lines` are as before afterwards.
    """
    size = depth + FORCED + 1
    moves = np.empty((size, CELLS), np.int64)
    count, index, left = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64)
    low, high, best = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    settled, value, count[0], left[0] = enter(cells, lines, side, stones, depth, moves[0])
    if settled:
        return value
    low[0], high[0], best[0] = alpha, beta, -INFINITE
    ply = 0
    while True:
        if index[ply] < count[ply]:
            move = moves[ply, index[ply]]
            index[ply] += 1
            mover = side if ply % 2 == 0 else 1 - side
            cells[move] = 1 if mover == 0 else -1
            put(lines, mover, move, 1)
            ply += 1
            settled, value, count[ply], left[ply] = enter(
                cells, lines, 1 - mover, stones + ply, left[ply - 1], moves[ply]
            )
            if not settled and ply + 1 == size:
                settled, value = True, evaluate(lines, 1 - mover)
            if not settled:
                index[ply], best[ply] = 0, -INFINITE
                low[ply], high[ply] = -high[ply - 1], -low[ply - 1]
                continue
        else:
            value = best[ply]
            if ply == 0:
                return value
        ply -= 1
        move = moves[ply, index[ply] - 1]
        put(lines, side if ply % 2 == 0 else 1 - side, move, -1)
        cells[move] = 0
        value = -value
        value -= (value > WON // 2) - (value < -WON // 2)  # an end is a ply further away from here
        if value > best[ply]:
            best[ply] = value
            low[ply] = max(low[ply], value)
            if low[ply] >= high[ply]:
                index[ply] = count[ply]


def _root_values(start, player, stones, depth, moves, values):
    """Write the moves looked at and their values: exact for the best, lower than the best for others. How many."""
    cells = start.copy()
    lines = np.empty((2, LINES + 1), np.int32)
    read(cells, lines)
    side = 0 if player == 1 else 1
    threats, where = all_fives(lines, side)
    if threats == 0:
        threats, where = all_fives(lines, 1 - side)
    if threats > 0:
        moves[0], values[0] = where, 0
        return 1
    count = candidates(cells, lines, side, 2 * WIDTH, moves)
    best = -INFINITE
    for k in range(count):
        cells[moves[k]] = player
        put(lines, side, moves[k], 1)
        # Moves equal to the best must show themselves as equal, so the window begins below it.
        value = -search(cells, lines, 1 - side, stones + 1, depth - 1, -INFINITE, 2 - best)
        put(lines, side, moves[k], -1)
        cells[moves[k]] = 0
        values[k] = value - ((value > WON // 2) - (value < -WON // 2))
        best = max(best, values[k])
    return count


@cache
def _kernels() -> dict[str, Any]:
    rules: dict[str, Any] = {"put": board.put, "read": board.read, "all_fives": board.all_fives}
    return bind([_evaluate, _candidates, _enter, _search, _root_values], rules, "gomoku")


def root_values(position: Position, depth: int) -> dict[int, int]:
    """Move -> value_to_move, of the moves looked at; a forced one alone, with no value (0)."""
    moves, values = np.empty(CELLS, np.int64), np.empty(CELLS, np.int64)
    cells = position.state[:-EXTRA]
    count = _kernels()["root_values"](cells, position.to_move, position.plies, depth, moves, values)
    return dict(zip(moves[:count].tolist(), values[:count].tolist(), strict=True))


def best_moves(position: Position, depth: int) -> list[int]:
    """All moves that a search of this depth finds equally good; the middle of an empty board."""
    values = root_values(position, depth)
    if not values:
        return [CELLS // 2] if position.plies == 0 else position.legal_moves()
    return [move for move, value in values.items() if value == max(values.values())]
