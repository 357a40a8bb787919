"""What a search knows at its root, read out of the tree: visits, priors, values, proofs and the expected line."""

from __future__ import annotations

import numpy as np

from alphazero.forest import Forest
from alphazero.tree import DRAW, LOSS, NONE, OPEN, READY, WIN, Pool

LONGEST_LINE = 16
# How a child's proof looks to the player who chooses it.
TURNED = {OPEN: OPEN, WIN: LOSS, LOSS: WIN, DRAW: DRAW}
EXACT = {WIN: 1.0, LOSS: -1.0, DRAW: 0.0}


class Moves:
    """The legal moves of one node, every number from the side of the player to move there. Arrays [moves]."""

    def __init__(self, pool: Pool, index: int):
        edges = pool.edges[index, : pool.nodes[index]["edge_count"]]
        grown = edges["child"] != NONE
        child = pool.nodes[np.where(grown, edges["child"], 0)]
        self.actions = edges["action"].astype(np.int64)
        self.priors = edges["prior"].astype(np.float64)
        self.visits = np.where(grown, child["visits"], 0).astype(np.int64)
        seen = self.visits > 0
        self.children = np.where(seen, edges["child"], NONE)
        self.proofs = np.array([TURNED[int(p)] if s else OPEN for p, s in zip(child["proof"], seen, strict=True)])
        self.proof_plies = np.where(self.proofs != OPEN, child["proof_plies"] + 1, 0).astype(np.int64)
        mean = -np.divide(child["value_sum"], self.visits, out=np.full(len(edges), np.nan), where=seen)
        self.values = np.array([EXACT.get(int(p), m) for p, m in zip(self.proofs, mean, strict=True)])

    def best_first(self) -> np.ndarray:
        """Indices of the moves: proven wins (quickest first), then by visits and prior, proven losses (slowest) last."""
        rank = np.select([self.proofs == WIN, self.proofs == LOSS], [0, 2], 1)
        speed = np.select([rank == 0, rank == 2], [self.proof_plies, -self.proof_plies], 0)
        return np.lexsort((self.actions, -self.priors, -self.visits, speed, rank))


class Root:
    """A snapshot of one search's root. Per-action arrays [actions]; every value is value_to_move of the root."""

    def __init__(self, forest: Forest, tree: int):
        pool = forest.pool
        index = int(pool.trees[tree]["root"])
        node = pool.nodes[index]
        self.moves = Moves(pool, index)
        self.evaluated = bool(node["status"] == READY)
        self.network_value = float(node["value"])
        self.simulations = max(0, int(node["visits"]) - 1)
        self.proof = int(node["proof"])
        self.proof_plies = int(node["proof_plies"])
        mean = node["value_sum"] / node["visits"] if node["visits"] else float(node["value"])
        self.value_to_move = float(EXACT.get(self.proof, mean))
        self.line = _line(pool, index) if self.evaluated else []
        self._count = forest.game.num_actions

    def spread(self, values: np.ndarray, fill: float = 0.0) -> np.ndarray:
        """Numbers of the legal moves as an array over all actions."""
        out = np.full(self._count, fill, values.dtype)
        out[self.moves.actions] = values
        return out


def _line(pool: Pool, index: int) -> list[int]:
    """The expected play from a node: at each step the best move by `Moves.best_first`, as far as it was searched."""
    line: list[int] = []
    while index != NONE and pool.nodes[index]["edge_count"] and len(line) < LONGEST_LINE:
        moves = Moves(pool, index)
        best = moves.best_first()[0]
        if line and moves.visits[best] == 0:
            break
        line.append(int(moves.actions[best]))
        index = int(moves.children[best])
    return line
