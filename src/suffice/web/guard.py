"""Who may ask: this machine's own pages, with the token that was printed here.

A browser sends requests to a loopback address for any page that tells it to. So the name in the
request must be ours (else 400: another name may have been made to point here), the page it comes
from must be ours (403), and it must bring the token, in the first address and then as a cookie that
no script can read and no other site can send (401). Bodies are small (413).
"""

from __future__ import annotations

from hmac import compare_digest
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlencode
from zlib import crc32

from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Guard"]

_MOST_BYTES = 1 << 20
"""Of a request: values typed by hand, or one text."""

_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """Lets through what has the right name, origin, token and size."""

    def __init__(self, app: ASGIApp, token: str, names: frozenset[str]) -> None:
        self._app = app
        self._token = token
        self._names = names
        # Cookies are shared by all ports of a machine: each server has one of its own.
        self._cookie = f"suffice-{crc32(' '.join(sorted(names)).encode()):08x}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse in a sentence."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]}
        refused = self._refused(scope, headers)
        if refused is None:
            await self._app(scope, _Bounded(receive), _headed(send))
        else:
            await refused(scope, receive, _headed(send))

    def _refused(self, scope: Scope, headers: dict[str, str]) -> Response | None:
        if headers.get("host", "").lower() not in self._names:
            return _sentence(400, "This server does not answer to that name.")
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in {f"http://{n}" for n in self._names}:
            return _sentence(403, "Pages of other sites may not ask here.")
        if int(headers.get("content-length") or 0) > _MOST_BYTES:
            return _sentence(413, f"A request has at most {_MOST_BYTES:,} bytes.")
        query = parse_qs(scope["query_string"].decode("latin-1"))
        brought = query.pop("token", [""])[0]
        if brought and self._is_token(brought):
            # The token leaves the address at once, for no history and no screenshot to keep it.
            rest = urlencode(query, doseq=True)
            moved = RedirectResponse(scope["path"] + (f"?{rest}" if rest else ""), 303)
            moved.set_cookie(self._cookie, self._token, httponly=True, samesite="strict", path="/")
            return moved
        if not self._is_token(_cookies(headers.get("cookie", "")).get(self._cookie, "")):
            words = "This page opens with the address that `suffice serve` printed: copy it whole."
            return _sentence(401, words)
        return None

    def _is_token(self, given: str) -> bool:
        return compare_digest(given.encode(), self._token.encode())


class _Bounded:
    """What is read of a body whose length was not told, or told wrongly."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._read = 0

    async def __call__(self) -> Message:
        message = await self._receive()
        self._read += len(message.get("body", b""))
        if self._read > _MOST_BYTES:
            return {"type": "http.disconnect"}
        return message


def _headed(send: Send) -> Send:
    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = {k.lower() for k, _ in message["headers"]}
            more = [
                (k.encode(), v.encode()) for k, v in _HEADERS.items() if k.encode() not in given
            ]
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return with_headers


def _sentence(status: int, words: str) -> Response:
    return JSONResponse({"error": {"message": words, "argument": None}}, status)


def _cookies(header: str) -> dict[str, str]:
    try:
        return {name: morsel.value for name, morsel in SimpleCookie(header).items()}
    except CookieError:
        return {}
