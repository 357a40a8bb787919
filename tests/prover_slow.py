"""Gomoku wins once more, to check the solver by: plain Python, every defence, nothing imported from the package.

A side is a whole number, one bit a cell, rows ten bits apart so that lines do not run over the edge. The attacker may
be advised by anybody (bad advice only makes a win unprovable); the defender may play every empty cell. What is left
out is what the rules decide at once: with five to complete the attacker completes it, so a reply to a four that leaves
a completing cell open has lost.
"""

SIZE = 9
WIDTH = SIZE + 1
STEPS = (1, WIDTH, WIDTH + 1, WIDTH - 1)
CELLS = [1 << (row * WIDTH + col) for row in range(SIZE) for col in range(SIZE)]
BOARD = sum(CELLS)


def to_bits(cells, player):
    """(own, other) of a flat list of 0, 1 and -1, as `player` sees it."""
    own = sum(bit for bit, cell in zip(CELLS, cells, strict=True) if cell == player)
    other = sum(bit for bit, cell in zip(CELLS, cells, strict=True) if cell == -player)
    return own, other


def to_cells(own, other):
    """The other way round: own stones are 1, the other's -1."""
    return [1 if own & bit else -1 if other & bit else 0 for bit in CELLS]


def bits_of(bits):
    while bits:
        low = bits & -bits
        yield low
        bits ^= low


def _shift(bits, by):
    return bits >> by if by >= 0 else bits << -by


def completing(own, empty):
    """The empty cells where one more stone makes five or more in a row."""
    found = 0
    for step in STEPS:
        near = {k: _shift(own, k * step) for k in range(-4, 5)}
        for first in range(-4, 1):
            cells = empty
            for k in range(first, first + 5):
                if k:
                    cells &= near[k]
            found |= cells
    return found


def four_making(own, empty):
    """The empty cells after which some cell completes five: three stones and another empty cell, in five."""
    found = 0
    for step in STEPS:
        near = {k: _shift(own, k * step) for k in range(-4, 5)}
        free = {k: _shift(empty, k * step) for k in range(-4, 5)}
        for first in range(-4, 1):
            for gap in range(first, first + 5):
                if gap == 0:
                    continue
                cells = empty & free[gap]
                for k in range(first, first + 5):
                    if k not in (0, gap):
                        cells &= near[k]
                found |= cells
    return found


class SlowProver:
    """advise(own, other, plies) -> bits: the moves an attacker should try; by default, all of them."""

    def __init__(self, advise=None):
        self.advise = advise or (lambda own, other, plies: BOARD & ~own & ~other)
        self.nodes = 0
        self._fours = {}  # (own, other) -> [plies of a win known, plies known to be too few]
        self._wins = {}

    def wins(self, own, other, plies):
        """Does `own`, to move, complete five within so many plies, whatever the other side plays?"""
        known = self._wins.setdefault((own, other), [SIZE**3, 0])
        if plies >= known[0]:
            return True
        if plies <= known[1]:
            return False
        won = self.wins_by_fours(own, other, plies) or self._wins_by_threats(own, other, plies)
        known[0 if won else 1] = plies
        return won

    def wins_by_fours(self, own, other, plies):
        """The same with fours alone, which leave the defender no choice."""
        known = self._fours.setdefault((own, other), [SIZE**3, 0])
        if plies >= known[0]:
            return True
        if plies <= known[1]:
            return False
        won = self._search_fours(own, other, plies)
        known[0 if won else 1] = plies
        return won

    def _search_fours(self, own, other, plies):
        self.nodes += 1
        empty = BOARD & ~own & ~other
        if plies < 1:
            return False
        if completing(own, empty):
            return True
        danger = completing(other, empty)
        if plies < 3 or danger & (danger - 1):
            return False
        for move in bits_of(four_making(own, empty) & (danger or empty)):
            targets = completing(own | move, empty ^ move)
            if targets & (targets - 1):
                return True
            if self.wins_by_fours(own | move, other | targets, plies - 2):
                return True
        return False

    def _wins_by_threats(self, own, other, plies):
        empty = BOARD & ~own & ~other
        danger = completing(other, empty)
        if plies < 5 or danger & (danger - 1):
            return False
        moves = danger or self.advise(own, other, plies) & empty
        return any(self.beats_all(own | move, other, plies - 1) for move in bits_of(moves))

    def beats_all(self, own, other, plies):
        """The other side is to move: does `own` win within so many plies against each of its moves?"""
        empty = BOARD & ~own & ~other
        if not empty or completing(other, empty):
            return False
        targets = completing(own, empty)
        if targets & (targets - 1):
            return plies >= 2
        # A pass is no better than the best move, so an attacker who can't win after a pass need not be looked at.
        if not targets and not self.wins_by_fours(own, other, plies - 1):
            return False
        return all(self.wins(own, other | reply, plies - 1) for reply in bits_of(targets or empty))
