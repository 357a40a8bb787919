"""What a chat shows of a link to the page: our words, where Gradio has its own and an outside host's picture."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, MutableMapping
from html import escape
from typing import Any

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

THEIRS = re.compile(rb'\s*<meta\s+(?:property="og|name="twitter):[^>]*>')
WORDS = {
    "og:type": "website",
    "og:site_name": "AlphaZero Playground",
    "og:title": "AlphaZero Playground",
    "og:description": "Play Chain Reaction, Gomoku and tic-tac-toe against a small AlphaZero, and watch it think.",
}
OURS = "".join(f'<meta property="{name}" content="{escape(text)}" />' for name, text in WORDS.items()).encode()


def with_preview(send: Send) -> Send:
    """Passes an answer on, as a whole; if it is a page, with our words for those who only look at its head."""
    start: MutableMapping[str, Any] = {}
    parts: list[bytes] = []

    async def answer(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            start.update(message)
            return
        parts.append(message.get("body", b""))
        if message.get("more_body", False):
            return
        body, headers = b"".join(parts), dict(start.get("headers", []))
        if b"content-encoding" not in headers and headers.get(b"content-type", b"").startswith(b"text/html"):
            body = rewrite(body)
            kept = [(name, value) for name, value in start["headers"] if name != b"content-length"]
            start["headers"] = [*kept, (b"content-length", str(len(body)).encode())]
        await send(start)
        await send({"type": "http.response.body", "body": body})

    return answer


def rewrite(page: bytes) -> bytes:
    return THEIRS.sub(b"", page).replace(b"<head>", b"<head>" + OURS, 1)
