"""The explanation of one decision: what keeps it, what flips it, how sure and complete that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from operator import gt
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from suffice.errors import InputError
from suffice.explanation.factor import Change, Player
from suffice.explanation.record import (
    ChangeRecord,
    DrawsRecord,
    ExplanationRecord,
    FindingsRecord,
    FoundRecord,
    PlayerRecord,
    Provenance,
    decode,
    encode,
)
from suffice.explanation.renderers import renderer
from suffice.explanation.subject import Subject
from suffice.explanation.view import View
from suffice.factors.lattice import members_of
from suffice.search.limits import Stop
from suffice.search.profile import Findings, Found, Profile
from suffice.search.sweep import Draws
from suffice.search.tally import Tally
from suffice.typing import Scalar

__all__ = ["Explanation", "Provenance"]


@dataclass(frozen=True, eq=False)
class Explanation:
    """Two views of one sweep over the hybrids of an input and its references."""

    prediction: Scalar
    keep: View
    flip: View
    stopped: Stop | None
    """What ended the search early; None where every subset was visited."""
    provenance: Provenance
    one_sweep: bool = True
    """Do both views read the same hybrids? Not where interventions have consequences."""
    subject: Subject | None = None
    """The text or picture that was explained; None for a row of a table."""

    @property
    def complete(self) -> bool:
        """Is this every τ-minimal factor there is? True only if all subsets were evaluated."""
        return self.keep.complete and self.flip.complete

    @property
    def tau(self) -> float:
        """The threshold asked for."""
        return self.keep.tau

    @property
    def unvisited(self) -> int:
        """How many subsets were never evaluated."""
        return (1 << self.keep.tally.d) - min(self.keep.tally.visited, self.flip.tally.visited)

    def at(self, tau: float) -> Explanation:
        """The same explanation at another τ; no model call."""
        return replace(self, keep=self.keep.at(tau), flip=self.flip.at(tau))

    def to_frame(self) -> Any:
        """Both views' factors as a pandas frame, a row each."""
        import pandas as pd

        rows = [
            {
                "view": view.name,
                "outcome": view.outcome,
                "features": factor.features,
                "size": factor.size,
                "sufficiency": factor.sufficiency,
                "low": factor.interval[0],
                "high": factor.interval[1],
                "n": factor.n,
                "p_value": factor.p_value,
                "minimal_above": factor.minimal_for[0],
                "minimal_up_to": factor.minimal_for[1],
                "cost": factor.cost,
                "values": dict(factor.values),
                "change": None if factor.change is None else dict(factor.change.values),
            }
            for view in (self.keep, self.flip)
            for factor in view.factors
        ]
        columns = (
            "view outcome features size sufficiency low high n p_value minimal_above "
            "minimal_up_to cost values change"
        )
        return pd.DataFrame(rows, columns=columns.split())

    def to_json(self) -> str:
        """A versioned JSON text that holds the whole explanation (see `explanation_schema`)."""
        return encode(self._record())

    @classmethod
    def from_json(cls, text: str | bytes) -> Explanation:
        """Read an explanation back; it answers every question that the first one did."""
        return _from_record(decode(text))

    def to_html(self, path: str | Path | None = None) -> str:
        """A self-contained page; written to `path` where one is given."""
        page: str = renderer("page")(self)
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page

    def __str__(self) -> str:
        return str(renderer("text")(self))

    def __rich__(self) -> Any:
        return renderer("terminal")(self)

    def _repr_html_(self) -> str:
        return str(renderer("fragment")(self))

    def __eq__(self, other: object) -> bool:
        """The same question with the same answer; how long it took does not matter."""
        return isinstance(other, Explanation) and self._timeless() == other._timeless()

    def __hash__(self) -> int:
        return hash(encode(self._timeless()))

    def _timeless(self) -> ExplanationRecord:
        timeless = msgspec.structs.replace(self.provenance, seconds=0.0, model_seconds=0.0)
        return replace(self, provenance=timeless)._record()

    def _record(self) -> ExplanationRecord:
        profile = self.keep.profile
        # Stored as it was counted: by what was held, and how many references keep the outcome.
        other = None if self.one_sweep else mirrored(self.flip.profile)
        return ExplanationRecord(
            version=1,
            prediction=self.prediction,
            keeps=self.keep.outcome,
            flips_to=self.flip.outcome,
            tau=self.tau,
            alpha=profile.alpha,
            adjust=profile.adjust,
            max_size=profile.max_size,
            size_weights=profile.size_weights,
            players=[PlayerRecord(p.name, dict(p.values)) for p in self.keep.players],
            hits=[level.tolist() for level in profile.tally.levels],
            keep_findings=_findings_record(profile.findings),
            flip_findings=_findings_record(self.flip.profile.findings),
            changes=[
                ChangeRecord(list(members_of(mask)), change.cost, dict(change.values))
                for mask, change in self.flip.changes.items()
            ],
            draws=_draws_record(profile.draws),
            stopped=self.stopped,
            provenance=self.provenance,
            flip_hits=None if other is None else [level.tolist() for level in other.tally.levels],
            flip_draws=None if other is None else _draws_record(other.draws),
            subject=self.subject,
        )


def make_views(
    keeps: str,
    flips_to: str,
    players: tuple[Player, ...],
    keep: Profile,
    flip: Profile,
    changes: Mapping[int, Change] | None = None,
    tau: float = 0.9,
) -> tuple[View, View]:
    """Both views, from what the counts say of each."""
    return (
        View("keep", keeps, players, keep, tau),
        View("flip", flips_to, players, flip, tau, changes or {}),
    )


def mirrored(profile: Profile, findings: Findings | None = None) -> Profile:
    """What the same hybrids say in the other view: what was held becomes what is replaced."""
    draws, weights = profile.draws, profile.size_weights
    return replace(
        profile,
        tally=profile.tally.other_view(),
        size_weights=None if weights is None else weights[::-1],
        draws=None if draws is None else Draws(~draws.held, ~draws.outcomes),
        findings=findings,
    )


def _from_record(record: ExplanationRecord) -> Explanation:
    profile = Profile(
        _tally(record, record.hits),
        record.alpha,
        record.adjust,
        record.max_size,
        record.size_weights,
        _draws(record.draws),
        _findings(record.keep_findings),
    )
    one_sweep = record.flip_hits is None
    swept = profile
    if record.flip_hits is not None:
        counts, draws = _tally(record, record.flip_hits), _draws(record.flip_draws)
        swept = replace(profile, tally=counts, draws=draws)
    keep, flip = make_views(
        record.keeps,
        record.flips_to,
        tuple(Player(p.name, p.values) for p in record.players),
        profile,
        mirrored(swept, _findings(record.flip_findings)),
        {
            profile.tally.lattice.mask(change.features): Change(change.cost, change.values)
            for change in record.changes
        },
        record.tau,
    )
    return Explanation(
        record.prediction,
        keep,
        flip,
        record.stopped,
        record.provenance,
        one_sweep,
        record.subject,
    )


def _tally(record: ExplanationRecord, hits: list[list[int]]) -> Tally:
    levels = tuple(np.array(level, dtype=np.int64) for level in hits)
    tally = Tally(len(record.players), record.provenance.n_references, levels)
    widths = [tally.lattice.width(size) for size in range(tally.d + 1)]
    if len(levels) != len(widths) or any(map(gt, map(len, levels), widths)):
        got = f"hits for {len(levels)} sizes of {tally.d} features"
        raise InputError("text", got, "JSON written by Explanation.to_json")
    return tally


def _draws_record(draws: Draws | None) -> DrawsRecord | None:
    if draws is None:
        return None
    held = ["".join("01"[int(h)] for h in row) for row in draws.held]
    return DrawsRecord(held, draws.outcomes.tolist())


def _draws(record: DrawsRecord | None) -> Draws | None:
    if record is None:
        return None
    held = [[digit == "1" for digit in row] for row in record.held]
    return Draws(np.array(held, dtype=bool), np.array(record.outcomes, dtype=bool))


def _findings_record(findings: Findings | None) -> FindingsRecord | None:
    if findings is None:
        return None
    found = [FoundRecord(list(f.members), f.hits, f.proof) for f in findings.factors]
    f = findings
    return FindingsRecord(f.tau, found, f.decided, f.decided_size, f.only_at_tau)


def _findings(record: FindingsRecord | None) -> Findings | None:
    if record is None:
        return None
    found = tuple(Found(tuple(f.features), f.hits, f.proof) for f in record.factors)
    r = record
    return Findings(r.tau, found, r.decided, r.decided_size, r.only_at_tau)
