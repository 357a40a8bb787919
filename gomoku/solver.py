"""The threat searches for Python: a board, their workspace, and what they remember from one question to the next."""

from __future__ import annotations

import numpy as np

from gomoku.lines import CELLS, LINES
from gomoku.vcf import KERNELS as VCF
from gomoku.vcf import LONGEST
from gomoku.vct import ANY, ENTER, LEVEL, LEVELS, LIMIT, MOVES, NEXT, SIDE, THREATS
from gomoku.vct import KERNELS as VCT


class Solver:
    """One board and what was found out about it: the workspace of the kernels. For one thread at a time.

    Sides are 0 for +1 and 1 for -1. Tables are kept from call to call, and hold full positions, not hashes.
    """

    def __init__(self, cells: np.ndarray, table_bits: int = 15):
        self.lines = np.empty((2, LINES + 1), np.int32)
        self.cells = (cells != 0).astype(np.int16)
        self.spent = np.zeros(1, np.int64)
        self._seen = np.zeros((1 << table_bits, 4), np.int64)
        self._known = np.zeros((1 << table_bits, 4), np.int64)
        self._frames = np.empty((LONGEST, 2 + CELLS), np.int16)
        self._path = np.empty(LONGEST + 2, np.int64)
        self._scores = np.empty(CELLS, np.int16)
        self._stack = np.zeros((LEVELS + 2, MOVES + CELLS), np.int16)
        self._control = np.zeros(5, np.int64)
        VCF["read"](cells, self.lines)

    def put(self, side: int, cell: int, by: int = 1) -> None:
        """Play a stone, or with by = -1 take it back."""
        VCF["put"](self.lines, side, cell, by)
        self.cells[cell] = 1 if by == 1 else 0

    def fives(self, side: int) -> tuple[int, int]:
        """(how many, one of them) of the cells where this side completes five; 2 stands for more."""
        count, where = VCF["all_fives"](self.lines, side)
        return int(count), int(where)

    def fours(self, side: int, plies: int = LONGEST, budget: int = 20_000) -> tuple[int, ...]:
        """The moves of a win by a five or fours alone, side to move; nothing if there is none within so many nodes."""
        won = VCF["deepen"](self.lines, side, plies, budget, self.spent, self._seen, self._frames, self._path)
        return tuple(int(cell) for cell in self._path[: max(won, 0)])

    def shapes(self, side: int) -> np.ndarray:
        """int16 [cells]: how much a stone of this side's would do on each cell towards fours and threes."""
        VCT["list_attacks"](self.lines, side, self._stack[0], self._scores)
        return self._scores.copy()

    def begin(self, side: int, threats: int, plies: int = LONGEST, only: int = ANY) -> None:
        """Start a search for a win of `side`, to move, with so many threats that are not forced, and plies.

        only: look at this first move alone, which must not be a five.
        """
        self._control[:] = 0, ENTER, 0, side, only
        self._stack[0, THREATS], self._stack[0, LIMIT], self._stack[0, NEXT] = threats, min(plies, LONGEST), 0

    def advance(self, nodes: int) -> int:
        """Search on for so many nodes: plies of the win, 0 for none, or RUNNING: call again, or `stop`."""
        value = VCT["advance"](
            self.lines, self.cells, self._control, self._stack, self.spent[0] + nodes, self.spent,
            self._seen, self._known, self._frames, self._path, self._scores,
        )  # fmt: skip
        return int(value)

    def stop(self) -> None:
        """Give up a search that is RUNNING: the board is as it was when it began."""
        side = int(self._control[SIDE])
        for level in range(int(self._control[LEVEL])):
            frame = self._stack[level]
            self.put(side if level % 2 == 0 else 1 - side, int(frame[MOVES + frame[NEXT] - 1]), -1)
        self._control[LEVEL] = 0

    def first_move(self) -> int:
        """The first move of the win that `advance` has just found."""
        next_one = int(self._stack[0, NEXT])
        return int(self._stack[0, MOVES + next_one - 1] if next_one else self._path[0])  # by threats, or fours alone
