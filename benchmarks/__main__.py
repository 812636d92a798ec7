"""`make bench`: one table of ratios, each against a baseline measured in the same run.

Machines are noisy, so seconds are shown for orientation and only ratios have targets. Medians of
five runs.
"""

import sys
from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

from benchmarks import (
    additive,
    audit,
    bounds,
    explorer,
    first_call,
    german,
    image,
    many,
    page,
    peers,
    planted,
    pruned,
    recourse,
    scale,
    start,
    text,
    trees,
    wide,
)
from benchmarks.measure import Row


def rows() -> Iterator[Row]:
    for part in (
        first_call,
        german,
        trees,
        peers,
        additive,
        pruned,
        many,
        planted,
        bounds,
        recourse,
        text,
        image,
        page,
        explorer,
        scale,
        audit,
        wide,
        start,
    ):
        yield from part.rows()


def main() -> None:
    table = Table(title="suffice benchmarks")
    for heading in ("what", "measured", "target", "", "detail"):
        table.add_column(heading, overflow="fold")
    missed = 0
    for row in rows():
        missed += row.met is False
        mark = {True: "ok", False: "MISSED", None: "-"}[row.met]
        table.add_row(row.what, row.measured, row.target, mark, row.detail)
        print(f"{row.what}: {row.measured} (target {row.target}) {mark}", file=sys.stderr)
    Console(width=130).print(table)
    if missed:
        sys.exit(f"{missed} target(s) missed")


if __name__ == "__main__":
    main()
