"""What stands between the network and the pages: limits of size and speed, headers, refusals.

An address of the network is only ever kept in memory, as a hash under a key that dies with the
process, and only to count requests.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 256 * 1024
CONTENT_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "font-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "X-Robots-Tag": "noindex, nofollow",
}
_REMEMBERED = 20_000


class RefusalError(Exception):
    """An answer of the server other than 200, with a code for the page.

    What a person reads is the text ``refused.CODE`` of the pages, unless there is a message.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str | None = None,
        field: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.status, self.code, self.message, self.field = status, code, message, field
        self.headers = dict(headers or {})
        super().__init__(message or code)


@dataclass(frozen=True)
class Limit:
    """So many requests at once, and so many more every second."""

    burst: float
    per_second: float


class Meter:
    """Counts the requests of each source against a limit."""

    def __init__(self, limit: Limit, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit, self._clock = limit, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait(self, source: str) -> float:
        """Seconds until a request of this source may come; 0 lets it in and counts it."""
        with self._lock:
            moment = self._clock()
            left, before = self._left.pop(source, (self._limit.burst, moment))
            left = min(self._limit.burst, left + (moment - before) * self._limit.per_second)
            allowed = left >= 1
            self._left[source] = (left - 1 if allowed else left, moment)
            if len(self._left) > _REMEMBERED:
                self._left.popitem(last=False)
        return 0.0 if allowed else (1 - left) / self._limit.per_second

    def admit(self, source: str) -> None:
        """Refuse a request that comes too fast."""
        seconds = self.wait(source)
        if seconds > 0:
            wait = str(max(1, round(seconds + 0.5)))
            raise RefusalError(429, "too_fast", headers={"Retry-After": wait})


class Sources:
    """Names for where requests come from that say nothing about it."""

    def __init__(self) -> None:
        self._key = os.urandom(32)

    def name(self, address: str) -> str:
        """A name for an address of the network, for this process only."""
        return hashlib.blake2b(address.encode(), key=self._key, digest_size=12).hexdigest()


class Guard:
    """Adds the headers to every answer, and refuses bodies that are too large."""

    def __init__(self, app: ASGIApp, too_large: bytes, largest: int = LARGEST_BODY) -> None:
        self.app, self.too_large, self.largest = app, too_large, largest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        secure = scope.get("scheme") == "https"

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                if secure:
                    headers["Strict-Transport-Security"] = "max-age=31536000"
                if "cache-control" not in headers:
                    headers["Cache-Control"] = "no-store"
            await send(message)

        length = Headers(scope=scope).get("content-length", "")
        if length and (not length.isdecimal() or int(length) > self.largest):
            await _refuse_body(send_with_headers, self.too_large)
            return
        received, refused, started = 0, False, False

        async def receive_little() -> Message:
            nonlocal received, refused
            message = await receive()
            received += len(message.get("body", b""))
            if received > self.largest:
                refused = True
                return {"type": "http.disconnect"}
            return message

        async def send_unless_refused(message: Message) -> None:
            nonlocal started
            if not refused or started:
                started = True
                await send_with_headers(message)

        try:
            await self.app(scope, receive_little, send_unless_refused)
        except Exception:
            if not refused:
                raise
        if refused and not started:
            await _refuse_body(send_with_headers, self.too_large)


async def _refuse_body(send: Send, body: bytes) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def same_origin(headers: Mapping[str, str]) -> bool:
    """Whether a request that changes something was sent by one of our own pages, or by no page."""
    site = headers.get("sec-fetch-site")
    if site is not None and site not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    if origin is None:
        return True
    try:
        return urlsplit(origin).netloc.lower() == headers.get("host", "").lower()
    except ValueError:
        return False
