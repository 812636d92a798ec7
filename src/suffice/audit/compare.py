"""Compare explanations of the same rows by two models or dates (`audit.compare`); retest recourse.

Rows are paired by position or stored id, minimal sets and reason codes of both sides are compared,
and recourse options are retested on the new model. No other step calls a model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from suffice.audit.catalogue import Catalogue, read_catalogue
from suffice.audit.decision_counts import DecisionCounts, count_feature_set, minimal_feature_sets
from suffice.audit.decision_drift import (
    DecisionDrift,
    FactorChange,
    Fate,
    RetestedOption,
    barcode_distance,
)
from suffice.audit.decisions import (
    as_explanations,
    check_explainer,
    decision_names,
    input_values,
)
from suffice.audit.drift import Drift
from suffice.audit.reasons import DecisionReasons, decision_reasons
from suffice.context.references import CachedRows
from suffice.errors import InputError, SufficeError, short_repr
from suffice.explainer import Explainer
from suffice.explanation import Explanation, View, all_players
from suffice.explanation.schema import Subject, TextSubject
from suffice.formatting import format_value, plural
from suffice.inference import Share
from suffice.progress import progress_bar
from suffice.recourse import Recourse
from suffice.tables import as_scalar, read_row
from suffice.tables.table import Table, same_value
from suffice.target import Event, Target, event_for
from suffice.typing import Scalar, ViewName
from suffice.validation import check_integer, check_tau


def compare(
    a: Any,
    b: Any,
    *,
    tau: float | None = None,
    ids: Sequence[Any] | None = None,
    catalogue: Any = None,
    k: int | None = None,
    recourse: Any = None,
    explainer: Any = None,
    desired: Any = None,
    progress: bool | None = None,
) -> Drift:
    """Compare explanations of the same rows by two models, or at two dates.

    Each side is an explanation, a list of explanations, or a stored batch (`suffice.load`). Rows
    are paired by position, or by id if both sides are stored, and must have the same values. The
    result has for each decision whether the outcome changed, the minimal sets gained and lost with
    the change of their sufficiency, and the distance of the barcodes (`barcode_distance`). Sets are
    compared only if the outcome is the same. A feature that one side does not have is taken as one
    that this side never reads.

    Parameters
    ----------
    a, b
        Explanations before and after.
    tau
        Threshold for minimal sets. None: the explanations' own, which must be equal on both sides.
    ids
        Names of the decisions. None: their stored ids, else their numbers.
    catalogue, k
        With a catalogue, the reason codes of both sides are compared, at most k (None: 4), as in
        `reasons`; if those of one side are not known, the result holds the reason instead.
    recourse, explainer, desired
        Results of `Explainer.recourse` for the rows of `a`, one for each (None for a row without),
        and an explainer of the model after, **which predicts** every option to find those that no
        longer work. `desired` is the argument that was given to `recourse`.
    progress
        Show a progress bar. None: on a terminal, for work over a second.

    Examples
    --------
    >>> import pandas as pd
    >>> from suffice import Explainer, audit
    >>> people = pd.DataFrame({"pay": [30, 60, 45, 60], "debt": [20, 20, 0, 40]})
    >>> old = Explainer(lambda rows: rows["pay"] >= 40, people)
    >>> new = Explainer(lambda rows: rows["pay"] - rows["debt"] >= 40, people)
    >>> audit.compare(old.explain_many(people), old.explain_many(people)).nothing
    True
    >>> found = audit.compare(old.explain_many(people), new.explain_many(people))
    >>> found.to_frame()[["before", "after", "lost", "gained"]]
      before  after  lost  gained
    0  False  False     1       1
    1   True   True     2       2
    2   True   True     2       2
    3   True  False     0       0
    """
    asked = None if tau is None else check_tau(tau)
    pairs = pair_decisions(a, b, ids)
    known = None if catalogue is None else read_catalogue(catalogue, blanks=True)
    if known is None and k is not None:
        raise InputError(
            "k", f"{short_repr(k)} without a catalogue", "None", "Pass catalogue=… as well."
        )
    most = 4 if k is None else check_integer("k", k, also="None")
    # All options are retested before the loop, so that the model is called once for all rows.
    again = _retest_recourse(pairs, recourse, explainer, desired)
    found: list[DecisionDrift] = []
    thresholds: set[float] = set()
    first: DecisionPair | None = None
    with progress_bar("decisions", len(pairs), progress) as bar:
        for pair in pairs:
            if first is None:
                first = pair
                if known is not None:
                    known.check(sorted(_all_features(pair.before) | _all_features(pair.after)))
            at = _common_tau(pair, asked)
            thresholds.add(at)
            found.append(_decision_drift(pair, at, known, most, again.get(pair.place, ())))
            bar.update(1)
    assert first is not None
    return Drift(
        models=(first.before.provenance.model, first.after.provenance.model),
        contexts=(first.before.provenance.context.words, first.after.provenance.context.words),
        tau=thresholds.pop() if len(thresholds) == 1 else None,
        decisions=tuple(found),
        unpaired=(len(pairs.before) - len(pairs), len(pairs.after) - len(pairs)),
        features=_unshared_columns(first),
    )


def _common_tau(pair: DecisionPair, asked: float | None) -> float:
    """Return the threshold for both sides; raise if their tests or thresholds differ."""
    a, b = pair.before, pair.after
    tests = [(e.keep_profile.alpha, e.keep_profile.adjust) for e in (a, b)]
    # A set may pass one test and not the other without any change of the model.
    if tests[0] != tests[1]:
        (alpha, adjust), (other, adjusted) = tests
        got = f"decision {pair.name} with alpha={other}, adjust={adjusted!r}"
        allowed = f"the test that a has: alpha={alpha}, adjust={adjust!r}"
        raise InputError("b", got, allowed, "e.at(alpha=…) reads an explanation under another.")
    if asked is None and a.tau != b.tau:
        got = f"decision {pair.name} at τ = {b.tau:g}, where a has {a.tau:g}"
        hint = f"compare(a, b, tau={a.tau:g}) reads both at one."
        raise InputError("tau", got, "the same on both sides, or a threshold for both", hint)
    return a.tau if asked is None else asked


def _decision_drift(
    pair: DecisionPair,
    tau: float,
    catalogue: Catalogue | None,
    k: int,
    options: tuple[RetestedOption, ...],
) -> DecisionDrift:
    a, b = pair.before, pair.after
    same_outcome = a.outcome == b.outcome
    # With another outcome sets suffice for something else: they are not compared.
    changes: list[FactorChange] = []
    if same_outcome:
        changes += [*factor_changes(a.keep, b.keep, tau), *factor_changes(a.flip, b.flip, tau)]
    moved = tuple(change for change in changes if not (change.fate == "kept" and change.stays))
    codes: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    unknown: tuple[str, ...] = ()
    if catalogue is not None and same_outcome:
        was, now = (_reason_codes(pair.name, e, catalogue, k) for e in (a, b))
        unknown = (*was.problems, *now.problems)
        codes = None if unknown else (was.codes, now.codes)
    return DecisionDrift(
        name=pair.name,
        outcomes=(a.outcome, b.outcome),
        predictions=(a.prediction, b.prediction),
        scores=(_score(a), _score(b)),
        factors=moved,
        unmoved=len(changes) - len(moved),
        members=tuple(_feature_counts(a, b, changes)),
        keep_distance=barcode_distance(a.keep, b.keep) if same_outcome else None,
        flip_distance=barcode_distance(a.flip, b.flip) if same_outcome else None,
        codes=codes,
        codes_unknown=unknown,
        options=options,
        complete=a.at(tau).complete and b.at(tau).complete,
    )


def factor_changes(before: View, after: View, tau: float) -> Iterator[FactorChange]:
    """Yield a change for every set that is minimal on one side at least, those before first."""
    old, new = (dict.fromkeys(minimal_feature_sets(view, tau)) for view in (before, after))
    order = {name: i for i, name in enumerate(_player_names(before, after))}
    name: ViewName = before.name
    # A dict keeps the order: sets that were minimal before come first.
    for features in {**old, **new}:
        fate: Fate = "lost" if features not in new else "kept" if features in old else "gained"
        was, sufficed = count_feature_set(before, features, tau)
        now, suffices = count_feature_set(after, features, tau)
        yield FactorChange(
            view=name,
            features=tuple(sorted(features, key=order.__getitem__)),
            fate=fate,
            before=None if was is None else Share(was, before.tally.n),
            after=None if now is None else Share(now, after.tally.n),
            sufficed=sufficed,
            suffices=suffices,
        )


def _feature_counts(
    a: Explanation, b: Explanation, changes: list[FactorChange]
) -> Iterator[tuple[str, int, int]]:
    """Yield each feature with the number of minimal sets before and after that have it."""
    old = Counter(name for c in changes if c.fate != "gained" for name in c.features)
    new = Counter(name for c in changes if c.fate != "lost" for name in c.features)
    for name in _player_names(a.keep, b.keep):
        if old[name] or new[name]:
            yield name, old[name], new[name]


def _player_names(*views: View) -> list[str]:
    return list(dict.fromkeys(player.name for view in views for player in view.players))


def _score(e: Explanation) -> float | None:
    return None if e.score is None else e.score.value


def _reason_codes(name: str, e: Explanation, catalogue: Catalogue, k: int) -> DecisionReasons:
    """Return the reasons of one side, by the catalogue entries of the features that it has."""
    # Entries of features that only the other side has would be an error here.
    own = Catalogue(
        tuple(entry for entry in catalogue.entries if entry.feature in _all_features(e))
    )
    return decision_reasons(DecisionCounts(0, name, e, None), own, k)


def _all_features(e: Explanation) -> set[str]:
    return {player.name for player in all_players(e)}


def _unshared_columns(pair: DecisionPair) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns that only `before` has, and those that only `after` has."""
    before, after = input_values(pair.before), input_values(pair.after)
    return tuple(c for c in before if c not in after), tuple(c for c in after if c not in before)


def _retest_recourse(
    pairs: DecisionPairs, recourse: Any, explainer: Any, desired: Any
) -> dict[int, tuple[RetestedOption, ...]]:
    """Return, by position in `a`, the options retested on the model after."""
    if recourse is None:
        for argument, value in (("explainer", explainer), ("desired", desired)):
            if value is not None:
                hint = "Pass the results of Explainer.recourse for the rows of a."
                raise InputError(argument, f"{argument} without recourse", "both, or none", hint)
        return {}
    if explainer is None:
        hint = "Options are retested on its model: compare(a, b, recourse=…, explainer=new)."
        raise InputError("explainer", None, "an Explainer of the model after", hint)
    asked = check_option_explainer(explainer)
    every = [recourse] if isinstance(recourse, Recourse) else recourse
    allowed = f"one Recourse (or None) for each of the {len(pairs.before):,} decisions of a"
    if isinstance(every, str | bytes) or not isinstance(every, Sequence):
        raise InputError("recourse", recourse, allowed)
    if len(every) != len(pairs.before):
        raise InputError("recourse", f"{len(every):,} of them", allowed)
    offered: dict[int, OfferedRecourse] = {}
    for name, (i, _) in zip(pairs.names, pairs.places, strict=True):
        found = every[i]
        if found is not None and not isinstance(found, Recourse):
            raise InputError("recourse", found, allowed)
        if found is not None:
            e = pairs.before[i]
            offered[i] = OfferedRecourse(name, input_values(e), e.prediction, found)
    works = retest_options(asked, offered.values(), desired)
    return {
        i: tuple(
            RetestedOption(option.text, option.cost, worked)
            for option, worked in zip(one.recourse.options, each, strict=True)
        )
        for (i, one), each in zip(offered.items(), works, strict=True)
    }


@dataclass(frozen=True)
class DecisionPair:
    """Two explanations of one row."""

    name: str
    place: int
    """Position among the decisions before."""
    before: Explanation
    after: Explanation


@dataclass(frozen=True)
class DecisionPairs:
    """Pairs of positions on both sides; iteration reads one pair of explanations at a time."""

    before: Sequence[Explanation]
    after: Sequence[Explanation]
    places: tuple[tuple[int, int], ...]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.places)

    def __iter__(self) -> Iterator[DecisionPair]:
        for name, (i, j) in zip(self.names, self.places, strict=True):
            pair = DecisionPair(
                name,
                i,
                _require_explanation("a", self.before[i]),
                _require_explanation("b", self.after[j]),
            )
            _require_same_row(pair)
            yield pair


def _require_explanation(argument: str, given: Any) -> Explanation:
    if not isinstance(given, Explanation):
        raise InputError(argument, f"a {type(given).__name__} among them", "explanations")
    return given


def pair_decisions(a: Any, b: Any, ids: Sequence[Any] | None = None) -> DecisionPairs:
    """Pair decisions by position, or by id if both sides are stored.

    `ids` names the pairs; without it they have their stored ids or numbers.
    """
    before, after = as_explanations(a, "a"), as_explanations(b, "b")
    if not (hasattr(before, "ids") and hasattr(after, "ids")):
        if len(before) != len(after):
            hint = (
                "Explain the same rows, in the same order; stored batches (suffice.load) are "
                "paired by id."
            )
            got, allowed = plural(len(after), "decision"), f"as many as a has, {len(before):,}"
            raise InputError("b", got, allowed, hint)
        places = tuple((i, i) for i in range(len(before)))
        return DecisionPairs(before, after, places, tuple(decision_names(before, ids)))
    # Only stored batches have ids; lists can be paired by position alone.
    known = _positions_by_id("b", after.ids)
    mine = _positions_by_id("a", before.ids)
    places = tuple((i, known[id]) for id, i in mine.items() if id in known)
    if not places:
        hint = "Pass list(suffice.load(folder)) to pair by position."
        raise InputError("b", "no id that a has", "stored batches of the same rows", hint)
    own = [id for id in mine if id in known]
    return DecisionPairs(
        before, after, places, tuple(decision_names(own, own if ids is None else ids))
    )


def _positions_by_id(argument: str, ids: list[Any]) -> dict[Any, int]:
    found = {id: i for i, id in enumerate(ids)}
    if len(found) < len(ids):
        twice = next(id for i, id in enumerate(ids) if found[id] != i)
        hint = "Pass list(suffice.load(folder)) to pair by position."
        raise InputError(argument, f"several decisions with the id {twice!r}", "one each", hint)
    return found


def _require_same_row(pair: DecisionPair) -> None:
    """Raise unless both sides explain the same input with the same groups of columns."""
    mine, other = input_values(pair.before), input_values(pair.after)
    shared = [column for column in mine if column in other]
    # Texts and images have players made by cutting, so their columns need not agree.
    alike = _subject_key(pair.before.subject) == _subject_key(pair.after.subject)
    if not alike or not (shared or pair.before.subject is not None):
        what = "another text or picture" if not alike else "no column that a has"
        raise InputError("b", f"decision {pair.name}, with {what}", _SAME_ROWS)
    for column in shared:
        if not same_value(mine[column], other[column]):
            got = (
                f"decision {pair.name} with {column} = {format_value(other[column])}, where a has "
                f"{format_value(mine[column])}"
            )
            hint = "Pass both in the same order, or as stored batches, which are paired by id."
            raise InputError("b", got, _SAME_ROWS, hint)
    # With other groups a set of the same name would hold other columns.
    parts, others = (_feature_of_column(e) for e in (pair.before, pair.after))
    for column in shared:
        if parts[column] != others[column]:
            got = (
                f"decision {pair.name}, where {column!r} belongs to {others[column]!r}, and in a "
                f"to {parts[column]!r}"
            )
            raise InputError(
                "b", got, "the same groups of columns", "Explain both with the same groups."
            )


_SAME_ROWS = "decisions about the same rows, in the same order"


def _feature_of_column(e: Explanation) -> dict[str, str]:
    """Return the feature of each column."""
    return {column: player.name for player in all_players(e) for column in player.values}


def _subject_key(subject: Subject | None) -> Any:
    if subject is None:
        return None
    if isinstance(subject, TextSubject):
        return subject.text, subject.spans
    return subject.png, subject.runs


@dataclass(frozen=True)
class OfferedRecourse:
    """Recourse options of one row, found for one model."""

    name: str
    """Name of the decision."""
    row: Mapping[str, Scalar]
    """The input's values by column."""
    prediction: Scalar
    """Prediction of the model that the options were found for."""
    recourse: Recourse


def check_option_explainer(given: object) -> Explainer:
    """Return the explainer, or raise if its model cannot predict a row as it is given."""
    explainer = check_explainer(given, "an Explainer of the model that options are retested on")
    if explainer.decider.context.is_causal:
        got = "an Explainer with a causal context, where changes have consequences"
        raise InputError("explainer", got, "one whose values are swapped")
    return explainer


def retest_options(
    explainer: Explainer, offered: Iterable[OfferedRecourse], desired: Any = None
) -> list[tuple[bool, ...]]:
    """Return, by row and option, whether the model gives the changed row the desired outcome.

    `desired` is the argument that was given to `Explainer.recourse`. The model predicts all changed
    rows in one call.
    """
    asked = list(offered)
    rows = [row for one in asked for row in _changed_rows(explainer, one)]
    if not rows:
        return [() for _ in asked]
    table = CachedRows.from_rows(rows).table
    events = [
        _desired_event(explainer, one, desired) if one.recourse.options else None for one in asked
    ]
    model = explainer.decider.model
    # Labels and scores are each predicted once for all rows, whichever events need them.
    needs = {event[0].needs_scores for event in events if event is not None}
    answers = {scores: model.scores(table) if scores else model.predict(table) for scores in needs}
    found: list[tuple[bool, ...]] = []
    start = 0
    for one, event in zip(asked, events, strict=True):
        stop = start + len(one.recourse.options)
        if event is None:
            found.append(())
            continue
        which, wanted = event
        truth = Target(model, which).read(answers[which.needs_scores][start:stop])
        found.append(tuple(bool(works) for works in truth == wanted))
        start = stop
    return found


def _changed_rows(explainer: Explainer, one: OfferedRecourse) -> Sequence[Table]:
    """Return the row under each option, with the columns of the explainer's data."""
    names, rows = explainer.data.names, []
    for option in one.recourse.options:
        for column, old in option.old.items():
            if column in one.row and not same_value(one.row[column], old):
                got = (
                    f"options for a row with {column} = {format_value(old)}, where decision "
                    f"{one.name} has "
                    f"{format_value(one.row[column])}"
                )
                raise InputError("recourse", got, "one Recourse for each decision, in their order")
        values = {**one.row, **option.values}
        known = {name: value for name, value in values.items() if name in names}
        try:
            rows.append(read_row(known, explainer.data, "recourse"))
        except SufficeError as error:
            raise error.at(f"decision {one.name}") from error
    return rows


def _desired_event(explainer: Explainer, one: OfferedRecourse, desired: Any) -> tuple[Event, bool]:
    """Return the event to look for in a prediction, and whether it should be true."""
    model, recourse = explainer.decider.model, one.recourse
    label: Any = one.prediction
    for known in model.classes or ():
        # 1, 1.0 and True are equal in Python, so labels are distinguished by type as well.
        if as_scalar(known) == one.prediction and type(as_scalar(known)) is type(one.prediction):
            label = known
    argument = "outcome" if desired is None else "desired"
    event = event_for(explainer.outcome if desired is None else desired, model, label, argument)
    # Options carry only the text of their outcome; that of the event shows which way they lead.
    if recourse.desired == event.text:
        return event, True
    if recourse.outcome == event.text:
        return event, False
    got = f"options from {recourse.outcome!r} to {recourse.desired!r} (decision {one.name})"
    hint = "Pass desired= as it was given to Explainer.recourse."
    raise InputError("recourse", got, f"options to or from {event.text!r}", hint)
