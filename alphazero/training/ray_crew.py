"""Workers as actors of a Ray cluster: the same Worker, the same tasks, on as many machines as there are.

Each worker takes one CPU. One whose node dies is asked for anew and joins when the cluster has room for it; until
then the others do its share. The project's code travels with the job, so nodes need only the installed requirements.
"""

from __future__ import annotations

import os
import socket
from typing import Any

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere

import ray
from ray.exceptions import RayActorError, RayError, RayTaskError

from alphazero.game import PROJECT, Game
from alphazero.train_settings import TrainSettings
from alphazero.training.crew import Answer, Task, WorkerFailed

# What a worker does not need: it would only make the upload larger.
NOT_NEEDED = ["/runs/", "/.git/", "/docs/", "/tests/", "/web/", "/benchmarks/", "*.log"]


class RayCrew:
    def __init__(self, game: Game, settings: TrainSettings, size: int, seed: list[int], address: str):
        self.size = size
        self._start = (game.name, vars(settings), seed)
        self._births = 0
        _connect(address, size)
        # Threads would fight over the one core that an actor has.
        self._actor = ray.remote(num_cpus=1, max_restarts=0)(_Actor)
        self._actors = [self._spawn() for _ in range(size)]
        self._pending: dict[Any, tuple[int, bool]] = {}  # reference -> (worker, is it a task?)
        for number in range(size):
            self._greet(number)
        self._present: set[int] = set()

    def _spawn(self) -> Any:
        game, settings, seed = self._start
        self._births += 1
        return self._actor.remote(game, settings, [*seed, self._births])

    def _greet(self, number: int) -> None:
        self._pending[self._actors[number].hello.remote()] = (number, False)

    def share(self, thing: Any) -> Any:
        return ray.put(thing)

    def present(self) -> list[int]:
        return sorted(self._present)

    def submit(self, worker: int, task: Task) -> None:
        self._pending[self._actors[worker].do.remote(task.method, *task.arguments)] = (worker, True)

    def collect(self) -> list[Answer]:
        ready, _ = ray.wait(list(self._pending), num_returns=1, timeout=1.0)
        answers = []
        for reference in ready:
            number, is_task = self._pending.pop(reference)
            try:
                result = ray.get(reference)
            except RayTaskError as error:
                raise WorkerFailed(f"a worker failed:\n{error}") from None
            except (RayActorError, RayError):
                self._present.discard(number)
                self._actors[number] = self._spawn()
                self._greet(number)
                if is_task:
                    answers.append(Answer(number, lost=True))
                continue
            if is_task:
                answers.append(Answer(number, result))
            else:
                self._present.add(number)
                answers.append(Answer(number, joined=True))
        return answers

    def close(self) -> None:
        ray.shutdown()


class _Actor:
    """A Worker that is made when it is first needed."""

    def __init__(self, game: str, settings: dict[str, Any], seed: list[int]):
        self._start = (game, settings, seed)
        self._worker: Any = None

    def hello(self) -> None:
        """Answers once the actor has a place in the cluster."""

    def do(self, method: str, *arguments: Any) -> Any:
        if self._worker is None:
            from alphazero.training.worker import Worker

            self._worker = Worker(*self._start)
        return getattr(self._worker, method)(*arguments)


def _connect(address: str, size: int) -> None:
    environment = {"working_dir": str(PROJECT), "excludes": NOT_NEEDED}
    options: dict[str, Any] = {"runtime_env": environment, "log_to_driver": False, "logging_level": "warning"}
    try:
        if address == "local":
            ray.init(num_cpus=size, include_dashboard=False, **options)
        else:
            _knock(address)
            ray.init(address=address, **options)
    except (OSError, RuntimeError, ValueError, RayError) as error:
        raise WorkerFailed(
            f"no Ray cluster answers at {address!r} ({str(error).splitlines()[0]}); start one with `ray start --head` "
            "(docs/scale-out.md), or use --ray local"
        ) from None


def _knock(address: str) -> None:
    """Ray itself tries an address that nobody answers for minutes; see first whether there is anybody."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=10).close()
