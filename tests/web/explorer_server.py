"""A real explorer for tests: served by uvicorn in a thread, on the loopback address."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Thread
from typing import Any

import httpx
import uvicorn
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from suffice import CausalModel, Explanation, datasets
from suffice.web.guard import TimedProtocol
from suffice.web.server import _open_socket, make_app
from suffice.web.session import Session

TOKEN = "a-token-for-tests"
X, y = datasets.loans()


def _fitted(final: Any) -> Any:
    texts = make_column_selector(dtype_exclude=["number", "bool"])
    columns = make_column_transformer((OrdinalEncoder(), texts), remainder="passthrough")
    return make_pipeline(columns, final).fit(X, y)


@cache
def forest() -> Any:
    return _fitted(ExtraTreesClassifier(20, max_depth=8, random_state=0))


@cache
def linear() -> Any:
    return _fitted(LogisticRegression(max_iter=1000))


def loans_room() -> Session:
    """Two models of loans, and what causes what."""
    graph = CausalModel([("age", "income"), ("income", "debt")], X)
    return Session({"forest": forest(), "linear": linear()}, X, graph=graph, n_references=60)


@contextmanager
def explorer_server(room: Session) -> Iterator[str]:
    """The address of a server that runs until the end of the block."""
    listening = _open_socket("127.0.0.1", 0)
    name = f"127.0.0.1:{listening.getsockname()[1]}"
    config = uvicorn.Config(
        make_app(room, TOKEN, frozenset({name})),
        http=TimedProtocol,
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(config)
    thread = Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield f"http://{name}"
    finally:
        server.should_exit = True
        thread.join(30)
        listening.close()


@contextmanager
def client_with_token(address: str) -> Iterator[httpx.Client]:
    """A client that came in with the token."""
    with httpx.Client(base_url=address, timeout=120, follow_redirects=True) as client:
        assert client.get("/", params={"token": TOKEN}).status_code == 200
        yield client


def json_lines(response: httpx.Response) -> list[dict]:
    return [json.loads(line) for line in response.text.splitlines()]


def post(client: httpx.Client, path: str, **asked):
    """The answer to a question, whether it comes at once or in lines."""
    response = client.post(f"/api/{path}", json=asked)
    assert response.status_code == 200, response.text
    last = json_lines(response)[-1]
    assert "error" not in last, last
    return last["answer"]


def factors(view: Any) -> list:
    """The minimal sets of a view, with the sufficiency of each."""
    return sorted((f.features, f.sufficiency) for f in view.factors)


def loaded(client: httpx.Client, **asked: Any) -> Explanation:
    """The explanation that answers a question."""
    return Explanation.from_json(post(client, "export/json", **asked)["content"])
