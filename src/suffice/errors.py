"""Errors a user can act on: the argument, what was given, what is allowed, and a hint."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = [
    "InputError",
    "ModelError",
    "NotVisitedError",
    "SufficeError",
    "did_you_mean",
    "one_line",
    "shorten",
]


class SufficeError(Exception):
    """Anything suffice raises on purpose."""


class InputError(SufficeError, ValueError):
    """An argument that cannot be used as given.

    >>> print(InputError("tau", 1.5, "a number in (0, 1]"))
    tau: got 1.5; allowed: a number in (0, 1].
    """

    def __init__(self, argument: str, got: object, allowed: str, hint: str = "") -> None:
        self.argument = argument
        self.got = got
        text = got if isinstance(got, str) else shorten(got)
        self._parts = argument, text, allowed, hint
        super().__init__(f"{argument}: got {text}; allowed: {allowed}." + (f" {hint}" * bool(hint)))

    def __reduce__(self) -> tuple[type[InputError], tuple[str, ...]]:
        # An error raised in another process must arrive here.
        return type(self), self._parts


class ModelError(SufficeError, RuntimeError):
    """The model raised, or answered with something that is not a prediction per row."""


class NotVisitedError(SufficeError, LookupError):
    """A subset was asked for that the search, bounded by the caller, never evaluated."""


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """Say the nearest known name, or list what is known.

    >>> did_you_mean("Agee", ["Age", "Job"])
    "Did you mean 'Age'?"
    """
    names = [str(k) for k in known]
    close = get_close_matches(str(name), names, n=1)
    if close:
        return f"Did you mean {close[0]!r}?"
    listed = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    return f"Known: {listed}."


def shorten(value: object, limit: int = 80) -> str:
    """A value's repr on one line, cut where it would drown the message."""
    try:
        return one_line(repr(value), limit)
    except Exception:  # a repr of the user's own that raises must not hide the error
        return f"<{type(value).__name__}>"


def one_line(text: object, limit: int = 300) -> str:
    r"""Another's message on one line, cut where it would drown ours.

    >>> one_line("a dtype\n   of many lines", 12)
    'a dtype of …'
    """
    line = " ".join(str(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
