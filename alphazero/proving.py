"""A game's prover beside the searches: where it runs, and what it may cost the others.

Proofs are looked for in a thread of their own, one question at a time and in the order of asking, so they take at most
one core and never the engine's. Their kernels run without Python's lock, and every few milliseconds they look at the
clock and at whether they were cancelled. A question has a first look that costs next to nothing (Chain Reaction: Blue's
stored strategy; Gomoku: fives), taken in another thread, so that it does not wait behind a long one. Whoever runs out
of time before his turn has that to go by.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache

from alphazero.game import Game, Position
from alphazero.proof import Effort, Proof

NOTHING_KNOWN = Proof()
FIRST_LOOK = 5.0  # seconds at most to wait for it; milliseconds but for the first question, which compiles


@lru_cache(maxsize=1)
def _threads(process: int) -> tuple[ThreadPoolExecutor, ThreadPoolExecutor]:
    """(for first looks, for proofs) of this process: threads do not survive a fork."""
    return ThreadPoolExecutor(1, "alphazero-look"), ThreadPoolExecutor(1, "alphazero-prover")


class Inquiry:
    """A question to a prover under way. `known()` is what there is so far; cancelling frees the thread for the next."""

    def __init__(self, position: Position, nodes: int, deadline: float, on_win: Callable[[], object]):
        prove = position.game.prove
        assert prove is not None
        self._deadline = deadline
        self._cancelled = threading.Event()
        weakref.finalize(self, self._cancelled.set).atexit = False  # a question that nobody holds any more
        effort = Effort(nodes, deadline, self._cancelled.is_set)
        looks, proofs = _threads(os.getpid())
        self._look: Future[Proof] = looks.submit(prove, position, Effort(nodes=0))
        self._proof: Future[Proof] = proofs.submit(prove, position, effort)

        def tell(future: Future[Proof]) -> None:
            if _answer(future).result == "win":
                on_win()

        for future in (self._look, self._proof):
            future.add_done_callback(tell)

    def known(self) -> Proof:
        proof = _answer(self._proof)
        return proof if proof.result or proof.moves else _answer(self._look)

    def cancel(self) -> None:
        self._cancelled.set()
        self._proof.cancel()

    def wait(self) -> Proof:
        """What there is when the prover is done, or when time is up."""
        concurrent.futures.wait([self._look], FIRST_LOOK)
        concurrent.futures.wait([self._proof], self._seconds_left())
        return self._end()

    async def wait_async(self) -> Proof:
        await asyncio.wait([asyncio.wrap_future(self._look)], timeout=FIRST_LOOK)
        if not self._proof.done():
            # Shielded, as a wait that ends must not take a question from the queue by itself: `_end` does.
            await asyncio.wait([asyncio.shield(asyncio.wrap_future(self._proof))], timeout=self._seconds_left())
        return self._end()

    def _seconds_left(self) -> float | None:
        """Until the deadline; None for no deadline, and 0 where the first look has settled it."""
        if _answer(self._look).result:
            return 0.0
        return None if self._deadline == float("inf") else max(0.0, self._deadline - time.perf_counter())

    def _end(self) -> Proof:
        known = self.known()
        self.cancel()
        return known


def _answer(future: Future[Proof]) -> Proof:
    """What a prover has answered so far. Its own failure must not cost anybody a move."""
    if not future.done() or future.cancelled() or future.exception() is not None:
        return NOTHING_KNOWN
    return future.result()


def warm_up(game: Game) -> None:
    """Compile and load what the game's prover needs, so that the first question is as quick as the tenth."""
    if game.prove is not None:
        game.prove(game.start(), Effort(nodes=2000))
