"""The statistics of a match: score, Elo difference with its interval, and a sequential test. No game, no files.

Games come in pairs: the same opening twice, with colours swapped. The two games of a pair are not independent (an
opening that is won for one side gives one win each), so everything here counts pairs: five possible scores, 0 to 2
points, and variances taken over them ("pentanomial"). Results and Elo are always A's: +1 A won, positive Elo A is
stronger.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from alphazero.settings import check_number

Z95 = 1.959964  # of a normal distribution, 95 % lies within so many standard deviations
PAIR_SCORES = (0.0, 0.25, 0.5, 0.75, 1.0)  # a pair's points over 2


def expected_score(elo: float) -> float:
    """What A scores on average, 0 to 1, when it is `elo` stronger (logistic)."""
    return 1 / (1 + 10 ** (-elo / 400))


def elo_of(score: float) -> float | None:
    """The Elo difference that an average score stands for; None at 0 and 1, where it is without bound."""
    return 400 * math.log10(score / (1 - score)) if 0 < score < 1 else None


@dataclass
class Record:
    """Wins, draws and losses."""

    wins: int = 0
    draws: int = 0
    losses: int = 0

    def add(self, result: int) -> None:
        if result not in (1, 0, -1):
            raise ValueError(f"a result is 1, 0 or -1, not {result!r}")
        self.wins += result == 1
        self.draws += result == 0
        self.losses += result == -1

    @property
    def games(self) -> int:
        return self.wins + self.draws + self.losses

    def as_dict(self) -> dict[str, int]:
        return {"wins": self.wins, "draws": self.draws, "losses": self.losses}


@dataclass
class Tally:
    """The results of a match so far, pair by pair, all from A's point of view."""

    as_first: Record = field(default_factory=Record)  # the games in which A moved first
    as_second: Record = field(default_factory=Record)
    pair_counts: list[int] = field(default_factory=lambda: [0] * 5)  # by points: 0, 1/2, 1, 3/2, 2

    def add(self, result_as_first: int, result_as_second: int) -> None:
        """Count one pair: A's result (+1, 0, -1) in the game where it moved first and in the other."""
        self.as_first.add(result_as_first)
        self.as_second.add(result_as_second)
        self.pair_counts[result_as_first + result_as_second + 2] += 1

    @property
    def wins(self) -> int:
        return self.as_first.wins + self.as_second.wins

    @property
    def draws(self) -> int:
        return self.as_first.draws + self.as_second.draws

    @property
    def losses(self) -> int:
        return self.as_first.losses + self.as_second.losses

    @property
    def games(self) -> int:
        return self.as_first.games + self.as_second.games

    @property
    def pairs(self) -> int:
        return sum(self.pair_counts)

    @property
    def score(self) -> float | None:
        """A's points over the games, 0 to 1, draws half; None before the first pair."""
        return (self.wins + self.draws / 2) / self.games if self.games else None

    def variance(self) -> tuple[float, float]:
        """(mean, variance) of a pair's score, with half a pair of 0 and half a pair of 1 added to what was seen.

        So neither a clean sweep nor a match of draws claims to be certain; after some dozens of pairs it is hardly
        felt.
        """
        counts = list(self.pair_counts)
        weights = [counts[0] + 0.5, *map(float, counts[1:4]), counts[4] + 0.5]
        total = sum(weights)
        mean = sum(w * s for w, s in zip(weights, PAIR_SCORES, strict=True)) / total
        return mean, sum(w * (s - mean) ** 2 for w, s in zip(weights, PAIR_SCORES, strict=True)) / total

    def score_interval(self) -> tuple[float, float]:
        """The 95 % interval of the expected score: Wilson's, for as many coin tosses as vary like these pairs."""
        score = self.score
        if score is None:
            return 0.0, 1.0
        mean, variance = self.variance()
        tosses = mean * (1 - mean) / variance * self.pairs
        shrink = 1 + Z95**2 / tosses
        middle = (score + Z95**2 / (2 * tosses)) / shrink
        half = Z95 / shrink * math.sqrt(score * (1 - score) / tosses + Z95**2 / (4 * tosses**2))
        # At 0 and 1 the formula gives the end itself, but for rounding.
        return 0.0 if score == 0 else middle - half, 1.0 if score == 1 else middle + half

    def elo(self) -> tuple[float | None, float | None, float | None]:
        """(estimate, lower end, upper end) of A's Elo over B's, 95 %. None is an end that is open."""
        low, high = self.score_interval()
        return elo_of(self.score) if self.score is not None else None, elo_of(low), elo_of(high)

    def superiority(self) -> float | None:
        """The probability that A is the stronger, given these results and no prejudice; None before the first pair."""
        if self.score is None:
            return None
        _, variance = self.variance()
        return 0.5 * (1 + math.erf((self.score - 0.5) / math.sqrt(2 * variance / self.pairs)))

    def as_dict(self) -> dict[str, Any]:
        """For JSON: never infinity or NaN, but null."""
        elo, low, high = (None if value is None else round(value, 1) for value in self.elo())
        score, superiority = self.score, self.superiority()
        return {
            "wins": self.wins,
            "draws": self.draws,
            "losses": self.losses,
            "by_colour": {"first": self.as_first.as_dict(), "second": self.as_second.as_dict()},
            "games": self.games,
            "pairs": self.pairs,
            "pair_counts": list(self.pair_counts),
            "score": None if score is None else round(score, 4),
            "elo": elo,
            "elo_low": low,
            "elo_high": high,
            "superiority": None if superiority is None else round(superiority, 4),
        }


@dataclass(frozen=True)
class Verdict:
    """How a sequential test stands: H1 is accepted at `upper` and above, H0 at `lower` and below."""

    llr: float
    lower: float
    upper: float
    decision: str | None  # "H0", "H1", or None while neither is


@dataclass(frozen=True)
class Sprt:
    """Wald's sequential test of H0 "A is elo0 stronger" against H1 "A is elo1 stronger", after every pair.

    The generalised likelihood ratio over pair scores: under each hypothesis, the distribution that fits the pairs
    best among those with its expected score (Michel Van den Bergh, "The generalized sequential probability ratio
    test for chess engines"). H1 is accepted wrongly in about `alpha` of all matches, H0 in about `beta`.
    """

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05

    def __post_init__(self) -> None:
        check_number("elo0", self.elo0, -2000, 2000)
        check_number("elo1", self.elo1, -2000, 2000)
        check_number("alpha", self.alpha, 1e-6, 0.499)
        check_number("beta", self.beta, 1e-6, 0.499)
        if self.elo0 >= self.elo1:
            raise ValueError(f"elo0 must be less than elo1, not {self.elo0:g} and {self.elo1:g}")

    def judge(self, tally: Tally) -> Verdict:
        lower, upper = math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)
        llr = self.log_likelihood_ratio(tally)
        decision = "H1" if llr >= upper else "H0" if llr <= lower else None
        return Verdict(llr, lower, upper, decision)

    def log_likelihood_ratio(self, tally: Tally) -> float:
        if tally.pairs == 0:
            return 0.0
        # A trace of every outcome, or a hypothesis could be impossible after a match of draws only.
        counts = [count + 1e-3 for count in tally.pair_counts]
        likely = [_best_fit(counts, expected_score(elo)) for elo in (self.elo0, self.elo1)]
        return sum(n * math.log(p1 / p0) for n, p0, p1 in zip(counts, *likely, strict=True))


def _best_fit(counts: list[float], mean: float) -> list[float]:
    """The most likely probabilities of the five pair scores, given the counts and that their mean is `mean`.

    By Lagrange p = f / (1 + t (score - mean)), f the frequencies, with the one t that makes the mean right. The
    mean's error falls as t grows, so bisection finds it between the two values at which some p becomes infinite.
    """
    total = sum(counts)
    offsets = [score - mean for score in PAIR_SCORES]
    low, high = -1 / offsets[-1], -1 / offsets[0]
    for _ in range(100):
        t = (low + high) / 2
        error = sum(count * offset / (1 + t * offset) for count, offset in zip(counts, offsets, strict=True))
        low, high = (t, high) if error > 0 else (low, t)
    return [count / total / (1 + t * offset) for count, offset in zip(counts, offsets, strict=True)]
