"""The folder of a record: which files there are, what is in each, and how they are read back.

    record/manifest.json           the chain: what it rests on, every file, the seal
    record/index.html              the page
    record/model-card.md           a section for a model card
    record/asked.json              what was asked, so that it can be asked again
    record/results/NAME.json       each analysis, as its `from_json` reads it
    record/tables/NAME.csv         each analysis as a table
    record/explanations/           every explanation, as `suffice.load` reads it
    record/before/                 those that they are compared with, where they are
    record/explanations.jsonl.gz   the JSON of every explanation, one a line
    record/audit.toml              what was declared, where it was declared in a file

All but the explanations follows from what was asked and found, so whoever verifies a record writes
those files once more and compares.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from suffice.audit.reasons import Reasons
from suffice.audit.record.analyses import ANALYSES
from suffice.audit.record.analysis import Arguments
from suffice.audit.record.chain import ChainEntry
from suffice.audit.record.result import Asked, Finding, Record, finding_of
from suffice.errors import InputError, shorten
from suffice.explanation import Explanation
from suffice.progress import progress_bar
from suffice.results import as_bytes, json_text, renderer
from suffice.tables.csv import as_csv

__all__ = [
    "ASKED",
    "BEFORE",
    "CONFIG",
    "EXPLANATIONS",
    "LINES",
    "MADE",
    "PAGE",
    "WRITING",
    "files_of",
    "line_of",
    "lines_of",
    "read_record",
    "write_lines",
]

PAGE, CARD, ASKED = "index.html", "model-card.md", "asked.json"
EXPLANATIONS, LINES, BEFORE = "explanations", "explanations.jsonl.gz", "before"
CONFIG = "audit"
"""The name, without its ending, of the file that a record was declared in."""
MADE = (
    f"{EXPLANATIONS}/",
    f"{BEFORE}/",
    "results/",
    "tables/",
    LINES,
    PAGE,
    CARD,
    ASKED,
    f"{CONFIG}.",
)
"""How the names of a record's files begin."""
WRITING = "JSON"
"""What the progress of writing is called."""


def files_of(record: Record, figures: bool = True) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of every file that follows from the findings.

    Without `figures` the page has its tables only: drawing takes most of the time.
    """
    yield ASKED, msgspec.json.format(json_text(record.asked).encode(), indent=1) + b"\n"
    for finding in record.findings:
        yield from _files_of_finding(finding, record.analyses[finding.name])
    yield CARD, as_bytes(record.model_card)
    page: Any = renderer("page", record)
    yield PAGE, as_bytes(page(record, links=True, figures=figures))


def _files_of_finding(finding: Finding, asked: Arguments) -> Iterator[tuple[str, bytes]]:
    """The files of one analysis."""
    yield f"results/{finding.name}.json", finding.result.to_json().encode() + b"\n"
    yield f"tables/{finding.name}.csv", as_bytes(as_csv(finding.result.to_frame()))
    if isinstance(finding.result, Reasons):
        letters = _letters(finding.result, asked.get("template"))
        yield "tables/letters.csv", as_bytes(as_csv(letters))


def _letters(found: Reasons, template: str | None) -> Any:
    """A line for each decision, with the text of its letter; none for one that is held."""
    import pandas as pd

    named = {} if template is None else {"template": template}
    return pd.DataFrame(
        {
            "decision": d.name,
            "outcome": d.outcome,
            "codes": ", ".join(d.codes),
            "hold": "; ".join(d.problems),
            "letter": "" if d.hold else found.letter(at, **named),
        }
        for at, d in enumerate(found.decisions)
    )


def read_record(folder: Path, chain: tuple[ChainEntry, ...]) -> Record:
    """A record from its folder, whose bytes were checked before."""
    try:
        asked = msgspec.json.decode((folder / ASKED).read_bytes(), type=Asked)
        found = [_read_finding(folder, name) for name in asked.analyses]
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        got = f"{folder}, which cannot be read ({error})"
        raise InputError("folder", got, "a record of this version") from error
    return Record.made_of(asked, found, chain)


def _read_finding(folder: Path, name: str) -> Finding:
    if name not in ANALYSES:  # what makes part of a path is looked at first
        raise InputError("folder", f"an analysis {shorten(name)}", ", ".join(ANALYSES))
    return finding_of(name, (folder / "results" / f"{name}.json").read_bytes())


def write_lines(path: Path, decisions: Sequence[Explanation], ids: Sequence[str]) -> None:
    """The JSON of every explanation, with its name; packed, and the same bytes every time."""
    with (
        path.open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed,
        progress_bar(WRITING, len(ids)) as bar,
    ):
        for name, e in zip(ids, decisions, strict=True):
            packed.write(line_of(name, e))
            bar.update()


def line_of(name: str, e: Explanation) -> bytes:
    """One line: `Explanation.from_json` reads it."""
    return f'{{"id":{json_text(name)},{e.to_json()[1:]}\n'.encode()


def lines_of(path: Path) -> Iterator[bytes]:
    """The lines of such a file."""
    with gzip.open(path, "rb") as packed:
        yield from packed
