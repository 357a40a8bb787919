"""The board as 36 lines, and everything about a line in one table: what the threat solvers stand on.

A line is a row, a column or a diagonal of 5 to 9 cells. Read as digits of base 3 (0 empty, 1 own, 2 the other's) its
stones are a number, and TABLE says for every such number which of its empty cells

    FIVE   complete five or more in a row
    FOUR   make a four: afterwards at least one cell completes five
    THREE  make an open three: afterwards some cell makes a four that two cells complete
    HALF   lie in five cells free of the other's stones, two or more of them own; all fours and threes are among these

so a stone changes at most four numbers, and a question about a line is one look into the table. Nothing here imports
the rules, so that the rules may import this; a test holds the sizes together.
"""

from typing import Any

import numpy as np
from numba import njit

SIZE = 9
CELLS = SIZE * SIZE
FIVE, FOUR, THREE, HALF = 0, 9, 18, 27  # where a field's 9 bits begin
FIELD = 511


def _make_lines() -> list[list[int]]:
    """Rows first: they make the key of a position."""
    starts = [(r, 0, 0, 1) for r in range(SIZE)] + [(0, c, 1, 0) for c in range(SIZE)]
    for step in (1, -1):
        side = 0 if step == 1 else SIZE - 1
        starts += [(0, c, 1, step) for c in range(SIZE)] + [(r, side, 1, step) for r in range(1, SIZE)]
    lines = []
    for r, c, down, right in starts:
        line = []
        while 0 <= r < SIZE and 0 <= c < SIZE:
            line.append(r * SIZE + c)
            r, c = r + down, c + right
        if len(line) >= 5:
            lines.append(line)
    return lines


def _table_of(length: int) -> np.ndarray:
    """int64 [3 ** length]: the four fields of every filling of a line, 9 bits each."""
    digits = np.arange(3**length)[:, None] // 3 ** np.arange(length) % 3
    numbers = np.arange(3**length)
    empty = digits == 0
    five, half = np.zeros_like(empty), np.zeros_like(empty)
    for start in range(length - 4):
        window = digits[:, start : start + 5]
        own = np.where((window == 2).any(axis=1), -1, (window == 1).sum(axis=1))[:, None]
        five[:, start : start + 5] |= (window == 0) & (own == 4)
        half[:, start : start + 5] |= (window == 0) & (own >= 2)

    def after(marked: Any) -> np.ndarray:
        """The cells after whose taking a filling is marked."""
        following = np.minimum(numbers[:, None] + 3 ** np.arange(length), 3**length - 1)
        return empty & marked[following]

    four = after(five.any(axis=1))
    open_four = after(five.sum(axis=1) >= 2)
    fields = {FIVE: five, FOUR: four, THREE: after(open_four.any(axis=1)), HALF: half}
    bits = 1 << np.arange(length)
    return sum(((field * bits).sum(axis=1) << shift for shift, field in fields.items()), np.zeros(3**length, np.int64))


_LINES = _make_lines()
LINES = len(_LINES)
_BASES = {length: sum(3**shorter for shorter in range(5, length)) for length in range(5, SIZE + 1)}
TABLE = np.concatenate([_table_of(length) for length in _BASES])

# A line's number starts at its BASE, the place of its length in TABLE. Diagonals too short for five are all sent to
# one line more, which never changes.
BASE = np.array([_BASES[len(line)] for line in _LINES] + [0], np.int32)
LINE_CELLS = np.array([line + [-1] * (SIZE - len(line)) for line in _LINES], np.int64)
LINE_OF = np.full((CELLS, 4), LINES, np.int64)  # the lines through a cell
POWER = np.zeros((CELLS, 4), np.int32)  # and what a stone there adds to their numbers
for _number, _line in enumerate(_LINES):
    for _place, _cell in enumerate(_line):
        _k = int(np.flatnonzero(LINE_OF[_cell] == LINES)[0])
        LINE_OF[_cell, _k], POWER[_cell, _k] = _number, 3**_place
LOWEST = np.array([0] + [(n & -n).bit_length() - 1 for n in range(1, FIELD + 1)], np.int64)  # the lowest bit set


@njit(cache=True)
def put(lines, side, cell, by):
    """Put a stone (by = 1) or take it back (by = -1). lines int32 [2, LINES + 1]: the numbers as each side reads."""
    for k in range(4):
        line, power = LINE_OF[cell, k], by * POWER[cell, k]
        lines[side, line] += power
        lines[1 - side, line] += 2 * power


@njit(cache=True)
def read(cells, lines):
    """The lines of a board: side 0 is +1, side 1 is -1."""
    for line in range(LINES + 1):
        lines[0, line] = lines[1, line] = BASE[line]
    for cell in range(CELLS):
        if cells[cell] != 0:
            put(lines, 0 if cells[cell] > 0 else 1, cell, 1)


@njit(cache=True)
def fives(lines, side, cell, played):
    """(how many, where) of the cells that complete five for `side` in the lines through `cell`; 2 stands for more.

    The stone on `cell` is there already (played = 1) or is thought to be (0). Two lines meet in one cell only, so
    completing cells on different lines are different cells.
    """
    count, where = 0, -1
    for k in range(4):
        line = LINE_OF[cell, k]
        mask = TABLE[lines[side, line] + (1 - played) * POWER[cell, k]] & FIELD
        if mask != 0:
            where = LINE_CELLS[line, LOWEST[mask]]
            count += 1 if mask & (mask - 1) == 0 else 2
    return count, where


@njit(cache=True)
def all_fives(lines, side):
    """(how many, where) over the whole board: different cells that complete five now; 2 stands for more."""
    where = -1
    for line in range(LINES):
        mask = TABLE[lines[side, line]] & FIELD
        while mask != 0:
            cell = LINE_CELLS[line, LOWEST[mask]]
            if where >= 0 and where != cell:
                return 2, where
            where = cell
            mask &= mask - 1
    return 0 if where < 0 else 1, where


@njit(cache=True)
def key(lines, side):
    """Three whole numbers that say the position and whose attack is meant: exact, not a hash."""
    rows = lines[0]
    first = second = 0
    for row in range(4):
        first = first << 15 | rows[row]
        second = second << 15 | rows[row + 4]
    return first, second, rows[8] << 1 | side


@njit(cache=True)
def slot(first, second, third, size):
    """Where a table of `size`, a power of two, keeps this key."""
    mixed = first * 0x1E3779B97F4A7C15 ^ second * 0x3F58476D1CE4E5B9 ^ third * 0x14D049BB133111EB
    mixed ^= mixed >> 29
    mixed *= 0x3F58476D1CE4E5B9
    return (mixed ^ mixed >> 32) & (size - 1)
