"""Run benchmarks, most of them ratios against a baseline measured in the same run.

    python -m benchmarks                       all of them, as `make bench`
    python -m benchmarks trees startup_time    the named ones

Machines are noisy, so targets are ratios wherever there is something to compare with; the start,
the page and a few whole calls have targets in seconds, for an idle laptop. What was measured is
written into `benchmarks/RESULTS.md`, a section for each benchmark and without dates, so that a
change of speed is a diff; sections of benchmarks that were not run stay.
"""

import argparse
import re
import sys
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.timing import Row

RESULTS = Path(__file__).with_name("RESULTS.md")
NAMES = (
    "first_call",
    "blackbox_overhead",
    "trees",
    "peers",
    "additive",
    "pruned",
    "batch_throughput",
    "planted_sets",
    "bounds",
    "recourse",
    "prove",
    "text",
    "image",
    "page",
    "explorer",
    "exhaustive_memory",
    "audit",
    "streamed_thirty_features",
    "startup_time",
)
MARKS = {True: "ok", False: "MISSED", None: "-"}


def main(names: list[str], results: Path = RESULTS) -> None:
    """Run the named benchmarks, or all; end with an error where a target was missed."""
    measured: dict[str, list[Row]] = {}
    for name in names or NAMES:
        measured[name] = []
        for row in import_module(f"benchmarks.{name}").rows():
            measured[name].append(row)
            told = f"{row.what}: {row.measured} (target {row.target}) {MARKS[row.met]}"
            print(told, file=sys.stderr)
        write_results(results, {name: measured[name]})
    table = Table(title="suffice benchmarks")
    for heading in ("what", "measured", "target", "", "detail"):
        table.add_column(heading, overflow="fold")
    rows = [row for part in measured.values() for row in part]
    for row in rows:
        table.add_row(row.what, row.measured, row.target, MARKS[row.met], row.detail)
    Console(width=130).print(table)
    if missed := sum(row.met is False for row in rows):
        sys.exit(f"{missed} target(s) missed")


def write_results(path: Path, measured: dict[str, list[Row]]) -> None:
    """Replace the sections of the benchmarks in `measured`, and keep the others."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    sections = dict(re.findall(r"^## (\w+)\n\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE))
    for name, rows in measured.items():
        lines = [f"| {r.what} | {r.measured} | {r.target} | {MARKS[r.met]} |" for r in rows]
        table = "| what | measured | target | |\n|---|---|---|---|\n"
        sections[name] = table + "".join(f"{line}\n" for line in lines)
    parts = [f"## {name}\n\n{sections[name].strip()}\n" for name in NAMES if name in sections]
    title = "# Measured\n\nWritten by `python -m benchmarks`.\n\n"
    path.write_text(title + "\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(NAMES)}")
    given = parser.parse_args().names
    if unknown := set(given) - set(NAMES):
        parser.error(f"unknown benchmark {', '.join(sorted(unknown))}; one of {', '.join(NAMES)}")
    main(given)
