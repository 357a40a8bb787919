"""A search under way, with the question to a prover that may go beside it."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import Any

from alphazero.engine import Ticket
from alphazero.lane import Outcome
from alphazero.pool import OPEN
from alphazero.proof import Proof
from alphazero.proving import NOTHING_KNOWN, Inquiry
from alphazero.result import SearchResult

_Finish = Callable[[Outcome, Proof, float], SearchResult]


class Thinking:
    """A player's search under way, and his question to the game's prover: `result()`, `await`, `peek()`, `cancel()`.

    With a time limit (`in_time`) the first proof ends it, the search's own or the prover's. Without one both run to
    their end, so that the answer does not depend on which was quicker.
    """

    def __init__(self, ticket: Ticket, inquiry: Inquiry | None, in_time: bool, finish: _Finish):
        self._ticket = ticket
        self._inquiry = inquiry
        self._in_time = in_time
        self._finish = finish

    def result(self, timeout: float | None = None) -> SearchResult:
        begin = time.monotonic()
        try:
            outcome = self._ticket.result(timeout)
            inquiry = self._open_inquiry(outcome)
            if inquiry is not None:
                inquiry.wait(None if timeout is None else max(0.0, timeout - (time.monotonic() - begin)))
            return self._put_together(outcome)
        finally:
            self._end_inquiry()

    def __await__(self) -> Generator[Any, None, SearchResult]:
        return self._wait().__await__()

    async def _wait(self) -> SearchResult:
        try:
            outcome = await self._ticket
            inquiry = self._open_inquiry(outcome)
            if inquiry is not None:
                await inquiry.wait_async()
            return self._put_together(outcome)
        finally:
            self._end_inquiry()

    def _open_inquiry(self, outcome: Outcome) -> Inquiry | None:
        """The question to wait for, if there is one."""
        return None if self._in_time and outcome.root.proof != OPEN else self._inquiry

    def _put_together(self, outcome: Outcome) -> SearchResult:
        if self._inquiry is None:
            return self._finish(outcome, NOTHING_KNOWN, outcome.seconds)
        waited_for = self._open_inquiry(outcome) is not None
        seconds = max(outcome.seconds, self._inquiry.seconds) if waited_for else outcome.seconds
        return self._finish(outcome, self._inquiry.known(), seconds)

    def _end_inquiry(self) -> None:
        if self._inquiry is not None:
            self._inquiry.cancel()

    def peek(self) -> SearchResult | None:
        """What it thinks so far; None before there is anything."""
        outcome = self._ticket.peek()
        return None if outcome is None else self._put_together(outcome)

    def cancel(self) -> bool:
        self._end_inquiry()
        return self._ticket.cancel()

    def done(self) -> bool:
        """Will `result()` answer without waiting?"""
        return self._ticket.done() and (self._inquiry is None or self._inquiry.done())
