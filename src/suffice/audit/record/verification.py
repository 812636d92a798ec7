"""What came of checking a record: the verdict, and what was looked at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from suffice.audit.record.chain import Fault
from suffice.results import Column, Panel, Result, Sheet
from suffice.wording import count, listed

__all__ = ["Check", "Verdict", "Verification"]

Verdict = Literal["agrees", "differs", "not checked"]
About = Literal["explanations", "analysis", "files"]


@dataclass(frozen=True)
class Check:
    """One thing that was looked at, or could have been."""

    about: About
    what: str
    verdict: Verdict
    why: str = ""


@dataclass(frozen=True, repr=False)
class Verification(Result):
    """Whether a record still tells the truth, and what was looked at to say so."""

    plots: ClassVar[tuple[str, ...]] = ()

    title: str
    seal: str | None
    """The record's own; None where its chain is broken."""
    expected: str | None
    """The seal that was kept elsewhere; None where none was given."""
    files: int
    """How many were compared, byte by byte."""
    faults: tuple[Fault, ...]
    """Files that are not what was sealed. Where there are any, nothing else was looked at."""
    checks: tuple[Check, ...]
    versions: tuple[str, ...]
    """Libraries that have other versions now."""

    @property
    def whole(self) -> bool:
        """Is every byte what was sealed, and the seal the one that was kept?"""
        return not self.faults and self.expected in (None, self.seal)

    @property
    def differs(self) -> tuple[Check, ...]:
        """What came out otherwise."""
        return tuple(check for check in self.checks if check.verdict == "differs")

    @property
    def ok(self) -> bool:
        """Is it whole, and did all that was worked out again come out the same?"""
        return self.whole and not self.differs

    @property
    def sheet(self) -> Sheet:
        """The verdict, and what it rests on."""
        columns = (Column("checked"), Column("verdict"), Column("why"))
        rows = tuple((check.what, check.verdict, check.why or None) for check in self.checks)
        panels = [Panel(columns, rows, "Worked out again")] if rows else []
        if self.faults:
            told = tuple((fault.name, fault.kind, fault.why or None) for fault in self.faults)
            heads = (Column("file"), Column(""), Column("why"))
            panels.insert(0, Panel(heads, told, "Files that are not what was sealed"))
        return Sheet(
            self.title, lead=tuple(self._lead()), panels=tuple(panels), notes=tuple(self._notes())
        )

    def _lead(self) -> Iterator[str]:
        if self.faults:
            bad = count(len(self.faults), "file")
            verb = "is" if len(self.faults) == 1 else "are"
            yield f"Refused: {bad} of the record {verb} not what was sealed."
            return
        if not self.whole:
            yield (
                "Refused: its seal is not the one you kept. All hashes fit together, so the whole "
                "record was written anew, or it is another one."
            )
            return
        yield f"Every byte of {count(self.files, 'file')} is what was sealed."
        if self.differs:
            what = listed(check.what for check in self.differs)
            yield f"The record does not tell the truth any more. Otherwise than recorded: {what}."
            return
        left = [check for check in self.checks if check.verdict == "not checked"]
        unseen = any(check.about == "explanations" for check in left)
        findings = [check.what for check in left if check.about == "analysis"]
        if unseen:
            yield (
                "What was worked out again follows from its explanations. Whether these are the "
                "model's was not looked at."
            )
        elif findings:
            yield "What was worked out again came out the same, explanations among it."
        else:
            yield "The record tells the truth: all that was worked out again came out the same."
        if findings:
            yield f"Not worked out again: {listed(findings)}."

    def _notes(self) -> Iterator[str]:
        if self.seal is not None:
            yield f"Seal: {self.seal}"
        if self.expected is None and not self.faults:
            yield (
                "No seal was given to compare with. Whoever can rewrite the folder can rewrite its "
                "chain, too: pass the seal that was told when the record was made."
            )
        if self.versions:
            yield f"Other versions than then: {listed(self.versions)}."

    def to_frame(self) -> Any:
        """A row for each thing that was looked at."""
        import pandas as pd

        rows = [{"what": f.name, "verdict": f.kind, "why": f.why} for f in self.faults]
        if not self.faults:
            sealed = "agrees" if self.whole else "differs"
            rows = [{"what": "bytes and seal", "verdict": sealed, "why": ""}]
        rows += [{"what": c.what, "verdict": c.verdict, "why": c.why} for c in self.checks]
        return pd.DataFrame(rows)
