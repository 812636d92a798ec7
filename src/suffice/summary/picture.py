"""The data of the picture of one view: its sets as rows, its features as columns, every threshold.

Rows are the sets minimal at τ, then those minimal at other thresholds, longest first. Columns are
the features of those rows, ordered by necessity: how much of the outcome each is part of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from suffice.explanation import Explanation, Player, SufficientFactor, View
from suffice.search.profile import Profile
from suffice.typing import Reals
from suffice.wording import count, harmless, named, show

__all__ = ["Picture", "PictureColumn", "PictureRow", "by_necessity", "picture_of", "value_of"]

ROWS = 16
"""So many sets are drawn; the rest are counted."""
OTHERS = 8
"""So many of them at most are sets that are minimal at other thresholds only."""
COLUMNS = 24
"""So many features have a column; where the sets name more, the rest are counted per row."""


@dataclass(frozen=True)
class PictureColumn:
    """A feature: its name and the input's value, as they stand in the head."""

    name: str
    value: str
    title: str
    """Both in full, however long."""

    @property
    def label(self) -> str:
        """What stands in the head."""
        return f"{self.name} = {self.value}" if self.value else self.name


@dataclass(frozen=True)
class PictureRow:
    """A set, how surely it suffices, and the thresholds (low, high] at which it is minimal."""

    columns: tuple[int, ...]
    others: int
    """Features of the set that have no column."""
    sufficiency: float
    interval: tuple[float, float]
    low: float
    high: float
    at_tau: bool


@dataclass(frozen=True)
class Picture:
    """One view, ready to be drawn."""

    columns: tuple[PictureColumn, ...]
    rows: tuple[PictureRow, ...]
    tau: float
    curve: tuple[tuple[float, float], ...]
    """Steps (τ, cumulative necessity); () where it is not known at every τ."""
    more: str
    """How many sets are not drawn, and for which thresholds; "" where all are."""


def picture_of(view: View, curve: tuple[tuple[float, float], ...]) -> Picture | None:
    """What to draw of a view; None where one reference makes all thresholds alike."""
    if view.tally.n == 1 or not view.profile.n_minimal_somewhere:
        return None
    numbers = {player.name: i for i, player in enumerate(view.players)}
    at_tau = [_Shown(tuple(numbers[name] for name in f.features), f) for f in view[:ROWS]]
    # No fewer than fit, even if all that are minimal at τ are among them.
    longest = view.profile.minimal_somewhere(2 * ROWS)
    others = [m for m in longest if not m.low < view.tau <= m.high]
    others = sorted(others, key=lambda m: m.low - m.high)[: min(ROWS - len(at_tau), OTHERS)]
    others.sort(key=lambda m: (-m.high, m.low, len(m.members), m.members[::-1]))
    names = [player.name for player in view.players]
    shown = at_tau + [_Shown(m.members, view.factor([names[i] for i in m.members])) for m in others]
    players = _columns(view, shown)
    where = {player: column for column, player in enumerate(players)}
    return Picture(
        columns=tuple(_column(view, view.players[player]) for player in players),
        rows=tuple(_row(s, where, view.tau) for s in shown),
        tau=view.tau,
        curve=curve,
        more=_more(view, shown),
    )


@dataclass(frozen=True)
class _Shown:
    members: tuple[int, ...]
    factor: SufficientFactor


def _row(shown: _Shown, where: Mapping[int, int], tau: float) -> PictureRow:
    low, high = shown.factor.minimal_for
    return PictureRow(
        columns=tuple(sorted(where[i] for i in shown.members if i in where)),
        others=sum(i not in where for i in shown.members),
        sufficiency=shown.factor.sufficiency,
        interval=shown.factor.interval,
        low=low,
        high=high,
        at_tau=low < tau <= high,
    )


def value_of(e: Explanation, player: Player) -> str:
    """The input's value, as it stands beside the name; "" for groups, words and regions."""
    single = len(player.values) == 1 and player.name in player.values
    return show(player.values[player.name]) if single and e.subject is None else ""


def by_necessity(e: Explanation) -> list[int]:
    """The features' numbers, those that most hybrids of the outcome hold first: in both views
    together, so that one can be read under the other."""
    keep, flip = (_necessities(view.profile) for view in (e.keep, e.flip))
    return sorted(range(len(keep)), key=lambda i: (-(keep[i] + flip[i]), i))


def _necessities(profile: Profile) -> Reals:
    """For each feature, the share of the outcome that holds it: counted, or in a sample."""
    tally = profile.tally
    if tally.complete:
        sizes = np.bitwise_count(np.arange(1 << tally.d, dtype=np.uint32))
        mass = tally.dense * profile.weights[sizes]
        halves = np.array([mass.reshape(-1, 2, 1 << j)[:, 1].sum() for j in range(tally.d)])
        return np.asarray(halves / max(mass.sum(), 1e-300))
    if profile.draws is not None and profile.draws.outcomes.any():
        return np.asarray(profile.draws.held[profile.draws.outcomes].mean(axis=0))
    return np.zeros(tally.d)


def _columns(view: View, shown: Sequence[_Shown]) -> list[int]:
    """All features where there are few; else those that the sets shown name, the commonest."""
    order = by_necessity(view.explanation)
    if len(order) <= COLUMNS:
        return order
    named_in = Counter(i for s in shown for i in s.members)
    commonest = {i for i, _ in named_in.most_common(COLUMNS)}
    return [i for i in order if i in commonest]


def _column(view: View, player: Player) -> PictureColumn:
    value = value_of(view.explanation, player)
    full = f"{harmless(player.name)} = {value}" if value else harmless(player.name)
    return PictureColumn(named(player.name), value, full)


def _more(view: View, shown: Sequence[_Shown]) -> str:
    """The sets that are not drawn, in words."""
    profile = view.profile
    n = profile.n_minimal_somewhere - len(shown)
    if n <= 0:
        return ""
    bars = profile.bars
    left = np.ones(len(bars.sizes), dtype=bool)
    for s in shown:
        left &= (bars.sizes != len(s.members)) | (bars.places != profile.place(s.members))
    said = f"{count(n, 'more set')} {'is' if n == 1 else 'are'} minimal at some threshold"
    if profile.findings is None:
        said += f" between {float(bars.low[left].min()):.2f} and {float(bars.high[left].max()):.2f}"
    beyond = len(view) - min(len(view), ROWS)
    return said + (f", {beyond:,} of them at τ = {view.tau:g}" if beyond else "")
