"""Depth-first proof-number search for Chain Reaction: can the attacker force a win from here?

Nagai's df-pn ("Df-pn algorithm for searching AND/OR trees", 2002). Every position has two numbers: how many leaves at
least must still turn out well to prove that the attacker wins (pn), and to disprove it (dn). The search always goes
for the cheapest leaf. The attacker moves in OR nodes (one good move is enough), the defender in AND nodes.

Why a proof is sound although positions repeat, atoms over the edge being lost: a position is marked as won only when
the attacker has a move that wins at once or leads to one already marked, or when all the defender's moves lead to ones
already marked. So every proof rests on earlier ones, none on itself. Each mark carries `plies`, a bound within which
the win comes, greater by one than that of what it rests on. Nothing about the way to the position enters, keys are
exact, and so a mark stays true wherever else the position turns up. A move back to a position on the way here counts
as a failure of the attacker. Such failures do depend on the way, so a disproof that rests on one gets REPEATS for its
plies and counts as "no proof found". A disproof without any is, by the same reasoning, a proof that the defender wins.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from alphazero.game import UNDECIDED
from alphazero.kernel import bind
from chain_reaction import PLY_LIMIT, legal, play
from chain_reaction import table as tables
from chain_reaction.table import CELLS

INFINITE = 1 << 30
REPEATS = 1 << 15  # instead of a number of plies: a disproof that hangs on the way to the position

# One position on the way from the root to where the search stands, with its moves.
FRAME = np.dtype(
    [
        ("cells", np.int16, CELLS),  # the attacker's atoms are positive
        ("board", np.uint64),
        ("rest", np.uint16),
        ("mover", np.int8),  # 1 the attacker, -1 the defender
        ("count", np.int64),
        ("pn_limit", np.int64),
        ("dn_limit", np.int64),
        ("start", np.int64),  # nodes when it was entered
        ("moves", np.int64, CELLS),
        ("boards", np.uint64, CELLS),
        ("rests", np.uint16, CELLS),
        ("fixed", np.uint8, CELLS),  # pn and dn below hold whatever the table says
        ("pn", np.int64, CELLS),
        ("dn", np.int64, CELLS),
        ("plies", np.int64, CELLS),
    ]
)

# Stand-ins for what `bind` puts in their place.
rules_play: Any = None
rules_legal: Any = None
pack: Any = None
find: Any = None
store: Any = None
phase: Any = None
enter: Any = None
sum_up: Any = None
descend: Any = None


def _phase(cells):
    """Plies played, as far as the rules need to know: 0, 1, or 2 for "both have moved". Draws are the caller's part."""
    owned = 0
    for cell in range(CELLS):
        owned += cells[cell] != 0
    return min(owned, 2)


def _enter(frame, scratch, mask):
    """Write the moves of a position whose cells and mover stand in `frame`."""
    cells, mover = frame.cells, np.int64(frame.mover)
    plies = phase(cells)
    rules_legal(cells, mover, plies, mask)
    count = 0
    for action in range(CELLS):
        if not mask[action]:
            continue
        scratch[:] = cells
        winner = rules_play(scratch, mover, action, plies)
        frame.moves[count] = action
        frame.plies[count] = 0
        if winner != UNDECIDED:
            frame.fixed[count] = True
            frame.pn[count], frame.dn[count] = (0, INFINITE) if winner > 0 else (INFINITE, 0)
        else:
            frame.fixed[count] = False
            frame.boards[count], frame.rests[count] = pack(scratch, -mover)
            replies = 0 if plies > 0 else CELLS - 1
            for cell in range(CELLS):
                replies += scratch[cell] * mover < 0
            # Whoever has few moves left is near his end. The square needs half the nodes of the plain number.
            frame.pn[count], frame.dn[count] = (replies**2, 1) if mover > 0 else (1, replies**2)
        count += 1
    frame.count = count


def _sum_up(table, frame):
    """(pn, dn, plies, best move, pn or dn of the second best) of a position, from what is known of its moves.

    plies bounds a proof or a disproof; it is 0 before there is one, REPEATS if the disproof hangs on the way here.
    """
    attacking = frame.mover > 0
    # The mover needs one good move: `easy` is the least of the numbers for him. The other needs an answer to all: the
    # sum, `hard`. In an OR node they are pn and dn, in an AND node dn and pn.
    best, easy, second, hard = 0, INFINITE + 1, INFINITE, 0
    soonest, latest, closed = REPEATS, 0, True
    for k in range(frame.count):
        if not frame.fixed[k]:
            place = find(table, frame.boards[k], frame.rests[k])
            if place >= 0:
                entry = table[place]
                frame.pn[k], frame.dn[k], frame.plies[k] = entry.pn, entry.dn, entry.plies
        mine, others = (frame.pn[k], frame.dn[k]) if attacking else (frame.dn[k], frame.pn[k])
        if mine < easy:
            best, second, easy = k, min(easy, INFINITE), mine
        elif mine < second:
            second = mine
        if mine == 0:
            soonest = min(soonest, frame.plies[k])
        latest = max(latest, frame.plies[k])
        closed &= others == 0
        hard = INFINITE if others >= INFINITE else max(hard, min(hard + others, INFINITE - 1))
    plies = 0
    if easy == 0:
        plies, hard = min(soonest + 1, REPEATS), INFINITE
    elif closed:
        plies, easy = min(latest + 1, REPEATS), INFINITE
    if attacking:
        return easy, hard, plies, best, second
    return hard, easy, plies, best, second


def _descend(frames, depth, best, second, pn, dn, nodes):
    """Make frames[depth + 1] the position after this move; False if that position is on the way here already."""
    frame, child = frames[depth], frames[depth + 1]
    for before in range(depth, -1, -1):
        if frames[before].board == frame.boards[best] and frames[before].rest == frame.rests[best]:
            return False
    child.cells[:] = frame.cells
    rules_play(child.cells, np.int64(frame.mover), frame.moves[best], phase(frame.cells))
    child.board, child.rest, child.mover = frame.boards[best], frame.rests[best], -frame.mover
    child.count, child.start = -1, nodes
    # A little more than the second best costs, so that the search does not hop to and fro between the two
    # (1 + epsilon, Pawlewicz and Lew 2007).
    reach = second + 1 + second // 4
    if frame.mover > 0:
        child.pn_limit, child.dn_limit = min(frame.pn_limit, reach), frame.dn_limit - (dn - frame.dn[best])
    else:
        child.pn_limit, child.dn_limit = frame.pn_limit - (pn - frame.pn[best]), min(frame.dn_limit, reach)
    return True


def _run(table, frames, depth, nodes, limit):
    """Go on from `depth` until the root is decided or `nodes` reaches `limit`. Returns (depth, nodes).

    depth is where the search stands in `frames`; -1 says that the root is decided, and the table has the result.
    """
    scratch = np.empty(CELLS, np.int16)
    mask = np.empty(CELLS, np.bool_)
    while depth >= 0:
        frame = frames[depth]
        if frame.count < 0:
            if nodes >= limit:
                break
            nodes += 1
            enter(frame, scratch, mask)
        pn, dn, plies, best, second = sum_up(table, frame)
        if pn >= frame.pn_limit or dn >= frame.dn_limit:
            store(table, frame.board, frame.rest, pn, dn, plies, nodes - frame.start + 1)
            depth -= 1
        elif depth + 1 < len(frames) and descend(frames, depth, best, second, pn, dn, nodes):
            depth += 1
        else:
            frame.fixed[best], frame.pn[best], frame.dn[best], frame.plies[best] = 1, INFINITE, 0, REPEATS
    return depth, nodes


def _begin(frame, cells, mover):
    """Make `frame` the root of a search."""
    frame.cells[:] = cells
    frame.mover, frame.count, frame.start = mover, -1, 0
    frame.board, frame.rest = pack(cells, mover)
    frame.pn_limit = frame.dn_limit = INFINITE


@cache
def kernels() -> dict[str, Any]:
    rules: dict[str, Any] = {"rules_play": play, "rules_legal": legal}
    templates = [*tables.TEMPLATES, _phase, _enter, _sum_up, _descend, _run, _begin]
    return bind(templates, rules, "chain_reaction_dfpn")


class Search:
    """One search under way, which can be run piece by piece. `table` may hold what earlier ones have found."""

    def __init__(self, cells: np.ndarray, mover: int, table: np.ndarray):
        """cells int16 [cells], the attacker's positive; mover 1 if the attacker is to move, else -1."""
        self.table, self.nodes = table, 0
        self._frames, self._depth = np.zeros(PLY_LIMIT, FRAME), 0
        self._root = np.ascontiguousarray(cells, np.int16), mover
        kernels()["begin"](self._frames[0], *self._root)

    def run(self, nodes: int) -> bool:
        """Look at so many positions more; True if it is decided."""
        limit = self.nodes + nodes
        self._depth, self.nodes = kernels()["run"](self.table, self._frames, self._depth, self.nodes, limit)
        return self._depth < 0

    def result(self) -> tuple[int, int]:
        """(1, plies) if the attacker wins, (-1, plies) if the defender does, else (0, 0)."""
        return lookup(self.table, *self._root)


def lookup(table: np.ndarray, cells: np.ndarray, mover: int) -> tuple[int, int]:
    """(1, plies) if the table says that the attacker wins, (-1, plies) that the defender does, (0, 0) if neither."""
    pn, dn, plies = kernels()["look"](table, cells, mover)
    if pn == 0:
        return 1, plies
    return (-1, plies) if dn == 0 and plies < REPEATS else (0, 0)
