"""Starting and stopping the explorer: on this machine alone, unless it is told otherwise."""

from __future__ import annotations

import socket
from collections.abc import Callable
from secrets import token_urlsafe

from suffice.errors import InputError
from suffice.web.room import Room

__all__ = ["serve"]

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def serve(
    room: Room,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    token: str | None = None,
    ready: Callable[[str], None] = print,
) -> None:
    """Serve until it is interrupted; `ready` is told the address to open, token and all.

    `port` 0 takes any that is free. `token` None makes a new one.
    """
    import uvicorn

    from suffice.web.app import make_app

    secret = token or token_urlsafe(24)
    listening = _listen(host, port)
    bound = listening.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    names = {f"{shown}:{bound}"}
    if host in _LOOPBACK:
        names |= {f"127.0.0.1:{bound}", f"localhost:{bound}", f"[::1]:{bound}"}
    app = make_app(room, secret, frozenset(name.lower() for name in names))
    config = uvicorn.Config(
        app,
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


def _listen(host: str, port: int) -> socket.socket:
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
