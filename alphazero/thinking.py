"""A search under way, with the question to a prover that may go beside it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from alphazero.engine import Ticket
from alphazero.lane import Outcome
from alphazero.pool import OPEN
from alphazero.proof import Proof
from alphazero.proving import NOTHING_KNOWN, Inquiry
from alphazero.result import SearchResult

_Finish = Callable[[Outcome, Proof], SearchResult]


class Thinking:
    """A player's search under way, and his question to the game's prover: `result()`, `await`, `peek()`, `cancel()`."""

    def __init__(self, ticket: Ticket, inquiry: Inquiry | None, finish: _Finish):
        self._ticket = ticket
        self._inquiry = inquiry
        self._finish = finish

    def result(self, timeout: float | None = None) -> SearchResult:
        try:
            outcome = self._ticket.result(timeout)
            inquiry = self._open_inquiry(outcome)
            return self._finish(outcome, inquiry.wait() if inquiry else NOTHING_KNOWN)
        finally:
            self._end_inquiry()

    def __await__(self) -> Generator[Any, None, SearchResult]:
        return self._wait().__await__()

    async def _wait(self) -> SearchResult:
        try:
            outcome = await self._ticket
            inquiry = self._open_inquiry(outcome)
            return self._finish(outcome, await inquiry.wait_async() if inquiry else NOTHING_KNOWN)
        finally:
            self._end_inquiry()

    def _open_inquiry(self, outcome: Outcome) -> Inquiry | None:
        """The question to wait for; none if the search has found the proof itself."""
        return self._inquiry if outcome.root.proof == OPEN else None

    def _end_inquiry(self) -> None:
        if self._inquiry is not None:
            self._inquiry.cancel()

    def peek(self) -> SearchResult | None:
        """What it thinks so far; None before there is anything."""
        outcome = self._ticket.peek()
        known = NOTHING_KNOWN if self._inquiry is None else self._inquiry.known()
        return None if outcome is None else self._finish(outcome, known)

    def cancel(self) -> bool:
        self._end_inquiry()
        return self._ticket.cancel()

    def done(self) -> bool:
        return self._ticket.done()
