"""Server of the explorer: web application, limits on requests, pool of jobs, and its page."""

from __future__ import annotations

import asyncio
import logging
import socket
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from contextvars import copy_context
from functools import cache
from hashlib import sha256
from importlib.resources import files
from secrets import token_urlsafe
from time import monotonic
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from suffice.errors import InputError, SufficeError
from suffice.progress import listen_to_progress
from suffice.report.html import script_bundle, template_text
from suffice.results import json_text
from suffice.web.api import ENDPOINTS, Endpoint, openapi
from suffice.web.guard import Guard
from suffice.web.requests import ExplainRequest, RecourseOptionsRequest, read_request
from suffice.web.session import MAX_SECONDS, Session


def make_app(room: Session, token: str, names: frozenset[str]) -> Guard:
    """Return the application, which answers only to these names ("127.0.0.1:8000") and token."""
    work = JobPool()

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        work.close()

    async def front(_: Request) -> Response:
        return _page_response(room)

    routes = [
        Route("/", front),
        Route("/api/openapi.json", _openapi_response),
        *(
            Route(f"/api/{e.path}", _endpoint_handler(e, room, work), methods=["POST"])
            for e in ENDPOINTS
        ),
    ]
    return Guard(Starlette(routes=routes, lifespan=lifespan), token, names)


def _page_response(room: Session) -> Response:
    page, script, style = explorer_page(room.text is not None)
    policy = (
        "default-src 'none'; connect-src 'self'; img-src data: blob:; base-uri 'none'; "
        f"form-action 'none'; frame-ancestors 'none'; script-src '{_csp_hash(script)}'; "
        f"style-src '{_csp_hash(style)}'"
    )
    return HTMLResponse(page, headers={"content-security-policy": policy})


def _csp_hash(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()


async def _openapi_response(_: Request) -> Response:
    return JSONResponse(openapi())


def _endpoint_handler(
    endpoint: Endpoint, room: Session, work: JobPool
) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        try:
            body = await asyncio.wait_for(request.body(), _READ_SECONDS)
        except ClientDisconnect:  # or a body that was too long
            return Response(status_code=413)
        except TimeoutError:
            return Response(status_code=408)
        try:
            asked = None if endpoint.asked is None else read_request(body, endpoint.asked)
            if endpoint.lines:
                seconds = getattr(asked, "time_limit", None) or MAX_SECONDS
                # A search keeps its own time limit and answers with what it found by then.
                own = isinstance(asked, ExplainRequest | RecourseOptionsRequest)
                limit = MAX_SECONDS if own else min(seconds, MAX_SECONDS)
                lines = work.lines(lambda: endpoint.answer(room, asked), limit)
                return StreamingResponse(lines, media_type="application/x-ndjson")
            found = await run_in_threadpool(endpoint.answer, room, asked)
        except SufficeError as error:
            return _json_response({"error": error_json(error)}, 422)
        return _json_response({"answer": found})

    return answer


def _json_response(value: object, status: int = 200) -> Response:
    return Response(json_text(value), status, media_type="application/json")


# Long answers: each in a thread, with progress, a time limit, and an end if the visitor leaves.


_PROGRESS_SECONDS = 0.25
"""Seconds between two lines of progress, at which a closed connection is noticed."""

_MAX_QUICK_JOBS = 2
"""Quick questions computed at the same time; more would only slow each other down."""

_QUICK_JOB_SECONDS = 1.0
"""Seconds after which a question is no longer quick, and the next one starts."""

_MAX_JOBS = 64
"""Most questions computed at the same time."""

_READ_SECONDS = 15.0
"""Seconds within which a client must have sent a request."""


class JobCancelled(Exception):  # noqa: N818 - not an error
    """The visitor has left."""


class JobTimeout(SufficeError):  # noqa: N818 - its message says what it is
    """A question took longer than its time limit."""


class JobProgress:
    """Progress of a job, which ends the job when its visitor leaves or its time is over."""

    def __init__(
        self, seconds: float = MAX_SECONDS, clock: Callable[[], float] = monotonic
    ) -> None:
        self._seconds, self._clock = seconds, clock
        self._ends = clock() + seconds
        self.what = ""
        self.share: float | None = None
        self._gone = False

    def leave(self) -> None:
        """Note that the visitor has left."""
        self._gone = True

    def __call__(self, what: str, done: float, total: float | None) -> None:
        """Take progress from the thread of the job, and raise if the job is to end."""
        if self._gone:
            raise JobCancelled
        if self._clock() > self._ends:
            raise JobTimeout(
                f"This took longer than {self._seconds:g} s. Allow more with time_limit (up to "
                f"{MAX_SECONDS:g} s), or ask for fewer references or smaller sets."
            )
        self.what, self.share = what, min(1.0, done / total) if total else None


class JobPool:
    """Pool of threads that answer questions."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_MAX_JOBS, thread_name_prefix="suffice-question")
        self._turns = asyncio.Semaphore(_MAX_QUICK_JOBS)

    def close(self) -> None:
        """Cancel all jobs without waiting."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def lines(
        self, answer: Callable[[], Any], seconds: float = MAX_SECONDS
    ) -> AsyncIterator[bytes]:
        """Yield lines of JSON: progress, then the answer or the error."""
        watch, loop = JobProgress(seconds), asyncio.get_running_loop()
        turn: asyncio.Future[Any] | None = asyncio.ensure_future(self._turns.acquire())
        try:
            while turn is not None and not await _finished_soon(turn):
                yield _json_line({"progress": None, "what": "waiting for others"})
            started = loop.time()
            run = copy_context().run
            work = loop.run_in_executor(self._threads, run, _run_job, answer, watch)
            while not await _finished_soon(work):
                if turn is not None and loop.time() - started > _QUICK_JOB_SECONDS:
                    self._give_back(turn)
                    turn = None
                yield _json_line({"progress": watch.share, "what": watch.what})
            yield _json_line(work.result())
        finally:
            watch.leave()
            self._give_back(turn)

    def _give_back(self, turn: asyncio.Future[Any] | None) -> None:
        """Let the next job start; a job that never started only leaves the queue."""
        if turn is not None and not turn.cancel():
            self._turns.release()


async def _finished_soon(waited_for: asyncio.Future[Any]) -> bool:
    """Return whether a future is done before the next line of progress is due."""
    return bool((await asyncio.wait({waited_for}, timeout=_PROGRESS_SECONDS))[0])


def _run_job(answer: Callable[[], Any], watch: JobProgress) -> dict[str, Any]:
    try:
        with listen_to_progress(watch):
            return {"answer": answer()}
    except JobCancelled:
        return {"error": {"message": "stopped", "argument": None}}
    except Exception as error:
        if not isinstance(error, SufficeError):
            logging.getLogger("suffice").exception("A question could not be answered.")
        return {"error": error_json(error)}


def error_json(error: Exception) -> dict[str, Any]:
    """Return an error as a sentence; of an unexpected one only the name of its class."""
    if isinstance(error, InputError):
        return {"message": str(error), "argument": error.argument}
    if isinstance(error, SufficeError):
        return {"message": str(error), "argument": None}
    words = f"This could not be answered ({type(error).__name__}). The server's screen says more."
    return {"message": words, "argument": None}


def _json_line(value: Any) -> bytes:
    return json_text(msgspec.to_builtins(value)).encode() + b"\n"


# Page of the explorer: a heading, a style sheet, and the script.


_STYLES = ("style.css", "live.css")
"""Style sheets of explanations; those of texts have one more."""

_PAGE_TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>suffice explorer</title>
<style>{style}</style>
</head>
<body>
<h1>What suffices for a decision, and what would change it</h1>
<main id="explorer"><noscript>The explorer needs scripts. A page that does not:
<code>suffice explain --html</code>.</noscript></main>
<script>{script}</script>
</body>
</html>
"""


@cache
def explorer_page(of_texts: bool) -> tuple[str, str, str]:
    """Return the page, its script and its style, whose hashes the content policy needs."""
    script = script_bundle()
    own = files("suffice.web").joinpath("explorer.css").read_text(encoding="utf-8")
    styles = (*_STYLES, "text.css") if of_texts else _STYLES
    style = "".join(map(template_text, styles)) + own
    return _PAGE_TEMPLATE.replace("{style}", style).replace("{script}", script), script, style


# Running the server: on this machine alone by default.


_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_EVERY_INTERFACE = ("0.0.0.0", "::")


def run_server(
    room: Session,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    token: str | None = None,
    allow_hosts: Sequence[str] = (),
    ready: Callable[[str], None] = print,
) -> None:
    """Serve until it is interrupted; `ready` is told the address to open, token and all.

    `port` 0 takes any that is free. `token` None makes a new one. `allow_hosts` are further names
    under which others reach the server; an address for all interfaces needs at least one.
    """
    import uvicorn

    from suffice.web.connections import TimedProtocol

    if host in _EVERY_INTERFACE and not allow_hosts:
        raise InputError(
            "--allow-host",
            f"none, with --host {host}",
            "the name or address that visitors open, such as --allow-host 192.168.1.20",
        )
    secret = token or token_urlsafe(24)
    listening = _open_socket(host, port)
    bound = listening.getsockname()[1]
    shown, *others = [
        f"[{name}]" if ":" in name else name
        for name in (*([] if host in _EVERY_INTERFACE else [host]), *allow_hosts)
    ]
    names = {f"{name}:{bound}" for name in (shown, *others)}
    if host in _LOOPBACK:
        names |= {f"127.0.0.1:{bound}", f"localhost:{bound}", f"[::1]:{bound}"}
    app = make_app(room, secret, frozenset(name.lower() for name in names))
    config = uvicorn.Config(
        app,
        http=TimedProtocol,
        # The address holds the token, so no request is logged.
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=2,
        timeout_keep_alive=30,
        server_header=False,
        h11_max_incomplete_event_size=1 << 16,
    )
    ready(f"http://{shown}:{bound}/?token={secret}")
    with listening:
        uvicorn.Server(config).run(sockets=[listening])


def _open_socket(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        hint = "Another program may use it: leave --port out to take any that is free."
        got = f"{host}:{port} ({error.strerror})"
        raise InputError("port", got, "an address of this machine that is free", hint) from error
    listening.listen(128)
    return listening
