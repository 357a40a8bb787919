"""Elo ratings of several players from their matches: Bradley-Terry by maximum likelihood, with 95 % intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from alphazero.elo import Z95, Tally

ELO_PER_LOGIT = 400 / math.log(10)


@dataclass(frozen=True)
class Rating:
    """Elo over the average of all players; `margin` is half of the 95 % interval."""

    name: str
    elo: float
    margin: float
    score: float  # points over games, 0 to 1
    games: int


def fit_ratings(names: list[str], matches: dict[tuple[int, int], Tally]) -> list[Rating]:
    """Ratings in the order of `names`, their average 0. matches[i, j]: the tally of player i (A) against j (B).

    Each match gets half a pair won and half a pair lost on top, as everywhere in elo.py, so that who won every game
    is rated finitely. Margins come from how the pairs really varied (a sandwich estimate), not from the model.
    """
    count = len(names)
    played = {key: tally for key, tally in matches.items() if tally.pairs}
    logits = np.zeros(count)
    for _ in range(100):  # Newton; the log-likelihood is concave
        gradient, curvature, _ = _slopes(logits, played)
        step = np.linalg.pinv(curvature) @ gradient
        step *= min(1.0, 2.0 / max(np.abs(step).max(), 1e-12))  # from far away full steps may overshoot
        logits += step
        if np.abs(step).max() < 1e-10:
            break
    logits -= logits.mean()
    _, curvature, spread = _slopes(logits, played)
    inverse = np.linalg.pinv(curvature)
    errors = np.sqrt(np.maximum(np.diag(inverse @ spread @ inverse), 0))
    return [
        Rating(name, float(logits[i] * ELO_PER_LOGIT), float(errors[i] * Z95 * ELO_PER_LOGIT), *_points(i, matches))
        for i, name in enumerate(names)
    ]


def _slopes(logits: np.ndarray, played: dict[tuple[int, int], Tally]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(gradient [n], curvature [n, n], covariance of the gradient [n, n]) of the log-likelihood, in pairs."""
    count = len(logits)
    gradient, curvature, spread = np.zeros(count), np.zeros((count, count)), np.zeros((count, count))
    for (i, j), tally in played.items():
        pairs = tally.pairs + 1
        mean, variance = tally.variance()
        expected = 1 / (1 + math.exp(logits[j] - logits[i]))
        direction = np.zeros(count)
        direction[i], direction[j] = 1, -1
        gradient += pairs * (mean - expected) * direction
        curvature += pairs * expected * (1 - expected) * np.outer(direction, direction)
        spread += pairs * variance * np.outer(direction, direction)
    return gradient, curvature, spread


def _points(player: int, matches: dict[tuple[int, int], Tally]) -> tuple[float, int]:
    points, games = 0.0, 0
    for (i, j), tally in matches.items():
        if player in (i, j):
            own = tally.wins if player == i else tally.losses
            points += own + tally.draws / 2
            games += tally.games
    return points / games if games else 0.0, games
