"""Self-play in several processes against the bare network in as many: `python -m alphazero bench GAME --selfplay`.

All processes run the bare network for a slice of time, then all of them play, in turns, so that a noisy machine
disturbs both alike. What is compared is evaluations a second of the same network at the same batch size.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from alphazero.bench import bare, openings
from alphazero.checkpoint import Checkpoint
from alphazero.game import Game
from alphazero.train_settings import TrainSettings
from alphazero.training.crew import LocalCrew, Task, run_tasks
from alphazero.training.selfplay import SelfPlay
from alphazero.training.worker import Network, Worker


class BenchWorker(Worker):
    """A worker that plays, or runs the network alone, for a stretch of time."""

    def bare(self, network: Network, seconds: float) -> tuple[float, float]:
        """(evaluations, seconds)."""
        return bare(self._evaluator_of(network), openings(self._game, self._settings.parallel), seconds)

    def play_for(self, network: Network, seconds: float, simulations: int) -> tuple[np.ndarray, float]:
        """([evaluations, simulations, games, samples], seconds)."""
        evaluator = self._evaluator_of(network)
        if self._selfplay is None:
            self._selfplay = SelfPlay(self._game, self._settings, self._seed)
            # Shallow games first: after a common start all would end at about the same time, and games an hour would
            # say more about the moment of measuring than about speed.
            self._selfplay.play(evaluator, self._settings.parallel, 4)
            self._selfplay.simulations = simulations
        selfplay = self._selfplay
        before = np.array([selfplay.evaluations, selfplay.simulations_done(), 0, 0])
        begin = now = time.perf_counter()
        games = samples = 0
        while now - begin < seconds:
            finished = selfplay.step(evaluator)
            games += len(finished)
            samples += sum(len(game) for game in finished)
            now = time.perf_counter()
        after = np.array([selfplay.evaluations, selfplay.simulations_done(), games, samples])
        return after - before, now - begin


def measure(
    game: Game,
    settings: TrainSettings,
    checkpoint: Checkpoint,
    processes: int,
    rounds: int,
    seconds: float,
    say: Any,
) -> dict:
    """The JSON object of `bench --selfplay`."""
    network = Network("bench", checkpoint.shape, checkpoint.weights)
    simulations = settings.simulations
    crew = LocalCrew(game, settings, processes, [0], BenchWorker)
    try:

        def all_at_once(method: str, *arguments: Any) -> list[Any]:
            tasks = iter([Task(method, (network, *arguments)) for _ in range(processes)])
            return [result for _, result in run_tasks(crew, tasks, say)]

        say(f"{game.title}: {processes} processes, {settings.parallel} games each; warming up")
        all_at_once("bare", 0.1)
        all_at_once("play_for", max(seconds, 1.0), simulations)
        bare_rate, played, play_seconds = 0.0, np.zeros(4), 0.0
        for turn in range(rounds):
            bare_rate += sum(count / took for count, took in all_at_once("bare", seconds)) / rounds
            results = all_at_once("play_for", seconds, simulations)
            played += sum(counts / took for counts, took in results) / rounds
            play_seconds += seconds
            so_far = rounds / (turn + 1)
            say(f"turn {turn + 1} of {rounds}: bare {bare_rate * so_far:.0f}/s, self-play {played[0] * so_far:.0f}/s")
    finally:
        crew.close()
    return {
        "game": game.name,
        "processes": processes,
        "precision": settings.precision,
        "batch": settings.parallel,
        "simulations": simulations,
        "bare": round(bare_rate, 1),
        "selfplay": round(float(played[0]), 1),
        "ratio_selfplay": round(float(played[0]) / bare_rate, 4),
        "simulations_per_s": round(float(played[1]), 1),
        "games_per_hour": round(float(played[2]) * 3600),
        "samples_per_s": round(float(played[3]), 1),
        "checkpoint": checkpoint.source,
    }
