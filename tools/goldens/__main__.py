"""The command: collect all goldens, and write them or compare them with those of a folder."""

from __future__ import annotations

import difflib
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from tools.goldens import errors, explanations, files, questions
from tools.goldens.values import Calls, Forms, briefly, fully

Goldens = dict[str, str]

SECTIONS: dict[Callable[[], Calls], Callable[[Any], Forms]] = {
    explanations.searches: briefly,
    explanations.plans: briefly,
    explanations.contrasts: fully,
    explanations.streamed: briefly,
    explanations.texts: briefly,
    explanations.pictures: fully,
    questions.recourse: briefly,
    questions.rules: fully,
    questions.attributions: fully,
    questions.theory: fully,
    questions.audits: fully,
    files.batches: briefly,
    files.records: fully,
    files.commands: briefly,
    errors.mistakes: briefly,
    errors.signatures: briefly,
    errors.schemas: briefly,
}
"""Each section's calls, and whether its results are stored as JSON and text or in every form."""

_SHOWN = 12
"""Lines of a difference that are shown."""


def collect() -> Goldens:
    """Make every call, and return the values as texts."""
    found: Goldens = {}
    for section, forms_of in SECTIONS.items():
        try:
            for key, call in section():
                for form, text in texts_of(call, forms_of):
                    found[f"{section.__name__}: {key} [{form}]"] = text
        except Exception as error:  # the rest of the section is missing
            found[f"{section.__name__} [error]"] = message(error)
        print(f"{len(found):6} {section.__name__} {os.times().user:.0f} s", file=sys.stderr)
    return found


def texts_of(
    call: Callable[[], Any], forms_of: Callable[[Any], Forms]
) -> Iterator[tuple[str, str]]:
    """Yield the forms of what a call returns, or the error that it raises."""
    try:
        forms = list(forms_of(call()))
    except Exception as error:
        yield "error", message(error)
        return
    for form, make in forms:
        try:
            yield form, make()
        except Exception as error:
            yield f"{form} error", message(error)


def message(error: Exception) -> str:
    """Return the class and the text of an error."""
    return f"{type(error).__name__}: {error}"


def write(folder: Path) -> int:
    """Store all goldens."""
    found = collect()
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(found, indent=0, ensure_ascii=False)
    (folder / "goldens.json").write_text(text, encoding="utf-8")
    raised = Counter(text.split(":")[0] for key, text in found.items() if key.endswith("error]"))
    print(f"{len(found)} goldens; errors: {dict(raised)}")
    return 0


def compare(folder: Path) -> int:
    """Print every golden that differs now, is missing or is new."""
    before = json.loads((folder / "goldens.json").read_text(encoding="utf-8"))
    now = collect()
    differing = [key for key in {**before, **now} if before.get(key) != now.get(key)]
    for key in differing:
        print(f"\n{key}")
        print("\n".join(difference(before.get(key), now.get(key))))
    print(f"{len(before)} goldens: {len(differing)} differ")
    return 1 if differing else 0


def difference(old: str | None, new: str | None) -> list[str]:
    """Return the first lines in which two texts differ."""
    if old is None or new is None:
        return ["  is new" if old is None else "  is missing"]
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm="")
    changed = [f"  {line[:160]}" for line in lines if not line.startswith(("---", "+++", "@@"))]
    rest = len(changed) - _SHOWN
    return changed[:_SHOWN] + ([f"  and {rest} more lines"] if rest > 0 else [])


if __name__ == "__main__":
    threadpool_limits(1)  # sums of several threads may differ in their last bits
    match sys.argv[1:]:
        case ["write", folder]:
            sys.exit(write(Path(folder)))
        case ["compare", folder]:
            sys.exit(compare(Path(folder)))
        case _:
            sys.exit("usage: python -m tools.goldens write|compare DIR")
