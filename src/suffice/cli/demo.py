"""`suffice demo`: a refused loan, explained in seconds on data inside the package."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["demo"]


@click.command()
@click.option(
    "--html",
    default="suffice-report.html",
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write the report.",
)
def demo(html: Path) -> None:
    """Explain one refused loan of a made-up table, and write an HTML report."""
    from suffice.cli.output import console, write_html
    from suffice.cli.training import train
    from suffice.datasets import loans
    from suffice.explainer import Explainer

    X, y = loans()
    trained = train("extra-trees", X, y)
    screen = console()
    screen.print(
        f"{len(X)} made-up loan applications, {X.shape[1]} features; "
        f"an extra-trees model, {trained.success}.\n"
    )
    explanation = Explainer(trained.model, X).explain(X.iloc[16])
    screen.print(explanation)
    write_html(explanation, html)
