"""`python -m docs.draw_figures`: the pictures of the guide to figures, made from its own code.

Wherever the guide shows a picture, the axes `ax` that its code drew last are written there. They
are committed, so that the guide is read with its pictures wherever it is.
"""

import re
from doctest import DocTestParser
from io import BytesIO
from pathlib import Path

GUIDE = Path(__file__).parent / "figures.md"
_SHOWN = re.compile(r"!\[[^\]]*\]\((figures/[\w-]+\.png)\)")


def pictures() -> list[str]:
    """The pictures that the guide shows."""
    return _SHOWN.findall(GUIDE.read_text(encoding="utf-8"))


def main(into: Path = GUIDE.parent, dpi: int = 90) -> None:
    """Run the guide, and keep what it draws."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot
    from PIL import Image

    (into / "figures").mkdir(exist_ok=True)
    names: dict[str, object] = {}
    # Words and pictures by turns: the code before a picture draws it.
    parts = _SHOWN.split(GUIDE.read_text(encoding="utf-8"))
    for words, name in zip(parts[::2], [*parts[1::2], ""], strict=True):
        for example in DocTestParser().get_examples(words):
            if not example.exc_msg:
                exec(example.source, names)
        if name:
            figure = names["ax"].figure
            while figure.figure is not figure:
                figure = figure.figure
            drawn = BytesIO()
            figure.savefig(drawn, dpi=dpi)
            Image.open(drawn).convert("RGB").quantize(64).save(into / name, optimize=True)
            pyplot.close("all")
            print(into / name)


if __name__ == "__main__":
    main()
