"""The gate: one small ASGI middleware that every request passes before anything else looks at it.

It lets through what the page, the REST API and the monitor need and answers 404 to the rest, Gradio's uploads, files
and proxies among it. It reads bodies itself, up to a size and within a time, so that nothing behind it is held up by a
client that dribbles; and it counts what each client asks of the page (the REST API counts its own calls).
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import nullcontext
from typing import Any

from web.events import ASK, PEEK, BadEvent, read_event, write_event
from web.limits import Limiter, Refused, client_address
from web.metrics import METRICS
from web.preview import with_preview

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

BODY_SECONDS = 10.0  # for a body to arrive; 64 kB take a second on the slowest of lines
FILES = r"/assets/.+|/static/.+|/theme\.css|/favicon\.ico|/manifest\.json|/robots\.txt"
# Of Gradio's own addresses, those that a page of ours needs. `app_id` tells a page that lost its server whether a new
# one is there; `startup-events` is what launch() calls, and does something only the first time.
NEEDED = re.compile(rf"/|{FILES}|{ASK}|{PEEK}|/gradio_api/app_id/?|/gradio_api/startup-events")
OURS = re.compile(r"/api/v1(/.*)?|/monitor(/.*)?")
UNCOUNTED = re.compile(rf"{FILES}|/api/v1(/.*)?")

# Gradio's pages hold scripts as text and build functions from strings. But nothing comes from elsewhere, and nothing
# goes there. A Space is shown inside a frame of huggingface.co.
POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors 'self' https://huggingface.co https://*.huggingface.co https://*.hf.space",
    )
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=(), payment=(), usb=()"),
]
FOREVER = (b"cache-control", b"public, max-age=31536000, immutable")  # these names have a hash of the content in them


class Denied(Exception):
    """A request ends here, with this status and a word for programs; the text is for people."""

    def __init__(self, status: int, code: str, message: str):
        super().__init__(message)
        self.status, self.code = status, code


class Gate:
    """`limiter` is the one that the REST API has, too."""

    def __init__(self, app: App, limiter: Limiter, body_seconds: float = BODY_SECONDS):
        self.app = app
        self.limiter = limiter
        self.body_seconds = body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":  # there are none here
            await receive()
            await send({"type": "websocket.close", "code": 1000})
        else:
            await self.app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        answer = _with_headers(send, path)
        if path == "/" and scope["method"] == "GET":
            answer = with_preview(answer)
        try:
            if not (NEEDED.fullmatch(path) or OURS.fullmatch(path)):
                raise Denied(404, "not_found", "There is nothing here.")
            client = client_address(scope)
            if not UNCOUNTED.fullmatch(path):
                self.limiter.request(client)
            if scope["method"] in ("GET", "HEAD", "OPTIONS"):
                await self.app(scope, receive, answer)
                return
            body = await self._body(scope, receive)
            is_event = path in (ASK, PEEK) and scope["method"] == "POST"
            if is_event:
                body = write_event(read_event(body))
                scope = {**scope, "headers": _headers_for(scope, body)}
            # A place is held for whatever is asked; to show a board takes it for a millisecond only.
            with self.limiter.search(client) if path == ASK and is_event else nullcontext():
                await self.app(scope, _replayed(body, receive), answer)
        except Refused as error:
            METRICS.count_error("busy" if error.whole_server else "too_many_requests")
            await _refuse(answer, error)
        except BadEvent as error:
            METRICS.count_error("bad_event")
            await _deny(answer, 400, "bad_event", str(error))
        except Denied as error:
            if error.status != 404:  # those who try every door of the internet are no news
                METRICS.count_error(error.code)
            await _deny(answer, error.status, error.code, str(error))

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """The whole body, or Denied if it is too long or too slow."""
        limit = self.limiter.limits.body_bytes
        length = dict(scope["headers"]).get(b"content-length", b"")
        if length.isdigit() and int(length) > limit:
            raise Denied(413, "body_too_large", f"The body may have at most {limit} bytes; send less.")
        parts, size = [], 0
        try:
            async with asyncio.timeout(self.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Denied(400, "cut_off", "The body ended early.")
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > limit:
                        raise Denied(413, "body_too_large", f"The body may have at most {limit} bytes; send less.")
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            raise Denied(408, "too_slow", f"The body took longer than {self.body_seconds:g} s.") from None


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Hand out the body that was read, and afterwards whatever comes: that the client has gone."""
    pending = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return pending.pop() if pending else await receive()

    return replay


def _headers_for(scope: Scope, body: bytes) -> list[tuple[bytes, bytes]]:
    """The request's headers for a body that was made anew; whoever sends an event means JSON."""
    dropped = (b"content-length", b"content-type", b"transfer-encoding")
    kept = [(name, value) for name, value in scope["headers"] if name not in dropped]
    return [*kept, (b"content-length", str(len(body)).encode()), (b"content-type", b"application/json")]


def _with_headers(send: Send, path: str) -> Send:
    extra = [*HEADERS, FOREVER] if path.startswith("/assets/") else HEADERS

    async def answer(message: Message) -> None:
        if message["type"] == "http.response.start":
            found = {name.lower() for name, _ in message.get("headers", [])}
            fitting = extra if message["status"] < 300 else HEADERS
            added = [(name, value) for name, value in fitting if name not in found]
            message = {**message, "headers": [*message.get("headers", []), *added]}
        await send(message)

    return answer


async def _refuse(answer: Send, error: Refused) -> None:
    status, code = (503, "busy") if error.whole_server else (429, "too_many_requests")
    await _deny(answer, status, code, str(error), [(b"retry-after", str(error.retry_after).encode())])


async def _deny(
    answer: Send, status: int, code: str, message: str, more_headers: list[tuple[bytes, bytes]] | None = None
) -> None:
    """An answer in the form that the REST API's errors have."""
    body = json.dumps({"error": {"code": code, "message": message, "field": None}}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status in (408, 413):
        headers.append((b"connection", b"close"))  # the rest of the body is still on its way, and nobody wants it
    await answer({"type": "http.response.start", "status": status, "headers": [*headers, *(more_headers or [])]})
    await answer({"type": "http.response.body", "body": body})
