"""Conversion of an explanation to its stored record and back; checks of its numbers and PNG."""

from __future__ import annotations

import struct
import zlib
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import isfinite
from typing import Any

import msgspec
import numpy as np

from suffice.errors import InputError
from suffice.explanation.explanation import Explanation
from suffice.explanation.schema import (
    MOST_PIXELS,
    NO_DATE,
    ChangeRecord,
    DrawsRecord,
    ExplanationRecord,
    FindingsRecord,
    FoundRecord,
    ImageSubject,
    Provenance,
    Subject,
    TextSubject,
    VolatileRecord,
)
from suffice.explanation.sufficient_factor import Change
from suffice.factors.lattice import Lattice
from suffice.formatting import format_integer, format_value
from suffice.search.exhaustive import Tally
from suffice.search.findings import Findings, FoundSet
from suffice.search.hybrid_sampling import HybridSample
from suffice.search.profile import Profile
from suffice.validation import check_adjustment, check_alpha, check_tau


def without_timing(p: Provenance, **others: Any) -> Provenance:
    """Return a provenance without the facts that differ between machines or runs.

    These are the time, and what may depend on the model's speed: which evaluator was used and how
    many rows were predicted. The answer depends on none of them.
    """
    return msgspec.structs.replace(
        p,
        evaluator="",
        note=None,
        rows_predicted=0,
        created=NO_DATE,
        seconds=0.0,
        model_seconds=0.0,
        unseen_labels=(),
        plan=None,
        **others,
    )


_VOLATILE = VolatileRecord.__struct_fields__


def split_volatile(record: ExplanationRecord) -> tuple[ExplanationRecord, dict[str, Any]]:
    """Return a record for encoding, without the volatile facts of its provenance; and those."""
    p = record.provenance
    stable: Any = {name: getattr(p, name) for name in p.__struct_fields__ if name not in _VOLATILE}
    volatile = {name: getattr(p, name) for name in _VOLATILE}
    return msgspec.structs.replace(record, provenance=stable), volatile


def join_volatile(content: Any, volatile: Any) -> None:
    """Put volatile facts that were stored beside an explanation's content back into it.

    A text without them is read with neutral values; in texts of version 0.5.0 they are in place.
    """
    provenance = content.get("provenance") if isinstance(content, dict) else None
    if isinstance(provenance, dict) and volatile is not None:
        facts = msgspec.convert(volatile, type=VolatileRecord)
        provenance |= msgspec.to_builtins(facts)


def only_at_its_tau(e: Explanation) -> Explanation:
    """Return the explanation without the counts, which only other thresholds need.

    Factors, necessity and completeness stay; the thresholds at which a factor is minimal are known
    from this τ up.
    """
    keep, flip = (_profile_at_tau(profile, e.tau) for profile in (e.keep_profile, e.flip_profile))
    assert flip.findings is not None
    lattice = keep.tally.lattice
    masks = [lattice.mask(found.members) for found in flip.findings.factors]
    return replace(
        e,
        keep_profile=keep,
        flip_profile=keep.other_view(flip.findings) if e.one_sweep else flip,
        changes={mask: e.changes[mask] for mask in masks if mask in e.changes},
    )


def _profile_at_tau(profile: Profile, tau: float) -> Profile:
    tally = profile.tally
    exact = profile.necessity_is_exact(tau)
    findings = Findings(
        tau,
        tuple(FoundSet(m.members, m.hits, m.proof) for m in profile.minimal_at(tau)),
        decided=profile.complete_at(tau),
        decided_size=profile.decided_size(tau),
        only_at_tau=True,
        covered=profile.covered(tau) if exact else None,
        decided_share=profile.decided_share(tau),
    )
    # The counts of the empty and the full set are stored even if no others are.
    ends = tuple(
        level if size in (0, tally.d) else level[:0] for size, level in enumerate(tally.levels)
    )
    none = Tally(tally.d, tally.n, ends)
    return replace(profile, tally=none, draws=None if exact else profile.draws, findings=findings)


def to_record(e: Explanation) -> ExplanationRecord:
    """Return the record of an explanation, as it is written to JSON."""
    keep, flip = e.keep_profile, e.flip_profile
    # Stored as it was counted: by what was held, and how many references keep the outcome.
    other = None if e.one_sweep else flip.other_view()
    numbers = {player.name: i for i, player in enumerate(e.players)}

    def change_record(change: Change) -> ChangeRecord:
        features = [numbers[name] for name in change.features]
        return ChangeRecord(features, change.cost, dict(change.values), change.reliability)

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
        players=list(e.players),
        hits=[level.tolist() for level in keep.tally.levels],
        keep_findings=_findings_record(keep.findings),
        flip_findings=_findings_record(flip.findings),
        changes=[change_record(change) for change in e.changes.values()],
        cheapest=None if e.cheapest is None else change_record(e.cheapest),
        cheapest_ties=[change_record(change) for change in e.cheapest_ties],
        directions=dict(e.directions),
        draws=_draws_record(keep.draws),
        stopped=e.stopped,
        provenance=e.provenance,
        flip_hits=None if other is None else [level.tolist() for level in other.tally.levels],
        flip_draws=None if other is None else _draws_record(other.draws),
        left_out=list(e.left_out),
        subject=e.subject,
    )


def from_record(record: ExplanationRecord) -> dict[str, Any]:
    """Return the fields of a stored explanation; an error if they contradict each other."""
    validate_record(record)
    players = tuple(record.players)
    keep = Profile(
        _read_tally(record, record.hits),
        record.alpha,
        record.adjust,
        record.max_size,
        record.size_weights,
        _read_draws(record.draws),
        _read_findings(record.keep_findings, len(players)),
    )
    swept = keep
    if record.flip_hits is not None:
        counts, draws = _read_tally(record, record.flip_hits), _read_draws(record.flip_draws)
        swept = replace(keep, tally=counts, draws=draws)

    flip = swept.other_view(_read_findings(record.flip_findings, len(players)))
    if record.stopped is None and not (keep.decided and flip.decided):
        raise InputError("text", "part of a search that nothing stopped", "a whole explanation")

    def change(stored: ChangeRecord) -> Change:
        named = tuple(players[j] for j in stored.features)
        return Change(named, stored.values, stored.cost, stored.reliability)

    return {
        "prediction": record.prediction,
        "score": record.score,
        "outcome": record.outcome,
        "other_outcome": record.other_outcome,
        "players": players,
        "left_out": tuple(record.left_out),
        "tau": record.tau,
        "keep_profile": keep,
        "flip_profile": flip,
        "provenance": record.provenance,
        "stopped": record.stopped,
        "changes": {keep.tally.lattice.mask(c.features): change(c) for c in record.changes},
        "cheapest": None if record.cheapest is None else change(record.cheapest),
        "cheapest_ties": tuple(map(change, record.cheapest_ties)),
        "directions": record.directions,
        "one_sweep": record.flip_hits is None,
        "subject": record.subject,
    }


def _read_tally(record: ExplanationRecord, hits: list[list[int]]) -> Tally:
    levels = tuple(np.array(level, dtype=np.int64) for level in hits)
    return Tally(len(record.players), record.provenance.n_references, levels)


def _draws_record(draws: HybridSample | None) -> DrawsRecord | None:
    if draws is None:
        return None
    digits = draws.held.astype(np.uint8) + np.uint8(ord("0"))
    held = [row.tobytes().decode("ascii") for row in digits]
    return DrawsRecord(held, draws.outcomes.tolist())


def _read_draws(record: DrawsRecord | None) -> HybridSample | None:
    if record is None or not record.held:
        return None
    held = [[digit == "1" for digit in row] for row in record.held]
    return HybridSample(np.array(held, dtype=bool), np.array(record.outcomes, dtype=bool))


def _findings_record(findings: Findings | None) -> FindingsRecord | None:
    if findings is None:
        return None
    found = [FoundRecord(list(f.members), f.hits, f.proof) for f in findings.factors]
    f = findings
    return FindingsRecord(
        f.tau, found, f.decided, f.decided_size, f.only_at_tau, f.covered, f.decided_share
    )


def _read_findings(record: FindingsRecord | None, d: int) -> Findings | None:
    if record is None:
        return None
    found = tuple(FoundSet(tuple(f.features), f.hits, f.proof) for f in record.factors)
    r = record
    # Greedy searches of version 0.5.0 stored -1 beside `decided`.
    size = d if r.decided else r.decided_size
    return Findings(r.tau, found, r.decided, size, r.only_at_tau, r.covered, r.decided_share)


# Does a stored explanation make sense? Asked before anything is made of it.


_LARGEST_COUNT = 2**53
"""Past this a count is no longer exact as a share's part."""


def validate_record(record: ExplanationRecord) -> None:
    """Raise for a record that no explanation could have written."""
    check_tau(record.tau)
    check_adjustment(record.adjust, check_alpha(record.alpha))
    _check_provenance(record.provenance)
    _check_players(record)
    score = record.score
    if score is not None:
        share = 0 <= score.value <= 1 or score.kind != "probability"
        _require(isfinite(score.value) and share, f"a {score.kind} of {score.value}")
    _check_prediction(record)
    d, n = len(record.players), record.provenance.n_references
    _require(record.max_size is None or record.max_size >= 1, "max_size below 1")
    weights = record.size_weights
    if weights is not None:
        fit = len(weights) == d + 1 and all(0 < w < float("inf") for w in weights)
        _require(fit, f"{len(weights)} size_weights for {d} features")
    for hits in (record.hits, record.flip_hits):
        if hits is not None:
            _check_hits(hits, d, n)
            if record.provenance.context.kind == "swap" and record.alpha is None:
                # All features held is the input; rounding in batches may still lose a few.
                lost = any(2 * whole < n for whole in hits[d])
                _require(not lost, "an input that loses its own outcome")
    for draws in (record.draws, record.flip_draws):
        if draws is not None:
            _check_draws(draws, d)
    for findings in (record.keep_findings, record.flip_findings):
        if findings is not None:
            _check_findings(findings, d, n)
    _require(
        len({tuple(change.features) for change in record.changes}) == len(record.changes),
        "two changes of one set of features",
    )
    cheapest = [record.cheapest] if record.cheapest else []
    for change in (*record.changes, *cheapest, *record.cheapest_ties):
        _check_change(change, record)
    names = {player.name for player in record.players}
    _require(record.directions.keys() <= names, "a direction of an unknown feature")
    if record.subject is not None:
        _check_subject(record.subject, d, record.provenance.context.kind == "parts")


def _require(holds: bool, got: str) -> None:
    if not holds:
        raise InputError("text", got, "JSON written by Explanation.to_json")


def _check_provenance(p: Provenance) -> None:
    n = p.n_references
    _require(1 <= n < _LARGEST_COUNT, f"{format_integer(n)} references")
    counts = (p.hybrids, p.rows_predicted, p.random_state, *(p.data or ()))
    _require(all(0 <= count < 2**63 for count in counts), "a count that is none in provenance")
    times = [p.seconds, p.model_seconds]
    if p.plan is not None:
        counts = (p.plan.players, p.plan.left_out, p.plan.references)
        _require(all(0 <= count < 2**63 for count in counts), "a count that is none in the plan")
        more = [suggestion.seconds for suggestion in p.plan.more]
        times += [p.plan.seconds, p.plan.exhaustive_seconds, p.plan.memory, *more]
        p.plan.limits.validated()
    _require(all(isfinite(t) and t >= 0 for t in times), "a time below 0, or that is none")


def _check_prediction(record: ExplanationRecord) -> None:
    """Raise where the outcome is one of two classes, and the prediction is not that one."""
    named = (record.outcome, record.other_outcome)
    others = any(words in name for name in named for words in _NOT_CLASSES)
    said = record.prediction
    if isinstance(said, str) and not others and record.subject is None:
        own = (said, format_value(said))  # a date is shown without its time of midnight
        _require(record.outcome in own, f"a prediction {said!r} with the outcome {named[0]!r}")


_NOT_CLASSES = ("prediction ", " rather than ", "not ", "(")
"""Words of events that are no class, and of a class beside several others."""


def _check_players(record: ExplanationRecord) -> None:
    _require(len(record.players) >= 1, "no players")
    players = [*record.players, *(left.player for left in record.left_out)]
    names = [player.name for player in players]
    _require(len(set(names)) == len(names), "two players of one name")
    columns = [column for player in players for column in player.values]
    _require(len(set(columns)) == len(columns), "a column of two players")


def _check_hits(hits: list[list[int]], d: int, n: int) -> None:
    _require(len(hits) == d + 1, f"hits for {len(hits)} sizes of {d} features")
    lattice = Lattice(d)
    for size, counts in enumerate(hits):
        if not counts:
            continue
        _require(min(counts) >= 0 and max(counts) <= n, f"hits beyond 0 to {format_integer(n)}")
        width = lattice.width(size)
        _require(len(counts) <= width, f"hits for {len(counts)} sets of {size} of {d} features")


def _check_draws(draws: DrawsRecord, d: int) -> None:
    _require(len(draws.held) == len(draws.outcomes), "draws without an outcome each")
    fit = all(len(row) == d and not row.strip("01") for row in draws.held)
    _require(fit, f"draws that are not of {d} digits, 0 or 1")


def _check_findings(findings: FindingsRecord, d: int, n: int) -> None:
    check_tau(findings.tau)
    inside, outcome = findings.covered or (0.0, 0.0)
    _require(0 <= inside <= outcome < float("inf"), "more of the outcome covered than there is")
    share = findings.decided_share
    _require(share is None or 0 <= share <= 1, f"a share of {share} decided")
    _require(-1 <= findings.decided_size <= d, f"sets of {findings.decided_size} decided")
    sets = [tuple(found.features) for found in findings.factors]
    _require(len(set(sets)) == len(sets), "one finding twice")
    for found in findings.factors:
        _check_features(found.features, d)
        enough = 0 <= found.hits <= n and findings.tau * n <= found.hits * (1 + 1e-9)
        _require(enough, f"a finding with {format_integer(found.hits)} of {n} hits")


def _check_features(features: Sequence[int], d: int) -> None:
    ascending = all(a < b for a, b in pairwise(features))
    inside = not features or (features[0] >= 0 and features[-1] < d)
    _require(ascending and inside, f"features that are not numbers from 0 to {d - 1}, ascending")


def _check_change(change: ChangeRecord, record: ExplanationRecord) -> None:
    _check_features(change.features, len(record.players))
    _require(isfinite(change.cost) and change.cost >= 0, f"a change of cost {change.cost}")
    columns = [c for j in change.features for c in record.players[j].values]
    _require(set(change.values) == set(columns), "a change of other columns than its features'")


def _check_subject(subject: Subject, d: int, parts: bool) -> None:
    if isinstance(subject, TextSubject):
        _require(len(subject.spans) == d, f"{len(subject.spans)} spans for {d} features")
        edges = [edge for span in subject.spans for edge in span]
        apart = all(start < stop for start, stop in subject.spans) and edges == sorted(edges)
        inside = edges[0] >= 0 and edges[-1] <= len(subject.text)
        _require(apart and inside, "spans that overlap, or lie outside the text")
        return
    _check_picture(subject, d, parts)


def _check_picture(subject: ImageSubject, d: int, parts: bool) -> None:
    height, width = subject.height, subject.width
    sides = height >= 1 and width >= 1 and height * width <= MOST_PIXELS
    _require(sides, f"a picture of {format_integer(width)} × {format_integer(height)} pixels")
    _require(len(subject.marks) == d, f"{len(subject.marks)} marks for {d} regions")
    _require(all(length >= 1 for _, length in subject.runs), "a run of no pixels")
    covered = sum(length for _, length in subject.runs)
    _require(
        covered == height * width,
        f"regions of {format_integer(covered)} of {height * width} pixels",
    )
    # Beside its parts, a picture has pixels of none of them.
    labels = {label for label, _ in subject.runs} - ({d} if parts else set())
    _require(labels == set(range(d)), f"regions other than 0 to {d - 1}")
    check_png(subject.png, height, width)


# Check that bytes are a complete PNG of the expected size, without decompressing it.


_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def check_png(base64: str, height: int, width: int) -> None:
    """Raise unless the text is a PNG of this size.

    A decoder allocates as many pixels as the header of a file names, so a wrong size could exhaust
    the memory.
    """
    try:
        size = _png_size(b64decode(base64, validate=True))
    except (ValueError, struct.error) as error:
        raise InputError("text", "a picture that is no PNG", "one as it was stored") from error
    if size != (height, width):
        got = f"a PNG of {size[1]} × {size[0]} pixels, said to have {width} × {height}"
        raise InputError("text", got, "a picture as it was stored")


def _png_size(png: bytes) -> tuple[int, int]:
    """Return height and width; raise unless every chunk is complete and in its place."""
    if not png.startswith(_PNG_SIGNATURE):
        raise ValueError("no PNG")
    place, kinds = len(_PNG_SIGNATURE), []
    while place < len(png):
        length, kind = struct.unpack_from(">I4s", png, place)
        end = place + 8 + length
        (check,) = struct.unpack_from(">I", png, end)
        if zlib.crc32(png[place + 4 : end]) != check:
            raise ValueError("a damaged chunk")
        kinds.append(kind)
        place = end + 4
    if kinds[:1] != [b"IHDR"] or kinds[-1:] != [b"IEND"]:
        raise ValueError("not all there")
    width, height = struct.unpack_from(">II", png, len(_PNG_SIGNATURE) + 8)
    return height, width
