"""What a search and a prover know together, and the move that follows from it."""

from __future__ import annotations

import numpy as np

from alphazero.pool import DRAW, LOSS, OPEN, WIN
from alphazero.proof import Proof
from alphazero.root import EXACT, Root

PROVEN = {OPEN: None, WIN: "win", LOSS: "loss", DRAW: "draw"}
_FOUND = {word: proof for proof, word in PROVEN.items()}
LAST_STAND = 8  # plies before a proven loss within which holding out counts for more than what the search likes


class Knowledge:
    """Arrays [moves] over the root's legal moves, in the order of `root.actions`; all from the mover's side.

    Both sources are exact, so they never contradict each other; where both know a result, the quicker one stands.
    """

    def __init__(self, root: Root, proof: Proof):
        self._root = root
        self._where = {int(action): k for k, action in enumerate(root.actions)}
        self.proofs = root.proofs.copy()
        for action, word in proof.moves.items():
            self.proofs[self._where[action]] = _FOUND[word]
        by_prover = proof.result is not None and (
            root.proof == OPEN or (proof.plies is not None and proof.plies < root.proof_plies)
        )
        self.proof = _FOUND[proof.result] if by_prover else root.proof
        self.plies = proof.plies if by_prover else root.proof_plies if root.proof != OPEN else None
        line = list(proof.line) if by_prover else root.line
        self.best = self._choose(line)
        action = int(root.actions[self.best])
        self.line: list[int] = line if line[:1] == [action] else [action]
        self.values = np.where(self.proofs == OPEN, root.values, np.where(self.proofs == DRAW, 0, self.proofs))
        self.value_to_move = EXACT[self.proof] if self.proof != OPEN else root.value_to_move

    def _choose(self, line: list[int]) -> int:
        """Which move to make: the proven one; where all is lost, what the search likes until the end is near."""
        root = self._root
        if self.proof == LOSS and root.proof == OPEN:
            return self._where[line[0]] if line and self.plies is not None and self.plies <= LAST_STAND else root.best
        if self.proof != OPEN and line:
            return self._where[line[0]]
        if self.proofs[root.best] != LOSS or (self.proofs == LOSS).all():
            return root.best
        weights = self._weights()
        return int(np.flatnonzero(weights == weights.max())[0])

    @property
    def probs(self) -> np.ndarray:
        """What to think of each move, sums to 1: shares of the visits, with what is proven taken into account."""
        if self.proof in (WIN, LOSS) or self.proofs[self.best] in (WIN, LOSS):
            return np.eye(len(self.proofs))[self.best]
        weights = self._weights()
        return weights / weights.sum()

    def _weights(self) -> np.ndarray:
        """Visits, or the priors while nothing was visited; 0 for proven mistakes, unless all are."""
        sound = self.proofs != LOSS
        for weights in (self._root.visits, self._root.priors):
            kept = np.where(sound, weights, 0).astype(np.float64)
            if kept.sum() > 0:
                return kept
        return (sound if sound.any() else ~sound).astype(np.float64)  # priors so small that they are 0
