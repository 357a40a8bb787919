"""The knobs of network, search and levels, as frozen dataclasses that check themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any, Self

LEVELS = ("beginner", "easy", "medium", "hard", "master")
DEFAULT_LEVEL = "medium"


class _Settings:
    """Builds a settings dataclass from a mapping and refuses keys it does not know."""

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        known = [field.name for field in fields(cls)]  # type: ignore[arg-type]
        unknown = sorted(set(values) - set(known))
        if unknown:
            raise ValueError(f"unknown {cls.__name__} setting {unknown[0]!r}; known: {', '.join(known)}")
        return cls(**values)


def short(value: object) -> str:
    """A value as a message shows it: on one line, and not at any length."""
    try:
        text = repr(value)
    except ValueError:  # a whole number of more digits than Python cares to print
        text = "a very large number"
    return text if len(text) <= 80 else f"{text[:77]}..."


def check_type(name: str, value: object, kind: type) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be {_a(kind)}, not {short(value)} ({_a(type(value))})")


def _a(kind: type) -> str:
    return f"{'an' if kind.__name__[0].lower() in 'aeiou' else 'a'} {kind.__name__}"


def check_whole(name: str, value: object, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral) or not low <= int(value) <= high:
        raise ValueError(f"{name} must be a whole number from {low} to {high}, not {short(value)}")


def check_number(name: str, value: object, low: float, high: float) -> None:
    if isinstance(value, bool) or not isinstance(value, Real) or not low <= value <= high:  # type: ignore[operator]
        raise ValueError(f"{name} must be a number from {low:g} to {high:g}, not {short(value)}")


@dataclass(frozen=True)
class NetworkShape(_Settings):
    """Everything that fixes the network's arrays, apart from the board's size."""

    planes: int
    channels: int = 64
    blocks: int = 5
    head_channels: int = 32
    value_units: int = 64

    def __post_init__(self) -> None:
        check_whole("planes", self.planes, 1, 64)
        check_whole("channels", self.channels, 1, 1024)
        check_whole("blocks", self.blocks, 0, 64)
        check_whole("head_channels", self.head_channels, 1, 1024)
        check_whole("value_units", self.value_units, 1, 1024)


@dataclass(frozen=True)
class SearchSettings(_Settings):
    """How a search chooses. The score of a move is Q + c_puct * P * sqrt(N_parent) / (1 + N).

    fpu_reduction: a move not tried yet counts as the node's own value less this times the square root of the prior
        mass tried so far (KataGo's first-play urgency, arXiv 1902.10565).
    noise_fraction, noise_alpha: Dirichlet noise mixed into the root's priors; for self-play, 0 in play.
    solver: carry proven wins, losses and draws up the tree and stop at a proven root (Winands et al. 2008).
    candidates: 0 for PUCT from the root on; more for a Gumbel root that halves so many sampled moves (gumbel.py).
    sigma_scale: how much a Gumbel root trusts what it found against the network's policy (gumbel.py).
    leaf_nodes: what the game's own tactics (Game.tactics) may spend on each new position; 0 leaves them out.
    """

    c_puct: float = 1.5
    fpu_reduction: float = 0.2
    noise_fraction: float = 0.0
    noise_alpha: float = 0.3
    solver: bool = True
    candidates: int = 0
    sigma_scale: float = 0.5
    leaf_nodes: int = 0

    def __post_init__(self) -> None:
        check_number("c_puct", self.c_puct, 0.0, 100.0)
        check_number("fpu_reduction", self.fpu_reduction, 0.0, 2.0)
        check_number("noise_fraction", self.noise_fraction, 0.0, 1.0)
        check_number("noise_alpha", self.noise_alpha, 1e-3, 100.0)
        if not isinstance(self.solver, bool):
            raise ValueError(f"solver must be True or False, not {self.solver!r}")
        check_whole("candidates", self.candidates, 0, 1024)
        check_number("sigma_scale", self.sigma_scale, 1e-3, 100.0)
        check_whole("leaf_nodes", self.leaf_nodes, 0, MAX_LEAF_NODES)
        if self.leaf_nodes and not self.solver:
            raise ValueError("leaf_nodes are for proofs, and those need the solver")
        if self.candidates and self.noise_fraction:
            raise ValueError("a Gumbel root (candidates) explores by itself: set noise_fraction to 0")


MAX_SIMULATIONS = 100_000
MAX_SECONDS = 600.0
MAX_TEMPERATURE = 10.0
MAX_PROOF_NODES = 10**9
MAX_LEAF_NODES = 10**6


@dataclass(frozen=True)
class Budget:
    """When a search stops: after so many visits of the root's moves, after so many seconds, or at the first of both."""

    simulations: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.simulations is None and self.seconds is None:
            raise ValueError("a search needs a budget: simulations, seconds or both")
        if self.simulations is not None:
            check_whole("simulations", self.simulations, 1, MAX_SIMULATIONS)
        if self.seconds is not None:
            check_number("seconds", self.seconds, 0.0, MAX_SECONDS)
            if not math.isfinite(self.seconds) or self.seconds <= 0:
                raise ValueError(f"seconds must be more than 0, not {self.seconds!r}")


@dataclass(frozen=True)
class Level(_Settings):
    """A strength a person can choose: how long it thinks and how loosely it picks among what it found.

    slips: the share of its moves that are any legal move, as a learner overlooks things.
    proof_nodes: what the game's own prover (Game.prove) may spend on the position; 0 leaves it out.
    leaf_nodes: the same for its tactics at every new position of the tree (see SearchSettings).
    """

    simulations: int | None
    temperature: float = 0.0
    seconds: float | None = None
    slips: float = 0.0
    proof_nodes: int = 0
    leaf_nodes: int = 0

    def __post_init__(self) -> None:
        Budget(self.simulations, self.seconds)
        check_number("temperature", self.temperature, 0.0, MAX_TEMPERATURE)
        check_number("slips", self.slips, 0.0, 1.0)
        check_whole("proof_nodes", self.proof_nodes, 0, MAX_PROOF_NODES)
        check_whole("leaf_nodes", self.leaf_nodes, 0, MAX_LEAF_NODES)


DEFAULT_LEVELS = {
    "beginner": Level(simulations=4, temperature=1.5, slips=0.65),
    "easy": Level(simulations=16, temperature=0.7, slips=0.2),
    "medium": Level(simulations=100, temperature=0.2),
    "hard": Level(simulations=400),
    "master": Level(simulations=6400, seconds=3.0),
}
