"""Guard of the explorer: checks of host name, origin, token and size of every request.

A browser sends requests to a loopback address for any page that tells it to. So the name in the
request must be ours (else 400: another name may have been made to point here), the page it comes
from must be ours (403), and it must bring the token, in the first address and then as a cookie that
no script can read and no other site can send (401). Bodies are small (413).
"""

from __future__ import annotations

from hmac import compare_digest
from html import escape
from urllib.parse import parse_qs, urlencode
from zlib import crc32

from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_MAX_BODY_BYTES = 1 << 20
"""Most bytes of a request's body: values typed by hand, or one text."""

_REFUSED_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>suffice explorer</title>
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

    def __init__(self, app: ASGIApp, token: str, names: frozenset[str]) -> None:
        self._app = app
        self._token = token
        self._names = names
        # Cookies are shared by all ports of a machine: each server has one of its own.
        self._cookie = f"suffice-{crc32(' '.join(sorted(names)).encode()):08x}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it with a sentence."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refused = self._refused(scope)
        if refused is None:
            await self._app(scope, _LimitedBody(receive), _with_security_headers(send))
        else:
            await refused(scope, receive, _with_security_headers(send))

    def _refused(self, scope: Scope) -> Response | None:
        # A header may come more than once, and proxies differ in which one they believe.
        hosts = _header_values(scope, "host")
        if len(hosts) != 1 or hosts[0].lower() not in self._names:
            return _error_response(400, "This server does not answer to that name.")
        ours = {f"http://{name}" for name in self._names}
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
            words = "This page opens with the address that `suffice serve` printed: copy it whole."
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
