"""How the REST API says no: always `{"error": {"code", "message", "field"}}`, with a message a person can act on."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from alphazero import EngineFull
from web.limits import Refused


class ApiError(Exception):
    """`code` is for programs and stays the same, `message` for people, `field` names what in the body it is about."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        field: str | None = None,
        headers: Mapping[str, str] | None = None,
    ):
        super().__init__(message)
        self.status = status
        self.code = code
        self.field = field
        self.headers = dict(headers or {})

    @staticmethod
    def bad(code: str, message: str, field: str | None = None) -> ApiError:
        return ApiError(400, code, message, field)

    @staticmethod
    def refused(error: Refused) -> ApiError:
        status, code = (503, "busy") if error.whole_server else (429, "too_many_requests")
        return ApiError(status, code, str(error), headers={"Retry-After": str(error.retry_after)})

    @staticmethod
    def engine_full(error: EngineFull) -> ApiError:
        return ApiError(503, "busy", str(error), headers={"Retry-After": str(math.ceil(error.retry_after))})

    def response(self) -> Response:
        content = {"error": {"code": self.code, "message": str(self), "field": self.field}}
        return Json(content, self.status, self.headers)


class Json(Response):
    """JSON in ASCII: whatever text a client sent us, echoing it can't fail."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


def shown(value: object) -> str:
    """A client's value as a message shows it: on one line, and not at any length."""
    text = "a list" if isinstance(value, list) else "an object" if isinstance(value, dict) else _literal(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _literal(value: object) -> str:
    names = {True: "true", False: "false", None: "null"}
    if value is None or isinstance(value, bool):
        return names[value]
    return repr(value)
