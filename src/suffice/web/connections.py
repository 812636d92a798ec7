"""HTTP connections with a time limit on reading a request, so that slow clients are closed."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol


class TimedProtocol(H11Protocol):
    """HTTP/1.1 connection that is closed if a request's head does not arrive in time.

    uvicorn limits only the pause between requests, so a client that sends a byte a second would
    hold its connection for ever.
    """

    read_seconds = 15.0
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
