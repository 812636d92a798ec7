"""Exceptions and error messages: `InputError` (argument, got, allowed, hint), did-you-mean."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from suffice.formatting import printable


class SufficeError(Exception):
    """Base class of the errors of this package."""

    def at(self, place: str) -> SufficeError:
        """Return the same error, with where it happened said first.

        >>> raise ModelError("broken raised KeyError").at("row 17")
        Traceback (most recent call last):
        suffice.errors.ModelError: row 17: broken raised KeyError
        """
        return type(self)(f"{place}: {self}")


class InputError(SufficeError, ValueError):
    """An argument that cannot be used as given.

    >>> print(InputError("tau", 1.5, "a number in (0, 1]"))
    tau: got 1.5; allowed: a number in (0, 1].

    `argument`, `got`, `allowed` and `hint` (a call that works, or "") are attributes.
    """

    def __init__(self, argument: str, got: object, allowed: str, hint: str = "") -> None:
        self.argument = argument
        self.got = got
        # A name of ten thousand letters must not drown what is to be done about it.
        text = one_line(got, 400) if isinstance(got, str) and got.strip() else short_repr(got)
        self.hint = one_line(hint, 600)
        self.allowed = one_line(allowed, 600)
        self._parts = argument, text, self.allowed, self.hint
        super().__init__(self.text())

    def text(self, names: Mapping[str, str] | None = None) -> str:
        """Return the message; `names` maps arguments to the names of a command's options.

        >>> InputError("max_size", 0, "1 or more", "Or leave max_size out.").text(
        ...     {"max_size": "--max-size"}
        ... )
        '--max-size: got 0; allowed: 1 or more. Or leave --max-size out.'
        """
        argument, text, allowed, hint = self._parts
        if names:
            argument = names.get(argument, argument)
            allowed, hint = (with_other_names(words, names) for words in (allowed, hint))
        return f"{argument}: got {text}; allowed: {allowed}." + f" {hint}" * bool(hint)

    def at(self, place: str) -> InputError:
        """Return the error with the place where it happened first."""
        argument, *rest = self._parts
        return InputError(f"{place}: {argument}", *rest)

    def __reduce__(self) -> tuple[type[InputError], tuple[str, ...]]:
        # An error raised in another process must arrive here.
        return type(self), self._parts


class ModelError(SufficeError, RuntimeError):
    """The model raised, or answered with something that is not a prediction per row.

    >>> from suffice import Explainer
    >>> Explainer(lambda rows: ["yes"], [[0, 1], [1, 0]])
    Traceback (most recent call last):
        ...
    suffice.errors.ModelError: <lambda> returned shape (1,) for 2 rows: ...
    """


class LostRowsError(SufficeError, RuntimeError):
    """Rows that end every process that is given them; the answers to all others are in `found`.

    >>> error = LostRowsError("1 row ends every process", found=["an answer", None], lost=[1])
    >>> error.lost, error.found
    ((1,), ['an answer', None])
    >>> error.at("table 2").lost
    (1,)
    """

    def __init__(self, message: str, found: Sequence[Any] = (), lost: Sequence[int] = ()) -> None:
        super().__init__(message)
        self.found = list(found)
        """One for each row, in order; None for a row that is lost."""
        self.lost = tuple(lost)
        """The numbers of the rows that are lost, counted from 0."""

    def at(self, place: str) -> LostRowsError:
        """Return the same error, with where it happened said first."""
        return LostRowsError(f"{place}: {self}", self.found, self.lost)


class MissingPackageError(SufficeError, ImportError):
    """An optional package is not installed; `missing_package` makes the message."""


def missing_package(purpose: str, package: str, extra: str) -> MissingPackageError:
    """Return an error that names the package to install, and the extra that installs it.

    >>> print(missing_package("Storing explanations", "pyarrow", "parquet"))
    Storing explanations needs pyarrow. Install it with: pip install "suffice[parquet]"
    """
    return MissingPackageError(
        f'{purpose} needs {package}. Install it with: pip install "suffice[{extra}]"'
    )


class NotVisitedError(SufficeError, LookupError):
    """A subset was requested that the search, bounded by the caller, did not evaluate.

    >>> import numpy as np
    >>> import pandas as pd
    >>> from suffice import Explainer
    >>> people = pd.DataFrame({"income": [20, 30, 60, 70], "debt": [9, 2, 8, 1]})
    >>> def grant(rows):
    ...     return np.where(rows["income"] - 4 * rows["debt"] > 20, "granted", "refused")
    >>> e = Explainer(grant, people).explain({"income": 25, "debt": 8}, search="pruned")
    >>> e.keep.sufficiency(["income"])
    Traceback (most recent call last):
        ...
    suffice.errors.NotVisitedError: this subset of 1 features was not evaluated: ...
    """


def did_you_mean(name: object, known: Iterable[object], *, or_list: bool = True) -> str:
    """Suggest the nearest known name; without one, list the known ones unless `or_list` is False.

    >>> did_you_mean("Agee", ["Age", "Job"])
    "Did you mean 'Age'?"
    """
    names = [one_line(k, 60) for k in known]
    close = get_close_matches(
        one_line(name) if isinstance(name, str) else short_repr(name), names, n=1
    )
    if close:
        return f"Did you mean {close[0]!r}?"
    if not or_list:
        return ""
    listed = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    return f"Known: {listed}."


def short_repr(value: object, limit: int = 80) -> str:
    """Return a value's repr on one line, cut to `limit` characters."""
    try:
        return one_line(repr(value), limit)
    except Exception:  # a repr of a user's class that raises must not hide the error
        return f"<{type(value).__name__}>"


def with_other_names(words: str, names: Mapping[str, str]) -> str:
    """Return the text with other names for arguments; a word like "data" is one only before "=".

    A flag of the command takes no value: "resume=True" becomes "--resume".
    """
    for name, other in names.items():
        if other.startswith("--"):
            words = re.sub(rf"(?<![\w-]){re.escape(name)}=True\b", other, words)
        ending = r"\b" if "_" in name else r"(?==)"
        words = re.sub(rf"(?<![\w-]){re.escape(name)}{ending}", other, words)
    return words


def one_line(text: object, limit: int = 300) -> str:
    r"""Return a text, such as another error's message, on one line, cut to `limit` characters.

    >>> one_line("a dtype\n   of many lines", 12)
    'a dtype of …'
    """
    line = printable(" ".join(str(text).split()))
    return line if len(line) <= limit else line[: limit - 1] + "…"
