"""Opponents for Chain Reaction that need no network. See alphazero/agents.py for the contract."""

from __future__ import annotations

import numpy as np

from alphazero.agents import Agent, Thinker, alphabeta
from alphazero.game import Position
from chain_reaction.alphabeta import MAX_DEPTH, best_moves


def greedy(argument: str) -> Agent:
    """Looks one move ahead: wins if it can, else takes the most atoms and cells over the other's."""
    return Thinker("greedy", _choose_greedily)


def _choose_greedily(position: Position, seed: int) -> int:
    def balance(action: int) -> float:
        after = position.play(action)
        if after.winner == position.to_move:
            return np.inf
        return float((after.board + np.sign(after.board)).sum() * position.to_move)

    moves = position.legal_moves()
    balances = [balance(action) for action in moves]
    best = [action for action, value in zip(moves, balances, strict=True) if value == max(balances)]
    return int(np.random.default_rng(seed).choice(best))


AGENTS = {"greedy": greedy, "alphabeta@DEPTH": alphabeta(best_moves, MAX_DEPTH)}
