"""`suffice demo`: explain a refused loan of the built-in data in seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

_APPLICANT = 62
"""A row whose reading is sensible: refused for a low income, debt and the lack of a guarantor, and
granted with more income and less debt, as the rule that made the data has it."""


@click.command()
@click.option(
    "--html",
    default="suffice-report.html",
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write the report.",
)
@click.option("--serve", is_flag=True, help="Open the explorer on the table instead.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The explorer's port.")
def demo(html: Path, serve: bool, port: int) -> None:
    """Explain one refused loan of a synthetic table, and write an HTML report."""
    from suffice.cli.models import train
    from suffice.cli.output import console, write_html
    from suffice.datasets import loans
    from suffice.explainer import Explainer

    X, y = loans()
    trained = train("extra-trees", X, y)
    screen = console()
    screen.print(
        f"{len(X)} made-up loan applications, {X.shape[1]} features; "
        f"an extra-trees model, {trained.score_text}.\n"
    )
    if serve:
        _open_explorer(trained.model, X, y, port)
        return
    explanation = Explainer(trained.model, X).explain(X.iloc[_APPLICANT])
    screen.print(explanation)
    write_html(explanation, html)


def _open_explorer(model: Any, X: Any, y: Any, port: int) -> None:
    """Serve the explorer on the same table, with a second model and a causal graph."""
    from suffice.cli.models import train
    from suffice.cli.serve import run_explorer
    from suffice.context.causal import CausalModel

    edges = [("age", "income"), ("job", "income"), ("income", "debt"), ("debt", "late payments")]
    run_explorer(
        {"extra-trees": model, "logistic": train("logistic", X, y).model},
        X,
        host="127.0.0.1",
        port=port,
        graph=CausalModel(edges, X),
        opening=_opening_code,
    )


def _opening_code(name: str) -> list[str]:
    return [
        "from suffice.cli.models import train",
        "data, labels = suffice.datasets.loans()",
        f"model = train({name!r}, data, labels).model",
    ]
