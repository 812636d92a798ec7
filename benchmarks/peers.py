"""How long shap, anchor-exp and dice-ml take for a row, beside all that suffices for it.

    python -m benchmarks.peers

German credit, the paper's forest, held-out rows; each tool as its users run it. What their answers
are worth is another question: `python -m experiments german-grades`.
"""

from collections.abc import Iterator
from statistics import median
from time import perf_counter

from experiments.german.grades import held_out, peers
from experiments.german.setting import setting
from experiments.runner.lab import data_home

from benchmarks.timing import Row
from suffice import Explainer

ROWS = 10


def rows() -> Iterator[Row]:
    home = data_home()
    if not home.is_dir():
        yield Row("peers on German", "-", "-", None, f"no data at {home}: set SUFFICE_DATA")
        return
    model, X, _, _ = setting(home)
    explainer = Explainer(model, X)
    tools = peers(model, X)
    del tools["shap by value"]  # the same values, in another order
    ways = {"suffice": explainer.explain, **tools}
    first, *others = held_out(len(X))[: ROWS + 1]
    times: dict[str, list[float]] = {name: [] for name in ways}
    for ask in ways.values():  # what is loaded and prepared once is not a row's
        ask(X.iloc[[first]])
    for i in others:  # a busy moment strikes all of them
        for name, ask in ways.items():
            started = perf_counter()
            ask(X.iloc[[i]])
            times[name].append(perf_counter() - started)
    ours = median(times["suffice"])
    detail = f"every one of {2 ** X.shape[1]} sets, both views"
    yield Row("suffice, one row", f"{ours:.3f} s", "-", None, detail)
    for name in tools:
        took = median(times[name])
        told = f"{took:.3f} s, median of {len(others)} rows"
        yield Row(f"{name} / suffice, one row", f"{took / ours:.1f} ×", "-", None, told)


if __name__ == "__main__":
    for row in rows():
        print(f"{row.what}: {row.measured} ({row.detail})")
