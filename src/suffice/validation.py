"""Validation of arguments: a value of the right type or an `InputError`; reads text and YAML files.

One meaning everywhere: True is no number, a NumPy number is as good as Python's, and a word must be
a word: a list or an array in its place is named, not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar, get_args

import numpy as np

from suffice.errors import InputError, SufficeError, did_you_mean, one_line
from suffice.typing import Adjustment

T = TypeVar("T", bound=str)


def check_integer(
    argument: str, given: object, least: int = 1, most: int | None = None, *, also: str = ""
) -> int:
    """Return an integer from `least` to `most`; `also` names what else the argument may be.

    >>> check_integer("n", np.int64(3))
    3
    >>> check_integer("n", True)
    Traceback (most recent call last):
    suffice.errors.InputError: n: got True; allowed: a whole number >= 1.
    """
    # Past 2^63 nothing here can count, and NumPy refuses in words of its own.
    highest = 2**63 - 1 if most is None else most
    number = isinstance(given, int | np.integer) and not isinstance(given, bool | np.bool_)
    if number and least <= given <= highest:  # type: ignore[operator]
        return int(given)  # type: ignore[call-overload, no-any-return]
    upper = "" if most is None else f" and <= {most}"
    allowed = f"{also} or a whole" if also else "a whole"
    raise _wrong_value(argument, given, f"{allowed} number >= {least}{upper}")


def check_number(
    argument: str,
    given: object,
    allowed: str = "a number",
    *,
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
) -> float:
    """Return a finite number; > `above`, >= `least` and <= `most` where they are given.

    >>> check_number("max_cost", 3, least=0)
    3.0
    >>> check_number("max_cost", "3")
    Traceback (most recent call last):
    suffice.errors.InputError: max_cost: got '3'; allowed: a number.
    """
    if isinstance(given, int | float | np.number) and not isinstance(given, bool | np.bool_):
        try:
            value = float(given)  # a complex one raises
        except (TypeError, OverflowError):
            value = np.nan
        fits = (above is None or value > above) and (least is None or value >= least)
        if isfinite(value) and fits and (most is None or value <= most):
            return value
    raise _wrong_value(argument, given, allowed)


def check_tau(given: object) -> float:
    """Return a threshold τ, in (0, 1]."""
    return check_number("tau", given, "a number in (0, 1]", above=0, most=1)


def check_alpha(given: object) -> float | None:
    """Return a level α of a test, in (0, 1); None: no test."""
    if given is None:
        return None
    allowed = "None or a number in (0, 1)"
    value = check_number("alpha", given, allowed, above=0, most=1)
    if value == 1:
        raise InputError("alpha", given, allowed)
    return value


def check_alpha_or_same(given: object, present: float | None) -> float | None:
    """Return another level α, None for no test, or for "same" the present one.

    >>> (check_alpha_or_same("same", 0.05),
    ...  check_alpha_or_same(None, 0.05), check_alpha_or_same(0.1, 0.05))
    (0.05, None, 0.1)
    """
    if isinstance(given, str):
        check_choice("alpha", given, ["same"], also="None or a number in (0, 1)")
        return present
    return check_alpha(given)


def check_choice(argument: str, given: object, options: Iterable[T], also: str = "") -> T:
    """Return one of the options; `also` names what else the argument may be.

    >>> check_choice("search", "greedy", ("exhaustive", "greedy"))
    'greedy'
    >>> check_choice("search", ["greedy"], ("exhaustive", "greedy"))
    Traceback (most recent call last):
    suffice.errors.InputError: search: got ['greedy']; allowed: 'exhaustive' or 'greedy'.
    """
    known = tuple(options)
    if isinstance(given, str):
        for word in known:
            if word == given:
                return word
    listed = [f"'{word}'" for word in known] + ([also] if also else [])
    allowed = " or ".join(filter(None, [", ".join(listed[:-1]), listed[-1]]))
    hint = did_you_mean(given, known, or_list=False) if isinstance(given, str) else ""
    raise _wrong_value(argument, given, allowed, hint)


def check_bool(argument: str, given: object) -> bool:
    """Return True or False; raise for texts and numbers that would count as one of them.

    >>> check_bool("monotone", "no")
    Traceback (most recent call last):
    suffice.errors.InputError: monotone: got 'no'; allowed: True or False.
    """
    if isinstance(given, bool | np.bool_):
        return bool(given)
    raise _wrong_value(argument, given, "True or False")


def check_string(argument: str, given: object, allowed: str = "a text") -> str:
    """Return a text, which may be empty.

    >>> check_string("column", "age")
    'age'
    >>> check_string("column", b"age", "the name of a column")
    Traceback (most recent call last):
    suffice.errors.InputError: column: got b'age'; allowed: the name of a column.
    """
    if isinstance(given, str):
        return str(given)
    raise InputError(argument, given, allowed)


def check_name_list(
    argument: str, given: object, allowed: str = "a name or a list of names"
) -> list[str]:
    """Return a list of names; a text is one name and never its letters.

    >>> check_name_list("immutable", "age"), check_name_list("immutable", ("age", "job"))
    (['age'], ['age', 'job'])
    """
    if isinstance(given, str):
        return [given]
    if isinstance(given, Iterable) and not isinstance(given, bytes):
        # An array without dimensions has `__iter__`, but cannot be iterated over.
        found = list(np.atleast_1d(given) if isinstance(given, np.ndarray) else given)
        if all(isinstance(name, str) for name in found):
            return [str(name) for name in found]
    raise InputError(argument, given, allowed)


def call_user_function(
    argument: str, function: Callable[..., Any], allowed: str, *given: Any, about: str = ""
) -> Any:
    """Call a user's function, and turn what it raises into an `InputError` about the argument.

    `about` is what it was called for: "for column 'age'".

    >>> call_user_function("cost", lambda x: 1 / x, "a function x -> cost", 0)
    Traceback (most recent call last):
    suffice.errors.InputError: cost: got a function that raised ZeroDivisionError: division by zero; allowed: a function x -> cost.
    """  # noqa: E501 - the message as it is printed
    try:
        return function(*given)
    except SufficeError:
        raise
    except (Exception, SystemExit) as error:  # a user's function must not end the program
        why = one_line(error, 200)
        got = f"a function that raised {type(error).__name__}" + f" {about}" * bool(about)
        got += f": {why}" if why else ""
        raise InputError(argument, got, allowed) from error


def _wrong_value(argument: str, given: object, allowed: str, hint: str = "") -> InputError:
    """Return the error for a value; texts are quoted, so they differ from words of the message."""
    return InputError(argument, repr(given) if isinstance(given, str) else given, allowed, hint)


def read_text_file(argument: str, path: Path) -> str:
    """Return the text of a UTF-8 file."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(argument, f"{path} ({error})", "a readable file") from error


def read_yaml_file(argument: str, path: Path, instead: str) -> Any:
    """Return the content of a YAML file; `instead` is a format that needs no pyyaml."""
    try:
        import yaml
    except ImportError as error:
        hint = f"pip install pyyaml, or write it as {instead}."
        raise InputError(argument, path.name, f"a {instead} file", hint) from error
    try:
        return yaml.safe_load(read_text_file(argument, path))
    except yaml.YAMLError as error:
        raise InputError(argument, f"{path.name}: {error}", "valid YAML") from error


def check_adjustment(adjustment: object, alpha: float | None) -> Adjustment:
    """Raise unless the adjustment is one of those known, and there is a test to adjust."""
    known: tuple[Adjustment, ...] = get_args(Adjustment)
    chosen = check_choice("adjust", adjustment, known)
    if alpha is None and chosen != "none":
        raise InputError("adjust", f"{chosen!r} without alpha", "'none'", "Set alpha as well.")
    return chosen
