"""What a search knows at its root: visits, priors, values, proofs and the expected line.

Taking a snapshot happens in the engine's thread and only copies; the arithmetic waits for whoever reads it.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from alphazero.forest import Forest
from alphazero.pool import DRAW, LOSS, NONE, OPEN, READY, WIN
from alphazero.tree import best_edge, main_line

LONGEST_LINE = 16
EXACT = {WIN: 1.0, LOSS: -1.0, DRAW: 0.0}


class Root:
    """A snapshot of one search's root. Arrays [moves] over the legal moves, in the order of `actions`.

    Every value and proof is the root's player's: value_to_move, WIN for that player.
    """

    def __init__(self, forest: Forest, tree: int):
        pool = forest.pool
        index = int(pool.trees[tree]["root"])
        self._count = forest.game.num_actions
        self._node = pool.nodes[index].copy()
        self._edges = pool.edges[index, : self._node["edge_count"]].copy()
        self._children = pool.nodes[np.maximum(self._edges["child"], 0)]
        self.best = int(best_edge(pool, index))  # which of `actions` to play
        line = np.empty(LONGEST_LINE, np.int64)
        self.line: list[int] = line[: main_line(pool, index, line)].tolist()

    @property
    def evaluated(self) -> bool:
        return bool(self._node["status"] == READY)

    @property
    def simulations(self) -> int:
        return max(0, int(self._node["visits"]) - 1)

    @property
    def proof(self) -> int:
        return int(self._node["proof"])

    @property
    def proof_plies(self) -> int:
        return int(self._node["proof_plies"])

    @property
    def network_value(self) -> float:
        """The bare network's value_to_move."""
        return float(self._node["value"])

    @property
    def value_to_move(self) -> float:
        """Exact if proven, else the mean over all simulations."""
        if self.proof != OPEN:
            return EXACT[self.proof]
        return float(self._node["value_sum"] / self._node["visits"]) if self._node["visits"] else self.network_value

    @property
    def actions(self) -> np.ndarray:
        return self._edges["action"].astype(np.int64)

    @property
    def priors(self) -> np.ndarray:
        return self._edges["prior"].astype(np.float64)

    @cached_property
    def visits(self) -> np.ndarray:
        return np.where(self._edges["child"] != NONE, self._children["visits"], 0).astype(np.int64)

    @cached_property
    def proofs(self) -> np.ndarray:
        """OPEN, WIN, LOSS or DRAW; what is won for the child's mover is lost for ours."""
        proofs = np.where(self.visits > 0, self._children["proof"], OPEN).astype(np.int64)
        return np.where(proofs == DRAW, DRAW, -proofs)

    @cached_property
    def values(self) -> np.ndarray:
        """NaN where a move was never tried."""
        tried = self.visits > 0
        mean = np.divide(-self._children["value_sum"], self.visits, out=np.full(len(tried), np.nan), where=tried)
        return np.where(self.proofs == OPEN, mean, np.where(self.proofs == DRAW, 0, self.proofs))

    def spread(self, values: np.ndarray, fill: float = 0.0) -> np.ndarray:
        """Numbers of the legal moves as an array over all actions."""
        out = np.full(self._count, fill, values.dtype)
        out[self.actions] = values
        return out
