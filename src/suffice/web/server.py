"""Server of the explorer: web application, queue of questions, its page, start and stop."""

from __future__ import annotations

import asyncio
import logging
import socket
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import cache, partial
from hashlib import sha256
from importlib.resources import files
from secrets import token_urlsafe
from time import monotonic
from typing import Any, TypeVar

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from suffice.errors import InputError, SufficeError
from suffice.progress import listen_to_progress
from suffice.report.html import script_bundle, template_text
from suffice.results import json_text
from suffice.web.api import ENDPOINTS, FIELD_LABELS, Endpoint, openapi
from suffice.web.guard import READ_SECONDS, Guard, TimedProtocol
from suffice.web.requests import ExplainRequest, RecourseOptionsRequest
from suffice.web.session import MAX_SECONDS, Session


def make_app(session: Session, token: str, hosts: frozenset[str]) -> Guard:
    """Return the application, which answers only to these names ("127.0.0.1:8000") and token."""
    jobs = JobPool()

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        jobs.close()

    async def front(_: Request) -> Response:
        return _page_response(session)

    routes = [
        Route("/", front),
        Route("/api/openapi.json", _openapi_response),
        *(
            Route(f"/api/{e.path}", _endpoint_handler(e, session, jobs), methods=["POST"])
            for e in ENDPOINTS
        ),
    ]
    return Guard(Starlette(routes=routes, lifespan=lifespan), token, hosts)


def _page_response(session: Session) -> Response:
    page, script, style = explorer_page(session.text_column is not None)
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
    endpoint: Endpoint, session: Session, jobs: JobPool
) -> Callable[[Request], Awaitable[Response]]:
    async def handle(request: Request) -> Response:
        try:
            # A client that sends a byte now and then would hold the connection for ever.
            body = await asyncio.wait_for(request.body(), READ_SECONDS)
        except ClientDisconnect:  # or a body that was too long
            return Response(status_code=413)
        except TimeoutError:
            return Response(status_code=408)
        try:
            kind = endpoint.request_type
            question = None if kind is None else read_request(body, kind)
        except SufficeError as error:
            return _json_response({"error": error_json(error)}, 422)
        if not endpoint.streamed:
            reply, status = await run_in_threadpool(
                _reply, lambda: endpoint.handler(session, question)
            )
            return _json_response(reply, status)
        # The same question in another order of its fields is the same question.
        key = endpoint.path.encode() + msgspec.json.encode(question, order="sorted")
        lines = jobs.stream(key, lambda: endpoint.handler(session, question), _time_limit(question))
        return StreamingResponse(lines, media_type="application/x-ndjson")

    return handle


def _time_limit(question: Any) -> float:
    """Return the seconds after which the server ends a question."""
    given = question.time_limit
    if isinstance(question, ExplainRequest | RecourseOptionsRequest):
        # A search keeps its own time limit, and answers a little later with what it found.
        return max(MAX_SECONDS, 1.2 * (given or 0))
    return MAX_SECONDS if given is None or not 0 < given < MAX_SECONDS else float(given)


def _reply(answer: Callable[[], Any]) -> tuple[dict[str, Any], int]:
    """Return the answer or the error as JSON has it, and the status of the response."""
    try:
        return {"answer": answer()}, 200
    except JobCancelled:  # no visitor waits for the answer
        return {"error": {"message": "stopped", "argument": None}}, 200
    except SufficeError as error:
        return {"error": error_json(error)}, 422
    except Exception as error:  # an error of the user's model, or a bug: the server continues
        logging.getLogger("suffice").exception("A question could not be answered.")
        return {"error": error_json(error)}, 500


def error_json(error: Exception) -> dict[str, Any]:
    """Return an error as a sentence; of an unexpected one only the name of its class."""
    if isinstance(error, InputError):
        return {"message": error.text(FIELD_LABELS), "argument": error.argument}
    if isinstance(error, SufficeError):
        return {"message": str(error), "argument": None}
    words = f"This could not be answered ({type(error).__name__}). The server's screen says more."
    return {"message": words, "argument": None}


_RequestType = TypeVar("_RequestType")


def read_request(body: bytes, kind: type[_RequestType]) -> _RequestType:
    """Return the request in a body; raise an InputError for one that does not fit its type.

    >>> from suffice.web.requests import RowsRequest
    >>> read_request(b'{"count": "many"}', RowsRequest)
    Traceback (most recent call last):
    suffice.errors.InputError: request: got Expected `int`, got `str` - at `$.count`; ...
    """
    try:
        return msgspec.json.decode(body or b"{}", type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        allowed = f"JSON of {kind.__name__}, as /api/openapi.json describes it"
        raise InputError("request", str(error), allowed) from error


def _json_response(value: object, status: int = 200) -> Response:
    return Response(json_text(value), status, media_type="application/json")


def _json_line(value: object) -> bytes:
    return json_text(value).encode() + b"\n"


# Long answers: each question is computed in a thread, once for all visitors who wait for it.


_PROGRESS_SECONDS = 0.25
"""Seconds between two lines of progress, at which a closed connection is noticed."""

_MAX_QUICK_JOBS = 2
"""Quick questions computed at the same time; more would only slow each other down."""

_QUICK_JOB_SECONDS = 1.0
"""Seconds after which a question is no longer quick, and the next one starts."""

_MAX_JOBS = 64
"""Most questions computed at the same time."""

_GRACE_SECONDS = 2.0
"""Seconds after a time limit until visitors stop waiting for the job to notice it."""


class JobCancelled(Exception):  # noqa: N818 - not an error
    """No visitor waits for the answer any more."""


class JobTimeout(SufficeError):  # noqa: N818 - its message says what it is
    """A question took longer than its time limit."""


class JobProgress:
    """Progress of a job; it ends the job when no visitor waits or the time limit is over."""

    def __init__(
        self, seconds: float = MAX_SECONDS, clock: Callable[[], float] = monotonic
    ) -> None:
        self._seconds, self._clock = seconds, clock
        self._ends = clock() + seconds
        self.label = ""
        self.share: float | None = None
        self._cancelled = False

    def start(self) -> None:
        """Begin to count the time; waiting for other questions does not count."""
        self._ends = self._clock() + self._seconds

    def cancel(self) -> None:
        """Make the job end when it next reports progress."""
        self._cancelled = True

    def is_over(self, grace: float = 0.0) -> bool:
        """Return whether the time limit was over so many seconds ago."""
        return self._clock() > self._ends + grace

    @property
    def timeout(self) -> JobTimeout:
        """The error for a question whose time is over."""
        more = (
            "" if self._seconds >= MAX_SECONDS else f"up to {MAX_SECONDS:g} s may be allowed, or "
        )
        return JobTimeout(
            f"This took longer than {self._seconds:g} s: {more}ask for fewer references or "
            "smaller sets."
        )

    def __call__(self, what: str, done: float, total: float | None) -> None:
        """Take progress from the thread of the job, and raise if the job is to end."""
        if self._cancelled:
            raise JobCancelled
        if self.is_over():
            raise self.timeout
        self.label, self.share = what, min(1.0, done / total) if total else None


class Job:
    """A question, and the visitors that wait for its answer."""

    def __init__(self, key: bytes, answer: Callable[[], Any], seconds: float) -> None:
        self.key = key
        self.answer = answer
        self.progress = JobProgress(seconds)
        self.visitors = 0
        self.started = False
        self.quick = False
        """Whether it holds one of the places of quick questions."""
        self.line: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        """The answer or the error, as the last line of every response."""

    def run(self) -> bytes:
        """Return the last line; in a thread, so that a long answer is encoded there, too."""
        with listen_to_progress(self.progress):
            return _json_line(_reply(lambda: msgspec.to_builtins(self.answer()))[0])


class JobPool:
    """Threads that answer questions, and the queue of questions that wait for one.

    All methods run in the thread of the event loop, so there are no locks; only `Job.run` does not.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_MAX_JOBS, thread_name_prefix="suffice-question")
        self._open: dict[bytes, Job] = {}
        """Questions that are waiting or computed; an equal one joins them."""
        self._queue: list[Job] = []
        self._n_quick = 0
        self._n_running = 0

    def close(self) -> None:
        """Cancel all jobs without waiting."""
        self._queue.clear()
        for job in self._open.values():
            job.progress.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def stream(
        self, key: bytes, answer: Callable[[], Any], seconds: float = MAX_SECONDS
    ) -> AsyncIterator[bytes]:
        """Yield lines of JSON: the place in the queue or progress, then the answer or the error.

        Requests with equal keys at the same time are one job, which ends when its last visitor
        leaves.
        """
        job = self._open.get(key)
        if job is None:
            job = self._open[key] = Job(key, answer, seconds)
            self._queue.append(job)
            self._start_next()
        job.visitors += 1
        try:
            # `asyncio.wait` leaves the future alone when it is cancelled itself, so a visitor who
            # leaves does not take the answer from the others.
            while not (await asyncio.wait({job.line}, timeout=_PROGRESS_SECONDS))[0]:
                if job.started and job.progress.is_over(_GRACE_SECONDS):
                    # The thread cannot be stopped before it reports progress, but visitors need not
                    # wait for that.
                    self._end(job, _json_line({"error": error_json(job.progress.timeout)}))
                else:
                    yield _json_line(self._progress_of(job))
            yield job.line.result()
        finally:
            job.visitors -= 1
            if not job.visitors:
                self._end(job, b"")

    def _progress_of(self, job: Job) -> dict[str, Any]:
        if not job.started:
            return {"progress": None, "what": "", "place": self._queue.index(job) + 1}
        return {"progress": job.progress.share, "what": job.progress.label, "place": None}

    def _start_next(self) -> None:
        while self._queue and self._n_quick < _MAX_QUICK_JOBS and self._n_running < _MAX_JOBS:
            job = self._queue.pop(0)
            job.started = job.quick = True
            job.progress.start()
            self._n_quick += 1
            self._n_running += 1
            loop = asyncio.get_running_loop()
            done = loop.run_in_executor(self._threads, job.run)
            done.add_done_callback(partial(self._finish, job))
            loop.call_later(_QUICK_JOB_SECONDS, self._release_slot, job)

    def _finish(self, job: Job, ran: asyncio.Future[bytes]) -> None:
        """Give up the thread of a job, and its answer to those who wait."""
        self._n_running -= 1
        self._end(job, b"" if ran.cancelled() else ran.result())

    def _end(self, job: Job, line: bytes) -> None:
        """Give the last line to those who wait, and let the next job start; again: do nothing."""
        job.progress.cancel()
        if not job.line.done():
            job.line.set_result(line)
        if self._open.get(job.key) is job:
            del self._open[job.key]
        if job in self._queue:
            self._queue.remove(job)
        self._release_slot(job)

    def _release_slot(self, job: Job) -> None:
        if job.quick:
            job.quick = False
            self._n_quick -= 1
        self._start_next()


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
    session: Session,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    token: str | None = None,
    allow_hosts: Sequence[str] = (),
    ready: Callable[[str], None] = print,
) -> None:
    """Serve until an interrupt; `ready` is called with the address to open, token included.

    `port` 0 takes any that is free. `token` None makes a new one. `allow_hosts` are further names
    under which others reach the server; an address for all interfaces needs at least one.
    """
    if host in _EVERY_INTERFACE and not allow_hosts:
        raise InputError(
            "--allow-host",
            f"none, with --host {host}",
            "the name or address that visitors open, such as --allow-host 192.168.1.20",
        )
    # 192 random bits: the address cannot be guessed.
    secret = token or token_urlsafe(24)
    listening = _open_socket(host, port)
    bound = listening.getsockname()[1]
    shown, *others = [
        f"[{name}]" if ":" in name else name
        for name in (*([] if host in _EVERY_INTERFACE else [host]), *allow_hosts)
    ]
    hosts = {f"{name}:{bound}" for name in (shown, *others)}
    if host in _LOOPBACK:
        hosts |= {f"127.0.0.1:{bound}", f"localhost:{bound}", f"[::1]:{bound}"}
    app = make_app(session, secret, frozenset(name.lower() for name in hosts))
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
