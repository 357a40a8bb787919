"""Positions and thoughts as the board component reads them: plain JSON, numbers and codes, no sentences.

What a game itself says (names of its players, why a cell may not be played) goes over as it stands in English; the
client finds it in its language's texts (web/texts), or shows it as it is if the game is a new one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from alphazero import Game, Position, SearchResult

FEWEST_SHOWN = 0.005  # a move that was never tried is shown if the network gives it at least this much
MOST_SHOWN = 40


def view(position: Position, before: Position | None = None) -> dict[str, Any]:
    """A position; with the one before the last move, the waves of that move too."""
    game, cells = position.game, position.board.ravel()
    legal = position.legal_moves()
    reasons: dict[str, list[int]] = {}
    if position.winner is None:
        for cell in sorted(set(range(game.num_actions)) - set(legal)):
            reasons.setdefault(game.explain_illegal(cells, position.to_move, cell), []).append(cell)
    shown: dict[str, Any] = {
        "moves": list(position.moves),
        "cells": cells.tolist(),
        "toMove": position.to_move,
        "winner": position.winner,
        "legal": legal,
        "reasons": reasons,
    }
    if position.winner:
        shown["winning"] = game.winning_cells(cells, position.winner)
    if before is not None:
        waves = game.waves(before.board.ravel(), before.to_move, position.moves[-1], before.plies)
        shown["waves"] = [{"cells": board.tolist(), "bursting": bursting} for board, bursting in waves]
    return shown


def thought(result: SearchResult) -> dict[str, Any]:
    """What a search found. Q is value_to_move of the position searched; what is called First is value_first."""
    position = result.position
    after = result.action_values[result.action]
    return {
        "ply": len(position.moves),
        "toMove": position.to_move,
        "action": result.action,
        "valueFirst": _round(result.value_to_move * position.to_move),
        "afterFirst": None if math.isnan(after) else _round(after * position.to_move),
        "proven": result.proven,
        "plies": result.proven_plies,
        "simulations": result.simulations,
        "seconds": round(result.seconds, 2),
        "line": result.line,
        "moves": _moves(position.game, result),
    }


def _moves(game: Game, result: SearchResult) -> list[dict[str, Any]]:
    """The moves worth a look, most visited first: N, Q, P, the sum that PUCT compares, and what is proven."""
    settings = game.search
    explore = settings.c_puct * math.sqrt(result.simulations + 1)
    tried = result.visits > 0
    untried_q = result.value_to_move - settings.fpu_reduction * math.sqrt(result.priors[tried].sum())
    q = np.where(tried, np.nan_to_num(result.action_values), untried_q)
    total = q + explore * result.priors / (1 + result.visits)
    legal = result.position.legal_moves()
    shown = [cell for cell in legal if tried[cell] or result.priors[cell] >= FEWEST_SHOWN]
    shown.sort(key=lambda cell: (-result.visits[cell], -result.priors[cell]))
    return [
        {
            "cell": cell,
            "n": int(result.visits[cell]),
            "q": _round(q[cell]),  # what the search takes it to be worth, if n is 0
            "p": _round(result.priors[cell]),
            "sum": _round(total[cell]),
            "proven": result.proven_moves.get(cell),
        }
        for cell in shown[:MOST_SHOWN]
    ]


def _round(value: float) -> float:
    return round(float(value), 3)
