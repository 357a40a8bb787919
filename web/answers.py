"""What the server says to a board: a request is the client's whole game, the answer is all it needs to draw.

Nothing is kept between requests. The client sends its moves, the server replays and checks them, so a reload or a
restart loses nothing and nobody's game can be seen or disturbed by anybody else. Every field is the client's and is
checked; whatever is wrong comes back as a code that the client words in its language, never as an exception.

    request  {"game": "gomoku", "moves": [40, 41], "ask": "reply", "level": "medium", "id": "<32 hex digits>"}
    answer   {"ok": true, "moves": [40, 41, 31], "cells": [...], "toMove": -1, "winner": null, "legal": [...], ...}
    or       {"ok": false, "code": "busy", "seconds": 2}

ask: "show" (default) draws the position; "reply" plays the AI's move; "hint" says what it would play; "judge" gives the
position's value after a short look. While a search runs, `peek` with its id tells what it thinks so far: the id is the
client's own random number, so nobody else can ask for it.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from alphazero import DEFAULT_LEVEL, LEVELS, EngineFull, Game, IllegalMove, Player, Position, SearchResult
from web.metrics import METRICS
from web.views import thought, view

MAX_MOVES = 1000  # far more than any game here has
MAX_RUNNING = 1024  # searches that can be peeked at; the engine refuses long before
ASKS = ("show", "reply", "hint", "judge")
# A hint is worth more than the level one plays against, and it should know what is certain; so should the win bar.
HINT: dict[str, Any] = {"level": "hard", "proof_nodes": 100_000}
JUDGE: dict[str, Any] = {"simulations": 32, "seconds": 0.5, "proof_nodes": 20_000}
GLANCE = 0.2  # seconds between two looks whether the client is still there
SEARCH_ID = re.compile(r"[0-9a-f]{32}")

Gone = Callable[[], Awaitable[bool]]  # has the client hung up?
log = logging.getLogger("alphazero.web")


async def _never() -> bool:
    return False


@dataclass(frozen=True)
class _Request:
    player: Player
    moves: list[int]
    ask: str
    level: str
    id: str | None


class Answers:
    """Answers for these players, by name of their game."""

    def __init__(self, players: Mapping[str, Player]):
        self._players = players
        self._running: dict[str, Any] = {}  # by id: a Thinking, or None before it begins
        self._compiled: set[str] = set()  # games whose rules have run once

    async def ask(self, request: Any, gone: Gone = _never) -> dict[str, Any]:
        """The board after the request's moves, and what was asked for; `gone` stops the search."""
        try:
            wanted = self._read(request)
        except ValueError as error:
            return {"ok": False, "code": "badRequest", "why": str(error)}
        if wanted.id is None:
            return await self._answer(wanted, gone)
        if len(self._running) >= MAX_RUNNING or wanted.id in self._running:
            return {"ok": False, "code": "busy", "seconds": 2}
        self._running[wanted.id] = None
        try:
            return await self._answer(wanted, gone)
        finally:
            del self._running[wanted.id]

    def peek(self, request: Any) -> dict[str, Any]:
        """How far a search is: "waiting" (a game being compiled, a busy engine), or "thinking" and its thought."""
        wanted = request.get("id") if isinstance(request, dict) else None
        if not isinstance(wanted, str) or wanted not in self._running:
            return {"stage": "unknown"}
        thinking = self._running[wanted]
        result = thinking.peek() if thinking is not None else None
        return {"stage": "waiting"} if result is None else {"stage": "thinking", "thought": thought(result)}

    def _read(self, request: Any) -> _Request:
        if not isinstance(request, dict):
            raise ValueError("a request is an object with game, moves, ask and level")
        game, moves, id_ = request.get("game"), request.get("moves"), request.get("id")
        ask, level = request.get("ask", "show"), request.get("level", DEFAULT_LEVEL)
        if not isinstance(game, str) or game not in self._players:
            raise ValueError(f"game must be one of {', '.join(self._players)}")
        if not isinstance(moves, list) or len(moves) > MAX_MOVES:
            raise ValueError(f"moves must be a list of at most {MAX_MOVES} cell numbers")
        if ask not in ASKS:
            raise ValueError(f"ask must be one of {', '.join(ASKS)}")
        if level not in LEVELS:
            raise ValueError(f"level must be one of {', '.join(LEVELS)}")
        if id_ is not None and (not isinstance(id_, str) or not SEARCH_ID.fullmatch(id_)):
            raise ValueError("id must be 32 hexadecimal digits")
        return _Request(self._players[game], moves, ask, level, id_)

    async def _answer(self, wanted: _Request, gone: Gone) -> dict[str, Any]:
        shown, position, bad_move = await self._replay(wanted.player.game, wanted.moves)
        if bad_move:
            return {**shown, "ok": False, "code": "badMove", "number": bad_move}
        if wanted.ask == "show" or position.winner is not None:
            return {**shown, "ok": True}
        try:
            result = await self._search(wanted, position, gone)
        except EngineFull as error:
            METRICS.count_error("busy")
            return {**shown, "ok": False, "code": "busy", "seconds": round(error.retry_after)}
        except Exception:
            log.exception("a search failed")
            METRICS.count_error("stumbled")
            return {**shown, "ok": False, "code": "stumbled"}
        if result is None:
            return {**shown, "ok": False, "code": "gone"}  # nobody will read it
        if wanted.ask == "reply":
            METRICS.count_move(wanted.player.game.name, result.seconds)
            shown = view(position.play(result.action), before=position)
        elif wanted.ask == "hint":
            shown["hint"] = result.line[0] if result.line else result.action
        return {**shown, "ok": True, "thought": thought(result)}

    async def _replay(self, game: Game, moves: list[int]) -> tuple[dict[str, Any], Position, int]:
        """The view and position after these moves; or after those before the first bad one, and its number."""
        if game.name in self._compiled:
            return _replay(game, moves)
        # The first time the rules may have to be compiled, and nobody else should wait for that.
        replayed = await asyncio.to_thread(_replay, game, moves)
        self._compiled.add(game.name)
        return replayed

    async def _search(self, wanted: _Request, position: Position, gone: Gone) -> SearchResult | None:
        """The search's result, or None if the client hung up meanwhile."""
        strength: dict[str, Any] = {"hint": HINT, "judge": JUDGE}.get(wanted.ask, {"level": wanted.level})
        thinking = wanted.player.start(position, **strength)
        if wanted.id is not None:
            self._running[wanted.id] = thinking

        async def result() -> SearchResult:
            return await thinking

        waiting = asyncio.ensure_future(result())
        try:
            while not (await asyncio.wait({waiting}, timeout=GLANCE))[0]:
                if await gone():
                    return None
            return waiting.result()
        finally:
            thinking.cancel()
            waiting.cancel()


def _replay(game: Game, moves: list[int]) -> tuple[dict[str, Any], Position, int]:
    before, position, bad_move = None, game.start(), 0
    for number, move in enumerate(moves, start=1):
        try:
            before, position = position, position.play(move)
        except IllegalMove:
            bad_move = number
            break
    return view(position, before), position, bad_move
