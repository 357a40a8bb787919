"""The page's events on their way to Gradio: what may be in one.

A board sends `POST /gradio_api/run/ask` (or `peek`) with `{"data": [request]}`, see web/page.py. Gradio would take
more: another function by number, somebody's session, files by path or address. None of that gets through: a request is
one flat object, and Gradio is handed a body made anew from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

PREFIX = "/gradio_api/run/"
ASK, PEEK = PREFIX + "ask", PREFIX + "peek"
TEXT, FIELDS = 100, 20  # characters of a field, fields of a request: more than any of ours has


class BadEvent(ValueError):
    """The body is no event of this page; the text says why."""


def read_event(body: bytes) -> dict[str, Any]:
    """The request in a body. Whether it makes sense in its game is for web/answers.py to say."""
    try:
        sent = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise BadEvent("The body is not JSON.") from None
    data = sent.get("data") if isinstance(sent, dict) else None
    if not isinstance(data, list) or len(data) != 1 or not isinstance(data[0], dict):
        raise BadEvent('An event is {"data": [request]}, and a request is an object.')
    request = data[0]
    if len(request) > FIELDS or not all(len(name) <= TEXT and _is_plain(value) for name, value in request.items()):
        raise BadEvent("A request holds numbers, short texts and lists of numbers.")
    return request


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return all(isinstance(item, int | float) for item in value)
    return not isinstance(value, dict) and (not isinstance(value, str) or len(value) <= TEXT)


def write_event(request: Mapping[str, Any]) -> bytes:
    return orjson.dumps({"data": [request]})
