"""What draws the committed pictures of these pages: a build of them needs no data and no time."""

from doctest import DocTestParser
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
PICTURES = DOCS / "pictures"


def run(text: str, names: dict[str, Any]) -> None:
    """Run the code of a page, or of a part of it, save what is there to fail."""
    for example in DocTestParser().get_examples(text):
        if not example.exc_msg:
            exec(example.source, names)
