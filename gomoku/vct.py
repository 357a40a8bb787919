"""Victory by continuous threats (VCT): the attacker plays fours, and moves that threaten to win by fours.

An AND/OR search. After an attacking move the defender may play anywhere: a reply is left out only after the attacker's
line of fours has been replayed move by move with the reply's stone on the board and still wins, counter-fours included.
So nothing rests on a list of "good" defences, and a win found is a proof.

The search keeps its whole state in arrays and stops every few thousand nodes, to go on where it was at the next call:
whoever runs it looks at the clock in between.
"""

from __future__ import annotations

from typing import Any

from alphazero.kernel import bind
from gomoku.lines import CELLS, FIELD, FOUR, HALF, LINE_CELLS, LINES, LOWEST, TABLE, THREE
from gomoku.vcf import KERNELS as VCF
from gomoku.vcf import LONGEST

LEVELS = LONGEST + 1
FOUR_NODES = 2_000  # for one search of fours inside the tree; what it can't find with these counts as not there

# A frame, one for each level: how many moves, which is next, the plies proven so far, threats left, plies left; then
# the moves. Levels 0, 2, ... are the attacker's to move.
COUNT, NEXT, BOUND, THREATS, LIMIT, MOVES = 0, 1, 2, 3, 4, 5
# control int64 [5]: where the search stands. ONLY: the one first move to look at, or ANY.
LEVEL, PHASE, VALUE, SIDE, ONLY = 0, 1, 2, 3, 4
ENTER, TRY, LEAVE = 0, 1, 2
ANY, BELOW = -1, -2  # no such restriction; and not the first move at all
RUNNING = -1

# Stand-ins for what `bind` puts in their place.
put: Any = None
fives: Any = None
all_fives: Any = None
key: Any = None
slot: Any = None
deepen: Any = None
replay: Any = None
recall: Any = None
remember: Any = None
list_attacks: Any = None
list_defences: Any = None
attack: Any = None
defend: Any = None


def _replay(lines, side, reply, path, plies):
    """Do the fours of `path`, a win of `side` when the other side passes, still win after the other's `reply`?"""
    other = 1 - side
    if reply == path[0]:
        return False
    put(lines, other, reply, 1)
    threats, forced = fives(lines, other, reply, 1)
    won, placed = False, 0
    while threats < 2 and placed + 2 < plies:
        cell = path[placed]
        if reply == cell or (forced >= 0 and forced != cell):
            break
        count, where = fives(lines, side, cell, 0)
        if count >= 2:
            won = True
            break
        if count == 0 or where != path[placed + 1]:
            break
        put(lines, side, cell, 1)
        threats, forced = fives(lines, other, where, 0)
        put(lines, other, where, 1)
        placed += 2
    for k in range(placed):
        put(lines, side if k % 2 == 0 else other, path[k], -1)
    put(lines, other, reply, -1)
    return won


def _recall(lines, side, threats, plies, known):
    """What the table says of an attack with so many threats and plies: plies of a win, 0 refuted, -1 nothing."""
    first, second, third = key(lines, side)
    row = known[slot(first, second, third, known.shape[0])]
    if row[0] != first or row[1] != second or row[2] != third:
        return -1
    won = row[3] & 255
    if 0 < won <= plies:
        return won
    return 0 if (row[3] >> 8) & 255 >= threats and (row[3] >> 16) & 255 >= plies else -1


def _remember(lines, side, won, threats, plies, known):
    """Write down a win in `won` plies, or with won = 0 that so many threats and plies are not enough."""
    first, second, third = key(lines, side)
    row = known[slot(first, second, third, known.shape[0])]
    value = row[3] if row[0] == first and row[1] == second and row[2] == third else 0
    if won > 0:
        old = value & 255
        value = (value & ~255) | (won if old == 0 else min(won, old))
    else:
        value = (value & 255) | (threats << 8) | (plies << 16)
    row[0], row[1], row[2], row[3] = first, second, third, value


def _list_attacks(lines, side, frame, scores):
    """The moves that may threaten something, the most promising first."""
    scores[:] = 0
    for line in range(LINES):
        value = TABLE[lines[side, line]]
        mask = (value >> HALF) & FIELD
        while mask != 0:
            place = LOWEST[mask]
            mask &= mask - 1
            scores[LINE_CELLS[line, place]] += (
                1 + 3 * ((value >> THREE + place) & 1) + 2 * ((value >> FOUR + place) & 1)
            )
    count = 0
    for cell in range(CELLS):
        if scores[cell] > 0:
            at = count
            while at > 0 and scores[frame[MOVES + at - 1]] < scores[cell]:
                frame[MOVES + at] = frame[MOVES + at - 1]
                at -= 1
            frame[MOVES + at] = cell
            count += 1
    frame[COUNT] = count


def _list_defences(lines, cells, side, path, plies, frame, marks):
    """All replies that the line of fours `path` does not beat as it stands; those on its own cells first."""
    count = 0
    marks[:] = cells
    for k in range(plies):
        cell = path[k]
        if marks[cell] == 0:
            marks[cell] = 1
            frame[MOVES + count] = cell
            count += 1
    for cell in range(CELLS):
        if marks[cell] == 0 and not replay(lines, side, cell, path, plies):
            frame[MOVES + count] = cell
            count += 1
    frame[COUNT] = count


def _attack(lines, side, frame, only, spent, seen, known, frames, path, scores):
    """Enter a position with the attacker to move: plies of a win, 0 if there is none, -1 if moves must be tried."""
    threats, plies = frame[THREATS], frame[LIMIT]
    if only == BELOW:  # at the top the table is not asked, as it knows no moves
        won = recall(lines, side, threats, plies, known)
        if won >= 0:
            return won
    if only < 0:
        won = deepen(lines, side, plies, FOUR_NODES, spent, seen, frames, path)
        if won > 0:
            remember(lines, side, won, 0, 0, known)
            return won
    count, where = all_fives(lines, 1 - side)
    if count >= 2 or plies < 5:
        return 0
    frame[NEXT] = 0
    if count == 1:  # the one cell that must be taken; what was threatened before may still be threatened
        frame[COUNT], frame[MOVES] = 1, where
        return 0 if only >= 0 and only != where else -1
    if threats == 0:
        remember(lines, side, 0, 0, plies, known)
        return 0
    frame[THREATS] = threats - 1
    if only >= 0:
        frame[COUNT], frame[MOVES] = 1, only
    else:
        list_attacks(lines, side, frame, scores)
    return -1


def _defend(lines, cells, side, cell, frame, spent, seen, frames, path, scores):
    """Enter a position after the attacker's move on `cell`: plies of a win, 0 for no threat, -1 to try the replies."""
    frame[NEXT] = 0
    count, where = fives(lines, side, cell, 1)
    if count >= 2:
        return 2
    if count == 1:
        frame[COUNT], frame[MOVES], frame[BOUND] = 1, where, 0
        return -1
    won = deepen(lines, side, frame[LIMIT] - 1, FOUR_NODES, spent, seen, frames, path)
    if won <= 0:
        return 0
    spent[0] += 8  # what the replays cost, in nodes
    list_defences(lines, cells, side, path, won, frame, scores)
    frame[BOUND] = 1 + won
    return -1


def _advance(lines, cells, control, stack, budget, spent, seen, known, frames, path, scores):
    """Search on until spent[0] reaches `budget`: plies of a win of control[SIDE], 0 if none was found, or RUNNING."""
    level, phase, value, side = control[LEVEL], control[PHASE], control[VALUE], control[SIDE]
    while spent[0] < budget:
        frame = stack[level]
        attacking = level % 2 == 0
        if phase == ENTER:
            if attacking:
                only = control[ONLY] if level == 0 else BELOW
                value = attack(lines, side, frame, only, spent, seen, known, frames, path, scores)
            else:
                last = stack[level - 1]
                cell = last[MOVES + last[NEXT] - 1]
                value = defend(lines, cells, side, cell, frame, spent, seen, frames, path, scores)
            phase = TRY if value < 0 else LEAVE
        elif phase == TRY:
            if frame[NEXT] < frame[COUNT]:
                cell = frame[MOVES + frame[NEXT]]
                frame[NEXT] += 1
                put(lines, side if attacking else 1 - side, cell, 1)
                cells[cell] = 1
                stack[level + 1, THREATS], stack[level + 1, LIMIT] = frame[THREATS], frame[LIMIT] - 1
                level, phase = level + 1, ENTER
            elif attacking:
                if level > 0 or control[ONLY] < 0:
                    forced = all_fives(lines, 1 - side)[0] > 0
                    remember(lines, side, 0, frame[THREATS] + (0 if forced else 1), frame[LIMIT], known)
                value, phase = 0, LEAVE
            else:
                value, phase = frame[BOUND], LEAVE
        elif level == 0:
            return value
        else:
            level -= 1
            frame = stack[level]
            cell = frame[MOVES + frame[NEXT] - 1]
            attacking = level % 2 == 0
            put(lines, side if attacking else 1 - side, cell, -1)
            cells[cell] = 0
            if attacking and value > 0:
                value += 1
                remember(lines, side, value, 0, 0, known)
            elif attacking:
                phase = TRY
            elif value > 0:
                frame[BOUND] = max(frame[BOUND], value + 1)
                phase = TRY
    control[LEVEL], control[PHASE], control[VALUE] = level, phase, value
    return RUNNING


KERNELS = bind(
    [_replay, _recall, _remember, _list_attacks, _list_defences, _attack, _defend, _advance], VCF, "gomoku_vct"
)
