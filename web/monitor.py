"""The monitoring page, /monitor: how the server does right now, and the curves of training runs.

Plain Starlette and one script, no Gradio: it opens while the page is busy, and asks for a small JSON object every two
seconds while somebody looks. The server itself keeps the last minutes, so a page just opened shows them at once.

    GET /monitor                the page
    GET /monitor/data           figures now and over the last minutes, and which runs there are
    GET /monitor/runs/{name}    a run's charts, as a piece of HTML
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from alphazero import curves_script, curves_style, find_runs, training_curves
from web.metrics import METRICS, Metrics

HERE = Path(__file__).parent
EVERY = 2.0  # seconds between samples, and between a page's questions
SAMPLES = 150  # kept: five minutes
CURVES = ("moves_per_s", "evaluations_per_s", "think_p95", "batch_size", "in_flight", "rss_mb")
NO_STORE = {"cache-control": "no-store"}


class Monitor:
    """Keeps the last minutes of the metrics and answers the monitoring page."""

    def __init__(self, runs: Path, metrics: Metrics = METRICS, clock: Callable[[], float] = time.monotonic):
        self.runs = runs
        self.metrics = metrics
        self._clock = clock
        self._history: deque[dict[str, Any]] = deque(maxlen=SAMPLES)
        self._errors_at: deque[int] = deque(maxlen=SAMPLES)
        self._drawn: dict[str, tuple[float, str]] = {}  # by run: when its file changed, and its charts

    def routes(self) -> list[Route]:
        return [
            Route("/monitor", self.page),
            Route("/monitor/data", self.data),
            Route("/monitor/runs/{name}", self.run),
        ]

    async def keep_sampling(self) -> None:
        while True:
            self.sample()
            await asyncio.sleep(EVERY)

    def sample(self) -> None:
        now = self.metrics.snapshot()
        self._history.append(now)
        self._errors_at.append(sum(now["errors"].values()))

    def snapshot(self) -> dict[str, Any]:
        if not self._history:
            self.sample()
        now = self._history[-1]
        return {
            "every": EVERY,
            "now": {**now, "errors_lately": self._errors_at[-1] - self._errors_at[0]},
            "curves": {name: [_short(sample[name]) for sample in self._history] for name in CURVES},
            "runs": [{"name": name, "changed": _changed(folder)} for name, folder in find_runs(self.runs).items()],
        }

    async def page(self, request: Request) -> Response:
        return HTMLResponse(_page(), headers=NO_STORE)

    async def data(self, request: Request) -> Response:
        return Response(orjson.dumps(self.snapshot()), media_type="application/json", headers=NO_STORE)

    async def run(self, request: Request) -> Response:
        name = request.path_params["name"]
        folder = find_runs(self.runs).get(name)  # the name is looked up, never joined to a path
        if folder is None:
            return HTMLResponse("<p>There is no such run.</p>", 404, headers=NO_STORE)
        changed = _changed(folder)
        if self._drawn.get(name, (None, ""))[0] != changed:
            self._drawn[name] = (changed, await asyncio.to_thread(_draw, folder))
        return HTMLResponse(self._drawn[name][1], headers=NO_STORE)


def _draw(folder: Path) -> str:
    try:
        curves = training_curves(folder)
    except Exception as error:  # a file that is being written, or is none of ours
        return f"<p>These curves can't be drawn: {escape(type(error).__name__)}.</p>"
    times = "iteration" if curves.iterations == 1 else "iterations"
    return f"<p>{escape(curves.title)}, {curves.iterations:,} {times}.</p>{curves.html}"


def _changed(folder: Path) -> float:
    try:
        return (folder / "metrics.jsonl").stat().st_mtime
    except OSError:
        return 0.0


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")


def _page() -> str:
    """Constants alone: whatever comes from elsewhere is put in by the script, as text."""
    html = (HERE / "monitor.html").read_text("utf-8")
    style = curves_style() + (HERE / "monitor.css").read_text("utf-8")
    return html.replace("/* STYLE */", style).replace(
        "/* SCRIPT */", curves_script() + (HERE / "monitor.js").read_text("utf-8")
    )
