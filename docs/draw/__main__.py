"""`python -m docs.draw [NAME …]`: make the committed pictures of these pages again, all or by name.

figures   the pictures of the guide to figures, from its own code
digits    the handwritten 2 of the guide to pictures
dag       the graph of German credit
modules   the drawing in ARCHITECTURE, from the code
screens   page and explorer, in a browser (chromium)
audit     the guide to auditing a credit model, followed line by line (SUFFICE_DATA); minutes
paper     every figure of the paper, from the data sets (SUFFICE_DATA); minutes
timing    time against the number of features; on a machine that does nothing else
"""

import sys
from collections.abc import Callable

from docs.draw import PICTURES


def _figures() -> None:
    from docs.draw.figures import main

    main()


def _digits() -> None:
    from docs.draw.digits import draw

    draw(PICTURES / "digit-regions.png")


def _dag() -> None:
    from experiments.german.causal import draw

    draw(PICTURES / "german-dag.svg")


def _modules() -> None:
    from docs.draw.architecture import main

    main()


def _screens() -> None:
    from docs.draw.screens import main

    main()


def _audit() -> None:
    from docs.draw.audit import main

    main()


def _paper() -> None:
    from docs.draw.paper import main

    main(PICTURES / "paper")


def _timing() -> None:
    from benchmarks.time_by_features import draw, measure

    draw(measure(), PICTURES / "time-against-d.svg")


DRAWN: dict[str, Callable[[], None]] = {
    "figures": _figures,
    "digits": _digits,
    "dag": _dag,
    "modules": _modules,
    "screens": _screens,
    "audit": _audit,
    "paper": _paper,
    "timing": _timing,
}


def main(names: list[str]) -> None:
    """Draw what is named, or everything."""
    unknown = [name for name in names if name not in DRAWN]
    if unknown:
        sys.exit(f"{unknown[0]} is not one of {', '.join(DRAWN)}")
    for name in names or DRAWN:
        print(name)
        DRAWN[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
