"""From an explanation to its stored form, and back."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np

from suffice.errors import InputError
from suffice.explanation.explanation import Explanation, mirrored
from suffice.explanation.factor import Change, LeftOut, Player
from suffice.explanation.record import (
    ChangeRecord,
    DrawsRecord,
    ExplanationRecord,
    FindingsRecord,
    FoundRecord,
    LeftOutRecord,
    PlayerRecord,
    Provenance,
)
from suffice.explanation.sense import check_sense
from suffice.search.findings import Findings, Found
from suffice.search.profile import Profile
from suffice.search.sweep import Draws
from suffice.search.tally import Tally

__all__ = ["NEVER", "at_its_tau", "read_record", "record_of", "without_pace"]

NEVER = datetime.min.replace(tzinfo=UTC)
"""The date of what has none."""


def without_pace(p: Provenance, **others: Any) -> Provenance:
    """A provenance without what differs from one machine, or one moment, to another.

    How long it took; and what follows from how fast the model was at the time: which evaluator
    served, and how many rows had to be asked. The answer depends on none of it.
    """
    return msgspec.structs.replace(
        p,
        evaluator="",
        note=None,
        rows_predicted=0,
        created=NEVER,
        seconds=0.0,
        model_seconds=0.0,
        plan=None,
        **others,
    )


def at_its_tau(e: Explanation) -> Explanation:
    """The same answer at the τ asked for, without the counts that would tell of others.

    Factors, necessity and completeness stay; the thresholds at which a factor is minimal are known
    from this τ up.
    """
    keep, flip = (_at_tau(profile, e.tau) for profile in (e.keep_profile, e.flip_profile))
    assert flip.findings is not None
    lattice = keep.tally.lattice
    masks = [lattice.mask(found.members) for found in flip.findings.factors]
    return replace(
        e,
        keep_profile=keep,
        flip_profile=mirrored(keep, flip.findings) if e.one_sweep else flip,
        changes={mask: e.changes[mask] for mask in masks if mask in e.changes},
    )


def _at_tau(profile: Profile, tau: float) -> Profile:
    tally, known = profile.tally, profile.findings
    counted = min(tally.exhaustive_size, profile.largest)
    exact = profile.covers_exactly(tau)
    findings = Findings(
        tau,
        tuple(Found(m.members, m.hits, m.proof) for m in profile.minimal_at(tau)),
        decided=profile.complete,
        decided_size=counted if known is None else max(counted, known.decided_size),
        only_at_tau=True,
        covered=profile.covered(tau) if exact else None,
        decided_share=None if known is None else known.decided_share,
    )
    # The empty and the full set are told of even where nothing else is.
    ends = tuple(
        level if size in (0, tally.d) else level[:0] for size, level in enumerate(tally.levels)
    )
    none = Tally(tally.d, tally.n, ends)
    return replace(profile, tally=none, draws=None if exact else profile.draws, findings=findings)


def record_of(e: Explanation) -> ExplanationRecord:
    """What is stored of an explanation."""
    keep, flip = e.keep_profile, e.flip_profile
    # Stored as it was counted: by what was held, and how many references keep the outcome.
    other = None if e.one_sweep else mirrored(flip)
    numbers = {player.name: i for i, player in enumerate(e.players)}

    def change_record(change: Change) -> ChangeRecord:
        features = [numbers[name] for name in change.features]
        return ChangeRecord(features, change.cost, dict(change.values))

    return ExplanationRecord(
        prediction=e.prediction,
        score=e.score,
        outcome=e.outcome,
        other_outcome=e.other_outcome,
        tau=e.tau,
        alpha=keep.alpha,
        adjust=keep.adjust,
        max_size=keep.max_size,
        size_weights=keep.size_weights,
        players=[_player_record(p) for p in e.players],
        hits=[level.tolist() for level in keep.tally.levels],
        keep_findings=_findings_record(keep.findings),
        flip_findings=_findings_record(flip.findings),
        changes=[change_record(change) for change in e.changes.values()],
        cheapest=None if e.cheapest is None else change_record(e.cheapest),
        draws=_draws_record(keep.draws),
        stopped=e.stopped,
        provenance=e.provenance,
        flip_hits=None if other is None else [level.tolist() for level in other.tally.levels],
        flip_draws=None if other is None else _draws_record(other.draws),
        left_out=[LeftOutRecord(_player_record(o.player), o.reason) for o in e.left_out],
        subject=e.subject,
    )


def read_record(record: ExplanationRecord) -> dict[str, Any]:
    """The fields of the explanation that was stored; an error where they make no sense together."""
    check_sense(record)
    players = tuple(Player(p.name, p.values) for p in record.players)
    keep = Profile(
        _tally(record, record.hits),
        record.alpha,
        record.adjust,
        record.max_size,
        record.size_weights,
        _draws(record.draws),
        _findings(record.keep_findings),
    )
    swept = keep
    if record.flip_hits is not None:
        counts, draws = _tally(record, record.flip_hits), _draws(record.flip_draws)
        swept = replace(keep, tally=counts, draws=draws)

    flip = mirrored(swept, _findings(record.flip_findings))
    if record.stopped is None and not (keep.complete and flip.complete):
        raise InputError("text", "part of a search that nothing stopped", "a whole explanation")

    def change(stored: ChangeRecord) -> Change:
        return Change(tuple(players[j] for j in stored.features), stored.values, stored.cost)

    return {
        "prediction": record.prediction,
        "score": record.score,
        "outcome": record.outcome,
        "other_outcome": record.other_outcome,
        "players": players,
        "left_out": tuple(
            LeftOut(Player(o.player.name, o.player.values), o.reason) for o in record.left_out
        ),
        "tau": record.tau,
        "keep_profile": keep,
        "flip_profile": flip,
        "provenance": record.provenance,
        "stopped": record.stopped,
        "changes": {keep.tally.lattice.mask(c.features): change(c) for c in record.changes},
        "cheapest": None if record.cheapest is None else change(record.cheapest),
        "one_sweep": record.flip_hits is None,
        "subject": record.subject,
    }


def _player_record(player: Player) -> PlayerRecord:
    return PlayerRecord(player.name, dict(player.values))


def _tally(record: ExplanationRecord, hits: list[list[int]]) -> Tally:
    levels = tuple(np.array(level, dtype=np.int64) for level in hits)
    return Tally(len(record.players), record.provenance.n_references, levels)


def _draws_record(draws: Draws | None) -> DrawsRecord | None:
    if draws is None:
        return None
    digits = draws.held.astype(np.uint8) + np.uint8(ord("0"))
    held = [row.tobytes().decode("ascii") for row in digits]
    return DrawsRecord(held, draws.outcomes.tolist())


def _draws(record: DrawsRecord | None) -> Draws | None:
    if record is None:
        return None
    held = [[digit == "1" for digit in row] for row in record.held]
    d = len(record.held[0]) if record.held else 0
    return Draws(np.array(held, dtype=bool).reshape(-1, d), np.array(record.outcomes, dtype=bool))


def _findings_record(findings: Findings | None) -> FindingsRecord | None:
    if findings is None:
        return None
    found = [FoundRecord(list(f.members), f.hits, f.proof) for f in findings.factors]
    f = findings
    return FindingsRecord(
        f.tau, found, f.decided, f.decided_size, f.only_at_tau, f.covered, f.decided_share
    )


def _findings(record: FindingsRecord | None) -> Findings | None:
    if record is None:
        return None
    found = tuple(Found(tuple(f.features), f.hits, f.proof) for f in record.factors)
    r = record
    return Findings(
        r.tau, found, r.decided, r.decided_size, r.only_at_tau, r.covered, r.decided_share
    )
