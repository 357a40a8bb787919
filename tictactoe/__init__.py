"""Tic-tac-toe, the teaching game: three in a row win. The rules, version 1. Cells: +1 crosses, -1 noughts, 0 empty."""

import numpy as np
from numba import njit

from alphazero.game import UNDECIDED, Game, IllegalBoard, count_stones
from alphazero.settings import Level, NetworkShape, SearchSettings
from alphazero.train_settings import TrainSettings

SIZE = 3
CELLS = SIZE * SIZE
#   0 1 2
#   3 4 5
#   6 7 8
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


@njit(cache=True)
def has_line(cells, player):
    for a, b, c in LINES:  # noqa: SIM110 - Numba compiles the loop, not the generator
        if cells[a] == player and cells[b] == player and cells[c] == player:
            return True
    return False


@njit(cache=True)
def play(cells, player, action, plies):
    """Make the mark and say who has won."""
    cells[action] = player
    if has_line(cells, player):
        return player
    return 0 if plies + 1 == CELLS else UNDECIDED


@njit(cache=True)
def legal(cells, player, plies, mask):
    """Any empty cell."""
    for cell in range(CELLS):
        mask[cell] = cells[cell] == 0


@njit(cache=True)
def encode(cells, player, last, planes):
    """Two planes: own marks, the other's marks."""
    for cell in range(CELLS):
        if cells[cell] == player:
            planes[0, cell] = 1.0
        elif cells[cell] == -player:
            planes[1, cell] = 1.0


def check_board(cells: np.ndarray, to_move: int) -> tuple[int, int]:
    """(plies, winner) of a board: the marks must alternate and only the last mover can have a line."""
    marks = count_stones(cells, to_move)
    # Two lines of one player always share a cell here (nine marks never hold two apart), so one check is enough.
    if has_line(cells, to_move):
        raise IllegalBoard("The player to move already has three in a row: the game ended before this board.")
    if has_line(cells, -to_move):
        return marks, -to_move
    return marks, 0 if marks == CELLS else UNDECIDED


def winning_cells(cells: np.ndarray, winner: int) -> list[int]:
    return sorted({cell for line in LINES for cell in line if all(cells[c] == winner for c in line)})


GAME = Game(
    name="tictactoe",
    title="Tic-tac-toe",
    rows=SIZE,
    cols=SIZE,
    rules_version=1,
    symbols={0: ".", 1: "X", -1: "O"},
    players={1: "Crosses", -1: "Noughts"},
    play=play,
    legal=legal,
    encode=encode,
    check_board=check_board,
    winning_cells=winning_cells,
    network=NetworkShape(planes=2, channels=32, blocks=2),
    search=SearchSettings(c_puct=1.5, noise_alpha=1.0),
    levels={
        "beginner": Level(simulations=2, temperature=2.0, slips=0.5),
        "easy": Level(simulations=8, temperature=1.0, slips=0.25),
        "medium": Level(simulations=25, temperature=0.2, slips=0.1),
        "hard": Level(simulations=100, slips=0.03),
        "master": Level(simulations=1000),
    },
    # A minute on one core. Random openings reach every position, silly ones too; a search of 32 is nearly exact, so
    # a match between two networks would be all draws and the gate stays open.
    training=TrainSettings(
        iterations=40,
        simulations_end=32,
        temperature_end=1.0,
        opening_fraction=0.9,
        opening_plies=7,
        play_on=1.0,
        window_start=10_000,
        batch=256,
        learning_rate=2e-3,
        average=0.99,
        gate="none",
        gate_pairs=10,
        gate_simulations=2,
        anchors="random perfect",
    ),
)
