"""What the server says to a board: a request is the client's whole game, the answer is all it needs to draw.

Nothing is kept between requests. The client sends its moves, the server replays and checks them, so a reload or a
restart loses nothing and nobody's game can be seen or disturbed by anybody else. Every field is the client's and is
checked; whatever is wrong comes back as a sentence in `message`, never as an exception.
"""

from __future__ import annotations

import logging
from typing import Any

from alphazero import LEVELS, EngineFull, Game, IllegalMove, Player, Position, SearchResult

MAX_MOVES = 1000  # far more than any game here has
ASKS = ("show", "reply", "hint")

log = logging.getLogger("alphazero.web")


async def answer(player: Player, request: Any) -> dict[str, Any]:
    """The board after the request's moves; with "reply" the AI's move too, with "hint" what it would play."""
    game = player.game
    try:
        moves, ask, level = _read(game, request)
        position = replay(game, moves)
    except (ValueError, TypeError) as error:
        return {**view(game.start()), "ok": False, "message": str(error)}
    if ask == "show" or position.winner is not None:
        return {**view(position), "ok": True}
    try:
        result = await player.search_async(position, level=level)
    except EngineFull as error:
        return {**view(position), "ok": False, "message": str(error)}
    except Exception:
        log.exception("a search failed")
        return {**view(position), "ok": False, "message": "The AI stumbled over this position; please try again."}
    if ask == "hint":
        return {**view(position), "ok": True, "hint": result.line[0], "thought": thought(result)}
    return {**view(position.play(result.action)), "ok": True, "thought": thought(result)}


def _read(game: Game, request: Any) -> tuple[list[int], str, str]:
    if not isinstance(request, dict):
        raise ValueError("A request is an object with moves, ask and level.")
    moves, ask, level = request.get("moves"), request.get("ask", "show"), request.get("level", "medium")
    if not isinstance(moves, list) or len(moves) > MAX_MOVES:
        raise ValueError(f"moves must be a list of at most {MAX_MOVES} cell numbers.")
    if ask not in ASKS:
        raise ValueError(f"ask must be one of {', '.join(ASKS)}.")
    if level not in LEVELS:
        raise ValueError(f"level must be one of {', '.join(LEVELS)}.")
    return moves, ask, level


def replay(game: Game, moves: list[int]) -> Position:
    """The position after these moves; IllegalMove names the first that can't be."""
    position = game.start()
    for number, move in enumerate(moves, start=1):
        try:
            position = position.play(move)
        except IllegalMove as error:
            raise IllegalMove(f"Move {number} is not possible: {error}") from None
    return position


def view(position: Position) -> dict[str, Any]:
    """A position as the board component draws it."""
    illegal = {}
    if position.winner is None:
        for cell in set(range(position.game.num_actions)) - set(position.legal_moves()):
            try:
                position.play(cell)
            except IllegalMove as error:
                illegal[str(cell)] = str(error)  # JSON keys are strings
    return {
        "moves": list(position.moves),
        "cells": position.board.ravel().tolist(),
        "toMove": position.to_move,
        "winner": position.winner,
        "illegal": illegal,
        "message": "",
    }


def thought(result: SearchResult) -> dict[str, Any]:
    """What the AI thought, from its own side."""
    return {
        "proven": result.proven,
        "plies": result.proven_plies,
        "chance": round(50 * (1 + result.value_to_move)),
        "simulations": result.simulations,
        "seconds": round(result.seconds, 2),
    }
