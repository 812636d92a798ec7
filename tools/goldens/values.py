"""Values as texts that can be compared: without what differs from one run to the next."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from rich.console import Console

from suffice import Result

VOLATILE: dict[str, Any] = {
    "created": "2000-01-01T00:00:00Z",
    "seconds": 0.0,
    "model_seconds": 0.0,
    "exhaustive_seconds": 0.0,
    "rows_predicted": 0,  # equal rows are looked for only where that is measured to pay
    "versions": {"suffice": "0"},
    "more": [],  # calls that a plan suggests, by how long they are predicted to take
}
"""By field of a stored result: the constant that takes the place of what differs between runs."""


Calls = Iterator[tuple[str, Callable[[], Any]]]
"""Names of goldens, each with the call that gives the value."""
Forms = Iterator[tuple[str, Callable[[], str]]]
"""Forms of one value, each with the call that makes it."""


def briefly(value: Any) -> Forms:
    """Yield a result as JSON and as text; any other value as one text."""
    if not isinstance(value, Result):
        yield "value", partial(plain, value)
        return
    result = frozen(value)
    yield "json", lambda: layout(json.loads(result.to_json()))
    yield "text", partial(str, result)


def fully(value: Any) -> Forms:
    """Yield a result in every form that it offers; any other value as one text."""
    yield from briefly(value)
    if isinstance(value, Result):
        result = frozen(value)
        yield "repr", partial(repr, result)
        yield "frame", lambda: plain(result.to_frame())
        yield "terminal", partial(screen, result)
        yield "page", lambda: page(result.to_html())
        yield "fragment", lambda: page(result._repr_html_())
        for kind in type(result).plots:
            yield f"figure {kind}", partial(drawing, result, kind)


def screen(result: Result) -> str:
    """Return what a terminal of 100 columns shows of a result."""
    terminal = Console(width=100, file=io.StringIO())
    terminal.print(result)
    return terminal.file.getvalue()


def frozen(result: Result) -> Any:
    """Return a result without its volatile facts: stored, replaced and read back."""
    stored = json.loads(result.to_json())
    replaced = _replaced(stored)
    plan = (stored["content"].get("provenance") or {}).get("plan") or {}
    if plan.get("limits", {}).get("budget"):  # then the same rows are asked on any machine
        replaced["volatile"]["rows_predicted"] = stored["volatile"]["rows_predicted"]
    return type(result).from_json(json.dumps(replaced))


def _replaced(value: Any) -> Any:
    if isinstance(value, list):
        return [_replaced(item) for item in value]
    if not isinstance(value, dict):
        return value
    constants = {k: v for k, v in VOLATILE.items() if isinstance(value.get(k), type(v))}
    return {k: constants[k] if k in constants else _replaced(v) for k, v in value.items()}


def plain(value: Any) -> str:
    """Return any value as a text with a line for each part."""
    if isinstance(value, str):
        return value
    if isinstance(value, pd.DataFrame):
        return value.to_csv()
    return layout(value)


def layout(value: Any) -> str:
    """Return JSON with a line for each part, and other objects by their `repr`."""
    return json.dumps(value, indent=0, ensure_ascii=False, default=repr)


def page(html: str) -> str:
    """Return a page without styles and the front end's script, with a digest of each picture."""
    html = re.sub(r"<(style|script)>.*?</\1>", "", html, flags=re.DOTALL)
    html = re.sub(r"<meta http-equiv[^>]*>", "", html)
    html = re.sub(r"base64,([\w+/=]+)", lambda found: digest(found[1].encode()), html)
    return re.sub(r">\s*<", ">\n<", html)


def drawing(result: Result, kind: str) -> str:
    """Return the texts of a figure, and a digest of its pixels."""
    figure = Figure(figsize=(8, 6), dpi=50)
    canvas = FigureCanvasAgg(figure)
    result.plot(kind, ax=figure)
    canvas.draw()
    texts = [text.get_text() for text in figure.findobj(Text) if text.get_text()]
    return "\n".join([*texts, digest(np.asarray(canvas.buffer_rgba()).tobytes())])


def digest(content: bytes) -> str:
    """Return a hash of bytes."""
    return sha256(content).hexdigest()
