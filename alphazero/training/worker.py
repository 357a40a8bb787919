"""What a worker does, wherever it runs: play games against itself, and play parts of matches.

A worker is asked by method calls whose arguments and answers are plain data, so it may live in a process of this
machine (crew.py) or of a cluster (ray_crew.py). It keeps the games it has in flight between two calls.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from alphazero.agents import Agent, NetAgent, make_agent
from alphazero.checkpoint import Checkpoint
from alphazero.engine import Engine
from alphazero.evaluator import Evaluator
from alphazero.game import get_game
from alphazero.match import make_engine, play_match
from alphazero.model import Model
from alphazero.openings import Opening
from alphazero.settings import NetworkShape
from alphazero.train_settings import TrainSettings
from alphazero.training.samples import Samples
from alphazero.training.selfplay import SelfPlay

MODELS_KEPT = 3
PARALLEL = 64  # games of a match at a time


@dataclass(frozen=True, eq=False)
class Network:
    """Weights under way to the workers. Equal ids mean equal weights."""

    id: str
    shape: NetworkShape
    weights: dict[str, np.ndarray]


@dataclass(frozen=True)
class Played:
    """Finished games and what they cost."""

    samples: Samples
    evaluations: int
    seconds: float
    cpu_seconds: float


@dataclass(frozen=True)
class PairResult:
    """One opening, played twice: the first side's results (A's) as first and as second mover, and the moves."""

    as_first: int
    as_second: int
    moves: tuple[Opening, Opening]


class Worker:
    def __init__(self, game: str, settings: dict[str, Any], seed: list[int]):
        self._game = get_game(game)
        self._settings = TrainSettings.from_dict(settings)
        self._seed = seed
        self._selfplay: SelfPlay | None = None
        self._models: dict[str, Model] = {}
        self._evaluator: tuple[str, Evaluator] | None = None
        self._engine: tuple[int, Engine] | None = None  # and how large its trees may grow

    def play(self, network: Network, games: int, simulations: int) -> Played:
        """So many more finished games of self-play."""
        begin, cpu = time.perf_counter(), time.process_time()
        if self._selfplay is None:
            self._selfplay = SelfPlay(self._game, self._settings, self._seed)
        before = self._selfplay.evaluations
        samples = Samples.join(self._selfplay.play(self._evaluator_of(network), games, simulations))
        return Played(
            samples, self._selfplay.evaluations - before, time.perf_counter() - begin, time.process_time() - cpu
        )

    def match(
        self, a: Network | str, b: Network | str, simulations: int, openings: list[Opening], seed: int
    ) -> tuple[list[PairResult], float]:
        """Every opening twice, A against B; networks with so many simulations, or agents by name. And CPU seconds."""
        cpu = time.process_time()
        first, second = self._agent(a, simulations), self._agent(b, simulations)
        engine = self._engine_for(first, second)
        result = play_match(self._game, first, second, openings, seed=seed, engine=engine, threads=1)
        pairs = [
            PairResult(one.result, two.result, (one.moves, two.moves))
            for one, two in zip(result.games[::2], result.games[1::2], strict=True)
        ]
        return pairs, time.process_time() - cpu

    def _engine_for(self, *agents: Agent) -> Engine:
        """The engine of this worker's matches, made anew when larger searches come up."""
        nodes = max(agent.tree_nodes for agent in agents)
        if self._engine is None or self._engine[0] < nodes:
            if self._engine is not None:
                self._engine[1].close()
            self._engine = nodes, make_engine(self._game, agents, PARALLEL)
        return self._engine[1]

    def _agent(self, side: Network | str, simulations: int) -> Agent:
        if isinstance(side, str):
            return make_agent(self._game, side)
        return NetAgent(self._model(side), simulations=simulations)

    def _evaluator_of(self, network: Network) -> Evaluator:
        if self._evaluator is None or self._evaluator[0] != network.id:
            self._evaluator = network.id, self._model(network).make_evaluator()
        return self._evaluator[1]

    def _model(self, network: Network) -> Model:
        if network.id not in self._models:
            while len(self._models) >= MODELS_KEPT:
                del self._models[next(iter(self._models))]
            checkpoint = Checkpoint(self._game, network.shape, network.weights)
            self._models[network.id] = Model.of(checkpoint, precision=self._settings.precision)
        return self._models[network.id]
