"""Does a stored explanation make sense? Asked before anything is made of it.

Types are checked by msgspec. What is left is how fields belong together, and sizes: a few bytes
must not ask for gigabytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import isfinite

from suffice.checks import level, threshold
from suffice.errors import InputError
from suffice.explanation.png import check_png
from suffice.explanation.record import (
    ChangeRecord,
    DrawsRecord,
    ExplanationRecord,
    FindingsRecord,
    Provenance,
)
from suffice.explanation.subject import ImageSubject, Subject, TextSubject
from suffice.factors.lattice import Lattice
from suffice.inference import check_adjustment
from suffice.wording import large

__all__ = ["check_sense"]

_COUNTABLE = 2**53
"""Past this a count is no longer exact as a share's part."""
_PIXELS = 2**26
"""A picture of 67 megapixels: its map of regions then takes half a gigabyte."""


def check_sense(record: ExplanationRecord) -> None:
    """Raise for a record that no explanation could have written."""
    threshold(record.tau)
    check_adjustment(record.adjust, level(record.alpha))
    _check_provenance(record.provenance)
    _check_players(record)
    score = record.score
    if score is not None:
        share = 0 <= score.value <= 1 or score.kind != "probability"
        _require(isfinite(score.value) and share, f"a {score.kind} of {score.value}")
    d, n = len(record.players), record.provenance.n_references
    _require(record.max_size is None or record.max_size >= 1, "max_size below 1")
    weights = record.size_weights
    if weights is not None:
        fit = len(weights) == d + 1 and all(0 < w < float("inf") for w in weights)
        _require(fit, f"{len(weights)} size_weights for {d} features")
    for hits in (record.hits, record.flip_hits):
        if hits is not None:
            _check_hits(hits, d, n)
    for draws in (record.draws, record.flip_draws):
        if draws is not None:
            _check_draws(draws, d)
    for findings in (record.keep_findings, record.flip_findings):
        if findings is not None:
            _check_findings(findings, d, n, record.tau)
    _require(
        len({tuple(change.features) for change in record.changes}) == len(record.changes),
        "two changes of one set of features",
    )
    for change in (*record.changes, *([record.cheapest] if record.cheapest else ())):
        _check_change(change, record)
    if record.subject is not None:
        _check_subject(record.subject, d, record.provenance.context.kind == "parts")


def _require(holds: bool, got: str) -> None:
    if not holds:
        raise InputError("text", got, "JSON written by Explanation.to_json")


def _check_provenance(p: Provenance) -> None:
    n = p.n_references
    _require(1 <= n < _COUNTABLE, f"{large(n)} references")
    counts = (p.hybrids, p.rows_predicted, p.random_state, *(p.data or ()))
    _require(all(0 <= count < 2**63 for count in counts), "a count that is none in provenance")
    times = (p.seconds, p.model_seconds)
    _require(all(isfinite(t) and t >= 0 for t in times), "a time below 0 in provenance")


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
        _require(min(counts) >= 0 and max(counts) <= n, f"hits beyond 0 to {n}")
        width = lattice.width(size)
        _require(len(counts) <= width, f"hits for {len(counts)} sets of {size} of {d} features")


def _check_draws(draws: DrawsRecord, d: int) -> None:
    _require(len(draws.held) == len(draws.outcomes), "draws without an outcome each")
    fit = all(len(row) == d and not row.strip("01") for row in draws.held)
    _require(fit, f"draws that are not of {d} digits, 0 or 1")


def _check_findings(findings: FindingsRecord, d: int, n: int, tau: float) -> None:
    threshold(findings.tau)
    _require(not findings.only_at_tau or findings.tau == tau, "findings at another threshold")
    inside, outcome = findings.covered or (0.0, 0.0)
    _require(0 <= inside <= outcome < float("inf"), "more of the outcome covered than there is")
    share = findings.decided_share
    _require(share is None or 0 <= share <= 1, f"a share of {share} decided")
    sets = [tuple(found.features) for found in findings.factors]
    _require(len(set(sets)) == len(sets), "one finding twice")
    for found in findings.factors:
        _check_features(found.features, d)
        enough = 0 <= found.hits <= n and findings.tau * n <= found.hits * (1 + 1e-9)
        _require(enough, f"a finding with {large(found.hits)} of {n} hits")


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
    sides = height >= 1 and width >= 1 and height * width <= _PIXELS
    _require(sides, f"a picture of {large(width)} × {large(height)} pixels")
    _require(len(subject.marks) == d, f"{len(subject.marks)} marks for {d} regions")
    _require(all(length >= 1 for _, length in subject.runs), "a run of no pixels")
    covered = sum(length for _, length in subject.runs)
    _require(covered == height * width, f"regions of {large(covered)} of {height * width} pixels")
    # Beside its parts, a picture has pixels of none of them.
    labels = {label for label, _ in subject.runs} - ({d} if parts else set())
    _require(labels == set(range(d)), f"regions other than 0 to {d - 1}")
    check_png(subject.png, height, width)
