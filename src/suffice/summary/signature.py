"""Signature picture as data: minimal sets as rows, features as columns, and every threshold τ.

The page, its script and matplotlib draw the same data, each with limits of its own. Rows are the
sets minimal at τ, then those minimal at other thresholds, longest intervals first. Columns are
features in order of necessity: features that hold in most of the outcome's hybrids come first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import floor, nextafter

import numpy as np

from suffice.explanation import Explanation, Player, SufficientFactor, View
from suffice.formatting import format_name, plural, printable
from suffice.search.profile import Profile
from suffice.summary.terminology import feature_value
from suffice.typing import Reals


@dataclass(frozen=True)
class SignatureLimits:
    """Limits on the sets and features that a signature picture shows; the rest are counted."""

    rows: int = 16
    other_rows: int = 8
    """Most rows of sets that are minimal at other thresholds than τ."""
    columns: int = 24
    every_column: int = 24
    """Up to this many features all have a column, also those that are in none of the rows."""


@dataclass(frozen=True)
class SignatureColumn:
    """A feature: its name and the input's value, as they stand in the head of a column."""

    name: str
    value: str
    """"" for groups of columns, words and regions."""
    full_name: str
    """Name and value at full length; of a group also its columns."""
    group: bool = False
    """Whether the feature is a group, whose columns stand in `full_name` only."""

    @property
    def feature_name(self) -> str:
        """Name at full length, without value; of a group the short name."""
        return self.name if self.group else self.full_name.removesuffix(f" = {self.value}")

    @property
    def label(self) -> str:
        """Name and value on one line."""
        return f"{self.name} = {self.value}" if self.value else self.name


@dataclass(frozen=True)
class SignatureRow:
    """A set, its sufficiency, and the thresholds (low, high] at which it is minimal."""

    columns: tuple[int, ...]
    """Indices of its columns, ascending."""
    n_without_column: int
    """How many features of the set have no column, for want of room."""
    sufficiency: float
    interval: tuple[float, float]
    low: float
    high: float
    at_tau: bool
    unknown_below_tau: bool
    """Whether the search decided the set at one τ only, so that `low` is just below that."""


@dataclass(frozen=True)
class ViewSignature:
    """Signature picture of one view, as data."""

    columns: tuple[SignatureColumn, ...]
    rows: tuple[SignatureRow, ...]
    tau: float
    curve: tuple[tuple[float, float], ...]
    """Steps (τ, cumulative necessity); () where it is not known at every τ."""
    chance_curve: tuple[tuple[float, float], ...]
    """Steps (τ, share of all hybrids, whatever their outcome): the necessity expected by chance."""
    hidden_note: str
    """How many sets are not drawn, and for which thresholds; "" where all are."""


def view_signature(
    view: View, curve: tuple[tuple[float, float], ...], limits: SignatureLimits
) -> ViewSignature:
    """Return the signature picture of a view; one reference has no sets at other thresholds."""
    names = [player.name for player in view.players]
    numbers = {name: i for i, name in enumerate(names)}
    shown = {tuple(numbers[name] for name in f.features): f for f in view[: limits.rows]}
    room = min(limits.rows - len(shown), limits.other_rows)
    if room > 0 and view.tally.n > 1:
        # At most `rows` of the longest are minimal at τ, so twice as many hold enough others.
        longest = view.profile.minimal_at_any_tau(2 * limits.rows)
        others = [m for m in longest if not m.low < view.tau <= m.high]
        others = sorted(others, key=lambda m: m.low - m.high)[:room]
        others.sort(key=lambda m: (-m.high, m.low, len(m.members), m.members[::-1]))
        shown |= {m.members: view.factor([names[i] for i in m.members]) for m in others}
    # Both views choose their own columns, but in one order.
    features = _column_features(view, shown, limits)
    where = {feature: column for column, feature in enumerate(features)}
    return ViewSignature(
        columns=tuple(signature_column(view.explanation, view.players[i]) for i in features),
        rows=tuple(_row(members, factor, where, view) for members, factor in shown.items()),
        tau=view.tau,
        curve=curve,
        chance_curve=view.baseline_curve if curve else (),
        hidden_note=_hidden_note(view, shown),
    )


def unknown_below_tau(view: View, low: float) -> bool:
    """Return whether a set that is minimal for τ in (low, …] may be minimal below τ as well.

    A search at one threshold (pruned, anytime) decides nothing below it. Such a set is minimal at
    that threshold itself, and `low` is the largest number below it.
    """
    findings = view.profile.findings
    return findings is not None and low in (nextafter(view.tau, 0.0), nextafter(findings.tau, 0.0))


def _row(
    members: tuple[int, ...], factor: SufficientFactor, where: Mapping[int, int], view: View
) -> SignatureRow:
    low, high = factor.minimal_for
    return SignatureRow(
        columns=tuple(sorted(where[i] for i in members if i in where)),
        n_without_column=sum(i not in where for i in members),
        sufficiency=factor.sufficiency,
        interval=factor.interval,
        low=low,
        high=high,
        at_tau=low < view.tau <= high,
        unknown_below_tau=unknown_below_tau(view, low),
    )


def signature_column(e: Explanation, player: Player) -> SignatureColumn:
    """Return the head of a feature's column."""
    name, short = printable(player.name), format_name(player.name)
    if e.subject is not None or not player.values:
        return SignatureColumn(short, "", name)
    value, group = feature_value(player)
    if group:
        return SignatureColumn(short, "", f"{name} ({value})", group=True)
    return SignatureColumn(short, value, f"{name} = {value}")


def order_by_necessity(e: Explanation) -> list[int]:
    """Return the features' numbers, those that hold in most hybrids of the outcome first.

    Both views are counted together, so that their pictures have the same order of columns.
    """
    keep, flip = (_necessities(view.profile) for view in (e.keep, e.flip))
    # Ties in the data's order, so that the picture is the same every time.
    return sorted(range(len(keep)), key=lambda i: (-(keep[i] + flip[i]), i))


def _necessities(profile: Profile) -> Reals:
    """Return, for each feature, the counted or sampled share of the outcome that holds it."""
    tally = profile.tally
    if tally.complete:
        sizes = np.bitwise_count(np.arange(1 << tally.d, dtype=np.uint32))
        mass = tally.dense * profile.weights[sizes]
        # With feature j as the middle axis, index 1 has the sets that hold it.
        halves = np.array([mass.reshape(-1, 2, 1 << j)[:, 1].sum() for j in range(tally.d)])
        return np.asarray(halves / max(mass.sum(), 1e-300))
    if profile.draws is not None and profile.draws.outcomes.any():
        return np.asarray(profile.draws.held[profile.draws.outcomes].mean(axis=0))
    return np.zeros(tally.d)


def _column_features(
    view: View, shown: Iterable[tuple[int, ...]], limits: SignatureLimits
) -> list[int]:
    """Return all features where there are few, else those that most of the shown sets name."""
    order = order_by_necessity(view.explanation)
    if len(order) <= limits.every_column:
        return order
    named_in = Counter(i for members in shown for i in members)
    commonest = {i for i, _ in named_in.most_common(limits.columns)}
    return [i for i in order if i in commonest]


def _hidden_note(view: View, shown: Mapping[tuple[int, ...], SufficientFactor]) -> str:
    """Return how many sets are not drawn, and for which thresholds; "" where all are."""
    profile = view.profile
    at_tau = sum(f.minimal_for[0] < view.tau <= f.minimal_for[1] for f in shown.values())
    beyond = len(view) - at_tau
    if view.tally.n == 1:
        return f"{plural(beyond, 'more set')} at τ = {view.tau:g}" if beyond else ""
    # Counted, not listed: there may be thousands of them.
    n = profile.n_minimal_at_any_tau - len(shown)
    if n <= 0:
        return ""
    bars = profile.bars
    left = np.ones(len(bars.sizes), dtype=bool)
    for members in shown:
        left &= (bars.sizes != len(members)) | (bars.places != profile.place(members))
    said = f"{plural(n, 'more set')} {'is' if n == 1 else 'are'} minimal at some threshold"
    if profile.findings is None:
        said += f" between {float(bars.low[left].min()):.2f} and {float(bars.high[left].max()):.2f}"
    return said + (f", {beyond:,} of them at τ = {view.tau:g}" if beyond else "")


# Axes and steps, shared by all that draw the picture.


def axis_start(shares: Iterable[float]) -> float:
    """Return the start of an axis for these shares: 0, or more where all are near 1.

    >>> axis_start([0.93, 0.97]), axis_start([0.62, 1.0]), axis_start([0.2, 0.9])
    (0.9, 0.6, 0.0)
    >>> axis_start([0.995, 1.0])
    0.98
    """
    least = min(shares)
    if least < 0.4:
        return 0.0
    step = 0.1 if least < 0.9 else 0.05 if least < 0.97 else 0.02
    # A tenth of a step lower, so that no share lies exactly on the left edge.
    return round(max(0.0, floor((least - step / 10) / step + 1e-9) * step), 6)


def step_corners(
    curve: Sequence[tuple[float, float]], start: float = 0.0
) -> tuple[list[float], list[float]]:
    """Return the corners of a falling step function; each height holds up to and including its τ.

    >>> step_corners([(0.5, 1.0), (0.8, 0.25)])
    ([0.0, 0.5, 0.5, 0.8, 0.8, 1.0], [1.0, 1.0, 0.25, 0.25, 0.0, 0.0])
    >>> step_corners([(0.5, 1.0), (1.0, 0.25)], start=0.6)
    ([0.6, 1.0], [0.25, 0.25])
    """
    xs: list[float] = []
    ys: list[float] = []
    before = start
    last = [(1.0, 0.0)] if not curve or curve[-1][0] < 1 else []
    for tau, share in (*curve, *last):
        if tau > start:
            xs += [before, tau]
            ys += [share, share]
            before = tau
    return xs, ys
