"""Summary of one view as text: answer, factors, common features, necessity, cheapest change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from suffice.explanation import Change, Player, SufficientFactor, View
from suffice.explanation.schema import ImageSubject, TextSubject
from suffice.formatting import (
    chance_phrase,
    format_change,
    format_condition,
    format_cost,
    format_name,
    format_value,
    join_first,
    join_words,
    percent,
    plural,
    printable,
    truncate,
)
from suffice.summary.signature import SignatureLimits, ViewSignature, view_signature
from suffice.summary.terminology import (
    ReaderHints,
    Terms,
    minimality_text,
    no_set_phrase,
    reached_by_all,
    searched_features,
    searched_size,
    unsearched_text,
)
from suffice.typing import Scalar

_LOWEST_ADVISED_TAU = 0.5
"""Lowest τ suggested where larger sets were not tried, since one of them may reach a higher τ."""


@dataclass(frozen=True)
class ViewSummary:
    """Text and numbers of a view."""

    name: str
    outcome: str
    answer: str
    """The view's answer in a clause."""
    title: str
    cheapest_change: str
    """The cheapest change of any set; "" for keep, and where there is none."""
    intervention: str
    """The intervention: "Replace these values, hold all others"."""
    construction_note: str
    """Why all features together suffice by construction; "" where they need not."""
    all_suffice: bool
    """Whether all features together suffice whatever the references, so that no share needs an
    interval."""
    lead: str
    tau: float
    digest: DigestSummary | None
    """Common features of the factors, if there are more than `LISTED_SETS`."""
    factors: tuple[FactorLine, ...]
    """The first factors, as many as are shown."""
    n_factors: int
    """How many factors there are in all."""
    minimality: str
    """How far minimality was checked; "" where against every subset."""
    none_reached: str
    """Why there is no factor at τ, and what to do; "" where there is one."""
    n_references: int
    necessity: float | None
    necessity_baseline: float | None
    """The necessity expected by chance."""
    necessity_text: str
    curve: tuple[tuple[float, float], ...]
    """Steps (τ, cumulative necessity); () where it is not known at every τ, or is the same at
    all."""
    chance_curve: tuple[tuple[float, float], ...]
    """Steps (τ, necessity expected by chance), where `curve` is known."""
    curve_note: str
    """Why there is no curve; "" where there is one, or where `necessity_text` gives the reason."""
    signature: ViewSignature | None
    """Data of the signature picture; None if it was not requested."""

    @property
    def n_hidden(self) -> int:
        """Number of factors that are not listed."""
        return self.n_factors - len(self.factors)

    @property
    def crossing_note(self) -> str:
        """Meaning of the star beside shares; "" if no share has one."""
        shown = [*self.factors, *(f for _, f in (self.digest.examples if self.digest else ()))]
        return CROSSING_NOTE if any(factor.crosses_tau for factor in shown) else ""

    @property
    def drawn(self) -> bool:
        """True if a page draws the signature: there are sets, and more than one reference."""
        return self.signature is not None and bool(self.signature.rows) and self.n_references > 1


def summarise_view(
    view: View,
    terms: Terms,
    hints: ReaderHints,
    most: int,
    signature: SignatureLimits | None = None,
) -> ViewSummary:
    """Summarise one view, with at most `most` of its factors."""
    keep, outcome = view.name == "keep", format_name(view.outcome)
    tested = (
        f", each by an exact binomial test at α = {view.alpha:g}"
        + (f" ({view.adjust}-adjusted)" if view.adjust != "none" else "")
        if view.alpha is not None
        else ""
    )
    result = f"“{outcome}” {'stays' if keep else 'results'}{frequency_phrase(view)}{tested}."
    intervention = terms.keep if keep else terms.flip
    # Sets found at one τ are not known at others, and one reference gives the same sets at all.
    curve = view.curve if view.profile.findings is None and view.tally.n > 1 else ()
    factors = tuple(factor_line(view, factor, terms) for factor in view[:most])
    return ViewSummary(
        name=view.name,
        outcome=outcome,
        answer=answer_clause(view, terms),
        title=f"Keeps “{outcome}”" if keep else f"Flips to “{outcome}”",
        cheapest_change=cheapest_change_sentence(view),
        intervention=intervention,
        construction_note=construction_note(view, terms),
        all_suffice=_all_suffice(view, terms),
        lead=f"{intervention}: {result}" if factors else "",
        tau=view.tau,
        digest=summarise_digest(view, terms, most),
        factors=factors,
        n_factors=len(view),
        minimality=minimality_text(view, terms),
        none_reached="" if factors else _none_reached(view, terms, hints),
        n_references=view.tally.n,
        necessity=view.necessity,
        necessity_baseline=view.necessity_baseline,
        necessity_text=_necessity_sentence(view, terms),
        curve=curve,
        chance_curve=view.baseline_curve if curve else (),
        curve_note="" if curve else _curve_note(view),
        signature=None if signature is None else view_signature(view, curve, signature),
    )


def _none_reached(view: View, terms: Terms, hints: ReaderHints) -> str:
    """Return why no set reaches τ: the best set, what all features do, and what to change."""
    best, everything, findings = view.best, view.everything, view.profile.findings
    test = "" if view.alpha is None else f" at level α = {view.alpha:g}"
    # With few references no count can pass the test, so no other set would do either.
    if not view.profile.can_pass(view.tau):
        n = view.tally.n
        return (
            f"No set of {terms.feature}s can pass the test of τ = {view.tau:g}{test}: with "
            f"{plural(n, 'reference')} not even {n:,} of {n:,} would be enough. Use more "
            "references, a lower τ or a larger α."
        )
    none = no_set_phrase(view, terms)
    none = f"{none[0].upper()}{none[1:]} reaches τ = {view.tau:g}{test}"
    if reached_by_all(view):
        none += f" (all {plural(len(view.players), terms.feature)} together do)"
    rest = unsearched_text(view, terms, hints)
    if findings is not None and findings.only_at_tau and view.tau == findings.tau:
        if searched_size(view) < 0:
            return f"No set of {terms.feature}s was decided: the budget or the time was too small."
        lower = f"You could search at a lower τ, or {terms.advice}."
        return " ".join(filter(None, (f"{none}: each was decided.", rest or lower)))
    if best is None:
        return f"No set of {terms.feature}s was evaluated: the budget or the time was too small."
    does = "keeps" if view.name == "keep" else "flips"
    names = join_first(map(format_condition, best.features)) or f"no {terms.feature}"
    parts = [f"{none}."]
    if best.sufficiency:
        known = "" if view.complete else " of those" if reached_by_all(view) else " known"
        parts.append(f"The best{known} {does} {percent(best.sufficiency)}: {names}.")
    else:
        parts.append(f"None {does} it even once.")
    if everything is not None and everything.sufficiency < view.tau:
        what = "Holding" if view.name == "keep" else "Replacing"
        themselves = (
            f"so many of the references are themselves predicted “{format_name(view.outcome)}”"
        )
        why = "" if view.name == "keep" else f" ({themselves})"
        parts.append(f"{what} every {terms.feature} {does} {percent(everything.sufficiency)}{why}.")
    parts += [rest] if rest else []
    # The highest τ at which the best set passes: advising a higher one would fail again.
    reach = best.minimal_for[1]
    if reach >= _LOWEST_ADVISED_TAU or (view.complete and reach > 0):
        lower = f"lower the threshold: {hints.lower.format(tau=_rounded_down(reach))}"
        parts.append(f"Or {lower}." if rest else f"L{lower[1:]}.")
        parts.append(f"Or {terms.advice}.")
    elif not rest:
        parts.append(f"You could {terms.advice}.")
    return " ".join(parts)


def _curve_note(view: View) -> str:
    """Return why necessity is not known at every τ; "" where `necessity_text` gives the reason."""
    if view.tally.n == 1:
        return "There is one reference, so every τ is alike."
    if (findings := view.profile.findings) is not None:
        known = f"This search decided sets at τ = {findings.tau:g}"
        return f"{known}: necessity at others is not known."
    return ""


def _necessity_sentence(view: View, terms: Terms) -> str:
    outcome = f"“{format_name(view.outcome)}”"
    if view.necessity is None:
        if view.tally.complete:
            return f"No hybrid comes out as {outcome}, so nothing is necessary for it."
        return "Necessity was not estimated."
    bounds, most = view.necessity_bounds, ""
    if bounds is not None and not view.complete and bounds[1] < 1 and view.necessity_interval:
        most = f"All minimal sets that exist at this τ cover at most {percent(bounds[1])}"
    if not len(view):
        return f"{most} of the ways to {outcome} (estimated)." if most else ""
    one = len(view) == 1
    who = "This set and its supersets" if one else "These sets and their supersets"
    text = f"cover {percent(view.necessity)} of the ways to {outcome} (cumulative necessity"
    text += f" among sets{terms.scope_phrase}" if terms.scope_phrase else ""
    baseline, lift = view.necessity_baseline, view.necessity_lift
    if baseline is not None and lift is not None:
        text += f"; {chance_phrase(baseline, lift, view.profile.closure_is_exact(view.tau))}"
    text += ")"
    if view.necessity_interval is None:
        return f"{who} {text}."
    low, high = view.necessity_interval
    text = f"{who} {text}; estimated, 95% interval {percent(low)} to {percent(high)}."
    return f"{text} {most}." if most else text


def _rounded_down(share: float) -> str:
    """Return a threshold that the share reaches, rounded down to two digits if that is above 0."""
    rounded = int(share * 100) / 100
    return f"{rounded:g}" if rounded > 0 else f"{share:.3g}"


# Answer of a view as a clause: its first set, or the common features of many sets.


_LISTED_TIES = 2
"""Most other changes of the least cost that are written out."""

_MOVES_LISTED = 8
"""Most moves of a change that are listed; the rest are counted."""

_MOVES_ROOM = 160
"""Most characters of the moves that are listed, where there are several."""

_FEATURES_IN_SENTENCE = 4
"""Most features named in the answer; the rest are counted."""

_ROOM_IN_SENTENCE = 100
"""Most characters of the features named in the answer, where there are several."""


def answer_clause(view: View, terms: Terms) -> str:
    """Return the answer of a view as a clause."""
    return _keep_clause(view, terms) if view.name == "keep" else _flip_clause(view, terms)


def cheapest_change_sentence(view: View) -> str:
    """Return the sentence on the cheapest change of any set; "" for keep, and where none flips."""
    cheapest = view.explanation.cheapest
    if view.name == "keep" or cheapest is None or _of_text(view):
        return ""
    found = "" if view.tally.complete else " found"
    rules = view.explanation.provenance.change_rules
    declared = f", as declared ({rules})" if rules else ""
    known = f"Cheapest change{found} to values of one reference{declared}"
    unit = ""
    if any(_is_measured(player.values, cheapest.values) for player in cheapest.players):
        unit = _COST_UNITS[view.explanation.provenance.cost]
    ties = view.explanation.cheapest_ties
    listed = [f"; or {_moves_text(tie)}" for tie in ties[:_LISTED_TIES]]
    more = len(ties) - len(listed)
    listed += [f"; or one of {more} more" if more > 1 else "; or one more"] if more > 0 else []
    same = "".join(listed) + (", at the same cost" if ties else "")
    return f"{known}: {_moves_text(cheapest)} (cost {format_cost(cheapest.cost)}{unit}){same}."


_COST_UNITS = {
    "deviations": ", in typical deviations",
    "weighted": ", in weighted typical deviations",
    "own": "",
}
"""Units of costs, by kind; a change of a category or of true/false costs 1, in no unit."""


def _is_measured(old: Mapping[str, Scalar], new: Mapping[str, Scalar]) -> bool:
    """Return whether a change moves a value whose distance is measured in deviations."""
    moved = (value for column, value in old.items() if new[column] != value)
    return any(not isinstance(value, str | bool) for value in moved)


def frequency_phrase(view: View) -> str:
    """Return "in at least 90% of cases"; "" where there is one reference."""
    if view.tally.n == 1:
        return ""
    return " in all cases" if view.tau == 1 else f" in at least {percent(view.tau)} of cases"


def _keep_clause(view: View, terms: Terms) -> str:
    outcome = f"“{format_name(view.outcome)}”"
    if not len(view):
        return f"{no_set_phrase(view, terms)} keeps {outcome}{frequency_phrase(view)}"
    best = view[0]
    share = _share_phrase(view, best.sufficiency)
    if not best.size:
        return f"{outcome} comes about anyway: with no {terms.feature} held it stays{share}"
    # All features together suffice by construction, so this is no finding about them.
    if best.size == len(view.players) > 1 and terms.why_all_held:
        every = f"all {plural(best.size, terms.feature)} together"
        if view.explanation.left_out:
            every = f"{searched_features(view.explanation, terms)}, all of them together"
        smaller = f"keeps {'it' if best.proof == 'exhaustive' else outcome}{frequency_phrase(view)}"
        if best.proof == "exhaustive":
            return f"{outcome} hangs on {every}: no smaller set {smaller}"
        # A bounded search may not have come down from all features to fewer.
        return f"no smaller set was found that {smaller}, only {every}"
    names = _few(quoted_names(view, best.features))
    # Words of a text and regions of an image have no values, so their names say all.
    held = "" if view.explanation.subject is not None else _few([*map(str, best.players)])
    if len(view) > LISTED_SETS:
        each = f"each of {_sets_phrase(view, terms)} is enough for {outcome}"
        each += _common_features_phrase(view)
        return each + _first_set_phrase(view, f"{terms.holding} {held}" if held else names, share)
    such = _one_of_phrase(view)
    if held:
        return f"{terms.holding} {held} is enough for {outcome}: it stays{share}{such}"
    alone = f"this {terms.feature} alone keeps it"
    are = "is"
    if best.size > 1:
        are, alone = "are", f"these {terms.feature}s alone keep it"
    return f"{names} {are} enough for {outcome}: {alone}{share}{such}"


def _flip_clause(view: View, terms: Terms) -> str:
    outcome, cheapest = f"“{format_name(view.outcome)}”", view.explanation.cheapest
    # A change tells people more than a set of features does, but changes of words have no costs.
    if cheapest is not None and not _of_text(view):
        known = "" if view.tally.complete else " found"
        allowed = " allowed" if view.explanation.provenance.change_rules else ""
        return (
            f"the cheapest{allowed} change{known} that flips it to {outcome} "
            f"{_short_change(cheapest, terms)}{_ties_phrase(view)}"
        )
    if not len(view):
        return f"{no_set_phrase(view, terms)} flips it to {outcome}{frequency_phrase(view)}"
    best = view[0]
    names = _few(quoted_names(view, best.features)) or "nothing"
    share = _share_phrase(view, best.sufficiency)
    if len(view) > LISTED_SETS:
        flips = (
            f"replacing any one of {_sets_phrase(view, terms)} is enough to flip it to "
            f"{outcome}{_common_features_phrase(view)}"
        )
        return flips + _first_set_phrase(view, names, share)
    such = _one_of_phrase(view)
    return f"replacing {names} flips it to {outcome}{share}{such}"


def _ties_phrase(view: View) -> str:
    """Return what else costs as little as the cheapest change; "" where nothing does."""
    ties = view.explanation.cheapest_ties
    if not ties:
        return ""
    moves = len(ties[0].players)
    if len(ties) == 1 and moves <= _FEATURES_IN_SENTENCE:
        return f" (or {ties[0]}, at the same cost)"
    return f" (one of {len(ties) + 1} at the same cost)"


def _one_of_phrase(view: View) -> str:
    sets = "such sets" if view.complete else "such sets found"
    return f" (one of {len(view):,} {sets})" if len(view) > 1 else ""


def _sets_phrase(view: View, terms: Terms) -> str:
    sets = f"{len(view):,} sets of {terms.feature}s"
    return sets if view.complete else f"the {sets} found"


def _first_set_phrase(view: View, names: str, share: str) -> str:
    """Return the end of the clause that names the first of many sets."""
    (_, have), *larger = view.digest.sizes
    which = "one of them"
    if larger:
        which = "the smallest" if have == 1 else "one of the smallest"
    return f": {which}, {names},{share}" if share else f"; {which} is {names}"


def _common_features_phrase(view: View) -> str:
    """Return the end of a clause that names a feature in all or most of the sets, or ""."""
    digest = view.digest
    if digest.everywhere:
        return f", all with {_few(quoted_names(view, digest.everywhere))}"
    if digest.mostly:
        (name, in_sets), *_ = digest.mostly
        return f", {in_sets:,} of them with {quoted_names(view, [name])[0]}"
    return ""


def _moves_text(change: Change) -> str:
    """Return a change as text; of one with very many moves the first ones."""
    text = str(change)
    if len(change.players) <= _MOVES_LISTED and len(text) <= _MOVES_ROOM:
        return text
    moves = [format_change(player.name, player.values, change.values) for player in change.players]
    return _first_within([*filter(None, moves)], _MOVES_LISTED, _MOVES_ROOM)


def _short_change(change: Change, terms: Terms) -> str:
    """Return a change for the answer, shortened if it has many moves."""
    moves = [format_change(player.name, player.values, change.values) for player in change.players]
    really = list(filter(None, moves))
    if len(really) <= _FEATURES_IN_SENTENCE and len(str(change)) <= _ROOM_IN_SENTENCE:
        return f"is {change}"
    return f"is of {plural(len(really), terms.feature)}: {_few(really)}"


def _few(words: Sequence[str]) -> str:
    """Join words for a sentence: a few, and of long ones fewer."""
    text = join_words(words)
    if len(words) <= _FEATURES_IN_SENTENCE and len(text) <= _ROOM_IN_SENTENCE:
        return text
    return _first_within(words, _FEATURES_IN_SENTENCE - 1, _ROOM_IN_SENTENCE)


def _first_within(words: Sequence[str], most: int, room: int) -> str:
    """Join the first words, at most so many and as fit into the room; at least one."""
    ends = list(accumulate(len(word) + 2 for word in words[:most]))
    return join_first(words, max(1, sum(end <= room for end in ends)))


def _share_phrase(view: View, share: float) -> str:
    return "" if view.tally.n == 1 else f" for {percent(share)} of references"


def _of_text(view: View) -> bool:
    return isinstance(view.explanation.subject, TextSubject)


# Digest of many sets: common features, the smallest set and the surest.


LISTED_SETS = 12
"""Most sets listed without a digest of their common features."""


@dataclass(frozen=True)
class DigestSummary:
    """Digest of many sets, shown before their list."""

    lead: str
    """How many sets there are, and of how many features."""
    common: tuple[tuple[str, tuple[str, ...]], ...]
    """Pairs of a label ("in all", "in most", "in none") and the features it holds for."""
    nothing: str
    """"no feature", for a row of `common` that has none."""
    examples: tuple[tuple[str, FactorLine], ...]
    """The smallest and the surest set, each with its label."""
    heading: str
    """Heading of the list: "The first 12 of 289 sets, smaller ones first"."""


def summarise_digest(view: View, terms: Terms, most: int) -> DigestSummary | None:
    """Return the digest of a view, of whose sets `most` are listed; None for few sets."""
    digest = view.digest
    smallest, surest = digest.smallest, digest.surest
    if digest.n <= LISTED_SETS or smallest is None or surest is None:
        return None
    mostly = [f"{name} ({in_sets:,})" for name, in_sets in _quoted_counts(view, digest.mostly)]
    if mostly:
        first, in_sets = digest.mostly[0]
        mostly[0] = f"{quoted_names(view, [first])[0]} ({in_sets:,} of {digest.n:,})"
    common = [("in all", quoted_names(view, digest.everywhere)), ("in most", mostly)]
    lines = [(label, tuple(names)) for label, names in common]
    if digest.nowhere:
        lines.append(("in none", tuple(quoted_names(view, digest.nowhere))))
    examples = {"smallest": smallest, "surest": surest}
    if view.tally.n == 1:  # every sufficiency is 1, so none is the surest
        examples = {"for example" if len(digest.sizes) == 1 else "smallest": smallest}
    elif len(digest.sizes) == 1:
        examples = {"surest": surest}
    elif smallest == surest:
        examples = {"smallest and surest": smallest}
    which = f"The first {most:,} of" if most < digest.n else "All"
    return DigestSummary(
        lead=f"{_count_sentence(view, terms)}.",
        common=tuple(lines),
        nothing=f"no {terms.feature}",
        examples=tuple(
            (label, factor_line(view, factor, terms)) for label, factor in examples.items()
        ),
        heading=f"{which} {digest.n:,} sets, smaller ones first",
    )


def _quoted_counts(view: View, pairs: tuple[tuple[str, int], ...]) -> list[tuple[str, int]]:
    names = quoted_names(view, [name for name, _ in pairs])
    return [(name, n) for name, (_, n) in zip(names, pairs, strict=True)]


def _count_sentence(view: View, terms: Terms) -> str:
    digest = view.digest
    found = "There are" if view.complete else "The search found"
    # A proof of "none": the limits ended the search before minimality was checked.
    proofs = dict(digest.proofs)
    many = f"{found} {plural(digest.n, 'set' if 'none' in proofs else 'minimal set')}"
    if "one smaller" in proofs and "none" not in proofs:
        many = f"{found} {plural(digest.n, 'set')}, minimal as far as tried,"
    (fewest, have), *larger = digest.sizes
    if not larger:
        return f"{many} of {plural(fewest, terms.feature)} each"
    most = plural(larger[-1][0], terms.feature)
    only = f"one has only {fewest}" if have == 1 else f"{have:,} have only {fewest}"
    return f"{many} of {fewest} to {most} each; {only}"


# One factor as a line of a list.


_CONDITIONS_SHOWN = 30
_PASSAGE_ROOM = 30
"""Most characters of a passage in a change."""

Pieces = tuple[tuple[str, bool], ...]

CROSSING_NOTE = "* Its 95% interval reaches below τ: other references might not show it."

UNPROVEN_NOTE = "sufficient; not all smaller sets inside it were tried, so one of them may do"


@dataclass(frozen=True)
class FactorLine:
    """A factor as a line of a list."""

    conditions: tuple[str, ...]
    """Keep: "Job = skilled". Flip: the features that are replaced."""
    names: tuple[str, ...]
    """Full names of the features."""
    sufficiency: float
    interval: tuple[float, float]
    crosses_tau: bool
    """Whether the interval reaches below τ: taken as a sample, the references leave it open."""
    n: int
    p_value: float
    minimal_for: tuple[float, float]
    change: str
    """The cheapest observed change of this set that flips; "" for keep."""
    cost: float | None
    remarks: tuple[str, ...]
    """Sentences on how the set is known, without its change."""
    change_note: str
    """The change with its cost; "" where there is none."""
    pieces: Pieces = ()
    """Pieces of the explained text in order, each with whether it belongs to the factor."""
    regions: tuple[int, ...] = ()
    """Regions of the explained image that belong to the factor."""

    @property
    def share(self) -> str:
        """The sufficiency, with a star if its interval reaches below τ (`CROSSING_NOTE`)."""
        return percent(self.sufficiency) + "*" * self.crosses_tau

    @property
    def notes(self) -> tuple[str, ...]:
        """The remarks, then the change."""
        return (*self.remarks, self.change_note) if self.change_note else self.remarks

    @property
    def image_description(self) -> str:
        """Alternative text of the image with the factor's regions marked."""
        return f"The picture with {', '.join(self.conditions) or 'nothing'} marked"

    @property
    def conditions_text(self) -> str:
        """The conditions on one line."""
        return join_first(self.conditions, _CONDITIONS_SHOWN) or "nothing: it comes about anyway"


def quoted_names(view: View, names: Sequence[str]) -> list[str]:
    """Return names of features; words of a text in quotation marks."""
    text = isinstance(view.explanation.subject, TextSubject)
    return [f"“{format_condition(name)}”" if text else format_condition(name) for name in names]


def factor_line(view: View, factor: SufficientFactor, terms: Terms) -> FactorLine:
    """Return the line of a factor, with its place in a text or an image."""
    subject = view.explanation.subject
    text = subject if isinstance(subject, TextSubject) else None
    numbers = {player.name: i for i, player in enumerate(view.players)}
    members = [numbers[name] for name in factor.features]
    valued = text is None and view.name == "keep"
    # With a single mask every word becomes the same token, which the notes name once.
    same_token = text is not None and factor.n == 1
    change = "" if factor.change is None or same_token else change_text(view, factor.change)
    return FactorLine(
        conditions=tuple(str(p) if valued else format_condition(p.name) for p in factor.players),
        names=tuple(printable(name) for name in factor.features),
        sufficiency=factor.sufficiency,
        interval=factor.interval,
        # A set that suffices by construction does so for any references, so it gets no star.
        crosses_tau=factor.n > 1
        and factor.interval[0] < view.tau <= factor.sufficiency
        and not (factor.size == len(view.players) and _all_suffice(view, terms)),
        n=factor.n,
        p_value=factor.p_value,
        minimal_for=factor.minimal_for,
        change=change,
        cost=factor.cost,
        remarks=_remarks(view, factor, terms),
        change_note=_change_note(view, factor, change),
        pieces=printable_pieces(text.pieces(frozenset(members))) if text and members else (),
        regions=tuple(members) if isinstance(subject, ImageSubject) else (),
    )


def change_text(view: View, change: Change) -> str:
    """Return an observed change as text, shortened for words of a text."""
    text = isinstance(view.explanation.subject, TextSubject)
    return _changed_words(change.players, change.values) if text else str(change)


def construction_note(view: View, terms: Terms) -> str:
    """Return why all features together suffice by construction; "" where they need not."""
    why = terms.why_all_held if view.name == "keep" else terms.why_all_replaced
    opposite = view.explanation.provenance.references.kind == "opposite"
    if why and view.name == "flip" and opposite:
        why += ", and references were chosen for being predicted otherwise"
    return f"true by construction: {why}" if why else ""


def _all_suffice(view: View, terms: Terms) -> bool:
    """Return whether all features together suffice by construction, whatever the references."""
    opposite = view.explanation.provenance.references.kind == "opposite"
    return bool(construction_note(view, terms)) and (view.name == "keep" or opposite)


def _remarks(view: View, factor: SufficientFactor, terms: Terms) -> tuple[str, ...]:
    unproven = UNPROVEN_NOTE if factor.proof == "none" else ""
    why = construction_note(view, terms) if factor.size == len(view.players) else ""
    return tuple(filter(None, (unproven, why)))


def _change_note(view: View, factor: SufficientFactor, change: str) -> str:
    if change and isinstance(view.explanation.subject, TextSubject):
        return f"for example: {change}"  # words have no costs, so it is one of many
    if change and factor.change is not None and factor.cost is not None:
        causal = view.explanation.provenance.context.kind == "causal"
        drawn = " in one draw of its effects" if causal else ""
        moves, cost = _moves_text(factor.change), format_cost(factor.cost)
        return f"cheapest change of this set{drawn}: {moves} (cost {cost})"
    return ""


def printable_pieces(pieces: Pieces) -> Pieces:
    """Replace characters that would change how a terminal or a page shows the text."""
    return tuple((printable(characters), marked) for characters, marked in pieces)


def _changed_words(players: Sequence[Player], new: Mapping[str, Scalar]) -> str:
    moves = []
    for player in players:
        if all(new[c] == old for c, old in player.values.items()):
            continue
        before, after = (
            _first_words(
                " ".join(format_value(values[c]) for c in player.values if values[c] != "")
            )
            for values in (player.values, new)
        )
        moves.append(f"{before} → {after or 'nothing'}")
    return ", ".join(moves)


def _first_words(words: str) -> str:
    """Return the first words of a passage."""
    if len(words) <= _PASSAGE_ROOM:
        return words
    at = words.rfind(" ", 0, _PASSAGE_ROOM)
    return words[:at].rstrip() + " …" if at > 0 else truncate(words, _PASSAGE_ROOM)
