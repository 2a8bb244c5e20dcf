"""What every request has to pass before anything looks at it, and what every answer carries."""

from __future__ import annotations

import time
from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recalld.web.keys import Keys
from recalld.web.problems import Refusal

MAX_BODY_BYTES = 1 << 20
MAX_IMPORT_BYTES = 64 << 20
PATIENCE_S = 10.0
"""The head of a request, or its body, that has not come by then is waited for no longer."""
REQUESTS_S, WRITES_S = 200, 50
"""So many a second in the long run; twice that at once."""

OPEN = ("/", "/health", "/login", "/docs", "/openapi.json")
"""Paths that need no token, like those under STATIC: they hold no data."""
STATIC = "/static/"
IMPORT = "/import"

SAFE = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Bucket:
    """Lets `rate` a second through, and twice as many at once after a pause."""

    def __init__(self, rate: int, clock: Callable[[], float]) -> None:
        self._rate, self._clock = rate, clock
        self._left, self._at = 2.0 * rate, clock()

    def takes(self) -> bool:
        """Whether one more may pass."""
        now = self._clock()
        self._left = min(2.0 * self._rate, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


class Guard:
    """Stands before `app`. port: where we serve."""

    def __init__(self, app: ASGIApp, keys: Keys, port: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._app, self._keys = app, keys
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
        # Whoever has no token must not be able to use up what the owner may ask.
        self._owner, self._writes, self._strangers = (
            Bucket(rate, clock) for rate in (REQUESTS_S, WRITES_S, REQUESTS_S)
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through, or answer why not."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)

        async def carry(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SAFE.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        try:
            self._check(scope)
        except Refusal as no:
            return await no.response()(scope, receive, carry)
        return await self._app(scope, receive, carry)

    def _check(self, scope: Scope) -> None:
        """Raises Refusal."""
        headers = Headers(scope=scope)
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        # A page of another site that had its own name lead here would show that name.
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            raise Refusal(403, "this Host is not served; use the address that `recalld ui` prints")
        if any(origin.removeprefix("http://") not in self._hosts for origin in origins):
            raise Refusal(403, "requests of other origins are not served")
        known = self._keys.knows(headers.get("authorization", ""))
        if not (self._owner if known else self._strangers).takes():
            raise Refusal(429, f"more than {REQUESTS_S} requests a second", retry_s=1)
        path: str = scope["path"]
        if not known and path not in OPEN and not path.startswith(STATIC):
            raise Refusal(401, "needs the header `Authorization: Bearer TOKEN`; `recalld ui` opens a session")
        if known and scope["method"] not in ("GET", "HEAD") and not self._writes.takes():
            raise Refusal(429, f"more than {WRITES_S} writes a second", retry_s=1)
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > limit(path):
            raise Refusal(413, f"the body is larger than {limit(path)} bytes")


def limit(path: str) -> int:
    """How many bytes a request's body may have."""
    return MAX_IMPORT_BYTES if path == IMPORT else MAX_BODY_BYTES
