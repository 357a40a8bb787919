"""Alpha-beta for Chain Reaction: a fixed depth, exact ends, an evaluation fitted to games. Needs no network.

Values are whole numbers of the player to move: WON less the plies it takes for a win, so that quick wins and slow
losses are preferred; the evaluation is about 100 times the logarithm of the odds.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from alphazero.game import EXTRA, UNDECIDED, Position
from alphazero.kernel import bind
from chain_reaction import SIZE, legal, play

CELLS = SIZE * SIZE
WON = 100_000
INFINITE = 1_000_000
MAX_DEPTH = 32


def _neighbours(cell: int) -> list[int]:
    """Orthogonal neighbours, filled up to four with -1."""
    row, col = divmod(cell, SIZE)
    around = ((row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1))
    near = [r * SIZE + c for r, c in around if 0 <= r < SIZE and 0 <= c < SIZE]
    return near + [-1] * (4 - len(near))


NEXT_TO = np.array([_neighbours(cell) for cell in range(CELLS)])
PLACE = (NEXT_TO >= 0).sum(axis=1) - 2  # 0 corner, 1 edge, 2 inside

# What a cell is worth to the mover: [whose][next to a hostile 3][corner, edge, inside][atoms]. Logistic regression on
# 6,000 games at depth 4 with some random moves, third round; scores 73 % against a plain count of atoms at depth 4.
WORTH = np.array(
    [
        [  # the mover's cells
            [[0, 6, 7, 8], [0, 12, 14, 12], [0, 19, 21, 17]],
            [[0, -4, 2, 4], [0, -1, -7, -3], [0, 0, -6, -19]],
        ],
        [  # the other's, which the mover may take first
            [[0, -5, -4, -10], [0, -11, -11, -14], [0, -15, -19, -20]],
            [[0, 5, 2, 3], [0, 4, 12, 14], [0, -3, 6, 42]],
        ],
    ],
    np.int64,
)

# Stand-ins for what `bind` puts in their place.
rules_play: Any = None
rules_legal: Any = None
evaluate: Any = None
sort_moves: Any = None
search: Any = None


def _evaluate(cells, player, worth):
    """The worth of all cells for `player`, who is to move."""
    value = 0
    for cell in range(CELLS):
        atoms = cells[cell] * player
        if atoms != 0:
            hostile = -3 * player if atoms > 0 else 3 * player
            threatened = 0
            for k in range(4):
                near = NEXT_TO[cell, k]
                if near >= 0 and cells[near] == hostile:
                    threatened = 1
            value += worth[0 if atoms > 0 else 1, threatened, PLACE[cell], abs(atoms)]
    return value


def _sort_moves(cells, player, plies, history, mask, moves):
    """Write the legal moves, the most promising first; how many there are.

    Explosions into much of the other's come first; among the rest, what has been best elsewhere in the tree.
    """
    rules_legal(cells, player, plies, mask)
    scores = np.empty(CELLS, np.int64)
    count = 0
    for cell in range(CELLS):
        if not mask[cell]:
            continue
        score = history[cell]
        if cells[cell] * player == 3:
            score += 1 << 40
            for k in range(4):
                near = NEXT_TO[cell, k]
                if near >= 0 and cells[near] * player < 0:
                    score += np.int64(abs(cells[near])) << 36
        slot = count
        while slot > 0 and scores[slot - 1] < score:
            scores[slot], moves[slot] = scores[slot - 1], moves[slot - 1]
            slot -= 1
        scores[slot], moves[slot] = score, cell
        count += 1
    return count


def _search(start, player, plies, depth, alpha, beta, worth, history):
    """The value_to_move of an unfinished position, `depth` plies deep: exact between alpha and beta, else a bound.

    Negamax with a stack of its own. history int64 [2, cells] remembers moves that were good, for the order of moves.
    """
    if depth == 0:
        return evaluate(start, player, worth)
    boards = np.empty((depth + 1, CELLS), start.dtype)
    moves = np.empty((depth, CELLS), np.int64)
    count, index = np.zeros(depth, np.int64), np.zeros(depth, np.int64)
    low, high, best = np.empty(depth, np.int64), np.empty(depth, np.int64), np.empty(depth, np.int64)
    mask = np.empty(CELLS, np.bool_)
    boards[0] = start
    low[0], high[0], best[0] = alpha, beta, -INFINITE
    count[0] = sort_moves(boards[0], player, plies, history[0], mask, moves[0])
    ply, mover = 0, player
    while True:
        if index[ply] < count[ply]:
            board = boards[ply + 1]
            board[:] = boards[ply]
            winner = rules_play(board, mover, moves[ply, index[ply]], plies + ply)
            index[ply] += 1
            if winner != UNDECIDED:
                value = 0 if winner == 0 else WON - ply - 1
            elif ply + 1 == depth:
                value = -evaluate(board, -mover, worth)
            else:
                low[ply + 1], high[ply + 1], best[ply + 1] = -high[ply], -low[ply], -INFINITE
                ply, mover = ply + 1, -mover
                index[ply] = 0
                count[ply] = sort_moves(board, mover, plies + ply, history[ply % 2], mask, moves[ply])
                continue
        else:
            if ply == 0:
                return best[0]
            value = -best[ply]
            ply, mover = ply - 1, -mover
        if value > best[ply]:
            best[ply] = value
            low[ply] = max(low[ply], value)
            if low[ply] >= high[ply]:
                history[ply % 2, moves[ply, index[ply] - 1]] += 1 << min(depth - ply, 16)
                index[ply] = count[ply]


def _root_values(start, player, plies, depth, worth, values):
    """Write the value of every legal move that is as good as the best; something less than that for the others.

    Illegal moves get -INFINITE. Deepens step by step, to look at the best first.
    """
    mask = np.empty(CELLS, np.bool_)
    order = np.empty(CELLS, np.int64)
    history = np.zeros((2, CELLS), np.int64)
    values[:] = -INFINITE
    count = sort_moves(start, player, plies, history[0], mask, order)
    board = np.empty(CELLS, start.dtype)
    for reach in range(1, depth + 1):
        best = -INFINITE
        for k in range(count):
            action = order[k]
            board[:] = start
            winner = rules_play(board, player, action, plies)
            if winner != UNDECIDED:
                value = 0 if winner == 0 else WON - 1
            else:
                # Moves equal to the best must show themselves as equal, so the window begins below it: by one, and
                # by one more because ends are counted from here, a ply earlier than the search below counts them.
                value = -search(board, -player, plies + 1, reach - 1, -INFINITE, 2 - best, worth, history)
                value -= (value > WON // 2) - (value < -WON // 2)
            values[action] = value
            best = max(best, value)
        for k in range(1, count):  # stable, by value
            slot, action = k, order[k]
            while slot > 0 and values[order[slot - 1]] < values[action]:
                order[slot] = order[slot - 1]
                slot -= 1
            order[slot] = action
        if abs(best) > WON // 2:  # the end is in sight, and nothing quicker will be found further down
            break


@cache
def _kernels() -> dict[str, Any]:
    rules: dict[str, Any] = {"rules_play": play, "rules_legal": legal}
    return bind([_evaluate, _sort_moves, _search, _root_values], rules, "chain_reaction")


def root_values(position: Position, depth: int, worth: np.ndarray = WORTH) -> np.ndarray:
    """int64 [cells]: value_to_move after each move, from the mover's side.

    Exact for the best moves; lower than the best, and no more than that, for all others.
    """
    values = np.empty(CELLS, np.int64)
    state = position.state
    _kernels()["root_values"](state[:-EXTRA], position.to_move, position.plies, depth, worth, values)
    return values


def best_moves(position: Position, depth: int) -> list[int]:
    """All moves that a search of this depth finds equally good."""
    values = root_values(position, depth)
    return [int(action) for action in np.flatnonzero(values == values.max())]
