"""Requests that the explorer refuses: token, names, origins, sizes, slow and odd requests."""

import socket

import httpx
import pytest

from suffice import InputError
from suffice.web.guard import TimedProtocol
from suffice.web.server import run_server
from tests.soak.explorer_requests import fuzz_requests
from tests.web.explorer_server import (
    TOKEN,
    explorer_server,
    loans_room,
)


def test_without_the_token_nothing_is_answered(address):
    for path in ("/", "/api/openapi.json", "/?token=guess"):
        refused = httpx.get(address + path)
        assert refused.status_code == 401
        assert "address that `suffice serve` printed" in refused.json()["error"]["message"]
    assert httpx.post(f"{address}/api/rows", json={}).status_code == 401


def test_the_token_leaves_the_address_and_becomes_a_cookie_no_script_reads(address):
    moved = httpx.get(f"{address}/?token={TOKEN}&row=3")
    assert moved.status_code == 303
    assert moved.headers["location"] == "/?row=3"
    cookie = moved.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie


def test_another_name_for_this_machine_is_refused(client):
    assert client.post("/api/about", headers={"host": "evil.example"}).status_code == 400


def test_a_page_of_another_site_is_refused(client):
    refused = client.post("/api/about", headers={"origin": "https://evil.example"})
    assert refused.status_code == 403


def test_a_body_that_is_too_long_is_refused_however_its_length_is_given(client):
    assert client.post("/api/rows", content=b"x" * 2**21).status_code == 413
    in_pieces = (b"x" * 2**16 for _ in range(40))
    assert client.post("/api/rows", content=in_pieces).status_code == 413


def test_the_page_may_load_nothing_and_not_be_framed(client):
    headers = client.get("/").headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy and "'unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["referrer-policy"] == "no-referrer"


def test_no_path_of_a_request_is_opened(client):
    for path in ("/../pyproject.toml", "/api/../../etc/passwd", "/static/bundle.js"):
        assert client.get(path).status_code == 404


def test_a_cookie_of_another_program_locks_no_user_out(client):
    ours = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    assert client.get("/", headers={"cookie": f"a[=1; {ours}"}).status_code == 200


def test_a_path_cannot_redirect_to_another_site(address):
    moved = raw_request(address, f"GET //evil.example/x?token={TOKEN} HTTP/1.1")
    assert moved.startswith("HTTP/1.1 303") and "location: /\r\n" in moved


def test_of_several_origins_every_one_must_be_ours(address):
    ours = address.removeprefix("http://")
    for origins in (("http://evil.example", f"http://{ours}"), ("null", f"http://{ours}")):
        headers = [f"Origin: {origin}" for origin in origins]
        assert raw_request(address, "POST /api/about HTTP/1.1", *headers).startswith("HTTP/1.1 403")
    twice = raw_request(address, "POST /api/about HTTP/1.1", "Host: evil.example")
    assert twice.startswith("HTTP/1.1 400")


def raw_request(address: str, line: str, *headers: str) -> str:
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        head = [line, f"Host: {host}:{port}", "Connection: close", *headers]
        connection.sendall("\r\n".join([*head, "", ""]).encode())
        return b"".join(iter(lambda: connection.recv(65536), b"")).decode()


def test_a_browser_without_the_token_gets_a_page(address):
    refused = httpx.get(address, headers={"accept": "text/html,*/*"})
    assert refused.status_code == 401
    assert refused.headers["content-type"].startswith("text/html")
    assert "address that `suffice serve` printed" in refused.text


def test_a_slow_client_is_closed(monkeypatch):
    monkeypatch.setattr(TimedProtocol, "read_seconds", 0.2)
    with explorer_server(loans_room()) as address:
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=30) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost:")
            assert connection.recv(100) == b""


def test_an_address_for_all_interfaces_needs_a_name_to_answer_to():
    with pytest.raises(InputError, match=r"--allow-host: got .*none, with --host 0\.0\.0\.0"):
        run_server(loans_room(), host="0.0.0.0")


def test_odd_requests_are_answered_or_refused_with_a_sentence():
    tally = fuzz_requests(60, seed=1)
    assert tally.tries == 60 and tally.failures == []
