"""Refusals, as RFC 9457 has them: what went wrong as JSON, with the status of HTTP."""

from __future__ import annotations

from http import HTTPStatus

import msgspec
from msgspec import UNSET, UnsetType
from starlette.responses import Response

from recalld.errors import ConflictError, InputError, NotFoundError, TransientError, UnavailableError
from recalld.model import Memory

MEDIA = "application/problem+json"
RETRY_S = 1


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong. current: with 409, the memory as it is stored now."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    current: Memory | UnsetType = UNSET


class Refusal(Exception):  # noqa: N818  # an answer, not a fault
    """An answer that says no. retry_s: after so many seconds it may be yes."""

    def __init__(
        self, status: int, detail: str, *, current: Memory | UnsetType = UNSET, retry_s: int | None = None
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.current, self.retry_s = status, detail, current, retry_s

    def response(self, headers: dict[str, str] | None = None) -> Response:
        """The refusal as it goes out."""
        problem = Problem(
            title=HTTPStatus(self.status).phrase, status=self.status, detail=self.detail, current=self.current
        )
        more = dict(headers or {})
        if self.status == 401:
            more["WWW-Authenticate"] = 'Bearer realm="recalld"'
        if self.retry_s is not None:
            more["Retry-After"] = str(self.retry_s)
        return Response(msgspec.json.encode(problem), self.status, more, MEDIA)


def refusal(error: Exception) -> Refusal:
    """The answer to a request that failed so."""
    line = str(error)
    match error:
        case Refusal():
            return error
        case NotFoundError():
            return Refusal(404, line)
        case InputError() | msgspec.ValidationError():
            return Refusal(422, line)
        case msgspec.DecodeError():
            return Refusal(400, f"no valid JSON: {line}")
        case ConflictError():
            return Refusal(409, line)
        case UnavailableError() | TransientError():
            return Refusal(503, line, retry_s=RETRY_S)
    return Refusal(500, line)
