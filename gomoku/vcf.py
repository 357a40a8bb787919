"""Victory by continuous fours (VCF): every move of the attacker threatens five, so every reply is forced.

The search is exact. A four has one completing cell, which the defender must take, or several, and then it wins. The
forced stone may make a four of the defender's; then the attacker must take that cell, and goes on only if this makes a
four again. A line of fours is therefore a proof by itself: no other reply of the defender's lasts longer.
"""

from __future__ import annotations

from typing import Any

from alphazero.kernel import bind
from gomoku import lines as board
from gomoku.lines import FIELD, FOUR, LINE_CELLS, LINE_OF, LINES, LOWEST, POWER, TABLE

MOST_FOURS = 24  # in one line of play
LONGEST = 2 * MOST_FOURS + 1  # plies

# Stand-ins for what `bind` puts in their place.
put: Any = None
read: Any = None
fives: Any = None
all_fives: Any = None
key: Any = None
slot: Any = None
fours: Any = None
back: Any = None
finish: Any = None
deepen: Any = None


def _back(lines, side, depth, path):
    """Take back the first `depth` pairs of stones."""
    for k in range(2 * depth):
        put(lines, side if k % 2 == 0 else 1 - side, path[k], -1)


def _finish(lines, side, cell, depth, path):
    """Write the last three moves: the four on `cell`, one of its completing cells for the defender, another one."""
    path[2 * depth] = cell
    at = 2 * depth + 1
    for k in range(4):
        line = LINE_OF[cell, k]
        mask = TABLE[lines[side, line] + POWER[cell, k]] & FIELD
        while mask != 0 and at < 2 * depth + 3:
            path[at] = LINE_CELLS[line, LOWEST[mask]]
            at += 1
            mask &= mask - 1


def _fours(lines, side, forced, most, budget, spent, seen, frames, path):
    """Plies of a win by at most `most` fours, with the moves in `path`; 0 if there is none, -1 if the budget ran out.

    `side` is to move and can't complete five now; forced: the one cell where the other could, or -1. spent int64 [1]
    counts nodes, up to `budget`. seen int64 [2 ** n, 4]: positions that were refuted, and with how many fours; with no
    rows it is not used. frames int16 [most, 2 + cells]: how many moves, which is next, the moves; 0 and 1 mean that
    there is no four at all. `lines` is as before afterwards.
    """
    other = 1 - side
    depth, entering = 0, True
    size = seen.shape[0]
    while True:
        frame = frames[depth]
        if entering:
            entering = False
            if spent[0] >= budget:
                back(lines, side, depth, path)
                return -1
            spent[0] += 1
            count, won = 0, -1
            if forced >= 0:
                threats, _ = fives(lines, side, forced, 0)
                if threats >= 2:
                    won = forced
                elif threats == 1:
                    frame[2] = forced
                    count = 1
            else:
                low = high = 0  # cells met before, as most four-making cells stand in one line only, but not all
                for line in range(LINES):
                    mask = (TABLE[lines[side, line]] >> FOUR) & FIELD
                    while mask != 0:
                        cell = LINE_CELLS[line, LOWEST[mask]]
                        mask &= mask - 1
                        bit = 1 << (cell if cell < 41 else cell - 41)
                        if (low if cell < 41 else high) & bit:
                            continue
                        if cell < 41:
                            low |= bit
                        else:
                            high |= bit
                        threats, _ = fives(lines, side, cell, 0)
                        if threats >= 2:
                            won = cell
                            break
                        frame[2 + count] = cell
                        count += 1
                    if won >= 0:
                        break
            if won >= 0:
                finish(lines, side, won, depth, path)
                back(lines, side, depth, path)
                return 2 * depth + 3
            none = count == 0
            if depth + 1 >= most:
                count = 0
            elif count > 0 and size > 0:
                first, second, third = key(lines, side)
                row = seen[slot(first, second, third, size)]
                if row[0] == first and row[1] == second and row[2] == third and row[3] >= most - depth:
                    count = 0
            frame[0], frame[1] = count, 1 if none else 0
        if frame[1] < frame[0]:
            cell = frame[2 + frame[1]]
            frame[1] += 1
            _, reply = fives(lines, side, cell, 0)
            put(lines, side, cell, 1)
            threats, where = fives(lines, other, reply, 0)
            if threats >= 2:  # the forced stone makes two threats of five: no way to stop both
                put(lines, side, cell, -1)
                continue
            put(lines, other, reply, 1)
            path[2 * depth], path[2 * depth + 1] = cell, reply
            depth += 1
            forced = where if threats == 1 else -1
            entering = True
        else:
            if frame[0] > 0 and size > 0:
                first, second, third = key(lines, side)
                row = seen[slot(first, second, third, size)]
                row[0], row[1], row[2], row[3] = first, second, third, most - depth
            if depth == 0:
                return 0
            depth -= 1
            put(lines, other, path[2 * depth + 1], -1)
            put(lines, side, path[2 * depth], -1)


def _deepen(lines, side, plies, budget, spent, seen, frames, path):
    """Plies of a win of `side`, to move, within so many plies by a five or fours; 0: none, -1: the budget ran out.

    Short ones are looked for first. The budget is for this call, the nodes are added to spent[0].
    """
    count, where = all_fives(lines, side)
    if count > 0:
        path[0] = where
        return 1
    threats, where = all_fives(lines, 1 - side)
    if threats >= 2 or plies < 3:
        return 0
    end = spent[0] + budget
    most = min((plies - 1) // 2, MOST_FOURS)
    reach = min(2, most)
    while True:
        before = spent[0]
        won = fours(lines, side, where, reach, end, spent, seen, frames, path)
        if won != 0 or reach == most:
            return won
        if spent[0] - before == 1 and frames[0, 0] < frames[0, 1]:  # no four at all: deeper is no different
            return 0
        reach = min(reach * 2, most)


_RULES = {name: getattr(board, name) for name in ("put", "read", "fives", "all_fives", "key", "slot")}
KERNELS = bind([_back, _finish, _fours, _deepen], _RULES, "gomoku_vcf")
