"""Chain Reaction on 5x5: the rules, version 1.

. .  .  . .        a cell is a signed count: red's atoms +1..+3, blue's -1..-3, 0 empty
. .  .  . .
. . +3 -2 .        the fourth atom makes a cell explode over its orthogonal neighbours
. .  .  . .
. .  .  . .        critical mass is 4 everywhere, corners too: atoms over the edge are lost
"""

from dataclasses import replace

import numpy as np
from numba import njit

from alphazero.game import UNDECIDED, Game, IllegalBoard
from alphazero.settings import DEFAULT_LEVELS, NetworkShape, SearchSettings
from alphazero.train_settings import TrainSettings

SIZE = 5
CRITICAL = 4
FIRST_ATOMS = 3
PLY_LIMIT = 200


@njit(cache=True)
def explode(cells, player):
    """One wave: every cell that holds CRITICAL at its start explodes at once. False if none did."""
    ripe = 0  # one bit a cell: a search plays a million waves a second, and an array each would be felt
    for cell in range(SIZE * SIZE):
        if abs(cells[cell]) >= CRITICAL:
            ripe |= 1 << cell
            cells[cell] = 0
    if ripe == 0:
        return False
    for cell in range(SIZE * SIZE):
        if ripe >> cell & 1:
            row, col = divmod(cell, SIZE)
            if row > 0:
                cells[cell - SIZE] = player * (abs(cells[cell - SIZE]) + 1)
            if row < SIZE - 1:
                cells[cell + SIZE] = player * (abs(cells[cell + SIZE]) + 1)
            if col > 0:
                cells[cell - 1] = player * (abs(cells[cell - 1]) + 1)
            if col < SIZE - 1:
                cells[cell + 1] = player * (abs(cells[cell + 1]) + 1)
    return True


@njit(cache=True)
def play(cells, player, action, plies):
    """Add the move's atoms, explode until all is quiet, and say who has won."""
    if plies < 2:
        cells[action] = FIRST_ATOMS * player
        return UNDECIDED
    cells[action] += player
    if abs(cells[action]) >= CRITICAL:
        while explode(cells, player):
            pass
        other_lives = False
        for cell in range(SIZE * SIZE):
            other_lives |= cells[cell] * player < 0
        if not other_lives:
            return player
    return 0 if plies + 1 >= PLY_LIMIT else UNDECIDED


@njit(cache=True)
def legal(cells, player, plies, mask):
    """The first move of each goes to an empty cell, every later one to a cell of one's own."""
    for cell in range(SIZE * SIZE):
        mask[cell] = cells[cell] == 0 if plies < 2 else cells[cell] * player > 0


@njit(cache=True)
def encode(cells, player, last, planes):
    """Two planes: atoms (in thirds, so 0 to 1) and owner (+1 the mover's, -1 the other's)."""
    for cell in range(SIZE * SIZE):
        count = cells[cell] * player
        if count != 0:
            planes[0, cell] = abs(count) / 3.0
            planes[1, cell] = 1.0 if count > 0 else -1.0


def check_board(cells: np.ndarray, to_move: int) -> tuple[int, int]:
    """(plies, winner) of a board, by what its counts can be. A mover always keeps a cell, so only the other can die."""
    red, blue = int((cells > 0).sum()), int((cells < 0).sum())
    if red + blue == 0:
        if to_move != 1:
            raise IllegalBoard("The board is empty, so red (1) is to move.")
        return 0, UNDECIDED
    if red == 1 and blue == 0:
        if to_move != -1 or cells.max() != FIRST_ATOMS:
            raise IllegalBoard("One red cell alone is red's first move: it has 3 atoms and blue (-1) is to move.")
        return 1, UNDECIDED
    if red == 1 and blue == 1 and (to_move != 1 or cells.max() != FIRST_ATOMS or cells.min() != -FIRST_ATOMS):
        # An explosion leaves the mover two cells at least, so one cell each is the board after both first moves.
        raise IllegalBoard("One cell each is the board after both first moves: 3 atoms each, and red (1) is to move.")
    if red and blue:
        # Two first moves bring 3 atoms each, every later one brings 1, and some may have gone over the edge.
        plies = max(2, int(np.abs(cells).sum()) - 2 * FIRST_ATOMS + 2)
        return plies + (plies % 2 != (to_move == -1)), UNDECIDED
    winner = 1 if red else -1
    if to_move == winner or max(red, blue) < 2:
        raise IllegalBoard(
            "No game leads to this board: only one side has cells, so the other has just lost and would be to move; "
            "and the explosion that took its last cell leaves at least two cells."
        )
    return 3 + (to_move == 1), winner


def explain_illegal(cells: np.ndarray, player: int, action: int) -> str:
    if (cells * player > 0).any():
        return "is empty; add to one of your own cells." if cells[action] == 0 else "belongs to the other player."
    return "is taken; your first move goes to an empty cell."


def waves(cells: np.ndarray, player: int, action: int, plies: int) -> list[tuple[np.ndarray, list[int]]]:
    """The boards that a move goes through, each with the cells that explode next; none if nothing explodes."""
    cells, found = cells.copy(), []
    cells[action] += player if plies >= 2 else FIRST_ATOMS * player
    while (ripe := np.flatnonzero(np.abs(cells) >= CRITICAL)).size:
        found.append((cells.copy(), ripe.tolist()))
        explode(cells, player)
    return found


GAME = Game(
    name="chain_reaction",
    title="Chain Reaction",
    rows=SIZE,
    cols=SIZE,
    rules_version=1,
    symbols={count: f"{count:+d}" if count else "." for count in range(-3, 4)},
    players={1: "Red", -1: "Blue"},
    play=play,
    legal=legal,
    encode=encode,
    check_board=check_board,
    explain_illegal=explain_illegal,
    waves=waves,
    network=NetworkShape(planes=2, channels=64, blocks=4),
    search=SearchSettings(c_puct=1.0, noise_alpha=1.0),
    levels={**DEFAULT_LEVELS, "master": replace(DEFAULT_LEVELS["master"], proof_nodes=1_000_000)},
    training=TrainSettings(
        iterations=150,
        games=1500,
        simulations_end=128,
        opening_plies=8,
        gate_openings=6,  # plies 3 and 4 are forced, so fewer would repeat themselves
        anchors="greedy rollout@300 alphabeta@4",
    ),
)
