"""One engine per process runs every search in flight, in shared batches.

Each worker is a thread with one inference thread's worth of network. Its loop, for every model that has searches:
take one leaf of each search, evaluate them as one batch, take the answers in. New searches join at the next step and
finished ones leave; each gets one leaf a step, so a short search beside long ones takes its own share of time and no
more. Play, self-play and matches are callers of this one thing.

    ticket = engine.submit(model, position, Budget(simulations=800))
    outcome = ticket.result()            # or: outcome = await ticket
    ticket.cancel()                      # stops costing at the next step; so does dropping the ticket
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
import time
import weakref
from collections.abc import Generator
from concurrent.futures import Future
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

from alphazero.game import Position
from alphazero.lane import Job, Lane, Outcome
from alphazero.model import Model
from alphazero.settings import MAX_SIMULATIONS, Budget, SearchSettings, check_type, check_whole
from alphazero.stats import Stats


class EngineFull(Exception):
    """Too many searches at once. `retry_after` says in how many seconds it is worth trying again."""

    def __init__(self, searches: int, retry_after: float):
        super().__init__(f"The engine is busy with {searches} searches; try again in about {retry_after:.0f} s.")
        self.retry_after = retry_after


@dataclass(frozen=True)
class EngineLimits:
    """Where an engine says no. Memory is per worker and model, and is taken only as trees grow.

    kept: trees of finished searches that may be resumed (`previous=`), the latest ones, as long as there is room.
    look_ahead: how many positions a step may take of one search while there are few (see forest.py).
    """

    searches: int = 256
    batch: int = 64
    memory_mb: int = 256
    kept: int = 64
    look_ahead: int = 4

    def __post_init__(self) -> None:
        check_whole("searches", self.searches, 1, 65_536)
        check_whole("batch", self.batch, 1, 4096)
        check_whole("memory_mb", self.memory_mb, 1, 1 << 20)
        check_whole("kept", self.kept, 0, 65_536)
        check_whole("look_ahead", self.look_ahead, 1, 4096)


class Ticket:
    """A search in flight. Wait for it with `result()` or `await`; losing the ticket cancels the search."""

    def __init__(self, job: Job, worker: _Worker):
        self._job = job
        self._worker = worker
        weakref.finalize(self, job.future.cancel).atexit = False

    def result(self, timeout: float | None = None) -> Outcome:
        """The outcome, when there is one; cancels the search if the wait is interrupted."""
        try:
            return self._job.future.result(timeout)
        except BaseException:
            self.cancel()
            raise

    def __await__(self) -> Generator[Any, None, Outcome]:
        # A generator, so that it holds the ticket for as long as somebody waits.
        outcome = yield from asyncio.wrap_future(self._job.future).__await__()
        return outcome

    @property
    def future(self) -> Future[Outcome]:
        """For `concurrent.futures.wait` over many; holding it does not keep the search alive, the ticket does."""
        return self._job.future

    def cancel(self) -> bool:
        return self._job.future.cancel()

    def done(self) -> bool:
        return self._job.future.done()

    def hurry(self) -> None:
        """Answer at the next step with what there is: somebody knows the result already."""
        self._job.hurried = True
        self._worker.attend(self._job)

    def peek(self) -> Outcome | None:
        """What the search knows right now, or None before its first step; the outcome once it is there."""
        if self._job.future.done() and not self._job.future.cancelled():
            return self._job.future.result()
        return self._worker.peek(self._job)


class Engine:
    """Thread-safe. `workers` threads share the searches; each needs a core to itself to be worth it."""

    def __init__(self, workers: int = 1, limits: EngineLimits | None = None):
        check_whole("workers", workers, 1, 64)
        self.limits = EngineLimits() if limits is None else limits
        check_type("limits", self.limits, EngineLimits)
        self.stats = Stats()
        self._workers = [_Worker(self, number) for number in range(workers)]
        self._closed = False
        self._lock = threading.Lock()
        atexit.register(self.close)

    def submit(
        self,
        model: Model,
        position: Position,
        budget: Budget,
        settings: SearchSettings | None = None,
        *,
        seed: int = 0,
        previous: Outcome | None = None,
        keep: bool = True,
    ) -> Ticket:
        """Queue a search. EngineFull if there are too many; ValueError if the position can't be searched.

        `keep`: hold the tree for a later `previous=`, as long as there is room.
        `previous`: the outcome of an earlier search of the same game. If its tree is still there and reaches this
        position it is grown on, and its visits count.
        """
        check_type("model", model, Model)
        check_type("position", position, Position)
        check_type("budget", budget, Budget)
        settings = model.game.search if settings is None else settings
        check_type("settings", settings, SearchSettings)
        check_whole("seed", seed, 0, 2**63 - 1)
        if previous is not None:
            check_type("previous", previous, Outcome)
        if position.game is not model.game:
            raise ValueError(f"a {model.game.name} model can't search a {position.game.name} position")
        if position.winner is not None:
            raise ValueError("the game is over; there is nothing to search")
        now = time.perf_counter()
        job = Job(
            model=model,
            position=position,
            limit=budget.simulations or MAX_SIMULATIONS,
            deadline=now + budget.seconds if budget.seconds is not None else float("inf"),
            settings=settings,
            seed=seed,
            previous=previous,
            keep=keep,
            future=Future(),
            started=now,
        )
        with self._lock:  # count and add in one go, or two callers could both take the last place
            self._check_open()
            load = self.searches_in_flight()
            if load < self.limits.searches:
                worker = self._pick_worker(previous)
                worker.add(job)
                return Ticket(job, worker)
        self.stats.refused(model.game.name)
        raise EngineFull(load, self._retry_after())

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("this engine is closed")

    def searches_in_flight(self) -> int:
        return sum(worker.load for worker in self._workers)

    def _pick_worker(self, previous: Outcome | None) -> _Worker:
        idlest = min(self._workers, key=lambda worker: worker.load)
        if previous is not None:  # its tree lives with one worker: go there unless that one is clearly busier
            home = next((worker for worker in self._workers if worker.number == previous.worker), idlest)
            return home if home.load <= idlest.load + 1 else idlest
        return idlest

    def _retry_after(self) -> float:
        """About how long one of the running searches may still take: the mean think time so far, within reason."""
        return max(1.0, min(30.0, self.stats.mean_seconds()))

    def warm_up(self, *models: Model) -> None:
        """Load and compile what these models need, so that the first search is as fast as the tenth."""
        for model in models:
            check_type("model", model, Model)
        openings = [(_Opening(model, Future()), worker) for worker in self._workers for model in models]
        with self._lock:
            self._check_open()
            for opening, worker in openings:
                worker.send(opening)
        for opening, _ in openings:
            opening.future.result()

    def close(self) -> None:
        """Cancel everything and end the threads."""
        with self._lock:
            self._closed = True  # whatever was sent before this is in the queues, ahead of the word to stop
        for worker in self._workers:
            worker.stop()
        atexit.unregister(self.close)


@dataclass(frozen=True, eq=False)
class _Opening:
    """A wish that a model be ready."""

    model: Model
    future: Future[None]


class _Worker:
    """A thread that owns lanes (a model's forest and evaluator) and steps those that have searches."""

    def __init__(self, engine: Engine, number: int):
        self.number = number
        self._limits = engine.limits
        self._stats = engine.stats
        self._incoming: SimpleQueue[Job | _Opening | None] = SimpleQueue()
        # A lane goes when its model does: after a match, or when a better network has taken its place.
        self._lanes: weakref.WeakKeyDictionary[Model, Lane] = weakref.WeakKeyDictionary()
        self._busy: list[Lane] = []  # those with searches in flight
        # Held while trees change, free while the network runs; `peek` reads between.
        self._lock = threading.Lock()
        self._load_lock = threading.RLock()  # a ticket may be collected, and so counted down, at any moment
        self.load = 0
        self._thread: threading.Thread | None = None

    def add(self, job: Job) -> None:
        job.worker = self.number
        with self._load_lock:
            self.load += 1
        job.future.add_done_callback(self._count_down)
        self.send(job)

    def send(self, item: Job | _Opening) -> None:
        with self._load_lock:
            if self._thread is None:
                name = f"alphazero-engine-{self.number}"
                self._thread = threading.Thread(target=self._run, name=name, daemon=True)
                self._thread.start()
        self._incoming.put(item)

    def _count_down(self, _: Future[Outcome]) -> None:
        with self._load_lock:
            self.load -= 1

    def stop(self) -> None:
        self._incoming.put(None)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=10)

    def peek(self, job: Job) -> Outcome | None:
        with self._lock:
            lane = self._lanes.get(job.model)
            return lane.peek(job) if lane else None

    def attend(self, job: Job) -> None:
        """Look at this job before the next step."""
        with self._lock:
            lane = self._lanes.get(job.model)
            if lane:
                lane.attention = True

    def _run(self) -> None:
        try:
            while self._take_in():
                self._step_all()
        finally:
            self._end()

    # Each of these is a method so that no variable of a sleeping thread keeps a job, and with it a model, alive.

    def _take_in(self) -> bool:
        """Admit what has come in, waiting for something if there is nothing to do; False when the engine closes."""
        while not self._busy or not self._incoming.empty():
            if not self._admit_next():
                return False
        return True

    def _admit_next(self) -> bool:
        item = self._incoming.get()
        if item is not None:
            self._admit(item)
        return item is not None

    def _admit(self, item: Job | _Opening) -> None:
        if item.future.cancelled():
            item.future.set_running_or_notify_cancel()
            return
        try:
            lane = self._lanes.get(item.model)
            if lane is None:
                lane = Lane(item.model, self._limits, self._stats)  # compiles; other searches wait for it
            with self._lock:
                self._lanes[item.model] = lane
                if isinstance(item, Job):
                    lane.admit(item)
                    if lane not in self._busy:
                        self._busy.append(lane)
                else:
                    item.future.set_result(None)
        except BaseException as error:  # whatever a model does while it loads, the thread must live on
            _fail(item, error)

    def _step_all(self) -> None:
        for lane in tuple(self._busy):
            try:
                lane.step(self._lock)
            except BaseException as error:  # an evaluator that fails must not take the other games with it
                self._give_up(lane, error)
            if not lane.jobs:
                self._busy.remove(lane)

    def _give_up(self, lane: Lane, error: BaseException) -> None:
        """Fail a lane's searches and forget the lane; the next search of its model makes a new one."""
        with self._lock:
            jobs = lane.abandon()
            for job in jobs:
                self._lanes.pop(job.model, None)
        lane.deliver()  # those that had their answer before it happened
        for job in jobs:
            _fail(job, error)

    def _end(self) -> None:
        """Tell everybody who still waits."""
        closed = RuntimeError("the engine was closed")
        for lane in self._busy:
            self._give_up(lane, closed)
        while not self._incoming.empty():
            item = self._incoming.get()
            if item is not None:
                _fail(item, closed)


def _fail(item: Job | _Opening, error: BaseException) -> None:
    if not item.future.done() and item.future.set_running_or_notify_cancel():
        item.future.set_exception(error)


_default: tuple[int, Engine] | None = None
_default_lock = threading.Lock()


def default_engine() -> Engine:
    """The engine that all players of this process share."""
    global _default
    with _default_lock:
        if _default is None or _default[0] != os.getpid():  # threads do not survive a fork
            _default = (os.getpid(), Engine())
        return _default[1]
