"""The REST API, `/api/v1`: a FastAPI application over the same players, engine and limits as the page.

Bodies are read by web/bodies.py, errors are made in web/errors.py, and web/schemas.py says all of it in OpenAPI.
The interactive page at `docs` comes with its scripts from the package fastapi-offline: it asks no outside host.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from fastapi import Depends, FastAPI, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from fastapi_offline import FastAPIOffline
from starlette.responses import Response

from alphazero import DEFAULT_LEVEL, EngineFull, Game, Level, Player, SearchResult
from web import schemas
from web.bodies import read_evaluate, read_move, read_object, refuse_unknown
from web.errors import ApiError, Json
from web.guard import guard
from web.jobs import Jobs, TrainingBusy
from web.limits import Limiter, Refused, client_address
from web.metrics import CONTENT_TYPE, METRICS, Metrics, checkpoint_facts

T = TypeVar("T")

ABOUT = """Play board games with a small AlphaZero. Cells are numbered row by row from 0 at the top left; players are 1
(who begins) and -1. Errors are `{"error": {"code", "message", "field"}}`; fields that are not known are refused,
a path or game that is not here is a 404, a wrong method a 405.
docs/api.md has examples for curl and Python, all errors and all limits."""


@dataclass(frozen=True)
class RestOptions:
    """How the API is served. Training is off unless there is a token; runs are in `runs`, one folder a game.

    limiter: shared with the page; its `limits` are the API's.
    ready: whether all games are compiled, for `health`.
    """

    limiter: Limiter = field(default_factory=Limiter)
    metrics: Metrics = METRICS
    ready: Callable[[], bool] = lambda: True
    training_token: str | None = None
    runs: Path = Path("runs")


def make_rest(players: dict[str, Player], options: RestOptions | None = None) -> FastAPI:
    """The application to mount at /api/v1. Its lifespan does not run there: call `rest.state.jobs.close()` at the end,
    which stops a training under way (leaving Python does so, too)."""
    options = options or RestOptions()
    options.metrics.watch(players)
    rest = FastAPIOffline(
        title="AlphaZero Playground",
        version="1",
        description=ABOUT,
        redoc_url=None,
        # The validator's badge would ask an outside host.
        swagger_ui_parameters={"validatorUrl": None, "tryItOutEnabled": True, "defaultModelsExpandDepth": -1},
        redirect_slashes=False,
    )
    rest.state.jobs = Jobs(options.runs, keep=options.limiter.limits.jobs)
    guard(rest, list(players), options.limiter, options.metrics)
    _Calls(players, options, rest.state.jobs).add_to(rest)
    return rest


class _Calls:
    """The calls of the API. Those of a game are registered game by game, so that OpenAPI can say each one's board."""

    def __init__(self, players: dict[str, Player], options: RestOptions, jobs: Jobs):
        self.players = players
        self.options = options
        self.limiter = options.limiter
        self.limits = options.limiter.limits
        self.metrics = options.metrics
        self.jobs = jobs

    def add_to(self, rest: FastAPI) -> None:
        described = schemas.responses
        rest.add_api_route(
            "/games", self.games, tags=["Server"], summary="The games", responses=described(200, schemas.GamesAnswer)
        )
        for name, player in self.players.items():
            self._add_game(rest, name, player)
        job_id = {"name": "id", "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        rest.add_api_route(
            "/jobs/{id}",
            self.job,
            tags=["Server"],
            summary="A training job",
            responses=described(200, schemas.JobAnswer, 404),
            openapi_extra={"parameters": [job_id]},
        )
        rest.add_api_route(
            "/health", self.health, tags=["Server"], summary="Alive?", responses=described(200, schemas.HealthAnswer)
        )
        text: dict[int | str, dict[str, Any]] = {
            200: {"description": "Prometheus text", "content": {"text/plain": {"schema": {"type": "string"}}}}
        }
        rest.add_api_route(
            "/metrics",
            self.prometheus,
            tags=["Server"],
            summary="Metrics for Prometheus",
            response_class=Response,
            responses=described(200, None) | text,
        )

    def _add_game(self, rest: FastAPI, name: str, player: Player) -> None:
        game = player.game

        async def move(request: Request) -> Response:
            return await self.move(player, request)

        async def evaluate(request: Request) -> Response:
            return await self.evaluate(player, request)

        async def train(
            request: Request,
            given: HTTPAuthorizationCredentials | None = Depends(HTTPBearer(auto_error=False)),  # noqa: B008
        ) -> Response:
            return await self.train(game, request, given.credentials if given else "")

        for call, endpoint, summary, status, model, errors, extra in (
            ("move", move, "Think and answer with a move", 200, schemas.MoveAnswer, (400, 408, 413),
             schemas.move_body(game, self.limits)),
            ("evaluate", evaluate, "The bare network's opinion", 200, schemas.EvaluateAnswer, (400, 408, 413),
             schemas.evaluate_body(game)),
            ("train", train, "One training iteration, as a job", 202, schemas.JobAnswer, (400, 401, 403, 408, 409, 413),
             {}),
        ):  # fmt: skip
            rest.add_api_route(
                f"/{name}/{call}",
                endpoint,
                methods=["POST"],
                tags=[game.title],
                summary=summary,
                status_code=status,
                responses=schemas.responses(status, model, *errors),
                openapi_extra=extra,
                operation_id=f"{name}_{call}",
            )

    # -- playing ------------------------------------------------------------------------------------------------------

    async def move(self, player: Player, request: Request) -> Response:
        asked = read_move(player.game, await read_object(request, self.limits), self.limits)
        seconds = asked.seconds
        if asked.simulations is not None and seconds is None:
            seconds = self.limits.seconds  # on a busy machine many simulations must not take for ever
        result = await self._search(
            request,
            lambda: player.search_async(
                asked.position,
                level=asked.level,
                simulations=asked.simulations,
                seconds=seconds,
                temperature=asked.temperature,
                seed=asked.seed,
            ),
        )
        self.metrics.count_move(player.game.name, result.seconds)
        return Json(_move_answer(result))

    async def evaluate(self, player: Player, request: Request) -> Response:
        position = read_evaluate(player.game, await read_object(request, self.limits))
        policy, value_to_move = await self._search(request, lambda: player.evaluate_async(position))
        self.metrics.count_evaluation(player.game.name)
        return Json({"policy": policy.tolist(), "value": value_to_move})

    async def _search(self, request: Request, search: Callable[[], Awaitable[T]]) -> T:
        """Run it in one of the client's places, and only for as long as somebody waits for the answer."""
        try:
            with self.limiter.search(client_address(request.scope)):
                return await _unless_gone(request, search())
        except Refused as error:
            raise ApiError.refused(error) from None
        except EngineFull as error:
            raise ApiError.engine_full(error) from None

    # -- training -----------------------------------------------------------------------------------------------------

    async def train(self, game: Game, request: Request, token: str) -> Response:
        if not self.options.training_token:
            how = "Whoever runs the server can turn it on with --allow-training and a token."
            raise ApiError(403, "training_off", f"Training is off on this server. {how}")
        if not hmac.compare_digest(token.encode(), self.options.training_token.encode()):
            how = "Send the header Authorization: Bearer TOKEN with the token the server was started with."
            raise ApiError(401, "wrong_token", how, headers={"WWW-Authenticate": "Bearer"})
        refuse_unknown(await read_object(request, self.limits, optional=True), ())
        try:
            job = self.jobs.start(game)
        except TrainingBusy as error:
            raise ApiError(409, "training_busy", str(error)) from None
        return Json(job.as_dict(), 202)

    async def job(self, request: Request) -> Response:
        job = self.jobs.get(request.path_params["id"])
        if job is None:
            raise ApiError(404, "unknown_job", "There is no such job; ids come from POST {game}/train.")
        return Json(job.as_dict())

    # -- about the server ---------------------------------------------------------------------------------------------

    async def games(self) -> Response:
        return Json({"games": [_game_facts(player) for player in self.players.values()]})

    async def health(self) -> Response:
        options = self.options
        return Json(
            {
                "status": "ok",
                "ready": options.ready(),
                "uptime": round(options.metrics.uptime(), 3),
                "games": list(self.players),
            }
        )

    async def prometheus(self) -> Response:
        return Response(self.metrics.prometheus(), media_type=CONTENT_TYPE)


async def _unless_gone(request: Request, search: Awaitable[T]) -> T:
    """Wait for the search; if the client goes away meanwhile, stop it."""
    work = asyncio.ensure_future(search)
    gone = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            raise ApiError(499, "client_gone", "The client closed the connection; the search was stopped.")
        return work.result()
    finally:
        work.cancel()
        gone.cancel()


async def _disconnected(request: Request) -> None:
    """The body has been read, so nothing else than the word that the client is gone can come."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _move_answer(result: SearchResult) -> dict[str, Any]:
    return {
        "action": result.action,
        "probs": result.probs.tolist(),
        "thinkingTime": round(result.seconds, 4),
        "rootValue": float(result.value_to_move),
        "simulations": result.simulations,
        "proven": result.proven,
        "line": result.line,
        "visits": [int(visits) for visits in result.visits],
    }


def _level_facts(name: str, level: Level) -> dict[str, Any]:
    return {
        "name": name,
        "simulations": level.simulations,
        "seconds": level.seconds,
        "temperature": level.temperature,
        "slips": level.slips,
        "solver": level.proof_nodes > 0,
    }


def _game_facts(player: Player) -> dict[str, Any]:
    game = player.game
    return {
        "name": game.name,
        "title": game.title,
        "rows": game.rows,
        "cols": game.cols,
        "numActions": game.num_actions,
        "rulesVersion": game.rules_version,
        "cellValues": sorted(game.symbols),
        "players": {str(player): name for player, name in game.players.items()},
        "levels": [_level_facts(name, level) for name, level in game.levels.items()],
        "defaultLevel": DEFAULT_LEVEL,
        "checkpoint": checkpoint_facts(player.checkpoint),
    }
