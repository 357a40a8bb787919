"""Around the REST API: requests counted by client, and every error, expected or not, answered in the one shape."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from web.errors import ApiError
from web.limits import Limiter, Refused, client_address
from web.metrics import Metrics

log = logging.getLogger("alphazero.web")
Message = MutableMapping[str, Any]


def guard(rest: FastAPI, games: list[str], limiter: Limiter, metrics: Metrics) -> None:
    """Put this application under guard; `games` are those it has."""
    handlers = Handlers(games, metrics)
    rest.add_exception_handler(ApiError, handlers.api_error)
    rest.add_exception_handler(HTTPException, handlers.http_error)
    rest.add_middleware(Guard, limiter=limiter, metrics=metrics)


class Handlers:
    """Turn what was raised into an answer, and count it."""

    def __init__(self, games: list[str], metrics: Metrics):
        self._games = games
        self._metrics = metrics

    async def api_error(self, _: Request, error: Exception) -> Response:
        assert isinstance(error, ApiError)
        self._metrics.count_error(error.code)
        return error.response()

    async def http_error(self, request: Request, error: Exception) -> Response:
        """What the framework itself refuses: unknown paths and wrong methods."""
        assert isinstance(error, HTTPException)
        path = str(request.scope["path"])
        game = re.search(r"([^/]*)/(?:move|evaluate|train)$", path)
        if error.status_code == 404 and game and game[1] not in self._games:
            answer = ApiError(404, "unknown_game", f"There is no such game; games here are {', '.join(self._games)}.")
        elif error.status_code == 404:
            answer = ApiError(404, "unknown_path", "There is nothing here; the calls are listed at /api/v1/docs.")
        elif error.status_code == 405:
            allowed = (error.headers or {}).get("Allow", "another method")
            answer = ApiError(405, "wrong_method", f"This call takes {allowed}, not {request.method[:20]}.")
        else:
            answer = ApiError(error.status_code, "refused", str(error.detail))
        answer.headers |= dict(error.headers or {})
        return await self.api_error(request, answer)


class Guard:
    """Around everything: counts requests by client, and whatever goes wrong is logged here and answered politely."""

    def __init__(self, app: Any, limiter: Limiter, metrics: Metrics):
        self._app = app
        self._limiter = limiter
        self._metrics = metrics

    async def __call__(self, scope: Message, receive: Any, send: Callable[[Message], Awaitable[None]]) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            self._limiter.request(client_address(scope))
            await self._app(scope, receive, watched)
        except Refused as refused:
            await self._answer(ApiError.refused(refused), scope, receive, send)
        except Exception:
            log.exception("a REST request failed")
            if not started:
                unexpected = ApiError(
                    500, "internal", "Something went wrong here; it has been logged. Please try again."
                )
                await self._answer(unexpected, scope, receive, send)

    async def _answer(self, error: ApiError, scope: Message, receive: Any, send: Any) -> None:
        self._metrics.count_error(error.code)
        await error.response()(scope, receive, send)
