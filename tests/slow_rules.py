"""The three games once more, written from the rules of DESIGN section 3 and nothing else: plain Python, no arrays.

Slow on purpose and in other words than the real ones: a grid of (owner, atoms) for Chain Reaction, sets of stones for
the others. A state here is an object with play, moves, board, to_move and winner.
"""


class SlowChainReaction:
    SIZE = 5

    def __init__(self):
        self.grid = {(r, c): (0, 0) for r in range(self.SIZE) for c in range(self.SIZE)}  # (owner, atoms)
        self.to_move = 1
        self.ply = 0
        self.winner = None

    def moves(self):
        if self.winner is not None:
            return []
        first_move = self.ply < 2
        wanted = 0 if first_move else self.to_move
        return [r * self.SIZE + c for (r, c), (owner, _) in sorted(self.grid.items()) if owner == wanted]

    def play(self, action):
        mover = self.to_move
        cell = divmod(action, self.SIZE)
        atoms = self.grid[cell][1]
        self.grid[cell] = (mover, 3 if self.ply < 2 else atoms + 1)
        while True:
            ripe = [cell for cell, (_, atoms) in self.grid.items() if atoms >= 4]
            if not ripe:
                break
            for cell in ripe:
                self.grid[cell] = (0, 0)
            for r, c in ripe:
                for near in ((r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1)):
                    if near in self.grid:
                        self.grid[near] = (mover, self.grid[near][1] + 1)
        self.ply += 1
        self.to_move = -mover
        owners = {owner for owner, _ in self.grid.values()}
        if self.ply >= 2 and -mover not in owners:
            self.winner = mover
        elif self.ply == 200:
            self.winner = 0

    def board(self):
        return [[self.grid[r, c][0] * self.grid[r, c][1] for c in range(self.SIZE)] for r in range(self.SIZE)]


class SlowRow:
    """Any k-in-a-row game on a square board: remember the stones, look for a line of k cells that one side holds."""

    def __init__(self, size, k):
        self.size, self.k = size, k
        self.stones = {1: set(), -1: set()}
        self.to_move = 1
        self.winner = None
        steps = ((0, 1), (1, 0), (1, 1), (1, -1))
        lines = [
            frozenset((r + i * dr, c + i * dc) for i in range(k))
            for r in range(size)
            for c in range(size)
            for dr, dc in steps
        ]
        self.lines = [line for line in lines if all(0 <= r < size and 0 <= c < size for r, c in line)]

    def moves(self):
        if self.winner is not None:
            return []
        taken = self.stones[1] | self.stones[-1]
        return [a for a in range(self.size**2) if divmod(a, self.size) not in taken]

    def play(self, action):
        mover = self.to_move
        self.stones[mover].add(divmod(action, self.size))
        if any(line <= self.stones[mover] for line in self.lines):
            self.winner = mover
        elif len(self.stones[1]) + len(self.stones[-1]) == self.size**2:
            self.winner = 0
        self.to_move = -mover

    def board(self):
        def cell(r, c):
            return 1 if (r, c) in self.stones[1] else -1 if (r, c) in self.stones[-1] else 0

        return [[cell(r, c) for c in range(self.size)] for r in range(self.size)]


SLOW_RULES = {
    "chain_reaction": SlowChainReaction,
    "gomoku": lambda: SlowRow(9, 5),
    "tictactoe": lambda: SlowRow(3, 3),
}
