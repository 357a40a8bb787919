"""The loop. Each iteration: self-play with the best network while the learner learns from all games before; then the
candidate plays the best, is promoted or not, and the iteration is committed.

Self-play and learning run side by side, so both cores are busy: the learner is one iteration of games behind, and
with one worker everything is counted, never timed, so a run repeats exactly.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from alphazero.agents import mix
from alphazero.checkpoint import Checkpoint, load_checkpoint
from alphazero.game import Game
from alphazero.train_settings import TrainSettings
from alphazero.training.crew import Crew, Task, run_tasks
from alphazero.training.gate import Judgement, play_gate
from alphazero.training.interrupt import safe_point
from alphazero.training.learner import Learner
from alphazero.training.progress import Progress, duration
from alphazero.training.replay import LearningData, Replay, ShardInfo
from alphazero.training.run_folder import RunError, RunFolder, clear_errors
from alphazero.training.samples import Samples
from alphazero.training.worker import Network, Played


class Trainer:
    def __init__(self, folder: RunFolder, settings: TrainSettings, crew: Crew):
        self.folder = folder
        self.game: Game = folder.game
        self.settings = settings
        self.crew = crew
        self.shape = settings.network(self.game.network)
        self.replay = Replay(folder.path / "replay", self.game, self._warn, folder.state.first_shard)
        self.data = LearningData(self.game, settings.window_mb, settings.held_out)
        self.learner = Learner(self.game, self.shape, settings)
        self.progress: Progress | None = None
        self.best = self._load_best()
        if folder.state.learner is not None:
            self.learner.restore(folder.path / folder.state.learner)
        elif folder.state.best is not None:
            self.learner.start_from(self.best.weights)
        self._load_window()

    def _load_best(self) -> Checkpoint:
        if self.folder.state.best is not None:
            best = load_checkpoint(self.folder.path / self.folder.state.best)
            if best.shape != self.shape:
                raise RunError(
                    f"{best.source} holds a network of {best.shape.channels} channels and {best.shape.blocks} blocks, "
                    f"the settings ask for {self.shape.channels} and {self.shape.blocks}"
                )
            return best
        return Checkpoint.fresh(self.game, self.shape, self.settings.seed)

    def _load_window(self) -> None:
        """Read the shards that the window holds, as of the last whole iteration."""
        known = [shard for shard in self.replay.shards if shard.number < self.folder.state.first_shard]
        limit = self.settings.window_at(self.folder.state.games)
        wanted: list[ShardInfo] = []
        games = 0
        for shard in reversed(known):
            games += shard.games
            if games > limit and wanted:
                break
            wanted.append(shard)
        for shard in reversed(wanted):
            samples = self.replay.read(shard)
            if samples is not None:
                self.data.add(shard.number, samples)
        if known and self.data.window.samples == 0:
            self._warn("the replay is empty: no shard could be read; learning begins again from new games")

    def _warn(self, text: str) -> None:
        self.folder.log(text)
        self._say(f"warning: {text}")

    def _say(self, text: str) -> None:
        (self.progress or Progress("")).say(text)

    # -- one iteration ------------------------------------------------------------------------------------------------

    def run(self, until: int) -> None:
        """Iterate until so many iterations are done in all."""
        begin, done = time.monotonic(), 0
        while self.folder.state.iteration < until:
            self.iterate()
            done += 1
            left = until - self.folder.state.iteration
            if left:
                self._say(f"about {duration((time.monotonic() - begin) / done * left)} left for {left} iterations")

    def iterate(self) -> dict[str, Any]:
        """One whole iteration; its line of metrics."""
        state, number = self.folder.state, self.folder.state.iteration + 1
        self.progress = Progress(f"iteration {number}")
        seconds: defaultdict[str, float] = defaultdict(float)
        begin = time.monotonic()
        collector = Collector(self, number)
        collector.start()
        try:
            learnt = self._learn(number)
            seconds["learn"] = time.monotonic() - begin
            collector.join()
        except BaseException:
            collector.cancel()
            raise
        seconds["self_play"] = collector.seconds
        cpu = collector.cpu_seconds + seconds["learn"]
        gate, anchors = None, {}
        mark = time.monotonic()
        candidate = self._network(self.learner.averaged_weights())
        if learnt["steps"]:
            gate = self._gate(number, candidate)
            cpu += gate.cpu_seconds
            seconds["gate"] = time.monotonic() - mark
        promoted = gate is not None and gate.promote
        held_out = self.learner.measure(self.data.held_out_samples())
        mark = time.monotonic()
        elo = state.elo + (_elo_change(gate)[0] or 0.0 if promoted and gate else 0.0)
        if self.settings.anchor_every and number % self.settings.anchor_every == 0:
            anchors = self._anchors(number, candidate if promoted else self._network(self.best.weights))
            seconds["anchors"] = time.monotonic() - mark
        new_samples = self._take_in(collector)
        games = state.games + collector.games
        cpu_seconds = state.cpu_seconds + cpu
        line = {
            "iteration": number,
            "time": time.strftime("%Y-%m-%dT%H:%M:%S"),
            "games": games - state.brought_games,
            "steps": self.learner.steps,
            "simulations": self.settings.simulations_at(number),
            "learning_rate": self.settings.learning_rate_at(number) * self.learner.factor,
            "policy_loss": learnt.get("policy_loss"),
            "value_loss": learnt.get("value_loss"),
            **held_out,
            "promoted": promoted,
            "refusals": 0 if promoted else state.refusals + (gate is not None),
            "elo": round(elo, 1),
            **dict(zip(("elo_change", "elo_change_low", "elo_change_high"), _elo_change(gate), strict=True)),
            "win_rate": gate.tally.score if gate else None,
            "gate": gate.as_dict() if gate else None,
            "anchors": anchors,
            **collector.metrics(),
            "window_games": self.data.window.games,
            "window_samples": self.data.window.samples,
            "cpu_hours": round(cpu_seconds / 3600, 4),
            "seconds": {name: round(value, 2) for name, value in seconds.items()}
            | {"total": round(time.monotonic() - begin, 2)},
        }
        self._commit(number, line, promoted, new_samples, games, elo, cpu_seconds)
        self._report(line)
        return line

    def _learn(self, number: int) -> dict[str, float]:
        """Learn from the games of all iterations before, `steps` or as much as the last one brought new samples.

        Games brought from another run may be more than the window holds: then what it holds counts.
        """
        window, settings = self.data.window, self.settings
        new_samples = min(self.folder.state.new_samples, window.samples)
        steps = settings.steps or round(new_samples * settings.reuse / settings.batch)
        if steps == 0 or window.samples == 0:
            return {"steps": 0}
        rng = np.random.default_rng([settings.seed, number, 1])
        progress = self.progress
        assert progress is not None

        def on_step(done: int) -> None:
            safe_point()
            progress.update("learn", done, steps)

        return self.learner.learn(
            lambda: window.take(rng.integers(window.samples, size=settings.batch)),
            steps,
            settings.learning_rate_at(number),
            rng,
            on_step=on_step,
            warn=self._warn,
        )

    def _network(self, weights: dict[str, np.ndarray]) -> Network:
        digest = hashlib.sha256(b"".join(weights[name].tobytes() for name in sorted(weights))).hexdigest()
        return Network(digest, self.shape, weights)

    def _gate(self, number: int, candidate: Network) -> Judgement:
        if self.settings.gate == "none":
            # Still measured, so that the curve of Elo goes on.
            judgement = self._play(number, candidate, self._network(self.best.weights), sequential=False)
            return Judgement(
                judgement.tally, True, "promoted always", judgement.distinct_games, None, judgement.cpu_seconds
            )
        return self._play(number, candidate, self._network(self.best.weights))

    def _play(self, number: int, a: Network, b: Network | str, **options: Any) -> Judgement:
        progress = self.progress
        assert progress is not None
        name = b if isinstance(b, str) else "gate"
        judgement = play_gate(
            self.game,
            self.settings,
            self.crew,
            a,
            b,
            seed=mix(self.settings.seed, number, 2),
            warn=self._warn,
            on_pairs=lambda done, total: progress.update(name, done, total),
            **options,
        )
        if judgement.warning and not isinstance(b, str):
            self._warn(f"iteration {number}: {judgement.warning}")
        return judgement

    def _anchors(self, number: int, network: Network) -> dict[str, Any]:
        return {
            anchor: self._play(
                number, network, anchor, pairs=self.settings.anchor_pairs, sequential=False
            ).tally.as_dict()
            for anchor in self.settings.anchors.split()
        }

    def _take_in(self, collector: Collector) -> int:
        """Move the window on by this iteration's games; how many samples came to learn from."""
        count = sum(self.data.add(number, samples) for number, samples in collector.shards)
        self.data.window.keep(self.settings.window_at(self.folder.state.games + collector.games))
        return count

    def _commit(
        self, number: int, line: dict[str, Any], promoted: bool, samples: int, games: int, elo: float, cpu: float
    ) -> None:
        folder, state = self.folder, self.folder.state
        refusals = line["refusals"]
        changes: dict[str, Any] = {}
        if promoted:
            training = {
                "iterations": number,
                "games": line["games"],
                "elo_over_untrained": line["elo"],
                "cpu_hours": line["cpu_hours"],
                "settings": vars(self.settings),
            }
            self.best = Checkpoint(self.game, self.shape, self.learner.averaged_weights(), training)
            changes["best"] = folder.save_snapshot(number, self.best)
        elif refusals > self.settings.patience and state.best_learner is not None:
            folder.log(f"iteration {number}: {refusals} refusals in a row; learning goes back to the best")
            self.learner.restore(folder.path / state.best_learner)
            refusals = 0
        path = folder.learner_path(number)
        with clear_errors(folder.path / path):
            self.learner.save(folder.path / path)
        if promoted or state.best_learner is None:
            changes["best_learner"] = path
        folder.commit(
            line,
            first_shard=self.replay.next_number,
            new_samples=samples,
            games=games,
            learner=path,
            refusals=refusals,
            elo=elo,
            cpu_seconds=cpu,
            **changes,
        )
        if promoted:
            folder.show_best()
        self._forget_old_games()

    def _forget_old_games(self) -> None:
        """Files of games older than the largest window are of no more use."""
        games = 0
        for shard in reversed(self.replay.shards):
            games += shard.games
            if games > self.settings.window_games:
                self.replay.forget_before(shard.number + 1)
                return

    def _report(self, line: dict[str, Any]) -> None:
        parts = [
            f"iteration {line['iteration']}: {line['games']} games, {line['games_per_second']:.1f}/s, "
            f"{line['evaluations_per_second']:.0f} evaluations/s, length {line['game_length']:.1f}, "
            f"draws {line['draw_rate']:.0%}"
        ]
        if line["policy_loss"] is not None:
            parts.append(f"policy loss {line['policy_loss']:.3f}, value loss {line['value_loss']:.3f}")
        if line["policy_kl"] is not None:
            parts.append(f"held-out KL {line['policy_kl']:.3f}, value MSE {line['value_mse_outcome']:.3f}")
        if line["gate"]:
            parts.append(
                f"score {line['win_rate']:.1%} in {line['gate']['games']} games: {line['gate']['verdict']}; "
                f"Elo {line['elo']:+.0f}"
            )
        parts += [f"{name} {tally['score']:.0%}" for name, tally in line["anchors"].items()]
        text = "; ".join(parts) + f" [{duration(line['seconds']['total'])}]"
        self.folder.log(text)
        assert self.progress is not None
        self.progress.close()
        self._say(text)


class Collector(threading.Thread):
    """Gathers an iteration's games from the crew and writes each shard as it comes in, while the learner learns."""

    def __init__(self, trainer: Trainer, number: int):
        super().__init__(name="collector", daemon=True)
        self._trainer = trainer
        self._number = number
        self._cancelled = threading.Event()
        self._error: BaseException | None = None
        self.shards: list[tuple[int, Samples]] = []
        self.games = 0
        self.seconds = 0.0
        self.cpu_seconds = 0.0
        self._evaluations = 0
        self._new_games = 0
        for shard in [s for s in trainer.replay.shards if s.number >= trainer.folder.state.first_shard]:
            samples = trainer.replay.read(shard)  # of an iteration that was cut short
            if samples is not None:
                self._take(shard.number, samples)

    def _take(self, number: int, samples: Samples) -> None:
        self.shards.append((number, samples))
        self.games += samples.games

    def run(self) -> None:
        begin = time.monotonic()
        try:
            self._collect()
        except BaseException as error:  # handed over to whoever joins
            self._error = error
        self.seconds = time.monotonic() - begin

    def _collect(self) -> None:
        trainer, quota = self._trainer, self._trainer.settings.games
        progress = trainer.progress
        assert progress is not None
        network = trainer.crew.share(trainer._network(trainer.best.weights))
        simulations = trainer.settings.simulations_at(self._number)
        asked = self.games

        def requests() -> Iterator[Task]:
            nonlocal asked
            while asked < quota:
                count = min(trainer.settings.shard_games, quota - asked)
                asked += count
                yield Task("play", (network, count, simulations))

        for _, played in run_tasks(trainer.crew, requests(), trainer._warn, self._cancelled):
            assert isinstance(played, Played)
            with clear_errors(trainer.replay.folder):
                shard = trainer.replay.append(played.samples)
            self._take(shard.number, played.samples)
            self._evaluations += played.evaluations
            self._new_games += played.samples.games
            self.cpu_seconds += played.cpu_seconds
            progress.update("games", self.games, quota)

    def join(self, timeout: float | None = None) -> None:
        # In short waits, so that Ctrl-C is heard.
        while self.is_alive():
            super().join(0.1)
            safe_point()
        if self._error is not None:
            raise self._error

    def cancel(self) -> None:
        self._cancelled.set()
        super().join(10)

    def metrics(self) -> dict[str, float]:
        plies = np.concatenate([samples.plies for _, samples in self.shards])
        winner = np.concatenate([samples.winner for _, samples in self.shards])
        seconds = max(self.seconds, 1e-9)
        return {
            "new_games": len(plies),
            "new_samples": sum(len(samples) for _, samples in self.shards),
            "games_per_second": round(self._new_games / seconds, 3),
            "evaluations_per_second": round(self._evaluations / seconds, 1),
            "game_length": round(float(plies.mean()), 2),
            "draw_rate": round(float((winner == 0).mean()), 4),
            "first_win_rate": round(float((winner == 1).mean()), 4),
        }


def _elo_change(gate: Judgement | None) -> tuple[float | None, float | None, float | None]:
    if gate is None:
        return None, None, None
    estimate, low, high = (None if value is None else round(value, 1) for value in gate.tally.elo())
    if estimate is None:  # a clean sweep: the end that is known stands for the whole
        estimate = low if low is not None else high
    return estimate, low, high
