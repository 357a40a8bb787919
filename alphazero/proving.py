"""A game's prover beside the searches: where it runs, and what it may cost the others.

Proofs are looked for in one thread of their own, one question at a time, so they take at most one core and never the
engine's. Small questions (a hint, the win bar) go before large ones. The kernels run without Python's lock, and every
few milliseconds they look at the clock and at whether they were cancelled. What can be had at once (Chain Reaction:
Blue's stored strategy; Gomoku: fives) is looked up when the question is asked and waits for nobody, so whoever runs out
of time before his turn has that to go by.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from functools import lru_cache
from queue import PriorityQueue

from alphazero.game import Game, Position
from alphazero.proof import Effort, Proof

NOTHING_KNOWN = Proof()
COMPILING = 60.0  # seconds beyond its time that a first question waits, while its prover is being compiled

log = logging.getLogger("alphazero.proving")
_compiled: set[str] = set()  # games whose prover has answered once
_numbers = itertools.count()


@dataclass(order=True)
class _Question:
    """What the thread is asked; small ones first, then in the order of asking."""

    nodes: int
    number: int
    position: Position = field(compare=False)
    effort: Effort = field(compare=False)
    answer: Future[Proof] = field(compare=False)


def _serve(questions: PriorityQueue[_Question]) -> None:
    while True:
        question = questions.get()
        proof = NOTHING_KNOWN if question.answer.done() else _prove(question.position, question.effort)
        with contextlib.suppress(InvalidStateError):  # somebody has stopped waiting
            question.answer.set_result(proof)
        del question, proof  # a thread that sleeps must not keep anything alive


@lru_cache(maxsize=1)
def _questions(process: int) -> PriorityQueue[_Question]:
    """The queue of this process, its thread with it: threads do not survive a fork."""
    questions: PriorityQueue[_Question] = PriorityQueue()
    # A daemon: a proof that nobody will read must not hold up the end of the program.
    threading.Thread(target=_serve, args=(questions,), name="alphazero-prover", daemon=True).start()
    return questions


def _prove(position: Position, effort: Effort) -> Proof:
    """A prover's own failure is written down, and must not cost anybody a move."""
    assert position.game.prove is not None
    try:
        proof = position.game.prove(position, effort)
    except Exception:
        log.exception("the prover of %s failed", position.game.name)
        return NOTHING_KNOWN
    _compiled.add(position.game.name)
    return proof


class Inquiry:
    """A question to a prover under way. Cancelling or dropping it frees the thread for the next."""

    def __init__(self, position: Position, nodes: int, deadline: float, on_win: Callable[[], object]):
        self._begun = time.perf_counter()
        self._ended: float | None = None
        self._answer: Future[Proof] = Future()
        self._cancelled = threading.Event()
        is_compiled = position.game.name in _compiled
        self._deadline = deadline if is_compiled else deadline + COMPILING
        self._look = _prove(position, Effort(nodes=0)) if is_compiled else NOTHING_KNOWN

        def note(answer: Future[Proof]) -> None:
            if answer.result().result == "win":
                on_win()

        self._answer.add_done_callback(note)
        if self._look.result:
            self._answer.set_result(self._look)
            return
        effort = Effort(nodes, deadline, self._cancelled.is_set)
        weakref.finalize(self, _stop, self._cancelled, self._answer).atexit = False
        _questions(os.getpid()).put(_Question(nodes, next(_numbers), position, effort, self._answer))

    def known(self) -> Proof:
        """What there is so far."""
        proof = self._answer.result() if self._answer.done() else NOTHING_KNOWN
        return proof if proof.result or proof.moves else self._look

    def done(self) -> bool:
        return self._answer.done()

    @property
    def seconds(self) -> float:
        """From the question to the end of waiting for its answer."""
        return (self._ended or time.perf_counter()) - self._begun

    def cancel(self) -> None:
        self._ended = self._ended or time.perf_counter()
        _stop(self._cancelled, self._answer)

    def wait(self, timeout: float | None = None) -> None:
        """Until the prover is done or time is up; then `known()` says what there is."""
        left = self._seconds_left()
        with contextlib.suppress(TimeoutError):
            self._answer.result(_finite(left if timeout is None else min(timeout, left)))
        self.cancel()

    async def wait_async(self) -> None:
        """`wait` for asyncio."""
        # asyncio.wait leaves the answer alone when it is cancelled or time is up.
        await asyncio.wait([asyncio.wrap_future(self._answer)], timeout=_finite(self._seconds_left()))
        self.cancel()

    def _seconds_left(self) -> float:
        return max(0.0, self._deadline - time.perf_counter())


def _finite(seconds: float) -> float | None:
    return None if seconds == float("inf") else seconds


def _stop(cancelled: threading.Event, answer: Future[Proof]) -> None:
    cancelled.set()
    with contextlib.suppress(InvalidStateError):
        answer.set_result(NOTHING_KNOWN)


def warm_up(game: Game) -> None:
    """Compile and load what the game's prover needs, so that the first question is as quick as the tenth."""
    if game.prove is not None:
        position = game.start()
        _prove(position, Effort(nodes=0))
        # Something that no book knows, or the search itself would stay uncompiled.
        for move in (0, -1):
            position = position.play(position.legal_moves()[move])
        _prove(position, Effort(nodes=2000))
