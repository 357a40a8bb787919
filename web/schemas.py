"""The REST API as OpenAPI describes it: bodies by game, answers, and every error. Schemathesis holds it to this."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from alphazero import DEFAULT_LEVEL, LEVELS, Game
from web.bodies import MAX_SEED
from web.limits import Limits


class Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ErrorDetail(Answer):
    code: str = Field(description="For programs; stays the same.", examples=["out_of_range"])
    message: str = Field(description="For people: what is wrong and what to do.")
    field: str | None = Field(description="The field of the body that it is about, or null.", examples=["simulations"])


class ErrorAnswer(Answer):
    error: ErrorDetail


class LevelAnswer(Answer):
    name: str
    simulations: int | None
    seconds: float | None = Field(description="It stops at the first of the two.")
    temperature: float = Field(description="0 plays the best move; more plays more loosely.")
    slips: float = Field(ge=0, le=1, description="The share of its moves that are any legal move, as a learner's are.")
    solver: bool = Field(description="Whether the game's own prover takes part; then `proven` says what it proved.")


class CheckpointAnswer(Answer):
    source: str = Field(examples=["checkpoints/tictactoe"])
    iterations: int | float | None = Field(description="Of training; 0 is an untrained network.")
    games: int | float | None = Field(description="Of self-play it has learnt from.")
    rating: float | None = Field(description="Elo over the untrained network, by matches during training; or null.")


class GameAnswer(Answer):
    name: str = Field(examples=["tictactoe"])
    title: str
    rows: int
    cols: int
    numActions: int = Field(description="Cells; action = row * cols + col, from 0 at the top left.")  # noqa: N815
    rulesVersion: int  # noqa: N815
    cellValues: list[int] = Field(description="What a cell can hold: positive is player 1's, 0 empty.")  # noqa: N815
    players: dict[str, str] = Field(examples=[{"1": "Crosses", "-1": "Noughts"}])
    levels: list[LevelAnswer]
    defaultLevel: str  # noqa: N815
    checkpoint: CheckpointAnswer | None


class GamesAnswer(Answer):
    games: list[GameAnswer]


class MoveAnswer(Answer):
    action: int = Field(ge=0, description="The cell to play.")
    probs: list[float] = Field(description="What the search thinks of each cell; sums to 1.")
    thinkingTime: float = Field(ge=0, description="Seconds from the question to the answer.")  # noqa: N815
    rootValue: float = Field(  # noqa: N815
        ge=-1, le=1, description="How currentPlayer stands: -1 lost, 0 even, 1 won. Always currentPlayer's view."
    )
    simulations: int = Field(ge=0, description="How many the search has run.")
    proven: Literal["win", "loss", "draw"] | None = Field(description="The certain result for currentPlayer, or null.")
    line: list[int] = Field(description="Expected play, beginning with the best move.")
    visits: list[int] = Field(description="How often the search tried each cell.")


class EvaluateAnswer(Answer):
    policy: list[float] = Field(description="The network's probability of each cell; 0 where illegal, sums to 1.")
    value: float = Field(ge=-1, le=1, description="How currentPlayer stands, by the network alone: -1 lost, 1 won.")


class JobAnswer(Answer):
    id: str
    game: str
    status: Literal["running", "done", "failed", "cancelled"]
    progress: float = Field(ge=0, le=1)
    message: str = Field(description="What the training said last.")
    seconds: float = Field(ge=0, description="How long it has run.")
    iteration: int = Field(description="The number of this iteration in its run.")
    loss: float | None = Field(description="Policy loss and value loss; null until done, and if nothing was learnt.")
    winRate: float | None = Field(description="Of the new network against the best before, draws half.")  # noqa: N815
    eloChange: float | None = Field(description="The same as Elo.")  # noqa: N815
    promoted: bool | None = Field(description="Whether the new network is the best now.")


class HealthAnswer(Answer):
    status: Literal["ok"]
    ready: bool = Field(description="Whether all games are compiled; before that a move waits for it.")
    uptime: float = Field(ge=0, description="Seconds.")
    games: list[str]


ERRORS = {
    400: "The input is wrong; the message says what and how to put it right.",
    401: "The token is missing or wrong.",
    403: "Training is off on this server.",
    404: "There is no such game, job or path.",
    408: "The body takes too long to arrive.",
    409: "A training job is running already.",
    413: "The body is too large.",
    429: "Too many requests from this address; Retry-After says when to come back.",
    503: "The engine is full; Retry-After says when to come back.",
}
RETRY = {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer", "minimum": 1}}}


def responses(status: int, model: type[Answer] | None, *errors: int) -> dict[int | str, dict[str, Any]]:
    """The good answer and the errors that a call can give; 429 and 503 can come from any."""
    described: dict[int | str, dict[str, Any]] = {status: {"model": model} if model else {}}
    for code in (*errors, 429, 503):
        described[code] = {"model": ErrorAnswer, "description": ERRORS[code]}
        if code in (429, 503):
            described[code]["headers"] = RETRY
    return described


def evaluate_body(game: Game) -> dict[str, Any]:
    return _body(game, _position_fields(game), {})


def move_body(game: Game, limits: Limits) -> dict[str, Any]:
    budget = "A budget given takes the place of the level's; with both, the search stops at the first."
    fields = _position_fields(game) | {
        "simulations": {
            **_optional("integer", 1, limits.simulations),
            "description": f"{budget} Never longer than {limits.seconds:g} s.",
        },
        "timeLimit": {
            "type": ["number", "null"],
            "exclusiveMinimum": 0,
            "maximum": limits.seconds,
            "description": f"Seconds to think, kept within 0.1 s. {budget}",
        },
        "level": {"enum": [*LEVELS, None], "description": f"Without level and budget: {DEFAULT_LEVEL}."},
        "temperature": {
            **_optional("number", 0, limits.temperature),
            "description": "0 plays the best move, 1 in proportion to probs. Otherwise the level's; 0 without one.",
        },
        "seed": {
            **_optional("integer", 0, MAX_SEED),
            "description": "The same seed, board and simulations give the same answer.",
        },
    }
    return _body(game, fields, {"simulations": 50, "seed": 1})


def _position_fields(game: Game) -> dict[str, Any]:
    row = {"type": "array", "minItems": game.cols, "maxItems": game.cols, "items": {"enum": sorted(game.symbols)}}
    return {
        "board": {
            "type": "array",
            "minItems": game.rows,
            "maxItems": game.rows,
            "items": row,
            "description": "Row by row from the top. Positive is player 1's, negative player -1's, 0 empty.",
        },
        "currentPlayer": {"enum": [1, -1, None], "default": 1, "description": "Who is to move; 1 began the game."},
    }


def _optional(kind: str, low: float, high: float) -> dict[str, Any]:
    return {"type": [kind, "null"], "minimum": low, "maximum": high}


def _body(game: Game, fields: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """An OpenAPI request body: these fields and no others, and an example that can be tried."""
    schema = {"type": "object", "properties": fields, "required": ["board"], "additionalProperties": False}
    example = {"board": game.start().board.tolist(), "currentPlayer": 1, **more}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema, "example": example}}}}
