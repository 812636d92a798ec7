"""`suffice explain`: one row of a table, or one text, explained."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from suffice.cli.inputs import (
    asked_event,
    hint_at_identifiers,
    make_explainer,
    read_table,
    told_of_outcome,
)
from suffice.cli.options import (
    FILE,
    contrast_options,
    model_options,
    question_options,
    trust_options,
)
from suffice.errors import InputError

if TYPE_CHECKING:
    from suffice.explanation import Explanation, View

__all__ = ["explain"]

_OUT = click.Path(dir_okay=False, allow_dash=True, path_type=Path)


@click.command()
@click.option("--data", type=FILE, help="The table: .csv, .parquet or .json.")
@model_options
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
@contrast_options()
@click.option(
    "--view",
    type=click.Choice(["keep", "flip", "both"]),
    default="both",
    help="What to show on the screen and in the table.",
)
@question_options
@click.option("--time-limit", type=float, help="Stop after about this many seconds.")
@click.option("--json", "json_path", type=_OUT, help="Write the explanation ('-': to stdout).")
@click.option("--csv", "csv_path", type=_OUT, help="Write the factors as a table.")
@click.option("--html", "html_path", type=_OUT, help="Write the report.")
@trust_options
def explain(**options: Any) -> None:
    """Explain one row or text: what suffices to keep its prediction, and what to flip it."""
    from suffice.cli.output import console, write_html, write_out
    from suffice.cli.texts import check_kind, explain_text
    from suffice.tables.csv import as_csv

    check_kind(options)
    outputs = [options[k] for k in ("json_path", "csv_path", "html_path")]
    quiet = sum(str(path) == "-" for path in outputs)
    if quiet > 1:
        raise InputError("--json, --csv, --html", "- more than once", "one of them on stdout")
    asked = ("tau", "alpha", "adjust", "search", "max_size", "budget", "time_limit")
    question = {k: options[k] for k in asked}
    if options["text"] is not None:
        explanation = explain_text(options, asked_event(options), question)
    else:
        explanation = _explain_row(options, question)

    if not quiet:
        console().print(_screen(_chosen_view(explanation, options["view"])))
    if options["json_path"]:
        write_out(explanation.to_json(), options["json_path"])
    if options["csv_path"]:
        frame = explanation.to_frame()
        if options["view"] != "both":
            frame = frame[frame["view"] == options["view"]]
        write_out(as_csv(frame), options["csv_path"])
    if options["html_path"]:
        write_html(explanation, options["html_path"])


def _explain_row(options: dict[str, Any], question: dict[str, Any]) -> Explanation:
    data, labels = read_table(options["data"], options["target"])
    hint_at_identifiers(data)
    explainer = make_explainer(options, data, labels)
    if options["row"] >= len(data):
        raise InputError("--row", options["row"], f"0 to {len(data) - 1}")
    try:
        return explainer.explain(data.iloc[[options["row"]]], **question)
    except InputError as error:
        raise told_of_outcome(error, options) from error


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
