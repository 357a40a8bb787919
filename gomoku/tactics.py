"""What is certain at a glance: for every new position of a tree search (Game.tactics), in under a microsecond."""

from __future__ import annotations

from typing import Any

import numpy as np

from alphazero.game import FORCED, LOSES, NOTHING, WINS
from alphazero.kernel import bind
from gomoku import lines as board
from gomoku.lines import LINES
from gomoku.vcf import KERNELS as VCF

MOST_FOURS = 12

# Stand-ins for what `bind` puts in their place.
read: Any = None
all_fives: Any = None
fours: Any = None


def _tactics(cells, player, budget):
    """(result, action, plies) of an unfinished position, for the player to move.

    WINS by `action`, a five or the first of continuous fours found within `budget` nodes. LOSES: he can't complete
    five, and the other side can in two places; `action` blocks one of them. FORCED: `action` is the only move that does
    not lose at once. NOTHING found: action -1. plies: within how many it ends, 0 if nothing says so.
    """
    lines = np.empty((2, LINES + 1), np.int32)
    read(cells, lines)
    side = 0 if player == 1 else 1
    count, where = all_fives(lines, side)
    if count > 0:
        return WINS, where, 1
    threats, forced = all_fives(lines, 1 - side)
    if threats >= 2:
        return LOSES, forced, 2
    if budget > 0:
        frames = np.empty((MOST_FOURS, 2 + cells.shape[0]), np.int16)
        path = np.empty(2 * MOST_FOURS + 1, np.int64)
        spent = np.zeros(1, np.int64)
        seen = np.empty((0, 4), np.int64)
        plies = fours(lines, side, forced, MOST_FOURS, budget, spent, seen, frames, path)
        if plies > 0:
            return WINS, path[0], plies
    if threats == 1:
        return FORCED, forced, 0
    return NOTHING, -1, 0


_RULES = {"read": board.read, "all_fives": board.all_fives, "fours": VCF["fours"]}
tactics = bind([_tactics], _RULES, "gomoku_tactics")["tactics"]
