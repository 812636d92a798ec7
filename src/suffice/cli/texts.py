"""`suffice explain --text`: one text in place of a row."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from suffice.errors import InputError

if TYPE_CHECKING:
    from suffice.explanation import Explanation

__all__ = ["check_kind", "explain_text"]

_OF_TABLES = ("data", "target", "classes", "train", "row", "references", "engine", "auto_groups")
_OF_TEXTS = ("mask", "unit", "refine")


def check_kind(options: dict[str, Any]) -> None:
    """A text or a row of a table, each with its own options: none is accepted and ignored."""
    of_text = options["text"] is not None
    context = click.get_current_context()
    given = click.core.ParameterSource.DEFAULT
    for name in _OF_TABLES if of_text else _OF_TEXTS:
        if context.get_parameter_source(name) != given:
            option = "--" + name.replace("_", "-")
            what = "with --text" if of_text else "without --text"
            raise InputError(option, f"it {what}", "a text, or a row of a table", "See --help.")
    for name in () if of_text else ("data", "row"):
        if options[name] is None:
            raise click.MissingParameter(param_hint=f"'--{name}'", param_type="option")


def explain_text(options: dict[str, Any], outcome: Any, question: dict[str, Any]) -> Explanation:
    """Explain the text given; with --refine, the words of its best passages."""
    from suffice.cli.model_files import load_model
    from suffice.text import TextExplainer

    if options["model"] is None:
        raise click.MissingParameter(param_hint="'--model'", param_type="option")
    path: Path = options["model"]
    model = load_model(path, options["trust_pickle"], options["trust_types"])
    if path.suffix.lower() == ".onnx":
        model = _Columns(model)
    text: str = options["text"]
    if text == "-":
        text = _standard_input()
    masks: tuple[str, ...] = options["mask"]
    explainer = TextExplainer(
        model,
        unit=options["unit"],
        mask=masks[0] if len(masks) == 1 else list(masks) or "auto",
        n_references=options["n_references"],
        outcome=_class_of(model, outcome, text) if isinstance(outcome, str) else outcome,
        random_state=options["seed"],
    )
    explanation = explainer.explain(text, **question)
    if not options["refine"] or _by_words(explanation):
        return explanation
    return explainer.refine(explanation, **question)


def _standard_input() -> str:
    try:
        return sys.stdin.read().rstrip("\n")
    except UnicodeDecodeError as error:
        got = f"standard input that is not {error.encoding}"
        raise InputError("--text", got, "text that the terminal's encoding can read") from error
    except (AttributeError, OSError, ValueError) as error:  # none, or closed
        raise InputError("--text", "a closed standard input", "a text, or one to read") from error


def _by_words(explanation: Explanation) -> bool:
    """Is there nothing to look closer at, as in a text short enough to be searched by its words?"""
    from suffice.explanation.subject import TextSubject
    from suffice.text.spans import words

    subject = explanation.subject
    assert isinstance(subject, TextSubject)
    return all(len(words(subject.text[a:b])) < 2 for a, b in subject.spans)


class _Columns:
    """An ONNX file takes texts as a column of strings."""

    def __init__(self, model: Any) -> None:
        self.__name__ = getattr(model, "__name__", type(model).__name__)
        self._model = model

    def predict(self, texts: list[str]) -> Any:
        """One label or value per text."""
        column = np.empty((len(texts), 1), dtype=object)
        column[:, 0] = texts
        return self._model.predict(column)


def _class_of(model: Any, name: str, text: str) -> Any:
    """A class is typed as text; the model may know it as a number or a truth value."""
    classes = getattr(model, "classes_", None)
    if classes is None:  # then at least its answer tells what kind of label it gives
        kind = np.asarray(model.predict([text])).dtype.kind
        return int(name) if kind in "iu" and name.lstrip("-").isdigit() else name
    label = {str(c): c for c in classes}.get(name, name)
    return label.item() if hasattr(label, "item") else label
