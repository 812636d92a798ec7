"""`suffice explain`: one row of a table, or one text, explained."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from suffice.cli.output import tell
from suffice.cli.training import MODELS
from suffice.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from suffice.explanation import Explanation, View

__all__ = ["explain"]

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_OUT = click.Path(dir_okay=False, allow_dash=True, path_type=Path)


@click.command()
@click.option("--data", type=_FILE, help="The table: .csv, .parquet or .json.")
@click.option("--target", metavar="COL", help="The label's column: kept from the model.")
@click.option("--model", type=_FILE, help="A fitted model: .skops or .onnx.")
@click.option(
    "--train",
    type=click.Choice(MODELS),
    help="Or train one on the table: on classes, or on numbers.",
)
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
    help="Of a text: what is held or replaced.",
)
@click.option(
    "--mask",
    multiple=True,
    metavar="TOKEN",
    help="Of a text: what replaces a word ('auto', 'delete', or a token; again for more).",
)
@click.option("--refine", is_flag=True, help="Of sentences or passages: look into the best ones.")
@click.option("--tau", default=0.9, show_default=True, help="The share a set must reach.")
@click.option("--alpha", type=float, help="Test each share at this level.")
@click.option(
    "--adjust",
    type=click.Choice(["none", "bonferroni", "holm", "bh"]),
    default="none",
    help="Multiple testing, with --alpha.",
)
@click.option("--outcome", metavar="CLASS", help="The class to ask about; else the predicted one.")
@click.option("--at-least", type=float, metavar="T", help="For numbers: the outcome is >= T.")
@click.option("--at-most", type=float, metavar="T", help="For numbers: the outcome is <= T.")
@click.option(
    "--references", type=click.Choice(["opposite", "all"]), default="opposite", show_default=True
)
@click.option("--n-references", type=int, metavar="N", help="Use at most N of them.")
@click.option(
    "--view",
    type=click.Choice(["keep", "flip", "both"]),
    default="both",
    help="What to show on the screen and in the table.",
)
@click.option(
    "--search",
    type=click.Choice(["auto", "exhaustive", "bounds", "pruned", "greedy"]),
    default="auto",
    show_default=True,
    help="Every set where that takes seconds, else the best found in time; or as named: count "
    "every set; decide sets in bulk; decide each with few rows; look greedily for larger ones.",
)
@click.option(
    "--engine",
    type=click.Choice(["auto", "blackbox", "additive", "trees"]),
    default="auto",
    show_default=True,
    help="How outcomes are worked out.",
)
@click.option("--auto-groups", is_flag=True, help="Join correlated columns into one feature each.")
@click.option("--max-size", type=int, help="Search sets of at most this many features.")
@click.option("--budget", type=int, help="Ask the model about at most this many rows.")
@click.option("--time-limit", type=float, help="Stop after about this many seconds.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--json", "json_path", type=_OUT, help="Write the explanation ('-': to stdout).")
@click.option("--csv", "csv_path", type=_OUT, help="Write the factors as a table.")
@click.option("--html", "html_path", type=_OUT, help="Write the report.")
@click.option("--trust-pickle", is_flag=True, help="Open a pickled model: it can run any code.")
@click.option("--trust-type", "trust_types", multiple=True, help="Trust a type in a .skops file.")
def explain(**options: Any) -> None:
    """Explain one row or text: what suffices to keep its prediction, and what to flip it."""
    from suffice.cli.output import as_csv, console, write_html, write_text
    from suffice.cli.texts import check_kind, explain_text

    check_kind(options)
    outputs = [options[k] for k in ("json_path", "csv_path", "html_path")]
    quiet = sum(str(path) == "-" for path in outputs)
    if quiet > 1:
        raise InputError("--json, --csv, --html", "- more than once", "one of them on stdout")
    asked = ("tau", "alpha", "adjust", "search", "max_size", "budget", "time_limit")
    question = {k: options[k] for k in asked}
    if options["text"] is not None:
        explanation = explain_text(options, _event(options), question)
    else:
        explanation = _explain_row(options, question)

    if not quiet:
        console().print(_screen(_chosen_view(explanation, options["view"])))
    if options["json_path"]:
        write_text(explanation.to_json(), options["json_path"])
    if options["csv_path"]:
        frame = explanation.to_frame()
        if options["view"] != "both":
            frame = frame[frame["view"] == options["view"]]
        write_text(as_csv(frame), options["csv_path"])
    if options["html_path"]:
        write_html(explanation, options["html_path"])


def _explain_row(options: dict[str, Any], question: dict[str, Any]) -> Explanation:
    from suffice.explainer import Explainer

    data, labels = _read_table(options["data"], options["target"])
    _hint_at_identifiers(data)
    model = _model(options, data, labels)
    if options["row"] >= len(data):
        raise InputError("--row", options["row"], f"0 to {len(data) - 1}")
    explainer = Explainer(
        model,
        data,
        outcome=_outcome(options, model, data),
        references=options["references"],
        n_references=options["n_references"],
        groups="auto" if options["auto_groups"] else None,
        random_state=options["seed"],
        engine=options["engine"],
    )
    try:
        return explainer.explain(data.iloc[[options["row"]]], **question)
    except InputError as error:
        if error.argument != "outcome" or _event(options) is not None:
            raise
        raise InputError(
            "--at-least, --at-most", "neither, of a model that gives numbers", "one of the two"
        ) from error


def _hint_at_identifiers(data: Any) -> None:
    """A column that names rows explains nothing: whoever knows it knows the row."""
    from suffice.tables import as_table, identifier_columns

    found = identifier_columns(as_table(data))
    if found:
        names = ", ".join(map(repr, found))
        tell(f"{names} seems to name rows, not to describe them: leave such columns out.")


def _read_table(path: Path, target: str | None) -> tuple[Any, Any]:
    import pandas as pd

    readers: dict[str, Any] = {
        ".csv": pd.read_csv,
        ".parquet": pd.read_parquet,
        ".json": pd.read_json,
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise InputError("--data", path.name, "a .csv, .parquet or .json file")
    try:
        frame = reader(path)
    except Exception as error:  # whatever a bad file makes pandas raise
        raise InputError("--data", f"{path.name}: {error}", "a readable table") from error
    if not len(frame):
        raise InputError("--data", f"{path.name}, which has no rows", "a table with rows")
    if len(frame.columns) and str(frame.columns[0]) == "Unnamed: 0":
        tell("The first column has no name: it is taken as the rows' index.")
        frame = frame.iloc[:, 1:]
    if target is None:
        return frame, None
    if target not in frame.columns:
        hint = did_you_mean(target, frame.columns)
        raise InputError("--target", f"unknown column {target!r}", "a column of the table", hint)
    return frame.drop(columns=target), frame[target]


def _model(options: dict[str, Any], data: Any, labels: Any) -> Any:
    if (options["model"] is None) == (options["train"] is None):
        raise InputError("--model, --train", "both or neither", "exactly one of the two")
    if options["model"] is not None:
        from suffice.cli.model_files import load_model

        return load_model(options["model"], options["trust_pickle"], options["trust_types"])
    if labels is None:
        raise InputError("--target", "nothing", "the label's column, with --train")
    from suffice.cli.training import train

    valued = options["at_least"] is not None or options["at_most"] is not None
    trained = train(options["train"], data, labels, options["seed"], numbers=valued or None)
    tell(f"Trained {options['train']}: {trained.success}.")
    return trained.model


def _event(options: dict[str, Any]) -> Any:
    """The outcome asked about: an event, a class as it was typed, or None."""
    from suffice.target import at_least, at_most

    given = {k: options[k] for k in ("outcome", "at_least", "at_most") if options[k] is not None}
    if len(given) > 1:
        names = ", ".join("--" + k.replace("_", "-") for k in given)
        raise InputError("outcome", names, "one of them at most")
    if "at_least" in given:
        return at_least(given["at_least"])
    if "at_most" in given:
        return at_most(given["at_most"])
    return given.get("outcome")


def _outcome(options: dict[str, Any], model: Any, data: Any) -> Any:
    event = _event(options)
    if not isinstance(event, str):
        return event
    # A class is typed as text; the model may know it as a number or a truth value.
    from suffice.models import as_model, fitted_columns
    from suffice.tables import as_table

    classes = getattr(model, "classes_", None)
    if classes is None:
        wrapped, _ = as_model(model, fitted_columns(model, as_table(data)))
        classes = wrapped.classes or ()
    label = {str(c): c for c in classes}.get(event, event)
    return label.item() if hasattr(label, "item") else label


def _screen(chosen: Explanation | View) -> Any:
    """The answer as the terminal shows it, with options where Python has names."""
    from suffice.cli.names import OPTIONS
    from suffice.report.terminal import render
    from suffice.summary import Ways, summarise

    ways = Ways(
        lower="--tau {tau}",
        factors="--csv and --json have them all",
        values="--json has them all",
        left_out="--json has them",
        names="--json has them in full",
        refine="see --refine",
        arguments=OPTIONS,
    )
    return render(summarise(chosen, ways))


def _chosen_view(explanation: Explanation, view: str) -> Explanation | View:
    if view == "both":
        return explanation
    return explanation.keep if view == "keep" else explanation.flip
