"""The perfect tic-tac-toe player, from the complete game tree. See alphazero/agents.py for the contract."""

from __future__ import annotations

import numpy as np

from alphazero.agents import Agent, Thinker
from alphazero.game import Position
from tictactoe import CELLS

_known: dict[bytes, int] = {}  # 5478 positions, filled as they are met


def value_to_move(position: Position) -> int:
    """What perfect play brings the player to move: 0 a draw, positive a win, the more so the quicker, else a loss."""
    if position.winner is not None:
        return position.winner * position.to_move * (CELLS + 1 - position.plies)
    key = position.board.tobytes()
    if key not in _known:
        _known[key] = max(-value_to_move(position.play(action)) for action in position.legal_moves())
    return _known[key]


def best_moves(position: Position) -> list[int]:
    """Moves with the best result, the quickest win or slowest loss among them."""
    values = {action: -value_to_move(position.play(action)) for action in position.legal_moves()}
    return [action for action, value in values.items() if value == max(values.values())]


def perfect(argument: str) -> Agent:
    """Never makes a mistake; chooses at random among moves equally good."""
    return Thinker("perfect", lambda position, seed: int(np.random.default_rng(seed).choice(best_moves(position))))


AGENTS = {"perfect": perfect}
