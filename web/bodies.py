"""From the bytes of a REST request to a checked request. Whatever is wrong comes out as an ApiError that names it."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from alphazero import LEVELS, Game, IllegalBoard, Position
from web.errors import ApiError, shown
from web.limits import Limits

MAX_SEED = 2**63 - 1
EVALUATE_FIELDS = ("board", "currentPlayer")
MOVE_FIELDS = (*EVALUATE_FIELDS, "simulations", "timeLimit", "level", "temperature", "seed")


@dataclass(frozen=True)
class MoveRequest:
    """What to think about and how hard. None is "not said": the player's own, as in `Player.start`."""

    position: Position
    simulations: int | None = None
    seconds: float | None = None
    level: str | None = None
    temperature: float | None = None
    seed: int | None = None


async def read_object(request: Request, limits: Limits, *, optional: bool = False) -> dict[str, Any]:
    """The JSON object in a request's body; an empty body is an empty object where a body is optional."""
    raw = await _read_bytes(request, limits.body_bytes)
    if not raw and optional:
        return {}
    kind = request.headers.get("content-type", "")
    if kind.partition(";")[0].strip().lower() != "application/json":
        raise ApiError.bad(
            "wrong_content_type", "The body must be JSON, with the header Content-Type: application/json."
        )
    return _parse(raw)


async def _read_bytes(request: Request, limit: int) -> bytes:
    """At most `limit` bytes; what is longer is not even read to its end."""
    too_large = ApiError(413, "body_too_large", f"The body may have at most {limit} bytes; send less.")
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and (len(announced) > 12 or int(announced) > limit):
        raise too_large
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > limit:
            raise too_large
    return bytes(raw)


class _Repeated(ValueError):
    pass


def _parse(raw: bytes) -> dict[str, Any]:
    try:
        data = json.loads(raw.decode("utf-8"), object_pairs_hook=_no_repeats, parse_constant=_no_constants)
    except _Repeated as error:
        raise ApiError.bad("repeated_field", f"The field {error} stands twice in the body; send it once.") from None
    except UnicodeDecodeError:
        raise ApiError.bad("not_json", "The body is not UTF-8 text; send JSON in UTF-8.") from None
    except RecursionError:
        raise ApiError.bad("not_json", "The body is nested too deeply; a board is a list of rows.") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise ApiError.bad("not_json", f"The body is not JSON: {error.msg} at {where}.") from None
    except ValueError:  # NaN and Infinity, which JSON does not have, and numbers of thousands of digits
        raise ApiError.bad("not_json", "The body holds NaN, Infinity or a number of too many digits.") from None
    if not isinstance(data, dict):
        raise ApiError.bad("not_an_object", 'The body must be a JSON object, such as {"board": [[0, 0, 0], ...]}.')
    return data


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise _Repeated(shown(name))
        found[name] = value
    return found


def _no_constants(name: str) -> None:
    raise ValueError(name)


def refuse_unknown(data: dict[str, Any], known: tuple[str, ...]) -> None:
    unknown = next((name for name in data if name not in known), None)
    if unknown is not None:
        allowed = f"fields here are {', '.join(known)}" if known else "no fields are taken here"
        field = unknown if unknown.isprintable() and len(unknown) <= 60 else None
        raise ApiError.bad("unknown_field", f"There is no field {shown(unknown)}; {allowed}.", field)


def read_evaluate(game: Game, data: dict[str, Any]) -> Position:
    """The position of an evaluate request; it can be searched."""
    refuse_unknown(data, EVALUATE_FIELDS)
    return _position(game, data)


def read_move(game: Game, data: dict[str, Any], limits: Limits) -> MoveRequest:
    refuse_unknown(data, MOVE_FIELDS)
    level = data.get("level")
    if level is not None and not isinstance(level, str):
        raise ApiError.bad("wrong_type", f"level must be one of {', '.join(LEVELS)}, not {shown(level)}.", "level")
    if level is not None and level not in game.levels:
        message = f"There is no level {shown(level)}; levels are {', '.join(LEVELS)}."
        raise ApiError.bad("unknown_level", message, "level")
    return MoveRequest(
        simulations=_whole(data, "simulations", 1, limits.simulations),
        seconds=_number(data, "timeLimit", 0, limits.seconds, more_than_low=True),
        level=level,
        temperature=_number(data, "temperature", 0, limits.temperature),
        seed=_whole(data, "seed", 0, MAX_SEED),
        position=_position(game, data),
    )


def _position(game: Game, data: dict[str, Any]) -> Position:
    if data.get("board") is None:
        shape = f"{game.rows} rows of {game.cols} whole numbers"
        raise ApiError.bad("missing_field", f"The field board is missing: {shape}.", "board")
    to_move = _whole(data, "currentPlayer", -1, 1)
    if to_move == 0:
        message = "currentPlayer must be 1 (who moved first in the game) or -1, not 0."
        raise ApiError.bad("out_of_range", message, "currentPlayer")
    board = _board(game, data["board"])
    try:
        position = game.from_board(board, 1 if to_move is None else to_move)
    except IllegalBoard as error:
        raise ApiError.bad("unreachable_board", str(error), "board") from None
    if position.winner is not None:
        how = f"{game.players[position.winner]} ({position.winner}) has won" if position.winner else "it is a draw"
        raise ApiError.bad("game_over", f"The game is over, {how}; send a board with moves left.", "board")
    return position


def _board(game: Game, board: Any) -> list[list[int]]:
    """Rows of whole numbers that a cell of this game can hold, the right number of them."""
    shape = f"a {game.title} board is a list of {game.rows} rows of {game.cols} whole numbers"
    if not isinstance(board, list):
        raise ApiError.bad("wrong_type", f"board must be a list, not {shown(board)}: {shape}.", "board")
    if len(board) != game.rows:
        raise ApiError.bad("wrong_shape", f"board has {len(board)} rows; {shape}.", "board")
    allowed = f"{min(game.symbols)} to {max(game.symbols)}"
    cells = []
    for number, row in enumerate(board, start=1):
        if not isinstance(row, list):
            raise ApiError.bad("wrong_type", f"Row {number} of board is {shown(row)}; {shape}.", "board")
        if len(row) != game.cols:
            raise ApiError.bad("wrong_shape", f"Row {number} of board has {len(row)} cells; {shape}.", "board")
        for column, cell in enumerate(row, start=1):
            where = f"Row {number}, column {column} of board holds {shown(cell)}"
            if isinstance(cell, bool) or not isinstance(cell, int | float):
                raise ApiError.bad("wrong_type", f"{where}; cells are whole numbers from {allowed}.", "board")
            if cell not in game.symbols:
                raise ApiError.bad("wrong_value", f"{where}; cells are whole numbers from {allowed}.", "board")
        cells.append([int(cell) for cell in row])
    return cells


def _whole(data: dict[str, Any], name: str, low: int, high: int) -> int | None:
    value = data.get(name)
    if value is None:
        return None
    wanted = f"{name} must be a whole number from {low} to {high}, not {shown(value)}."
    # JSON has one kind of number: 100.0 is as whole as 100.
    if isinstance(value, bool) or not (isinstance(value, int) or (isinstance(value, float) and value.is_integer())):
        raise ApiError.bad("wrong_type", wanted, name)
    if not low <= value <= high:
        raise ApiError.bad("out_of_range", wanted, name)
    return int(value)


def _number(data: dict[str, Any], name: str, low: float, high: float, *, more_than_low: bool = False) -> float | None:
    value = data.get(name)
    if value is None:
        return None
    bounds = f"more than {low:g} and at most {high:g}" if more_than_low else f"from {low:g} to {high:g}"
    wanted = f"{name} must be a number {bounds}, not {shown(value)}."
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ApiError.bad("wrong_type", wanted, name)
    if not low <= value <= high or (more_than_low and value == low) or not math.isfinite(value):
        raise ApiError.bad("out_of_range", wanted, name)
    return float(value)
