"""Gomoku on 9x9, freestyle: five or more in a row win. The rules, version 1. Cells: +1 black, -1 white, 0 empty."""

import numpy as np
from numba import njit

from alphazero.game import UNDECIDED, Game, IllegalBoard, count_stones
from alphazero.settings import Level, NetworkShape, SearchSettings
from alphazero.train_settings import TrainSettings

SIZE = 9
CELLS = SIZE * SIZE
IN_A_ROW = 5


@njit(cache=True)
def makes_five(cells, player, action):
    """Does the stone on `action` stand in a row of five or more of the player's?"""
    row, col = divmod(action, SIZE)
    for d_row, d_col in ((0, 1), (1, 0), (1, 1), (1, -1)):
        count = 1
        for sign in (1, -1):
            r, c = row + sign * d_row, col + sign * d_col
            while 0 <= r < SIZE and 0 <= c < SIZE and cells[r * SIZE + c] == player:
                count += 1
                r += sign * d_row
                c += sign * d_col
        if count >= IN_A_ROW:
            return True
    return False


@njit(cache=True)
def play(cells, player, action, plies):
    """Put the stone down and say who has won."""
    cells[action] = player
    if makes_five(cells, player, action):
        return player
    return 0 if plies + 1 == CELLS else UNDECIDED


@njit(cache=True)
def legal(cells, player, plies, mask):
    """Any empty cell."""
    for cell in range(CELLS):
        mask[cell] = cells[cell] == 0


@njit(cache=True)
def encode(cells, player, last, planes):
    """Four planes: own stones, the other's stones, the last move, all ones if the mover is black."""
    for cell in range(CELLS):
        if cells[cell] == player:
            planes[0, cell] = 1.0
        elif cells[cell] == -player:
            planes[1, cell] = 1.0
        if player == 1:
            planes[3, cell] = 1.0
    if last >= 0:
        planes[2, last] = 1.0


def check_board(cells: np.ndarray, to_move: int) -> tuple[int, int]:
    """(plies, winner) of a board: the stones must alternate, and a five must have been the last thing made."""
    stones = count_stones(cells, to_move)
    in_five = [int(cell) for cell in np.flatnonzero(cells) if makes_five(cells, int(cells[cell]), int(cell))]
    if any(cells[cell] == to_move for cell in in_five):
        raise IllegalBoard("The player to move already has five in a row: the game ended before this board.")
    if in_five and not any(_undoes_win(cells, cell, in_five) for cell in in_five):
        raise IllegalBoard("There are two rows of five that no one stone completes: the game ended before this board.")
    if in_five:
        return stones, -to_move
    return stones, 0 if stones == CELLS else UNDECIDED


def _undoes_win(cells: np.ndarray, last: int, in_five: list[int]) -> bool:
    before = cells.copy()
    before[last] = 0
    return not any(makes_five(before, int(before[cell]), cell) for cell in in_five if cell != last)


def winning_cells(cells: np.ndarray, winner: int) -> list[int]:
    return [int(cell) for cell in np.flatnonzero(cells == winner) if makes_five(cells, winner, int(cell))]


GAME = Game(
    name="gomoku",
    title="Gomoku",
    rows=SIZE,
    cols=SIZE,
    rules_version=1,
    symbols={0: ".", 1: "X", -1: "O"},
    players={1: "Black", -1: "White"},
    play=play,
    legal=legal,
    encode=encode,
    check_board=check_board,
    explain_illegal=lambda cells, player, action: "is taken; choose an empty point.",
    winning_cells=winning_cells,
    network=NetworkShape(planes=4, channels=64, blocks=5),
    search=SearchSettings(c_puct=1.5, noise_alpha=0.15),
    levels={
        "beginner": Level(simulations=8, temperature=1.5, slips=0.5),
        "easy": Level(simulations=32, temperature=0.7, slips=0.15),
        "medium": Level(simulations=100, temperature=0.5),
        "hard": Level(simulations=400),
        "master": Level(simulations=12_800, seconds=3.0, proof_nodes=2_000_000, leaf_nodes=50),
    },
    training=TrainSettings(
        iterations=300,
        games=1000,
        simulations_end=128,
        opening_plies=5,
        temperature_plies=5.0,
        leaf_nodes=50,
        draw_margin=0.05,
        anchors="rollout@1000 rollout@5000",
    ),
)
