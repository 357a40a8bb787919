"""Workers as processes of this machine, and how work is handed out to any crew of workers.

Processes are spawned, never forked (threads and forks do not mix). One that dies is replaced and its task given out
again: its games in flight are all that is lost. None outlives the process that started it.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol

from alphazero.game import Game
from alphazero.train_settings import TrainSettings
from alphazero.training import TrainingError
from alphazero.training.interrupt import safe_point
from alphazero.training.worker import Worker

PATIENCE = 60.0  # seconds without any worker before it is worth a word
LOSSES_IN_A_ROW = 10  # workers lost without a single answer in between: something is wrong with the task


class WorkerFailed(TrainingError):
    """A worker's own error, its traceback in the message; or workers that die as soon as they start."""


@dataclass(frozen=True)
class Task:
    """A method of Worker and its arguments; `label` is the caller's own."""

    method: str
    arguments: tuple[Any, ...]
    label: Any = None


@dataclass(frozen=True)
class Answer:
    """News of a worker: the result of its task, that it was lost and its task with it, or that it has joined."""

    worker: int
    result: Any = None
    lost: bool = False
    joined: bool = False


class Crew(Protocol):
    """Workers 0 to size - 1, each doing one task at a time. Not all need be there at all times."""

    size: int

    def present(self) -> list[int]:
        """Those that can be given a task."""

    def share(self, thing: Any) -> Any:
        """Something large that goes to several workers; what to put among a task's arguments in its place."""

    def submit(self, worker: int, task: Task) -> None: ...

    def collect(self) -> list[Answer]:
        """Wait for at least one answer, or a second. A lost worker is replaced. WorkerFailed if a task went wrong.

        A worker lost while it had nothing to do is not worth an answer, only that another has joined.
        """

    def close(self) -> None: ...


def run_tasks(
    crew: Crew, tasks: Iterator[Task], warn: Callable[[str], None], cancelled: threading.Event | None = None
) -> Iterator[tuple[Task, Any]]:
    """Hand tasks out to whoever is idle; tasks and results as they come in. A lost worker's task is given out again.

    `tasks` is asked for the next one only when a worker is free. When it is exhausted, or the caller stops asking,
    what is under way is waited for, so that the crew is idle afterwards.
    """
    again: deque[Task] = deque()
    idle = crew.present()[::-1]
    running: dict[int, Task] = {}
    losses = 0
    waiting_since = time.monotonic()

    def hand_out() -> bool:
        """Is there anything under way, or left to do?"""
        while not (cancelled and cancelled.is_set()):
            task = again.popleft() if again else next(tasks, None)
            if task is None:
                return bool(running)
            if not idle:
                again.appendleft(task)
                return True
            worker = idle.pop()
            crew.submit(worker, task)
            running[worker] = task
        return False

    def take_in(answer: Answer) -> Task | None:
        """Bring the books up to date; the task that has its result."""
        nonlocal losses
        if answer.joined:
            idle.append(answer.worker)
            return None
        task = running.pop(answer.worker)
        if not answer.lost:
            losses = 0
            idle.append(answer.worker)
            return task
        losses += 1
        if losses > LOSSES_IN_A_ROW + crew.size:
            raise WorkerFailed(f"{losses} workers were lost one after another; the tasks kill them, or the machine")
        warn(f"worker {answer.worker} was lost; its task goes to another")
        again.append(task)
        return None

    try:
        while hand_out():
            if running:
                waiting_since = time.monotonic()
            elif time.monotonic() - waiting_since > PATIENCE:
                waiting_since = time.monotonic()
                warn(f"no worker has been there for {PATIENCE:.0f} s; waiting for the cluster")
            # All of them into the books before the first is handed on: the caller may not come back for the others.
            answers = crew.collect()
            safe_point()
            done = [(task, answer.result) for answer in answers if (task := take_in(answer)) is not None]
            yield from done
    except GeneratorExit:  # the caller has heard enough
        while running and not (cancelled and cancelled.is_set()):
            for answer in crew.collect():
                if not answer.joined:
                    running.pop(answer.worker, None)
        raise


class LocalCrew:
    """Spawned processes, each with a pipe."""

    def __init__(
        self, game: Game, settings: TrainSettings, size: int, seed: list[int], kind: Callable[..., Any] = Worker
    ):
        self.size = size
        self._kind = kind
        self._start = (game.name, vars(settings), seed)
        self._context = multiprocessing.get_context("spawn")
        self._births = 0
        self._busy: set[int] = set()
        self._members: list[tuple[Any, Connection]] = [self._spawn(number) for number in range(size)]

    def _spawn(self, number: int) -> tuple[Any, Connection]:
        game, settings, seed = self._start
        ours, theirs = self._context.Pipe()
        # A replacement must not play its predecessor's games again, so every birth has a seed of its own.
        arguments = (theirs, os.getpid(), self._kind, game, settings, [*seed, self._births])
        self._births += 1
        process = self._context.Process(target=_serve, args=arguments, name=f"self-play {number}", daemon=True)
        # Ctrl-C reaches all processes of a terminal; a child deaf to it from birth has nothing to say about it.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        return process, ours

    def share(self, thing: Any) -> Any:
        return thing

    def present(self) -> list[int]:
        return list(range(self.size))

    def submit(self, worker: int, task: Task) -> None:
        self._busy.add(worker)
        with contextlib.suppress(OSError):  # it has died; collect will find out
            self._members[worker][1].send((task.method, task.arguments))

    def collect(self) -> list[Answer]:
        numbers = {connection: number for number, (_, connection) in enumerate(self._members)}
        answers = []
        for connection in wait(list(numbers), timeout=1.0):
            assert isinstance(connection, Connection)
            number = numbers[connection]
            try:
                failed, result = connection.recv()
            except (EOFError, OSError):
                self._members[number][0].join(5)
                connection.close()
                self._members[number] = self._spawn(number)
                if number in self._busy:
                    self._busy.remove(number)
                    answers += [Answer(number, lost=True), Answer(number, joined=True)]
                continue
            if failed:
                raise WorkerFailed(f"a worker failed:\n{result}")
            self._busy.discard(number)
            answers.append(Answer(number, result))
        return answers

    def pids(self) -> list[int]:
        return [process.pid for process, _ in self._members]

    def close(self) -> None:
        for process, connection in self._members:
            connection.close()
            process.terminate()
        for process, _ in self._members:
            process.join(5)
            if process.is_alive():
                process.kill()


def _serve(
    connection: Connection,
    parent: int,
    kind: Callable[..., Any],
    game: str,
    settings: dict[str, Any],
    seed: list[int],
) -> None:
    """A worker process: do what is asked, one thing at a time."""
    threading.Thread(target=_die_with, args=(parent,), daemon=True).start()
    worker = None
    while True:
        try:
            method, arguments = connection.recv()
        except (EOFError, OSError):
            return
        try:
            worker = worker or kind(game, settings, seed)
            answer = (False, getattr(worker, method)(*arguments))
        except Exception:
            answer = (True, traceback.format_exc())
        try:
            connection.send(answer)
        except OSError:
            return


def _die_with(parent: int) -> None:
    """A trainer that was killed can't say goodbye: look whether it is still there."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
