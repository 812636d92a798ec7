"""What draws the committed pictures of these pages: a build of them needs no data and no time."""

from doctest import DocTestParser
from io import BytesIO
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
PICTURES = DOCS / "pictures"


def run(text: str, names: dict[str, Any]) -> None:
    """Run the code of a page, or of a part of it, but for the examples that show an error."""
    for example in DocTestParser().get_examples(text):
        if not example.exc_msg:
            exec(example.source, names)


def save(drawn: BytesIO, path: Path) -> None:
    """Keep a picture, in 64 colours: a small file."""
    from PIL import Image

    Image.open(drawn).convert("RGB").quantize(64).save(path, optimize=True)
