"""Guard of the explorer: checks host name, origin, token and size of requests; closes slow ones.

Any web page can make a browser send requests to a loopback address. So the host name of a request
must be ours (else 400: another name may point to this address), the page that it comes from must be
ours (403), and it must have the token, at first in the address and then as a cookie that no script
can read and no other site can send (401). Bodies are small (413).
"""

from __future__ import annotations

import asyncio
from hmac import compare_digest
from html import escape
from typing import Any
from urllib.parse import parse_qs, urlencode
from zlib import crc32

from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

_MAX_BODY_BYTES = 1 << 20
"""Most bytes of a request's body: values typed by hand, or one text."""

READ_SECONDS = 15.0
"""Seconds within which a client must have sent a request: its head, and then its body."""

_REFUSED_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>suffice explorer</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>:root {{ color-scheme: light dark }} body {{ font: 1rem/1.5 system-ui, sans-serif;
max-width: 40rem; margin: 3rem auto; padding: 0 1rem }} h1 {{ font-size: 1.35rem }}</style>
<h1>The explorer is closed to this address</h1>
<p>{words}</p></html>
"""

_SECURITY_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """Application that passes on requests with the right name, origin, token and size."""

    def __init__(self, app: ASGIApp, token: str, hosts: frozenset[str]) -> None:
        self._app = app
        self._token = token
        self._hosts = hosts
        # Cookies are shared by all ports of a machine: each server has one of its own.
        self._cookie = f"suffice-{crc32(' '.join(sorted(hosts)).encode()):08x}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it with a sentence."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, _LimitedBody(receive), _with_security_headers(send))
        else:
            await refusal(scope, receive, _with_security_headers(send))

    def _refusal(self, scope: Scope) -> Response | None:
        # A header may come more than once, and proxies differ in which one they believe.
        hosts = _header_values(scope, "host")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return _error_response(400, "This server does not answer to that name.")
        ours = {f"http://{name}" for name in self._hosts}
        if any(origin.lower() not in ours for origin in _header_values(scope, "origin")):
            return _error_response(403, "Pages of other sites may not ask here.")
        lengths = _header_values(scope, "content-length")
        if any(not n.isdecimal() or int(n[:20]) > _MAX_BODY_BYTES for n in lengths):
            return _error_response(413, f"A request has at most {_MAX_BODY_BYTES:,} bytes.")
        query = parse_qs(scope["query_string"].decode("latin-1"))
        brought = query.pop("token", [""])[0]
        if brought and self._is_token(brought):
            # The token leaves the address at once, for no history and no screenshot to keep it.
            rest = urlencode(query, doseq=True)
            # To our page, never to the path: a browser takes //evil.example for another site.
            moved = RedirectResponse("/" + (f"?{rest}" if rest else ""), 303)
            moved.set_cookie(self._cookie, self._token, httponly=True, samesite="strict", path="/")
            return moved
        cookies = _parse_cookies(";".join(_header_values(scope, "cookie")))
        if not self._is_token(cookies.get(self._cookie, "")):
            words = (
                "This page opens with the address that `suffice serve` printed: copy it whole. "
                "Each start of the server prints another one."
            )
            if any("text/html" in kinds for kinds in _header_values(scope, "accept")):
                return HTMLResponse(_REFUSED_PAGE.format(words=escape(words)), 401)
            return _error_response(401, words)
        return None

    def _is_token(self, given: str) -> bool:
        return compare_digest(given.encode(), self._token.encode())


class _LimitedBody:
    """Limit on the body of a request that gives no length or a wrong one."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._read = 0

    async def __call__(self) -> Message:
        message = await self._receive()
        self._read += len(message.get("body", b""))
        if self._read > _MAX_BODY_BYTES:
            return {"type": "http.disconnect"}
        return message


def _with_security_headers(send: Send) -> Send:
    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = {k.lower() for k, _ in message["headers"]}
            more = [
                (k.encode(), v.encode())
                for k, v in _SECURITY_HEADERS.items()
                if k.encode() not in given
            ]
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return with_headers


def _error_response(status: int, words: str) -> Response:
    return JSONResponse({"error": {"message": words, "argument": None}}, status)


def _header_values(scope: Scope, name: str) -> list[str]:
    return [v.decode("latin-1") for k, v in scope["headers"] if k.lower() == name.encode()]


def _parse_cookies(header: str) -> dict[str, str]:
    """Return cookies by name, without http.cookies, which drops all for one odd name.

    >>> _parse_cookies("a[=1; suffice-1=key")
    {'a[': '1', 'suffice-1': 'key'}
    """
    pairs = (part.partition("=") for part in header.split(";"))
    return {name.strip(): value.strip().strip('"') for name, _, value in pairs}


# Slow clients: a connection that does not bring its request in time is closed.


class TimedProtocol(H11Protocol):
    """HTTP/1.1 connection that is closed if a request's head does not arrive in time.

    uvicorn limits only the pause between requests, so a client that sends a byte a second would
    hold its connection for ever.
    """

    read_seconds = READ_SECONDS
    _reading: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start the time limit with the connection."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take data; the time limit runs until the head of a request is complete."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the time limit."""
        self._stop_watching()
        super().connection_lost(exc)

    def _watch(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_watching()
        elif self._reading is None:
            self._reading = self.loop.call_later(self.read_seconds, self._close_slow)

    def _stop_watching(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def _close_slow(self) -> None:
        self._reading = None
        answering = self.cycle is not None and not self.cycle.response_complete
        if not answering and not self.transport.is_closing():
            self.transport.close()
