"""`suffice reproduce`: the paper's tables and figures, one command each."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

__all__ = ["reproduce"]


class _Listing(click.Command):
    """A command whose help lists the experiments, which are known only where they are."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Names"):
            try:
                known = _experiments().EXPERIMENTS
            except click.ClickException as error:
                formatter.write_text(error.message)
            else:
                formatter.write_dl([(name, found.shows) for name, found in known.items()])


@click.command(cls=_Listing)
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@click.option("--quick", is_flag=True, help="A small true slice: seconds, not minutes.")
@click.option(
    "--out",
    default="results",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder to write to.",
)
@click.option(
    "--data",
    default=None,
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder of the data sets [default: SUFFICE_DATA, or beside the repository].",
)
@click.option(
    "--results",
    default=None,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write a page with the verdict on every claim, from all that is in --out.",
)
def reproduce(
    names: tuple[str, ...], quick: bool, out: Path, data: Path | None, results: Path | None
) -> None:
    """Make tables and figures of the paper again, by NAME, or `all` of them.

    Each writes figures (PNG and SVG), tables (CSV and Markdown) and result.json into a folder of
    its own. A run that was interrupted goes on where it stopped.
    """
    from suffice.cli.output import console
    from suffice.errors import InputError, did_you_mean

    lab = _experiments()
    known = list(lab.EXPERIMENTS)
    for name in names:
        if name not in (*known, "all"):
            hint = did_you_mean(name, known)
            raise InputError("NAME", repr(name), "all, " + ", ".join(known), hint)
    chosen = known if "all" in names else list(dict.fromkeys(names))
    home = data or import_home()
    screen = console()
    for name in chosen:
        record = lab.run(name, home, out, quick)
        screen.print(f"\n{record['title']}", style="bold")
        for claim in record["claims"]:
            mark = _verdict(claim["holds"], quick)
            screen.print(f"  {claim['says']} ({claim['setting']})")
            screen.print(f"    paper {claim['paper']}; here {claim['ours']}: {mark}")
        screen.print(f"  {record['timings']['seconds']:.1f} s; {out / name}", style="dim")
    if results is not None:
        results.write_text(lab.results_page(lab.records(out)), encoding="utf-8")
        screen.print(f"\n{results}")


def _verdict(holds: bool | None, quick: bool) -> str:
    """A small slice may miss what the whole shows: its no is not the last word."""
    if quick and holds is False:
        return "does not hold on this quick slice (run it without --quick for the verdict)"
    return {True: "holds", False: "does not hold", None: "no verdict"}[holds]


def import_home() -> Path:
    """Where the data sets are, unless it is said."""
    from experiments.runner.lab import data_home

    return data_home()


def _experiments() -> Any:
    """The experiments live in the repository, beside the package, not in it."""
    root = Path(__file__).parents[3]
    if (root / "experiments" / "runner" / "reproduce.py").exists() and str(root) not in sys.path:
        sys.path.insert(0, str(root))
    try:
        import experiments.runner.reproduce as lab
    except ModuleNotFoundError as error:
        if error.name not in ("experiments", "experiments.runner.reproduce"):
            needs = f'pip install "suffice[experiments]" ({error})'
            raise click.ClickException(f"The experiments need: {needs}") from error
        raise click.ClickException(
            "The experiments are part of the repository, not of the installed package: "
            "clone it, and run suffice reproduce there."
        ) from error
    return lab
