"""What an engine counts for those who watch it, by game. Plain numbers, safe to read from any thread."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any


@dataclass
class GameStats:
    searches: int = 0  # finished
    cancelled: int = 0
    refused: int = 0
    simulations: int = 0
    evaluations: int = 0
    batches: int = 0
    network_seconds: float = 0.0
    tree_seconds: float = 0.0
    think_seconds: float = 0.0  # sum over finished searches, waiting included
    batch_sizes: Counter[int] = field(default_factory=Counter)
    in_flight: int = 0
    tree_bytes: int = 0


class Stats:
    """Counters of one engine. A step adds to them a few times a millisecond at most, so one lock serves all."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a lane may be collected, and so counted, while a reader holds it
        self._games: defaultdict[str, GameStats] = defaultdict(GameStats)

    def step(
        self, game: str, rows: int, simulations: int, network_seconds: float, tree_seconds: float, more_bytes: int
    ) -> None:
        with self._lock:
            stats = self._games[game]
            stats.simulations += simulations
            stats.evaluations += rows
            stats.batches += rows > 0
            stats.batch_sizes[rows] += 1
            stats.network_seconds += network_seconds
            stats.tree_seconds += tree_seconds
            stats.tree_bytes += more_bytes

    def in_flight(self, game: str, change: int) -> None:
        with self._lock:
            self._games[game].in_flight += change

    def finished(self, game: str, seconds: float) -> None:
        with self._lock:
            self._games[game].searches += 1
            self._games[game].think_seconds += seconds

    def cancelled(self, game: str) -> None:
        with self._lock:
            self._games[game].cancelled += 1

    def refused(self, game: str) -> None:
        with self._lock:
            self._games[game].refused += 1

    def mean_seconds(self) -> float:
        """Mean think time of finished searches of all games; 1 before there are any."""
        with self._lock:
            searches = sum(stats.searches for stats in self._games.values())
            return sum(stats.think_seconds for stats in self._games.values()) / searches if searches else 1.0

    def snapshot(self) -> dict[str, dict[str, Any]]:
        """Game -> counters, a copy. batch_sizes maps rows in a step to how often; 0 is a step without the network."""
        with self._lock:
            return {
                game: {**vars(stats), "batch_sizes": dict(sorted(stats.batch_sizes.items()))}
                for game, stats in self._games.items()
            }
