"""The page that says where each definition is, and which test holds the code to it."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "theory" / "definitions.md").read_text(encoding="utf-8")


def test_files_and_tests_that_it_names_exist():
    named = re.findall(r"`((?:src|tests)/[\w/]+\.py)(?:::(\w+))?`", PAGE)
    assert len(named) > 30
    for path, test in named:
        text = (ROOT / path).read_text(encoding="utf-8")
        assert not test or f"def {test}(" in text, f"{path}::{test}"


def test_everything_that_the_paper_numbers_is_there():
    for kind, last in (("Definition", 4), ("Theorem", 2), ("Remark", 3), ("Proposition", 4)):
        for number in range(1, last + 1):
            both = rf"{kind}s? (?:\d and )?{number}\b"
            assert re.search(both, PAGE), f"{kind} {number}"
