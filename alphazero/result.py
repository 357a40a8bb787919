"""What a search found, as its caller sees it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from alphazero.game import Position
from alphazero.knowledge import PROVEN, Knowledge
from alphazero.lane import Outcome
from alphazero.settings import Level


@dataclass(frozen=True, eq=False)
class SearchResult:
    """What a search found. Arrays [actions] over all cells; values are value_to_move of the position searched."""

    action: int
    probs: np.ndarray  # what the search thinks of each move: shares of the visits, proven mistakes 0; sums to 1
    value_to_move: float  # -1 (lost) to 1 (won) for the player to move
    visits: np.ndarray
    priors: np.ndarray  # the bare network's opinion, over legal moves
    action_values: np.ndarray  # value_to_move after each move, still from the mover's side; NaN where never tried
    proven: str | None  # "win", "loss" or "draw" for the side to move
    proven_plies: int | None  # the proven end comes within so many plies
    proven_moves: dict[int, str]  # moves whose result is certain, from the mover's side
    line: list[int]  # expected play, beginning with the best move
    simulations: int
    seconds: float
    stopped: str  # "simulations", "seconds", "proven", "memory", or "running" for a glance at a search under way
    position: Position = field(repr=False)
    outcome: Outcome = field(repr=False)  # for the engine: the tree to go on with
    symmetry: int = field(repr=False)


def make_result(
    position: Position,
    outcome: Outcome,
    knowledge: Knowledge,
    seconds: float,
    symmetry: int,
    strength: Level,
    draw: float,
    slip: float,
) -> SearchResult:
    """The outcome of a search in its agreed orientation, seen from the caller's again."""
    root = outcome.root
    probs = knowledge.probs
    table = position.game.symmetries[symmetry]
    undo = position.game.symmetries[position.game.inverses[symmetry]]

    def back(values: np.ndarray, fill: float = 0.0) -> np.ndarray:
        return root.spread(values, fill)[table]  # what stands at table[cell] over there belongs to `cell` here

    if slip < strength.slips:
        pick = int(draw * len(root.actions))
    else:
        pick = knowledge.best if strength.temperature == 0 else sample(probs, strength.temperature, draw)
    return SearchResult(
        action=int(undo[root.actions[pick]]),
        probs=back(probs),
        value_to_move=knowledge.value_to_move,
        visits=back(root.visits),
        priors=back(root.priors),
        action_values=back(knowledge.values, np.nan),
        proven=PROVEN[knowledge.proof],
        proven_plies=knowledge.plies,
        proven_moves={
            int(undo[action]): word
            for action, proof in zip(root.actions, knowledge.proofs, strict=True)
            if (word := PROVEN[int(proof)]) is not None
        },
        line=[int(undo[action]) for action in knowledge.line],
        simulations=root.simulations,
        seconds=seconds,
        stopped=outcome.stopped,
        position=position,
        outcome=outcome,
        symmetry=symmetry,
    )


def sample(probs: np.ndarray, temperature: float, draw: float) -> int:
    """An index drawn from probs^(1/temperature), `draw` being uniform in 0..1."""
    with np.errstate(divide="ignore"):
        logs = np.log(probs)
        weights = np.exp(np.maximum(logs - logs.max(), -1e4) / max(temperature, 1e-6))
    weights[probs == 0] = 0
    chosen = int(np.searchsorted(np.cumsum(weights / weights.sum()), draw, side="right"))
    return min(chosen, int(np.flatnonzero(weights)[-1]))  # rounding must not reach past the last possible move
