"""What is certain about a position. A game may bring a prover of its own; `Game.prove` is where the engine finds it.

A prover takes a position and an effort, and returns what it could prove within it. It never guesses: what it does not
say is unknown.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Effort:
    """How much a prover may spend. It looks at the clock and at `cancelled` every few milliseconds."""

    nodes: int
    deadline: float = float("inf")  # time.perf_counter()
    cancelled: Callable[[], bool] = lambda: False

    def is_over(self) -> bool:
        return self.cancelled() or time.perf_counter() >= self.deadline


@dataclass(frozen=True)
class Proof:
    """Certainties about a position, from the side of the player to move. Words: "win", "loss", "draw"."""

    result: str | None = None  # of the position; None is unknown
    plies: int | None = None  # the proven end comes within so many plies, whatever the other side does
    line: tuple[int, ...] = ()  # play that leads there: the winner by the proof, the loser holding out for long
    moves: dict[int, str] = field(default_factory=dict)  # moves whose result is certain
    nodes: int = 0  # what it took
