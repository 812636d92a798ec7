"""Where an explanation finds its faces: looked up by name when asked for, not imported."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

__all__ = ["renderer"]

_RENDERERS = {
    "text": "suffice.report.text:render",
    "terminal": "suffice.report.terminal:render",
    "fragment": "suffice.report.html:fragment",
    "page": "suffice.report.html:page",
}


def renderer(name: str) -> Callable[..., Any]:
    """The function that draws an explanation in the named way."""
    module, function = _RENDERERS[name].split(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found
