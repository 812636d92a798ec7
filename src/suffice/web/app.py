"""The explorer as a web application: one page, and the questions it asks."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from hashlib import sha256

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from suffice.errors import SufficeError
from suffice.results import json_text
from suffice.web.api import ENDPOINTS, Endpoint, openapi
from suffice.web.asked import read
from suffice.web.guard import Guard
from suffice.web.page import explorer_page
from suffice.web.room import Room
from suffice.web.work import Work, told

__all__ = ["make_app"]


def make_app(room: Room, token: str, names: frozenset[str]) -> Guard:
    """The application, which answers only to these names ("127.0.0.1:8000") and this token."""
    work = Work()

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        work.close()

    async def front(_: Request) -> Response:
        return _front(room)

    routes = [
        Route("/", front),
        Route("/api/openapi.json", _described),
        *(Route(f"/api/{e.path}", _answering(e, room, work), methods=["POST"]) for e in ENDPOINTS),
    ]
    return Guard(Starlette(routes=routes, lifespan=lifespan), token, names)


def _front(room: Room) -> Response:
    page, script, style = explorer_page(room.text is not None)
    policy = (
        "default-src 'none'; connect-src 'self'; img-src data: blob:; base-uri 'none'; "
        f"form-action 'none'; frame-ancestors 'none'; script-src '{_hash(script)}'; "
        f"style-src '{_hash(style)}'"
    )
    return HTMLResponse(page, headers={"content-security-policy": policy})


def _hash(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()


async def _described(_: Request) -> Response:
    return JSONResponse(openapi())


def _answering(
    endpoint: Endpoint, room: Room, work: Work
) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        try:
            body = await request.body()
        except ClientDisconnect:  # or a body that was too long
            return Response(status_code=413)
        try:
            asked = None if endpoint.asked is None else read(body, endpoint.asked)
            if endpoint.lines:
                lines = work.lines(lambda: endpoint.answer(room, asked))
                return StreamingResponse(lines, media_type="application/x-ndjson")
            found = await run_in_threadpool(endpoint.answer, room, asked)
        except SufficeError as error:
            return _json({"error": told(error)}, 422)
        return _json({"answer": found})

    return answer


def _json(value: object, status: int = 200) -> Response:
    return Response(json_text(value), status, media_type="application/json")
