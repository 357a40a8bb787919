"""A lane: all searches of one model in one worker thread, stepped as one batch."""

from __future__ import annotations

import itertools
import threading
import time
from collections import OrderedDict
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from alphazero.forest import Forest
from alphazero.game import Position
from alphazero.model import Model
from alphazero.root import Root
from alphazero.settings import SearchSettings
from alphazero.stats import Stats

if TYPE_CHECKING:
    from alphazero.engine import EngineLimits

# Batches up to this size are met before anybody waits; a larger one takes its 30 ms when it first comes up.
SMALL_BATCH = 8

_tokens = itertools.count(1)

# Below this part of the pool, trees kept for later are given up, oldest first. Looked at every so many steps.
KEEP_SPARE = 0.125
ROOM_EVERY = 16


@dataclass(eq=False)
class Job:
    """A search as the engine sees it."""

    model: Model
    position: Position
    limit: int
    deadline: float
    settings: SearchSettings
    seed: int
    previous: Outcome | None
    keep: bool  # the tree, for a later search to go on with
    future: Future[Outcome]
    started: float
    worker: int = 0
    tree: int = -1
    hurried: bool = False  # the answer is known from elsewhere; what the search has by now will do


@dataclass(frozen=True)
class Outcome:
    """A finished (or peeked at) search: its root, why it stopped, and the token by which its tree may be resumed."""

    position: Position
    root: Root
    seconds: float
    stopped: str  # "simulations", "seconds", "proven", "memory", or "running"
    token: int
    worker: int


@dataclass(eq=False)
class _Kept:
    tree: int
    position: Position
    solver: bool


class Lane:
    """Not thread-safe by itself; the worker holds its lock around everything but the network call."""

    def __init__(self, model: Model, limits: EngineLimits, stats: Stats):
        self.game = model.game
        self._limits = limits
        self._stats = stats
        self._reported_bytes = 0  # before anything can fail: __del__ reads it
        self._reported_simulations = 0
        self._evaluator = model.make_evaluator()
        self._forest = Forest(
            model.game, trees=limits.searches, memory_bytes=limits.memory_mb << 20, max_batch=limits.batch
        )
        self.jobs: list[Job] = []
        self._free = list(range(limits.searches - 1, -1, -1))
        self._kept: OrderedDict[int, _Kept] = OrderedDict()
        self._answers: list[tuple[Future[Outcome], Outcome]] = []
        self.attention = False  # set from any thread when a job was cancelled
        self._next = 0  # whose turn it is when there are more searches than rows in a batch
        self._turn: tuple[list[Job], np.ndarray, np.ndarray] | None = None
        self._earliest = float("inf")
        self._steps = 0
        self._empty = (np.zeros((0, model.game.num_actions), np.float32), np.zeros(0, np.float32))
        self._warm_up()

    def __del__(self) -> None:
        self._stats.step(self.game.name, 0, 0, 0.0, 0.0, -self._reported_bytes)

    def _warm_up(self) -> None:
        """Compile every kernel and let the network meet the usual small batches, before anybody waits for it."""
        settings = SearchSettings(noise_fraction=0.25)
        start = self.game.start()
        self._forest.begin(0, start, 8, settings, 0)
        for rows in range(1, min(SMALL_BATCH, self._limits.batch) + 1):
            batch = self._forest.gather(np.zeros(1, np.int64), np.full(1, rows, np.int64))
            self._forest.scatter(*(self._evaluator.evaluate(batch) if len(batch) else self._empty))
            self._evaluator.evaluate(np.zeros((rows, *start.planes().shape), np.float32))
        Root(self._forest, 0)
        self._forest.resume(0, (start.legal_moves()[0],), 8, settings, 0)
        self._forest.close(0)
        self._reported_simulations = self._forest.total_simulations()

    # -- coming and going ---------------------------------------------------------------------------------------------

    def admit(self, job: Job) -> None:
        """Give a job its tree: the one it may resume, or a new one."""
        self._sweep(time.perf_counter())  # a cancelled search may still hold the last tree
        self._make_room()
        job.tree = self._resume(job)
        if job.tree < 0:
            if not self._free:
                self._give_up_oldest()
            job.tree = self._free.pop()
            try:
                self._forest.begin(job.tree, job.position, job.limit, job.settings, job.seed)
            except BaseException:
                self._close(job.tree)
                raise
        self.jobs.append(job)
        job.future.add_done_callback(self._notice)
        self._changed()
        if job.hurried:  # on its way here
            self.attention = True
        self._stats.in_flight(self.game.name, 1)

    def _notice(self, future: Future[Outcome]) -> None:
        if future.cancelled():
            self.attention = True

    def _resume(self, job: Job) -> int:
        if job.previous is None:
            return -1
        kept = self._kept.get(job.previous.token)
        moves = job.position.moves_since(kept.position) if kept else None
        if kept is None or moves is None or kept.solver != job.settings.solver:
            return -1
        if job.settings.candidates or job.settings.leaf_nodes:
            return -1
        del self._kept[job.previous.token]
        if self._forest.resume(kept.tree, moves, job.limit, job.settings, job.seed):
            return kept.tree
        self._close(kept.tree)
        return -1

    def _make_room(self) -> None:
        """Give up kept trees that hold more than their own share, oldest first, while little is left to share."""
        if self._kept and self._forest.spare() < KEEP_SPARE:
            for token, kept in list(self._kept.items()):
                if self._forest.is_large(kept.tree) and self._forest.spare() < KEEP_SPARE:
                    del self._kept[token]
                    self._close(kept.tree)

    def _give_up_oldest(self) -> None:
        _, kept = self._kept.popitem(last=False)
        self._close(kept.tree)

    def _close(self, tree: int) -> None:
        self._forest.close(tree)
        self._free.append(tree)

    def _leave(self, job: Job, stopped: str | None) -> None:
        """Take a job out; with a reason it is answered and its tree kept, without one it was cancelled."""
        self.jobs.remove(job)
        self._changed()
        self._stats.in_flight(self.game.name, -1)
        if stopped is None:
            self._close(job.tree)
            self._stats.cancelled(self.game.name)
            job.future.set_running_or_notify_cancel()
            return
        outcome = self._outcome(job, stopped, next(_tokens))
        if job.keep and not job.settings.leaf_nodes:  # a position that tactics have cut short is no root to go on from
            self._kept[outcome.token] = _Kept(job.tree, job.position, job.settings.solver)
        else:
            self._close(job.tree)
        if len(self._kept) > self._limits.kept:
            self._give_up_oldest()
        self._stats.finished(self.game.name, outcome.seconds)
        self._answers.append((job.future, outcome))

    def deliver(self) -> None:
        """Hand out what has been found. Without the worker's lock: a callback may well ask the engine something."""
        while self._answers:
            future, outcome = self._answers.pop()
            if future.set_running_or_notify_cancel():
                future.set_result(outcome)

    def abandon(self) -> list[Job]:
        """Let go of all searches, unanswered; the caller tells whoever waits for them."""
        jobs, self.jobs = self.jobs, []
        self._stats.in_flight(self.game.name, -len(jobs))
        return jobs

    def _changed(self) -> None:
        self._turn = None
        self._earliest = min((job.deadline for job in self.jobs), default=float("inf"))

    # -- one step -----------------------------------------------------------------------------------------------------

    def step(self, lock: threading.Lock) -> None:
        """One leaf (or, with few searches, a few leaves) of every search, or of as many as a batch holds."""
        begin = time.perf_counter()
        with lock:
            if self.attention or begin >= self._earliest:
                self._sweep(begin)
            self._steps += 1
            if self._steps % ROOM_EVERY == 0:
                self._make_room()
            if self.jobs:
                jobs, active, want = self._take_turn()
                batch = self._forest.gather(active, want)
        if not self.jobs:
            self._report(0, 0.0, 0.0)
            self.deliver()
            return
        asked = time.perf_counter()
        logits, values = self._evaluator.evaluate(batch) if len(batch) else self._empty
        answered = time.perf_counter()
        with lock:
            done = self._forest.scatter(logits, values)
            if done is not None:
                for job in [job for job, is_done in zip(jobs, done, strict=True) if is_done]:
                    self._leave(job, self._why(job))
        self._report(len(batch), answered - asked, asked - begin + time.perf_counter() - answered)
        if self._answers:
            self.deliver()

    def _report(self, rows: int, network_seconds: float, tree_seconds: float) -> None:
        used, simulations = self._forest.used_bytes(), self._forest.total_simulations()
        more, done = used - self._reported_bytes, simulations - self._reported_simulations
        self._reported_bytes, self._reported_simulations = used, simulations
        self._stats.step(self.game.name, rows, done, network_seconds, tree_seconds, more)

    def _sweep(self, now: float) -> None:
        """Drop what was cancelled and answer what has run out of time, if it has anything to say yet."""
        self.attention = False
        for job in [job for job in self.jobs if job.future.cancelled()]:
            self._leave(job, None)
        for job in [job for job in self.jobs if job.deadline <= now or job.hurried]:
            if self._forest.evaluated(job.tree):
                self._leave(job, "proven" if job.hurried else "seconds")
            elif job.hurried:
                self.attention = True  # again at the next step

    def _take_turn(self) -> tuple[list[Job], np.ndarray, np.ndarray]:
        """(jobs, their trees, how many rows each may fill). Round robin when there are more than a batch holds."""
        size = self._limits.batch
        if self._turn is None or len(self.jobs) > size:
            jobs = self.jobs
            if len(jobs) > size:
                start = self._next % len(jobs)
                jobs = (jobs[start:] + jobs[:start])[:size]
                self._next = start + size
            rows = max(1, min(self._limits.look_ahead, size) // len(jobs))
            self._turn = (
                list(jobs),
                np.array([job.tree for job in jobs], np.int64),
                np.full(len(jobs), rows, np.int64),
            )
        return self._turn

    def _why(self, job: Job) -> str:
        if self._forest.out_of_memory(job.tree):
            return "memory"
        return "simulations" if self._forest.simulations(job.tree) >= job.limit else "proven"

    # -- reading ------------------------------------------------------------------------------------------------------

    def peek(self, job: Job) -> Outcome | None:
        if job not in self.jobs or not self._forest.evaluated(job.tree):
            return None
        return self._outcome(job, "running", 0)

    def _outcome(self, job: Job, stopped: str, token: int) -> Outcome:
        root = Root(self._forest, job.tree)
        return Outcome(job.position, root, time.perf_counter() - job.started, stopped, token, job.worker)
