"""An audit record: what was asked, what was found, and the chain that seals it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self

import msgspec

from suffice.audit.record.analyses import ANALYSES
from suffice.audit.record.analysis import Arguments
from suffice.audit.record.card import model_card
from suffice.audit.record.chain import ChainEntry
from suffice.errors import InputError, did_you_mean, shorten
from suffice.results import Column, Panel, Result, Sheet, json_text
from suffice.wording import count, cut, named

__all__ = ["Asked", "Finding", "Record", "finding_of", "short"]

_SHORT = 16
"""Letters of a hash that are shown: enough to tell two apart, and to be read aloud."""


def short(value: str) -> str:
    """A hash, or a version, as it is shown; how a hash was made is left out.

    >>> short("file:" + "ab" * 32), short("2.4.6")
    ('abababababababab…', '2.4.6')
    """
    bare = value.rpartition(":")[2]
    return bare if len(bare) <= 2 * _SHORT else f"{bare[:_SHORT]}…"


@dataclass(frozen=True)
class Finding:
    """One analysis of a record, by its name."""

    name: str
    result: Result

    @property
    def heading(self) -> str:
        """What a page calls it."""
        return ANALYSES[self.name].heading


class _Told(msgspec.Struct, frozen=True):
    name: str
    result: dict[str, Any]
    """As the result's own `to_json` has it."""


class Asked(msgspec.Struct, frozen=True):
    """What a record was asked: see the fields of `Record`."""

    title: str
    date: str | None
    about: tuple[tuple[str, str], ...]
    analyses: dict[str, Arguments]
    labels: dict[str, list[str | None]]


class _Stored(Asked, frozen=True):
    findings: list[_Told]
    chain: tuple[ChainEntry, ...]


@dataclass(frozen=True, repr=False)
class Record(Result):
    """What was asked of a model's decisions, what was found, and what it rests on."""

    stored: ClassVar[type | None] = _Stored
    faces: ClassVar[str] = "suffice.report.record"
    plots: ClassVar[tuple[str, ...]] = ()

    title: str
    date: str | None
    """As it was declared; None where it was not."""
    about: tuple[tuple[str, str], ...]
    """Of the model, the data and the question, in words."""
    analyses: dict[str, Arguments]
    """What was asked of each analysis."""
    labels: dict[str, list[str | None]]
    """Groups by columns that the model does not see: a label for each decision."""
    findings: tuple[Finding, ...]
    chain: tuple[ChainEntry, ...]
    """What the record rests on, then its files."""

    def __hash__(self) -> int:
        return hash(self.seal)  # the seal is of all the rest

    def __getitem__(self, name: str) -> Result:
        """The result of one analysis."""
        known = {finding.name: finding.result for finding in self.findings}
        if name not in known:
            hint = did_you_mean(name, known)
            raise InputError("name", shorten(name), "an analysis of the record", hint)
        return known[name]

    @property
    def seal(self) -> str:
        """The last link: keep it where nobody who can write to the folder can write."""
        return self.chain[-1].link

    @property
    def rests_on(self) -> tuple[ChainEntry, ...]:
        """The model, the data and the versions that it was made from."""
        return tuple(entry for entry in self.chain if entry.kind != "file")

    @property
    def model_card(self) -> str:
        """A section for a model card, in Markdown."""
        return model_card(self.title, self.date, self.about, [f.result for f in self.findings])

    @property
    def sheet(self) -> Sheet:
        """What was asked and found, and the seal."""
        found = tuple((f.heading, cut(" ".join(f.result.sheet.lead), 300)) for f in self.findings)
        rests = tuple((e.kind, cut(named(e.name), 40), short(e.value)) for e in self.rests_on)
        files = sum(entry.kind == "file" for entry in self.chain)
        dated = (f"Date: {self.date}",) if self.date is not None else ()
        return Sheet(
            self.title,
            lead=(*dated, *(f"{label}: {words}" for label, words in self.about)),
            panels=(
                Panel((Column("analysis"), Column("found")), found, "Findings"),
                Panel((Column(""), Column("name"), Column("hash or version")), rests, "Rests on"),
            ),
            notes=(
                f"Seal: {self.seal} ({count(files, 'file')}). Keep it elsewhere: whoever can "
                "rewrite the folder can rewrite its chain, but not a seal that you have.",
            ),
        )

    def to_frame(self) -> Any:
        """The chain: a row for each thing it rests on, and for each file."""
        import pandas as pd

        return pd.DataFrame([asdict(entry) for entry in self.chain])

    @property
    def asked(self) -> Asked:
        """What was asked, without what was found."""
        return Asked(self.title, self.date, self.about, self.analyses, self.labels)

    @classmethod
    def made_of(
        cls, asked: Asked, findings: Iterable[Finding], chain: Iterable[ChainEntry]
    ) -> Self:
        """A record of what was asked and found."""
        head = (asked.title, asked.date, asked.about, asked.analyses, asked.labels)
        return cls(*head, tuple(findings), tuple(chain))

    def _record(self) -> _Stored:
        told = [_Told(f.name, msgspec.json.decode(f.result.to_json())) for f in self.findings]
        head = (self.title, self.date, self.about, self.analyses, self.labels)
        return _Stored(*head, told, self.chain)

    @classmethod
    def _from_record(cls, record: _Stored) -> Self:
        if not record.chain:
            raise InputError("chain", "no entries", "at least one")
        found = (finding_of(told.name, json_text(told.result)) for told in record.findings)
        return cls.made_of(record, found, record.chain)


def finding_of(name: str, text: str | bytes) -> Finding:
    """A finding from its stored form."""
    if name not in ANALYSES:
        raise InputError("findings", shorten(name), ", ".join(ANALYSES))
    return Finding(name, ANALYSES[name].result.from_json(text))
