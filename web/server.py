"""Between launch() and the world: how the page, the REST API and the monitor become one server, safe to be public.

    served = serve(players, Serving(port=7860))
    served.url, served.shared           # where it is, and the public link if one was asked for
    served.close()                      # at once: searches and connections under way end with it

Gradio launches the page; the rest rides on its `app_kwargs`: the API and the monitor as routes, the gate as middleware
(web/gate.py), and a lifespan that closes connections whose request never comes.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from alphazero import Player
from web.gate import Gate
from web.limits import Limiter, Limits
from web.monitor import Monitor
from web.page import build, launch_options
from web.rest import RestOptions, make_rest

CONNECTIONS = 1000  # open at a time; more get a 503 from uvicorn
SESSIONS = 64  # that Gradio remembers. Our events have none; a flood of made-up ones must not fill the memory
HEADER_SECONDS = 10.0  # for a request's first lines to arrive, at most; half of it at least
# On a Space the request comes from the platform's proxy, at some private address, which says whose it is.
PRIVATE = "127.0.0.1,::1,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7"


@dataclass(frozen=True)
class Serving:
    """How to serve. Without a host it is this machine only, on a Space everybody; without a port the first free one."""

    host: str | None = None
    port: int | None = None
    share: bool = False
    lang: str | None = None
    runs: Path = Path("runs")
    training_token: str | None = None  # training over REST is off without one
    limits: Limits = field(default_factory=Limits)
    ready: Callable[[], bool] = lambda: True  # are all games compiled?


class Served:
    """A server that is running."""

    def __init__(self, page: Any, rest: Any, url: str, shared: str | None):
        self.page, self.url, self.shared = page, url, shared
        self._rest = rest

    def wait(self) -> None:
        """Until somebody closes it or the program is interrupted."""
        self.page.server.thread.join()

    def close(self) -> None:
        from gradio.tunneling import CURRENT_TUNNELS

        for tunnel in CURRENT_TUNNELS:
            tunnel.kill()
        self._rest.state.jobs.close()
        self.page.close(verbose=False)


def on_space() -> bool:
    return bool(os.environ.get("SPACE_ID"))


def serve(players: dict[str, Player], serving: Serving) -> Served:
    """Serve these players. OSError if the address can't be had."""
    if on_space():
        os.environ.setdefault("FORWARDED_ALLOW_IPS", PRIVATE)  # uvicorn reads it; elsewhere it trusts 127.0.0.1 alone
    limiter = Limiter(serving.limits)
    rest = make_rest(
        players,
        RestOptions(
            limiter=limiter, ready=serving.ready, training_token=serving.training_token, runs=serving.runs
        ),
    )  # fmt: skip
    page = build(players, lang=serving.lang)
    _, url, shared = page.launch(
        server_name=serving.host or ("0.0.0.0" if on_space() else None),
        server_port=serving.port,
        share=serving.share,
        prevent_thread_lock=True,
        state_session_capacity=SESSIONS,
        app_kwargs=app_options(page, rest, limiter, Monitor(serving.runs)),
        **launch_options(),
    )
    # With `share` still set, Gradio's page would load its script from an outside host.
    page.share = False
    config = page.server.config  # uvicorn's; it looks at these whenever a connection comes
    config.limit_concurrency = CONNECTIONS
    config.timeout_graceful_shutdown = 1
    return Served(page, rest, url, shared)


def app_options(page: Any, rest: Any, limiter: Limiter, monitor: Monitor) -> dict[str, Any]:
    """What Gradio's application is made with, beside the page."""
    from starlette.middleware import Middleware
    from starlette.routing import Mount

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        chores = [
            asyncio.create_task(_close_dawdlers(lambda: getattr(page, "server", None))),
            asyncio.create_task(monitor.keep_sampling()),
        ]
        yield
        for chore in chores:
            chore.cancel()

    return {
        "routes": [Mount("/api/v1", app=rest), *monitor.routes()],
        "middleware": [Middleware(Gate, limiter=limiter)],
        "lifespan": lifespan,
        # Gradio's own descriptions of itself
        "openapi_url": None,
        "docs_url": None,
        "redoc_url": None,
    }


async def _close_dawdlers(find_server: Callable[[], Any], seconds: float = HEADER_SECONDS) -> None:
    """Close connections that have been waiting for a request's first lines for too long; uvicorn waits for ever.

    After an answer uvicorn has a timer of its own, until the first byte of the next request; so what counts here is
    whoever has neither that timer nor a request.
    """
    waiting: set[Any] = set()
    while True:
        await asyncio.sleep(seconds / 2)
        server = find_server()
        connections = server.server_state.connections if server else ()
        dawdling = {connection for connection in connections if _dawdles(connection)}
        for connection in dawdling & waiting:
            connection.transport.abort()
        waiting = dawdling


def _dawdles(connection: Any) -> bool:
    cycle = connection.cycle
    return (cycle is None or cycle.response_complete) and connection.timeout_keep_alive_task is None
