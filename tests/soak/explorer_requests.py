"""Odd requests for the explorer, and a check of what each of them is answered.

Requests are drawn from a seed. Each must be answered or refused with a sentence: no status of 500
or more, no connection that is dropped without a response, and no answer after its time limit.
"""

from __future__ import annotations

import json
import random
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from time import monotonic, process_time, sleep
from typing import Any, ClassVar

import httpx
import msgspec
from sklearn.tree import DecisionTreeClassifier

from suffice.web.api import ENDPOINTS
from suffice.web.session import MAX_SECONDS, Session
from tests.soak.tally import Tally, seeded
from tests.web.explorer_server import TOKEN, X, client_with_token, explorer_server, y

COLUMNS = ["age", "income", "debt", "late payments"]

ODD = [
    *(None, True, False, -1, 0, 1, 7, 10**30, -(10**400), 0.5, 1e308, -0.0),
    *("", " ", "age", "is", "\ud800", "\x00", "=1+1", "../../etc/passwd", "<script>", "é" * 300),
    *([], [[]], [None], ["age"], ["age", "age"], ["nothing"], {}, {"row": 2}, {"age": 1e9}),
]
"""Values that some field takes, and that all others must refuse."""


SLACK = 2.0
"""Seconds by which an answer may come later than its time limit."""


def fuzz_requests(count: int, seed: int, seconds: float | None = None) -> Tally:
    """Send odd requests to an explorer; each must be answered or refused, and in time."""
    tally, started = Tally("requests"), monotonic()
    rng = seeded(tally.kind, seed)
    with fuzzed_server() as address, client_with_token(address) as client, ExitStack() as stack:
        attack = RequestAttack(rng, address, client, stack)
        for _ in range(count):
            if seconds is not None and monotonic() - started > seconds:
                tally.cut = True
                break
            kind = rng.choice(list(RequestAttack.KINDS))
            problem = RequestAttack.KINDS[kind](attack)
            tally.add(f"{kind}: {problem}" if problem else None)
        if client.post("/api/rows", json={"count": 1}).status_code != 200:
            tally.add("the server no longer answers")
    return tally


@contextmanager
def fuzzed_server() -> Iterator[str]:
    """The address of an explorer with a model of classes and one of numbers, both quick."""
    data = X[COLUMNS]
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(data, y)
    models = {"tree": tree, "sum": lambda rows: rows["income"] - 2.0 * rows["debt"]}
    with explorer_server(Session(models, data, n_references=15)) as address:
        yield address


@dataclass
class RequestAttack:
    """One sender of odd requests; its methods return what went wrong, or ""."""

    rng: random.Random
    address: str
    client: httpx.Client
    stack: ExitStack
    half_open: int = 0

    # -- JSON --------------------------------------------------------------------------------

    def odd_fields(self) -> str:
        """Requests with known and unknown fields, each with any odd value."""
        endpoint = self.rng.choice(ENDPOINTS)
        known = (
            [] if endpoint.request_type is None else msgspec.structs.fields(endpoint.request_type)
        )
        names = [f.name for f in known] + ["colour", "__class__", "input"]
        body: dict[str, Any] = {
            self.rng.choice(names): self.rng.choice(ODD) for _ in range(self.rng.randint(0, 4))
        }
        if self.rng.random() < 0.6 and "input" in names:
            body["input"] = self.input()
        return self.post(endpoint.path, json.dumps(body).encode())

    def question(self) -> str:
        """Questions that make sense, with short time limits and all kinds of contrasts."""
        path = self.rng.choice(
            ["explain", "recourse", "shapley", "rules", "export/page", "export/json", "export/code"]
        )
        body = {"input": self.input(), "model": self.rng.choice([None, "tree", "sum", "trea"])}
        body["contrast"] = self.contrast()
        limit = self.rng.choice([None, 1e-9, 0.001, 0.05, 0.5, 60, 61, -1])
        body["time_limit"] = limit
        if path in ("explain", "recourse", "export/page", "export/json", "export/code"):
            names = self.rng.sample([*COLUMNS, "nothing"], self.rng.randint(0, 2))
            body["changes"] = {self.rng.choice(["immutable", "increasing", "actionable"]): names}
        if path == "explain":
            body["search"] = self.rng.choice(["auto", "exhaustive", "greedy", "pruned", "bounds"])
            body["max_size"] = self.rng.choice([None, 0, 1, 3, 10**6])
            body["tau"] = self.rng.choice([0.9, 0.5, 1, 0, 2, 1e-300])
        return self.post(path, json.dumps(body).encode(), limit)

    def broken_body(self) -> str:
        """Bodies that are no JSON, no UTF-8, deeply nested, or cut short."""
        good = json.dumps({"input": {"row": 1}, "sort": "age"}).encode()
        body = self.rng.choice(
            [
                b"",
                b"null",
                b"[]",
                b"\xff\xfe",
                b"\x00" * 40,
                b"[" * 100_000,
                b'{"input": {"row": 1e999}}',
                b'{"input": {"row": ' + b"9" * 5000 + b"}}",
                b'{"sort": "\xed\xa0\x80"}',
                good[: self.rng.randrange(len(good))],
                bytes(self.rng.randrange(256) for _ in range(self.rng.randrange(200))),
            ]
        )
        return self.post(self.rng.choice(ENDPOINTS).path, body)

    def many_conditions(self) -> str:
        """Conditions on rows: many of them, with long and odd values."""
        where = [self.condition() for _ in range(self.rng.choice([1, 5, 50, 51, 2000]))]
        if self.rng.random() < 0.5:
            body: dict[str, Any] = {"where": where, "sort": self.rng.choice([None, *COLUMNS])}
            return self.post("rows", json.dumps(body).encode())
        body = {"input": {"row": 3}, "contrast": {"references": where}}
        return self.post("explain", json.dumps(body).encode())

    def input(self) -> Any:
        """An input: a row, with changed values, a whole row of values, or nonsense."""
        row = self.rng.choice([0, 1, 5, 599, 600, -1, None])
        values = {
            self.rng.choice([*COLUMNS, "nothing"]): self.rng.choice(ODD)
            for _ in range(self.rng.randint(0, 2))
        }
        made = {"row": row, "values": values}
        return self.rng.choice([{"row": 1}, {"row": 7}, made, {"text": "good"}, {}])

    def contrast(self) -> dict[str, Any]:
        """A contrast of random fields."""
        made = {
            "references": self.rng.choice(["opposite", "all", "none", [self.condition()]]),
            "n_references": self.rng.choice([None, 1, 5, 10**9, 0, -3]),
            "outcome": self.rng.choice([None, "granted", "refused", "grantd"]),
            "at_least": self.rng.choice([None, 20, 1e308]),
            "groups": self.rng.choice([{}, "auto", {"a": COLUMNS[:2]}, {"a": []}, {"": ["age"]}]),
            "causal": self.rng.choice([False, False, True]),
        }
        return {name: made[name] for name in self.rng.sample(list(made), self.rng.randint(0, 3))}

    def condition(self) -> dict[str, Any]:
        """A condition on a column."""
        return {
            "column": self.rng.choice([*COLUMNS, "nothing"]),
            "test": self.rng.choice(
                ["is", "is not", "at least", "at most", "contains", "is missing"]
            ),
            "value": self.rng.choice(
                [v for v in ODD if not isinstance(v, list | dict)] + ["x" * 9999]
            ),
        }

    def post(self, path: str, body: bytes, limit: float | None = None) -> str:
        """Send a body; an answer, or an error in words, must come in time."""
        started, busy = monotonic(), process_time()
        try:
            found = self.client.post(f"/api/{path}", content=body)
        except httpx.HTTPError as error:
            return f"{path} {body[:200]!r}: {error!r}"
        # The server runs in this process: the work of other programs is no fault of it.
        took = min(monotonic() - started, process_time() - busy)
        said = f"{path} {body[:200]!r}"
        if found.status_code not in (200, 413, 422):
            return f"{said}: status {found.status_code}"
        allowed = limit if limit is not None and 0 < limit < MAX_SECONDS else MAX_SECONDS
        if took > 1.5 * allowed + SLACK:
            return f"{said}: took {took:.1f} s with a limit of {allowed:g} s"
        last = json.loads(found.text.splitlines()[-1]) if found.text else {}
        message = str((last.get("error") or {}).get("message", ""))
        if "could not be answered" in message or (found.status_code == 422 and not message):
            return f"{said}: {found.text[:200]}"
        return "" if "answer" in last or message else f"{said}: {found.text[:200]}"

    # -- HTTP ---------------------------------------------------------------------------------

    def odd_headers(self) -> str:
        """Cookies of others, and headers that come twice, are empty or very long."""
        host = self.address.removeprefix("http://")
        ours = "; ".join(f"{name}={value}" for name, value in self.client.cookies.items())
        lines = self.rng.choice(
            [
                [f"Cookie: a[=1; {ours}"],
                [f"Cookie: {ours}", "Cookie: suffice=1; =; ;;"],
                [f"Cookie: {ours[:-3]}"],
                ["Cookie: " + "a=b; " * 5000],
                [f"Cookie: {ours}", f"Origin: http://{host}", "Origin: null"],
                [f"Cookie: {ours}", "Host: evil.example"],
                [f"Cookie: {ours}", "Content-Length: 0", "Content-Length: 5"],
                [f"Cookie: {ours}", "Content-Length: -1"],
                [f"Cookie: {ours}", "Transfer-Encoding: chunked", "Content-Length: 2"],
                [f"Cookie: {ours}", "X: " + "y" * 70_000],
                [f"Cookie: {ours}", "Accept: text/html, \xff"],
                [f"Cookie: {ours}", "Expect: 100-continue"],
                ["Cookie: \xff\xfe=1", "Accept: text/html"],
            ]
        )
        line = self.rng.choice(["GET / HTTP/1.1", "POST /api/about HTTP/1.1", "GET / HTTP/1.0"])
        return self.raw("\r\n".join([line, f"Host: {host}", "Connection: close", *lines, "", ""]))

    def odd_paths(self) -> str:
        """Paths and addresses that lead elsewhere, with and without the token."""
        path = self.rng.choice(
            [
                f"//evil.example/x?token={TOKEN}",
                f"/\\evil.example?token={TOKEN}",
                f"/?token={TOKEN}&row=%0d%0aset-cookie:%20a=b",
                f"/?token={TOKEN}&token=x",
                "/?token=" + "x" * 3000,
                "/?" + "&".join(f"a{i}=1" for i in range(2000)),
                "/api/../../etc/passwd",
                "/%2e%2e/%00",
                "/api/explain/",
                "http://evil.example/",
                "*",
                "/\xff",
            ]
        )
        method = self.rng.choice(["GET", "POST", "PUT", "HEAD", "OPTIONS", "TRACE", "get"])
        host = self.address.removeprefix("http://")
        text = f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        return self.raw(text, empty_body=method == "HEAD")

    def half_open_connection(self) -> str:
        """Connections that stop in the middle of a request, and stay open or are closed."""
        text = (
            f"POST /api/rows HTTP/1.1\r\nHost: {self.address.removeprefix('http://')}\r\nContent-Le"
        )
        connection = self.connect()
        connection.sendall(text[: self.rng.randrange(len(text))].encode())
        if self.half_open < 100:  # the server closes them after its own time limit
            self.half_open += 1
            self.stack.callback(connection.close)
        else:
            connection.close()
        return ""

    def slow_request(self) -> str:
        """A good request that comes in small pieces."""
        host = self.address.removeprefix("http://")
        ours = "; ".join(f"{name}={value}" for name, value in self.client.cookies.items())
        head = f"POST /api/rows HTTP/1.1\r\nHost: {host}\r\nCookie: {ours}\r\nConnection: close\r\n"
        text = f"{head}Content-Length: 11\r\n\r\n" + '{"count":1}'
        step = self.rng.randint(10, 60)
        return self.raw(*(text[i : i + step] for i in range(0, len(text), step)), pause=0.002)

    def raw(self, *pieces: str, empty_body: bool = False, pause: float = 0.0) -> str:
        """Send bytes; a response must come, which is no fault of the server and leads nowhere."""
        said = repr(pieces[0][:120])
        with self.connect() as connection:
            try:
                for piece in pieces:
                    connection.sendall(piece.encode("latin-1"))
                    sleep(pause)
                found = b"".join(iter(lambda: connection.recv(65536), b""))
            except (ConnectionResetError, BrokenPipeError):
                # It answers a head that is too long before it has read it to the end.
                return "" if sum(map(len, pieces)) > 1 << 16 else f"{said}: reset"
            except TimeoutError:
                return f"{said}: no response"
        if not found.startswith(b"HTTP/1.1 "):
            return f"{said}: {found[:100]!r}"
        head, _, _ = found.partition(b"\r\n\r\n")
        if int(head.split()[1]) >= 500:
            return f"{said}: {head[:100]!r}"
        for line in head.decode("latin-1").lower().split("\r\n"):
            name, _, value = line.partition(": ")
            if name == "location" and not (value.startswith("/") and value[1:2] not in ("/", "\\")):
                return f"{said}: leads to {value}"
            if name == "set-cookie" and not value.startswith("suffice-"):
                return f"{said}: sets the cookie {value}"
        return ""

    def connect(self) -> socket.socket:
        """Return a new connection to the server."""
        host, port = self.address.removeprefix("http://").split(":")
        return socket.create_connection((host, int(port)), timeout=90)

    KINDS: ClassVar[dict[str, Callable[[RequestAttack], str]]] = {
        "odd fields": odd_fields,
        "questions": question,
        "broken bodies": broken_body,
        "conditions": many_conditions,
        "headers": odd_headers,
        "paths": odd_paths,
        "half-open connections": half_open_connection,
        "slow requests": slow_request,
    }
