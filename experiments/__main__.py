"""`python -m experiments`: make the paper's tables and figures again, one name each."""

import sys
from pathlib import Path

import click

from experiments.runner.lab import data_home
from experiments.runner.reproduce import EXPERIMENTS, records, results_page, run
from suffice.cli.output import console, print_message
from suffice.errors import InputError, SufficeError, did_you_mean


class _Listing(click.Command):
    """A command whose help ends with the names of the experiments."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Names"):
            formatter.write_dl([(name, found.shows) for name, found in EXPERIMENTS.items()])


@click.command(cls=_Listing, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@click.option("--quick", is_flag=True, help="Run a small slice: seconds, not minutes.")
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

    Each experiment writes figures (PNG and SVG), tables (CSV and Markdown) and result.json into a
    folder of its own. A run that was interrupted continues where it stopped.
    """
    known = list(EXPERIMENTS)
    for name in names:
        if name not in (*known, "all"):
            hint = did_you_mean(name, known)
            raise InputError("NAME", repr(name), "all, " + ", ".join(known), hint)
    home, screen = data or data_home(), console()
    for name in known if "all" in names else dict.fromkeys(names):
        record = run(name, home, out, quick)
        screen.print(f"\n{record['title']}", style="bold")
        for claim in record["claims"]:
            verdict = _verdict(claim["holds"], quick)
            screen.print(f"  {claim['says']} ({claim['setting']})")
            screen.print(f"    paper {claim['paper']}; here {claim['ours']}: {verdict}")
        screen.print(f"  {record['timings']['seconds']:.1f} s; {out / name}", style="dim")
    if results is not None:
        results.write_text(results_page(records(out)), encoding="utf-8")
        screen.print(f"\n{results}")


def _verdict(holds: bool | None, quick: bool) -> str:
    """Return a claim's verdict in words; that a small slice contradicts a claim decides nothing."""
    if quick and holds is False:
        return "does not hold on this quick slice (run it without --quick for the verdict)"
    return {True: "holds", False: "does not hold", None: "no verdict"}[holds]


def main(arguments: list[str] | None = None) -> None:
    """Run the command; a mistake or a missing package ends in one sentence."""
    try:
        reproduce.main(arguments, prog_name="python -m experiments")
    except SufficeError as error:
        print_message(f"Error: {error}")
        sys.exit(2 if isinstance(error, InputError) else 1)
    except ModuleNotFoundError as error:
        print_message(
            f"The experiments need {error.name}. "
            'Install it with: pip install "suffice[experiments]", or run `make reproduce`.'
        )
        sys.exit(1)


if __name__ == "__main__":
    main()
