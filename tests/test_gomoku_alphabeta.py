"""Gomoku's alpha-beta: its values are plain minimax over the moves it looks at, and it sees what is forced."""

import numpy as np
import pytest

from alphazero import get_game
from alphazero.agents import make_agent
from alphazero.match import play_match
from alphazero.openings import sampled
from gomoku import alphabeta
from gomoku.lines import LINES, read
from tests.helpers import random_position

GOMOKU = get_game("gomoku")
WINDOWS = [
    [(row + k * down, col + k * right) for k in range(5)]
    for row in range(9)
    for col in range(9)
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1))
    if row + 4 * down < 9 and 0 <= col + 4 * right < 9
]


def windows(position, player):
    """(own stones, the other's stones, empty cells) of all windows of five."""
    board = position.board * player
    for window in WINDOWS:
        values = [board[cell] for cell in window]
        yield (
            values.count(1),
            values.count(-1),
            [row * 9 + col for (row, col), value in zip(window, values, strict=True) if not value],
        )


def completing(position, player):
    return {empty[0] for own, other, empty in windows(position, player) if own == 4 and other == 0}


def worth(position):
    """Of all windows, to the player to move."""
    value = 0
    for own, other, _ in windows(position, position.to_move):
        value += alphabeta.MOVERS[own] if other == 0 and own < 5 else 0
        value -= alphabeta.OTHERS[other] if own == 0 and other < 5 else 0
    return value


def looked_at(position):
    cells = position.state[:-4].copy()
    lines = np.empty((2, LINES + 1), np.int32)
    read(cells, lines)
    moves = np.empty(81, np.int64)
    side = 0 if position.to_move == 1 else 1
    count = alphabeta._kernels()["candidates"](cells, lines, side, alphabeta.WIDTH, moves)
    return moves[:count].tolist()


def minimax(position, depth):
    """value_to_move by the book: no bounds, no tables, the Python rules. Ends are counted from here."""
    if position.winner is not None:
        return 0 if position.winner == 0 else -alphabeta.WON
    if completing(position, position.to_move):
        return alphabeta.WON - 1
    threats = completing(position, -position.to_move)
    if len(threats) > 1:
        return 2 - alphabeta.WON
    if not threats and depth == 0:
        return worth(position)
    moves, left = (threats, depth) if threats else (looked_at(position), depth - 1)
    return max(later(-minimax(position.play(move), left)) for move in moves)


def later(value):
    return value - (value > alphabeta.WON // 2) + (value < -alphabeta.WON // 2)


def test_it_is_minimax():
    rng = np.random.default_rng(3)
    ends = forced = 0
    for number in range(40):
        position = random_position(GOMOKU, rng, int(rng.integers(2, 40)))
        depth = 1 + number % 2
        found = alphabeta.root_values(position, depth)
        threats = completing(position, position.to_move) or completing(position, -position.to_move)
        if threats:
            assert len(found) == 1
            assert set(found) <= threats
            forced += 1
            continue
        values = {move: later(-minimax(position.play(move), depth - 1)) for move in found}
        best = max(values.values())
        assert max(found.values()) == best
        assert alphabeta.best_moves(position, depth) == [move for move, value in values.items() if value == best]
        ends += abs(best) > alphabeta.WON // 2
    assert ends > 0
    assert forced > 0


def test_the_board_is_as_before():
    position = random_position(GOMOKU, np.random.default_rng(1), 12)
    before = position.state.copy()
    assert alphabeta.root_values(position, 4) == alphabeta.root_values(position, 4)
    assert (position.state == before).all()


@pytest.mark.parametrize(
    ("board", "moves"),
    [
        ({36: 1, 37: 1, 38: 1, 39: 1, 0: -1, 2: -1, 4: -1, 6: -1}, {40}),  # completes its own five
        ({36: 1, 37: 1, 38: 1, 0: -1, 1: -1, 2: -1, 3: -1, 80: 1}, {4}),  # must stop the other's
        ({20: 1, 21: 1, 22: 1, 60: -1, 62: -1, 78: -1}, {19, 23}),  # an open four wins
    ],
)
def test_it_sees_what_must_be_played(board, moves):
    cells = np.zeros(81, int)
    cells[list(board)] = list(board.values())
    position = GOMOKU.from_board(cells.reshape(9, 9).tolist(), 1)
    assert set(alphabeta.best_moves(position, 4)) <= moves


def test_it_begins_in_the_middle():
    assert alphabeta.best_moves(GOMOKU.start(), 3) == [40]


@pytest.mark.parametrize("last", [0, 40, 80])
def test_the_last_move_of_a_full_board_is_a_draw(last):
    """Stones in pairs, the next row's shifted by two: nowhere three in a row, in any direction."""
    cells = [[1 if (col + 2 * row) % 4 < 2 else -1 for col in range(9)] for row in range(9)]
    cells[last // 9][last % 9] = 0
    position = GOMOKU.from_board(cells, 1)
    assert alphabeta.best_moves(position, 4) == [last]
    assert alphabeta.root_values(position, 4)[last] == 0
    assert position.play(last).winner == 0


def test_deeper_is_stronger_and_both_beat_chance():
    openings = sampled(GOMOKU, 3, 10, seed=1)
    three, one = make_agent(GOMOKU, "alphabeta@3"), make_agent(GOMOKU, "alphabeta@1")
    assert play_match(GOMOKU, three, one, openings).tally.score > 0.6
    assert play_match(GOMOKU, one, make_agent(GOMOKU, "rollout@100"), openings).tally.score > 0.8
