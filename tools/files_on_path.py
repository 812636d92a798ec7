"""How many of our files does a reader pass who follows one call from top to bottom?

    python -m tools.files_on_path

A file counts if one of its functions is entered during the call. Each call is made once before, so
that what is only imported or read once per model does not count; numba's kernels, where they are
installed, are loaded first, so that the path is the same on a slow machine and on a fast one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from sklearn.ensemble import RandomForestClassifier

import suffice
from suffice import Explainer, datasets
from suffice.evaluate.trees.blocks import load_numba

_HOME = Path(suffice.__file__).parent


def files_entered(call: Callable[[], object]) -> list[str]:
    """The files of the package whose functions a call enters, the second time it is made."""
    return sorted(files_in_order(call))


def files_in_order(call: Callable[[], object]) -> list[str]:
    """The same, in the order in which they are entered first."""
    call()
    names: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            names.setdefault(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    paths = (Path(name) for name in names)
    return [str(p.relative_to(_HOME)) for p in paths if p.is_relative_to(_HOME)]


def calls() -> dict[str, Callable[[], object]]:
    """The two calls that readers follow most: an explanation by trees, and recourse."""
    load_numba()
    X, y = datasets.loans()
    X = X[["age", "income", "debt", "late payments"]]
    explainer = Explainer(RandomForestClassifier(20, random_state=0).fit(X, y), X)
    row = X.iloc[8]
    return {
        "explain": lambda: explainer.explain(row),
        "recourse": lambda: explainer.recourse(row),
    }


def main() -> None:
    """Print the count and the list of each call."""
    for name, call in calls().items():
        files = files_entered(call)
        print(f"{name}: {len(files)} files")
        print("\n".join(f"  {file}" for file in files))


if __name__ == "__main__":
    main()
