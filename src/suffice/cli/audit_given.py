"""What analyses are given that no file holds: another model, a way to train one, other tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suffice.checks import names, text
from suffice.cli.other_tools import TOOLS, other_tools
from suffice.errors import InputError

if TYPE_CHECKING:
    from suffice.cli.audited import Audited
    from suffice.cli.declared import Declared

__all__ = ["given_things", "read_analyses"]


def read_analyses(declared: Declared, base: Path) -> dict[str, dict[str, Any]]:
    """The analyses as Python's functions take them, without what must be made first."""
    found = {name: dict(arguments) for name, arguments in declared.analyses.items()}
    for arguments in found.values():
        if isinstance(arguments.get("catalogue"), str):
            arguments["catalogue"] = base / arguments["catalogue"]
    if "compare" in found:
        text("compare: with", found["compare"].pop("with", None), "a model's file, or a folder")
    if "grade" in found:
        _tools(found["grade"].pop("tools", ["shap"]))
    return found


def _tools(given: Any) -> list[str]:
    wanted = names("grade: tools", given)
    for name in wanted:
        if name not in TOOLS:
            raise InputError("grade: tools", repr(name), ", ".join(TOOLS))
    return wanted


def given_things(
    declared: Declared, made: Audited, base: Path, trust: tuple[bool, Sequence[str]], *, all: bool
) -> dict[str, dict[str, Any]]:
    """By analysis; without `all` only what is made in a moment."""
    found: dict[str, dict[str, Any]] = {}
    asked = declared.analyses
    if "compare" in asked and all:
        classes = declared.model.get("classes")
        other = _other(base / asked["compare"]["with"], made, (*trust, classes))
        found["compare"] = {"with": other}
    if "stability" in asked and all:
        if made.labels is None:
            raise InputError("[stability]", "it without labels", "[data] target, to train on")
        found["stability"] = {"fit": _fit(declared, made), "y": made.labels}
    if "grade" in asked:
        tools = _tools(asked["grade"].get("tools", ["shap"]))
        found["grade"] = {"other": other_tools(tools, made.explainer, made.labels)}
    return found


def _other(path: Path, made: Audited, how: tuple[bool, Sequence[str], Any]) -> Any:
    """Another model of the same data and question; or where its explanations are."""
    if path.is_dir():
        return path
    if not path.is_file():
        raise InputError("compare: with", f"{path}, which is not there", "a file or a folder")
    from suffice.cli.model_files import load_model

    return made.explaining(load_model(path, *how))


def _fit(declared: Declared, made: Audited) -> Callable[..., Any] | Any:
    """A way to train the model again: as it was trained, or its own `fit`."""
    kind = declared.model.get("train")
    if kind is not None:
        from suffice.cli.training import train

        numbers = any(name in declared.question for name in ("at_least", "at_most")) or None
        return lambda X, y, seed: train(kind, X, y, seed, numbers=numbers).model
    model = made.explainer.decider.model.original
    if not hasattr(model, "fit"):
        got = "a model that cannot be fitted"
        raise InputError("[stability]", got, "a scikit-learn model, or train in [model]")
    return model
