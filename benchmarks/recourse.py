"""German credit, one applicant, 700 references, ExtraTrees: recourse under constraints.

Age and sex cannot change, the duration may only shrink, the amount is bounded, and a combination is
forbidden. Values are a reference's own, or any combination of observed ones (a grid).
"""

from collections.abc import Iterator

from experiments.german.setting import setting
from experiments.runner.lab import data_home

from benchmarks.measure import Row, at_most, seconds
from suffice import Explainer, compare, equals

LIMIT = 0.5
"""Seconds: as long as a person waits without noticing."""


def rows() -> Iterator[Row]:
    home = data_home()
    if not home.is_dir():
        yield Row("recourse on German", "-", "-", None, f"no data at {home}: set SUFFICE_DATA")
        return
    model, X, y, _ = setting(home)
    explainer = Explainer(model, X, references=y != y[998])
    given = {
        "immutable": ["Age", "Sex"],
        "decreasing": ["Duration"],
        "ranges": {"Credit": (1000, 10000)},
        "forbidden": equals("Housing", 2) & compare("Job", ">=", 3),
    }
    for values in ("observed", "grid"):

        def ask(values: str = values) -> object:
            return explainer.recourse(X.iloc[998], values=values, **given)

        found = ask()  # the first call compiles what the engine needs
        detail = (
            f"{len(found.options)} options, the best at {found.best.cost:.3f}: {found.best.says}"
        )
        took = seconds(ask, runs=5)
        yield at_most(f"German: recourse, {values} values", took, LIMIT, detail, "s")
