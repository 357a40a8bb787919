"""What the server counts for those who watch it: Prometheus text for machines, `snapshot()` for the monitoring page.

One object a process, `METRICS`; the server says once whom it watches, the page and the REST API tell it what happens:

    METRICS.watch(players)                  # the engines and checkpoints to report on
    METRICS.count_move("gomoku", seconds)   # the AI answered with a move, after so long
    METRICS.count_evaluation("gomoku")      # the bare network was asked (REST only)
    METRICS.count_error("busy")             # somebody was told so: a short code, never a message or a client's text

Evaluations, batches and searches in flight are counted by the engine itself and only read here.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePath
from typing import Any

import prometheus_client
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from alphazero import Checkpoint, Engine, Player

CONTENT_TYPE = prometheus_client.CONTENT_TYPE_LATEST
WINDOW = 10.0  # seconds that a rate looks back
RECENT_MOVES = 2000  # that the percentiles are of
SECONDS_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
MAX_CODES = 64  # of errors; codes are ours and few, this only makes it certain

prometheus_client.disable_created_metrics()  # a second line for every counter, that nobody asked for


class Metrics:
    """Thread-safe. Times are seconds of a steady clock."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._lock = threading.Lock()
        self._started = clock()
        self._players: Mapping[str, Player] = {}
        self._errors: Counter[str] = Counter()
        self._moves = 0
        self._recent: deque[tuple[float, float]] = deque(maxlen=RECENT_MOVES)  # (when, think time)
        self._samples: deque[tuple[float, int, int, int]] = deque()  # (when, moves, evaluations, batches)
        self.registry = prometheus_client.CollectorRegistry()
        self._moves_total = prometheus_client.Counter(
            "azp_moves", "Moves that the AI has answered with", ["game"], registry=self.registry
        )
        self._asked_total = prometheus_client.Counter(
            "azp_network_answers", "Positions shown to the bare network", ["game"], registry=self.registry
        )
        self._think = prometheus_client.Histogram(
            "azp_think_seconds",
            "How long the AI thought about a move",
            ["game"],
            buckets=SECONDS_BUCKETS,
            registry=self.registry,
        )
        self.registry.register(_Live(self))

    # -- what happens -------------------------------------------------------------------------------------------------

    def watch(self, players: Mapping[str, Player]) -> None:
        """Report on these players' engines and checkpoints from now on."""
        self._players = dict(players)

    def count_move(self, game: str, seconds: float) -> None:
        """The AI answered with a move of this game, after thinking for so long."""
        self._moves_total.labels(game).inc()
        self._think.labels(game).observe(seconds)
        now = self._clock()
        with self._lock:
            self._moves += 1
            self._recent.append((now, seconds))
        self._sample(now)

    def count_evaluation(self, game: str) -> None:
        """Somebody asked the bare network about a position of this game."""
        self._asked_total.labels(game).inc()

    def count_error(self, code: str) -> None:
        """Somebody was told what was wrong, under this code."""
        with self._lock:
            self._errors[code if code in self._errors or len(self._errors) < MAX_CODES else "other"] += 1

    # -- who watches --------------------------------------------------------------------------------------------------

    def prometheus(self) -> bytes:
        """Everything as Prometheus text, of CONTENT_TYPE."""
        return prometheus_client.generate_latest(self.registry)

    def snapshot(self) -> dict[str, Any]:
        """What the monitoring page shows. Rates are over the last 10 s, percentiles over the latest 2000 moves (None
        before the first), batch_size is the mean of what a network call of the last 10 s held (None without any)."""
        now = self._clock()
        self._sample(now)
        evaluated, called = self._network_calls()
        with self._lock:
            then, moves, evaluations, batches = self._samples[0]
            span = max(now - then, 1.0)  # at the very start there is not much to divide by
            thinking = sorted(seconds for _, seconds in self._recent)
            counted, errors = self._moves, dict(self._errors)
        return {
            "moves": counted,
            "moves_per_s": (counted - moves) / span,
            "evaluations": evaluated,
            "evaluations_per_s": (evaluated - evaluations) / span,
            "think_p50": _percentile(thinking, 0.50),
            "think_p95": _percentile(thinking, 0.95),
            "batch_size": (evaluated - evaluations) / (called - batches) if called > batches else None,
            "in_flight": sum(engine.searches_in_flight() for engine in self.engines()),
            "errors": errors,
            "rss_mb": memory_bytes() / 1e6,
            "uptime_s": now - self._started,
            "checkpoints": {name: checkpoint_facts(player.checkpoint) for name, player in self._players.items()},
        }

    def engines(self) -> list[Engine]:
        return list({id(player.engine): player.engine for player in self._players.values()}.values())

    def engine_counters(self) -> dict[str, Counter[str]]:
        """By game, what the engines count: evaluations, batches, searches, cancelled, refused, simulations."""
        games: dict[str, Counter[str]] = {}
        for engine in self.engines():
            for game, stats in engine.stats.snapshot().items():
                counters = games.setdefault(game, Counter())
                for name in ("evaluations", "batches", "searches", "cancelled", "refused", "simulations", "in_flight"):
                    counters[name] += stats[name]
        return games

    def _network_calls(self) -> tuple[int, int]:
        """(evaluations, batches) of all games so far."""
        games = self.engine_counters().values()
        return sum(game["evaluations"] for game in games), sum(game["batches"] for game in games)

    def errors(self) -> dict[str, int]:
        with self._lock:
            return dict(self._errors)

    def uptime(self) -> float:
        return self._clock() - self._started

    def checkpoints(self) -> dict[str, Checkpoint | None]:
        return {name: player.checkpoint for name, player in self._players.items()}

    def _sample(self, now: float) -> None:
        """Remember where the counters stand, at most twice a second; the first sample is about WINDOW old."""
        with self._lock:
            if self._samples and now - self._samples[-1][0] < 0.5:
                return
        evaluations, batches = self._network_calls()
        with self._lock:
            self._samples.append((now, self._moves, evaluations, batches))
            while len(self._samples) > 2 and self._samples[1][0] <= now - WINDOW:
                self._samples.popleft()


class _Live(Collector):
    """What is read at the moment of asking, not counted up."""

    def __init__(self, metrics: Metrics):
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        metrics = self._metrics
        games = metrics.engine_counters()
        for name, what in (
            ("evaluations", "Positions the network has evaluated"),
            ("batches", "Calls of the network; evaluations / batches is the mean batch size"),
            ("searches", "Searches finished"),
            ("cancelled", "Searches cancelled"),
            ("refused", "Searches refused because the engine was full"),
            ("simulations", "Simulations run"),
        ):
            family = CounterMetricFamily(f"azp_{name}", what, labels=["game"])
            for game, counters in games.items():
                family.add_metric([game], counters[name])
            yield family
        size = GaugeMetricFamily("azp_batch_size", "Mean positions in a call of the network so far", labels=["game"])
        flight = GaugeMetricFamily("azp_searches_in_flight", "Searches under way", labels=["game"])
        for game, counters in games.items():
            size.add_metric([game], counters["evaluations"] / max(1, counters["batches"]))
            flight.add_metric([game], counters["in_flight"])
        yield size
        yield flight
        errors = CounterMetricFamily("azp_errors", "Answers that said what was wrong, by code", labels=["code"])
        for code, count in metrics.errors().items():
            errors.add_metric([code], count)
        yield errors
        yield GaugeMetricFamily("azp_memory_bytes", "Resident memory of the server", value=memory_bytes())
        yield GaugeMetricFamily("azp_uptime_seconds", "Since the server started", value=metrics.uptime())
        loaded = InfoMetricFamily("azp_checkpoint", "The network each game plays with", labels=["game"])
        for game, checkpoint in metrics.checkpoints().items():
            facts = checkpoint_facts(checkpoint)
            if facts is not None:
                loaded.add_metric([game], {name: str(value) for name, value in facts.items() if value is not None})
        yield loaded


def checkpoint_facts(checkpoint: Checkpoint | None) -> dict[str, Any] | None:
    """What may be told about a network: where it comes from (no path of this machine), iterations, games, rating."""
    if checkpoint is None:
        return None
    return {
        "source": "/".join(PurePath(checkpoint.source).parts[-2:]),
        "iterations": _number(checkpoint.training.get("iterations")),
        "games": _number(checkpoint.training.get("games")),
        "rating": _number(checkpoint.training.get("elo_over_untrained")),
    }


def _number(value: Any) -> float | int | None:
    """A config's training notes are anybody's: only finite numbers are passed on."""
    ok = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15
    return value if ok else None


def memory_bytes() -> int:
    """Resident memory of this process; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def _percentile(ordered: list[float], part: float) -> float | None:
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else None


METRICS = Metrics()
