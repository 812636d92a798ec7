"""One typed summary of an explanation; every picture, page and screen reads only this.

All wording lives here, so that the terminal, a notebook and a report say the same thing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from suffice.context import SwapContext
from suffice.explanation import Explanation, Player, SufficientFactor, View
from suffice.explanation.subject import ImageSubject, Subject, TextSubject
from suffice.search.profile import Minimal
from suffice.terms import Terms, terms_for
from suffice.typing import Scalar
from suffice.wording import count, large, percent, show

__all__ = ["Bar", "FactorLine", "Summary", "ViewSummary", "summarise"]


_BARS_SHOWN = 24

_REFERENCES = {"opposite": " predicted otherwise", "all": " (the whole data)"}


@dataclass(frozen=True)
class FactorLine:
    """A factor as it is read out."""

    conditions: tuple[str, ...]
    """Keep: "Job = skilled". Flip: the features that are replaced."""
    sufficiency: float
    interval: tuple[float, float]
    n: int
    p_value: float
    minimal_for: tuple[float, float]
    change: str
    """The cheapest observed change that flips, in words; "" for keep."""
    cost: float | None
    proof: str = ""
    """How minimality is known, where it is not against every smaller set."""
    pieces: tuple[tuple[str, bool], ...] = ()
    """Of a text: its characters in order, and whether they belong to the factor."""
    regions: tuple[int, ...] = ()
    """Of a picture: the numbers of the regions to be marked."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What else there is to say of it, a sentence each."""
        cheapest = f"cheapest seen: {self.change} (cost {self.cost:.3g})" if self.change else ""
        if self.pieces and self.change:  # words have no prices: the cheapest is one of many
            cheapest = f"for example: {self.change}"
        return tuple(note for note in (cheapest, self.proof) if note)

    @property
    def shown(self) -> str:
        """What a picture with its regions marked shows, for those who cannot see it."""
        return f"The picture with {', '.join(self.conditions) or 'nothing'} marked"

    @property
    def text(self) -> str:
        """The conditions on one line."""
        return ", ".join(self.conditions) or "nothing: it comes about anyway"


@dataclass(frozen=True)
class Bar:
    """A factor's interval of thresholds: one bar of the barcode."""

    label: str
    low: float
    high: float
    size: int


@dataclass(frozen=True)
class ViewSummary:
    """One view, ready to be shown."""

    name: str
    title: str
    lead: str
    tau: float
    factors: tuple[FactorLine, ...]
    none_reached: str
    """What to know, and to do, where no factor reaches τ; "" where one does."""
    necessity: float | None
    necessity_text: str
    bars: tuple[Bar, ...]
    """The highest few of the barcode."""
    n_bars: int
    """How many bars there are in all."""
    curve: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Summary:
    """An explanation, ready to be shown."""

    question: str
    subject: str
    values: tuple[tuple[str, str], ...]
    keep: ViewSummary
    flip: ViewSummary
    completeness: str
    complete: bool
    provenance: str
    text: str = ""
    """The text that was explained, in place of values."""
    picture: ImageSubject | None = None
    """Where the features are its regions, the picture to draw factors in."""
    regions: tuple[str, ...] = ()
    """What to write on each region of the picture."""
    shown: str = ""
    """What the picture shows, for those who cannot see it."""


def summarise(explanation: Explanation) -> Summary:
    """Put an explanation into words and numbers for display."""
    e, p, terms = explanation, explanation.provenance, terms_for(explanation)
    text = e.subject.text if isinstance(e.subject, TextSubject) else ""
    picture = e.subject if isinstance(e.subject, ImageSubject) else None
    mixed = p.context != SwapContext().describe()
    size = f"{picture.width} × {picture.height} pixels, " if picture else ""
    size += count(len(e.keep.players), terms.feature)
    return Summary(
        question=f"Why “{e.keep.outcome}”?",
        subject=(
            f"{p.model}, against {count(p.n_references, 'reference')}"
            f"{f' ({p.references})' if picture else _REFERENCES.get(p.references, '')}"
            + (f": {p.context}" if mixed else "")
        ),
        values=_values(e, (("picture", size),) if picture else ()),
        keep=_summarise_view(e.keep, terms, e.subject),
        flip=_summarise_view(e.flip, terms, e.subject),
        completeness=f"{_completeness(e, terms)} {terms.beyond}".rstrip(),
        complete=e.complete,
        provenance=(
            f"{p.hybrids:,} hybrids from {p.rows_predicted:,} model rows in {p.seconds:.2f} s "
            f"({p.evaluator}); seed {p.random_state}; suffice {p.versions.get('suffice', '?')}"
        ),
        text=text,
        picture=picture,
        regions=_region_labels(e.keep.players) if picture else (),
        shown=f"The picture, {size}" if picture else "",
    )


def _values(e: Explanation, instead: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """The input's values; a text or a picture is shown itself."""
    if e.subject is not None:
        return instead
    return tuple((player.name, _value(player)) for player in e.keep.players)


def _summarise_view(view: View, terms: Terms, subject: Subject | None) -> ViewSummary:
    keep = view.name == "keep"
    # One reference makes every share 0 or 1, and all thresholds alike.
    alike = isinstance(subject, TextSubject) and view.tally.n == 1
    at_least = "" if alike else f" in at least {percent(view.tau)} of cases"
    tested = (
        f", each by an exact binomial test at α = {view.alpha:g}"
        + (f" ({view.adjust}-adjusted)" if view.adjust != "none" else "")
        if view.alpha is not None
        else ""
    )
    title = f"Keeps “{view.outcome}”" if keep else f"Flips to “{view.outcome}”"
    result = f"“{view.outcome}” {'stays' if keep else 'results'}{at_least}{tested}."
    factors = tuple(_line(view, factor, subject) for factor in view.factors)
    return ViewSummary(
        name=view.name,
        title=title,
        lead=f"{terms.keep if keep else terms.flip}: {result}" if factors else "",
        tau=view.tau,
        factors=factors,
        none_reached="" if factors else _none_reached(view, terms),
        necessity=view.necessity,
        necessity_text=_necessity(view, terms),
        bars=()
        if alike
        else tuple(_bar(view, m) for m in view.profile.minimal_somewhere(_BARS_SHOWN)),
        n_bars=view.profile.n_minimal_somewhere,
        # Factors found at one τ say nothing of necessity at the others.
        curve=view.curve if view.profile.findings is None and not alike else (),
    )


def _bar(view: View, minimal: Minimal) -> Bar:
    names = [view.players[member].name for member in minimal.members]
    return Bar(", ".join(names) or "nothing", minimal.low, minimal.high, len(names))


def _line(view: View, factor: SufficientFactor, subject: Subject | None) -> FactorLine:
    numbers = {player.name: i for i, player in enumerate(view.players)}
    members = [numbers[name] for name in factor.features]
    players = [view.players[member] for member in members]
    text = subject if isinstance(subject, TextSubject) else None
    if text is None and view.name == "keep":
        conditions = tuple(_condition(player) for player in players)
    else:
        conditions = tuple(player.name for player in players)
    return FactorLine(
        conditions=conditions,
        sufficiency=factor.sufficiency,
        interval=factor.interval,
        n=factor.n,
        p_value=factor.p_value,
        minimal_for=factor.minimal_for,
        # What a single token would be in a word's place is said once, above.
        change=_change(players, factor.change.values, text is not None)
        if factor.change and not (text and factor.n == 1)
        else "",
        cost=factor.cost,
        proof="" if factor.proof == "exhaustive" else "minimal against the sets one smaller",
        pieces=text.pieces(frozenset(members)) if text and members else (),
        regions=tuple(members) if isinstance(subject, ImageSubject) else (),
    )


def _change(players: Sequence[Player], new: Mapping[str, Scalar], words: bool = False) -> str:
    """The columns that the cheapest change really moves; a large group is only named."""
    moves = []
    for player in players:
        moved = [c for c, old in player.values.items() if new[c] != old]
        if words and not moved:
            continue
        if words:
            old, replaced = (
                _brief(" ".join(show(values[c]) for c in player.values))
                for values in (player.values, new)
            )
            moves.append(f"{old} → {replaced or 'nothing'}")
        elif len(player.values) > 3 and moved:
            moves.append(f"{player.name} ({len(moved)} columns)")
        else:
            moves += [f"{c} {show(player.values[c])} → {show(new[c])}" for c in moved]
    # Only where effects are drawn at random can a set flip as it is.
    return ", ".join(moves) or "as they are, by chance downstream"


def _brief(words: str, room: int = 30) -> str:
    """The first words of a passage, whose place in the text is shown elsewhere."""
    if len(words) <= room:
        return words
    cut = words.rfind(" ", 0, room)
    return words[: cut if cut > 0 else room].rstrip() + " …"


def _none_reached(view: View, terms: Terms) -> str:
    """The best there is, what even a change of everything does, and what could be changed."""
    best, everything = view.best, view.everything
    if best is None:
        return f"No set of {terms.feature}s was evaluated: the budget or the time was too small."
    does = "keeps" if view.name == "keep" else "flips"
    test = "" if view.alpha is None else f" at level α = {view.alpha:g}"
    parts = [
        f"No set of {terms.feature}s reaches τ = {view.tau:g}{test}. The best {does} "
        f"{percent(best.sufficiency)}: {', '.join(best.features) or f'no {terms.feature}'}."
    ]
    if everything is not None and everything.sufficiency < view.tau:
        what = "Holding" if view.name == "keep" else "Replacing"
        why = "" if view.name == "keep" else " (so many of the references are themselves "
        why += "" if view.name == "keep" else f"predicted “{view.outcome}”)"
        parts.append(f"{what} every {terms.feature} {does} {percent(everything.sufficiency)}{why}.")
    reach = best.minimal_for[1]
    if reach > 0:
        parts.append(f"Lower the threshold: .at({_floor(reach)}) needs no new model call.")
    parts.append(f"Or {terms.advice}." if reach > 0 else f"You could {terms.advice}.")
    if not view.complete:
        parts.append(f"Larger sets than {view.tally.exhaustive_size} were not all searched.")
    return " ".join(parts)


def _necessity(view: View, terms: Terms) -> str:
    if view.necessity is None:
        if view.tally.complete:
            return f"No hybrid comes out as “{view.outcome}”, so nothing is necessary for it."
        return "Necessity was not estimated."
    text = f"cover {percent(view.necessity)} of the ways to “{view.outcome}” (necessity"
    text += f" among sets{terms.among})" if terms.among else ")"
    who = (
        "This set and its supersets" if len(view.factors) == 1 else "These sets and their supersets"
    )
    if not view.factors:
        return ""
    if view.necessity_interval is None:
        return f"{who} {text}."
    low, high = view.necessity_interval
    return f"{who} {text}; estimated, 95% interval {percent(low)} to {percent(high)}."


def _completeness(e: Explanation, terms: Terms) -> str:
    tally, feature = e.keep.tally, terms.feature
    limited = f" for sets{terms.among}" if terms.among else ""
    findings = e.keep.profile.findings
    if e.complete and findings is not None:
        return (
            f"Complete{limited} at τ = {e.tau:g}: each of {count(1 << tally.d, 'subset')} was "
            f"decided, so no other minimal set{terms.among} exists for these references. Another τ "
            "needs a new search."
        )
    if e.complete:
        return (
            f"Complete{limited}: all {count(1 << tally.d, 'subset')} of "
            f"{count(tally.d, feature)} were evaluated, so no other minimal set{terms.among} "
            "exists for these references."
        )
    sizes = min(e.keep.tally.exhaustive_size, e.flip.tally.exhaustive_size)
    if e.keep.profile.max_size is not None:
        sizes = min(sizes, e.keep.profile.max_size)
    if findings is not None and findings.only_at_tau:
        return (
            f"Not complete: stopped by {e.stopped}. The sets shown are sufficient and minimal at "
            f"τ = {e.tau:g}; larger ones were not all decided."
        )
    if findings is not None:
        return (
            f"Not complete: sets of up to {count(sizes, feature)} were searched exhaustively; "
            f"larger ones from many starts, which ended because {e.stopped}. Those are verified "
            "sufficient, and minimal against the sets one smaller; others may exist."
        )
    return (
        f"Not complete: stopped by {e.stopped}. Sets of up to {count(sizes, feature)} were "
        f"searched exhaustively; {large(e.unvisited)} of {large(1 << tally.d)} subsets were "
        "never evaluated."
    )


def _condition(player: Player) -> str:
    values = player.values
    if not values:  # a region of a picture: it is shown, not told
        return player.name
    if len(values) == 1 and player.name in values:
        return f"{player.name} = {show(values[player.name])}"
    if len(values) <= 3:
        return f"{player.name} ({', '.join(f'{c} = {show(v)}' for c, v in values.items())})"
    return f"{player.name} ({len(values)} columns)"


def _value(player: Player) -> str:
    if len(player.values) == 1:
        return show(next(iter(player.values.values())))
    return _condition(player).removeprefix(player.name).strip(" ()")


def _region_labels(players: Sequence[Player]) -> tuple[str, ...]:
    """Short enough to be written on the picture: rows and columns need not be told."""
    names = (p.name.removeprefix("region ").replace(" part ", ".") for p in players)
    return tuple("" if name.startswith("row ") else name for name in names)


def _floor(share: float) -> str:
    """A threshold just reachable, with few digits: rounded down, or the share itself."""
    rounded = int(share * 100) / 100
    return f"{rounded:g}" if rounded > 0 else f"{share:.3g}"
