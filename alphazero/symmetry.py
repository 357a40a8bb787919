"""The rotations and reflections of a board, as tables of cell numbers."""

from functools import cache

import numpy as np


@cache
def symmetries(rows: int, cols: int) -> np.ndarray:
    """Where each cell goes: int64 [symmetries, cells]; row 0 is the identity.

    A square board has 8, any other rectangle 4. A board is moved by `moved[table[s]] = cells`, an action by
    `table[s, action]`.
    """
    cells = np.arange(rows * cols).reshape(rows, cols)
    turns = (0, 1, 2, 3) if rows == cols else (0, 2)
    # Each image lists, for every place, the cell that lands there; argsort turns that into where each cell goes.
    images = [turned for turn in turns for turned in (np.rot90(cells, turn), np.fliplr(np.rot90(cells, turn)))]
    table = np.stack([np.argsort(image.ravel()) for image in images])
    table.flags.writeable = False
    return table


@cache
def inverses(rows: int, cols: int) -> np.ndarray:
    """The number of the symmetry that undoes each one: int64 [symmetries]."""
    table = symmetries(rows, cols)
    undo = np.argsort(table, axis=1)
    numbers = np.array([int(np.flatnonzero((table == row).all(axis=1))[0]) for row in undo])
    numbers.flags.writeable = False
    return numbers
