"""`suffice explain`: explain one row of a table, or one text."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from suffice.cli.options import (
    CHANGE_NAMES,
    FILE_PATH,
    LEAVE_OUT_OPTION,
    OPTION_NAMES,
    QUESTION_NAMES,
    change_options,
    contrast_from_options,
    contrast_options,
    leave_columns_out,
    make_explainer,
    model_options,
    open_model,
    option_name,
    outcome_option_error,
    question_options,
    read_table,
    trust_options,
    warn_about_identifiers,
)
from suffice.errors import InputError

if TYPE_CHECKING:
    from suffice.explanation import Explanation, View

_OUTPUT_PATH = click.Path(dir_okay=False, allow_dash=True, path_type=Path)


@click.command()
@click.option("--data", type=FILE_PATH, help="The table: .csv, .parquet or .json.")
@model_options
@LEAVE_OUT_OPTION
@click.option(
    "--row",
    type=click.IntRange(min=0),
    metavar="N",
    help="The row to explain, from 0.",
)
@click.option("--text", help="Explain a text instead of a row ('-': read it from stdin).")
@click.option(
    "--unit",
    type=click.Choice(["auto", "word", "sentence", "passage"]),
    default="auto",
    show_default=True,
    help="For a text: the units that are held or replaced.",
)
@click.option(
    "--mask",
    multiple=True,
    metavar="TOKEN",
    help="For a text: what replaces a word ('auto', 'delete', or a token; repeat for more).",
)
@click.option("--refine", is_flag=True, help="For passages: explain the words of the best ones.")
@contrast_options
@change_options
@click.option(
    "--view",
    type=click.Choice(["keep", "flip", "both"]),
    default="both",
    help="The view to show on the screen and in the table.",
)
@question_options
@click.option("--time-limit", type=float, help="Stop after about S seconds.")
@click.option(
    "--json", "json_path", type=_OUTPUT_PATH, help="Write the explanation ('-': to stdout)."
)
@click.option("--csv", "csv_path", type=_OUTPUT_PATH, help="Write the factors as a table.")
@click.option("--html", "html_path", type=_OUTPUT_PATH, help="Write the report.")
@trust_options
def explain(**options: Any) -> None:
    """Explain one row or text: which features suffice to keep its prediction, and to flip it."""
    from suffice.cli.output import console, interrupts_print, write_html, write_output
    from suffice.tables.conversion import as_csv

    _check_text_options(options)
    outputs = [options[k] for k in ("json_path", "csv_path", "html_path")]
    # With output on stdout nothing else may be printed there.
    quiet = sum(str(path) == "-" for path in outputs)
    if quiet > 1:
        raise InputError("--json, --csv, --html", "- more than once", "one of them on stdout")
    question = {name: options[name] for name in (*QUESTION_NAMES, "time_limit")}
    with interrupts_print(
        "Stopped: nothing was explained. --budget N, --max-size K or --time-limit S ends a search "
        "with what it has found."
    ):
        if options["text"] is not None:
            explanation = _explain_text(options, question)
        else:
            explanation = _explain_row(options, question)

    if not quiet:
        console().print(_render(_chosen_view(explanation, options["view"])))
    if options["json_path"]:
        write_output(explanation.to_json(), options["json_path"])
    if options["csv_path"]:
        frame = explanation.to_frame()
        if options["view"] != "both":
            frame = frame[frame["view"] == options["view"]]
        write_output(as_csv(frame), options["csv_path"])
    if options["html_path"]:
        write_html(explanation, options["html_path"])


def _explain_row(options: dict[str, Any], question: dict[str, Any]) -> Explanation:
    data, labels = read_table(options["data"], options["target"])
    data = leave_columns_out(data, options["leave_out"])
    warn_about_identifiers(data)
    explainer = make_explainer(options, open_model(options, data, labels), data)
    if options["row"] >= len(data):
        raise InputError("--row", options["row"], f"0 to {len(data) - 1}")
    try:
        return explainer.explain(data.iloc[[options["row"]]], **question)
    except InputError as error:
        raise outcome_option_error(error, options) from error


def _render(chosen: Explanation | View) -> Any:
    """Return the text for the terminal, with options in place of Python arguments."""
    from suffice.report.render_explanation import TerminalScreen
    from suffice.summary import ReaderHints, summarise

    hints = ReaderHints(
        lower="--tau {tau}",
        factors="--csv and --json have them all",
        values="--json has them all",
        left_out="--json has them",
        names="--json has them in full",
        refine="see --refine",
        arguments=OPTION_NAMES,
    )
    return TerminalScreen(summarise(chosen, hints))


def _chosen_view(explanation: Explanation, view: str) -> Explanation | View:
    if view == "both":
        return explanation
    return explanation.keep if view == "keep" else explanation.flip


# -- texts ---------------------------------------------------------------------------------


_TABLE_OPTIONS = (
    "data",
    "target",
    "classes",
    "train",
    "row",
    "references",
    "engine",
    "auto_groups",
    "leave_out",
    *CHANGE_NAMES,
)
_TEXT_OPTIONS = ("mask", "unit", "refine")


def _check_text_options(options: dict[str, Any]) -> None:
    """Raise for options of a row beside --text, and the reverse: no option is ignored."""
    is_text = options["text"] is not None
    context = click.get_current_context()
    default = click.core.ParameterSource.DEFAULT
    for name in _TABLE_OPTIONS if is_text else _TEXT_OPTIONS:
        # The source, not the value: an option may be given with its default.
        if context.get_parameter_source(name) != default:
            problem = "cannot be combined with --text" if is_text else "needs --text"
            raise click.UsageError(f"{option_name(name)} {problem}.")
    for name in () if is_text else ("data", "row"):
        if options[name] is None:
            raise click.MissingParameter(param_hint=f"'--{name}'", param_type="option")


def _explain_text(options: dict[str, Any], question: dict[str, Any]) -> Explanation:
    """Return the explanation of a text; with --refine, of the words of its best passages."""
    from suffice.cli.models import load_model
    from suffice.text import TextExplainer
    from suffice.text.text_model import TextColumnModel

    contrast = contrast_from_options(options)
    outcome = contrast.event()
    if options["model"] is None:
        raise click.MissingParameter(param_hint="'--model'", param_type="option")
    path: Path = options["model"]
    model = load_model(path, options["trust_pickle"], options["trust_types"])
    if path.suffix.lower() == ".onnx":
        model = TextColumnModel(model)
    text: str = options["text"]
    if text == "-":
        # Read as late as this, so that a wrong model is reported without waiting for input.
        text = _read_standard_input()
    if isinstance(outcome, str):
        outcome = contrast.event(_classes_of(model, text, outcome))
    masks: tuple[str, ...] = options["mask"]
    explainer = TextExplainer(
        model,
        unit=options["unit"],
        mask=masks[0] if len(masks) == 1 else list(masks) or "auto",
        n_references=options["n_references"],
        outcome=outcome,
        random_state=options["seed"],
    )
    explanation = explainer.explain(text, **question)
    if not options["refine"] or _has_only_single_words(explanation):
        return explanation
    return explainer.refine(explanation, **question)


def _read_standard_input() -> str:
    try:
        return sys.stdin.read().rstrip("\n")
    except UnicodeDecodeError as error:
        got = f"standard input that is not {error.encoding}"
        raise InputError("--text", got, "text that the terminal's encoding can read") from error
    except (AttributeError, OSError, ValueError) as error:  # there is none, or it is closed
        raise InputError("--text", "a closed standard input", "a text, or one to read") from error


def _has_only_single_words(explanation: Explanation) -> bool:
    """Return whether every unit of the text is one word, so that nothing is left to refine."""
    from suffice.explanation.schema import TextSubject
    from suffice.text.segmentation import words

    subject = explanation.subject
    assert isinstance(subject, TextSubject)
    return all(len(words(subject.text[a:b])) < 2 for a, b in subject.spans)


def _classes_of(model: Any, text: str, name: str) -> Any:
    """Return the classes of a text model; for one without `classes_`, the class typed as `name`.

    Without `classes_` a prediction shows whether labels are integers, which the digits then name.
    """
    classes = getattr(model, "classes_", None)
    if classes is not None:
        return classes
    kind = np.asarray(model.predict([text])).dtype.kind
    return [int(name)] if kind in "iu" and name.lstrip("-").isdigit() else ()
