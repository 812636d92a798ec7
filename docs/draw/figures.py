"""Figures that pages show beside the code that draws them, made from that very code.

Wherever a page shows `pictures/figures/NAME.png`, the axes `ax` that its code drew last are written
there.
"""

import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from docs.draw import DOCS, PICTURES, run, save
from suffice.plots.canvas import root_figure

FOLDER = PICTURES / "figures"
_SHOWN = re.compile(r"!\[[^\]]*\]\((?:\.\./)?pictures/figures/([\w-]+\.png)\)")


def pages() -> Iterator[tuple[Path, list[str]]]:
    """Each page that shows such figures, and their names."""
    for page in sorted(DOCS.glob("*/*.md")):
        shown = _SHOWN.findall(page.read_text(encoding="utf-8"))
        if shown:
            yield page, shown


def main(into: Path = FOLDER, dpi: int = 90) -> None:
    """Run the pages, and keep what they draw."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    into.mkdir(exist_ok=True)
    for page, _ in pages():
        names: dict[str, Any] = {}
        # Words and figures by turns: the code before a figure draws it.
        parts = _SHOWN.split(page.read_text(encoding="utf-8"))
        for words, name in zip(parts[::2], [*parts[1::2], ""], strict=True):
            run(words, names)
            if name:
                drawn = BytesIO()
                root_figure(names["ax"]).savefig(drawn, dpi=dpi)
                save(drawn, into / name)
                pyplot.close("all")
                print(into / name)
