"""Two models, two dates or two stored batches on the same rows: what of their explanations differs.

No model is asked, except where options of recourse are tried again: then it is the new one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from suffice.audit.catalogue import Catalogue, read_catalogue
from suffice.audit.decisions import ViewName, count_of, inputs, minimal_sets
from suffice.audit.drift.decision import DecisionDrift, FactorChange, Fate, OptionAgain
from suffice.audit.drift.distance import barcode_distance
from suffice.audit.drift.options import Offered, checked_explainer, still_work
from suffice.audit.drift.pairs import Pair, Pairs, paired
from suffice.audit.drift.result import Drift
from suffice.audit.gaps import Share
from suffice.audit.reasons import DecisionReasons, reasons
from suffice.checks import threshold, whole
from suffice.encodings.recourse import Recourse
from suffice.errors import InputError, NotVisitedError, shorten
from suffice.explanation import Explanation, View

__all__ = ["compare"]


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
) -> Drift:
    """What changed from `a` to `b`: explanations of the same rows by two models, or at two dates.

    Each is an explanation, a list of them, or a stored batch (`suffice.load`). Rows are paired by
    their place, or by id where both are stored, and must have the same values. Of each decision:
    whether the outcome changed; minimal sets gained and lost, and how far the sufficiency of each
    moved; how far apart the barcodes are (`barcode_distance`). Sets are compared only where the
    outcome is the same. A feature that one side does not have is one that it never reads.

    Parameters
    ----------
    a, b
        Before and after.
    tau
        The threshold for minimal sets; None: the explanations' own, which must then be the same.
    ids
        What the decisions are called; None: their ids where they are stored, else their numbers.
    catalogue, k
        With a catalogue, the reason codes of both sides are compared, at most k (None: 4), as in
        `reasons`; where those of one side are not known, why not is told instead.
    recourse, explainer, desired
        What `Explainer.recourse` answered for the rows of `a`, one for each (None where there is
        none), and an explainer of the model after, **which is asked** about every option: which no
        longer work. `desired` is what was given to `recourse`.

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
    asked = None if tau is None else threshold(tau)
    pairs = paired(a, b, ids)
    known = None if catalogue is None else read_catalogue(catalogue, blanks=True)
    if known is None and k is not None:
        raise InputError(
            "k", f"{shorten(k)} without a catalogue", "None", "Pass catalogue=… as well."
        )
    most = 4 if k is None else whole("k", k, also="None")
    again = _again(pairs, recourse, explainer, desired)
    found: list[DecisionDrift] = []
    thresholds: set[float] = set()
    first: Pair | None = None
    for pair in pairs:
        if first is None:
            first = pair
            if known is not None:
                known.check(sorted(_all_of(pair.before) | _all_of(pair.after)))
        at = _tau(pair, asked)
        thresholds.add(at)
        try:
            found.append(_drift(pair, at, known, most, again.get(pair.place, ())))
        except NotVisitedError as error:
            raise error.at(f"decision {pair.name}") from error
    assert first is not None
    return Drift(
        models=(first.before.provenance.model, first.after.provenance.model),
        contexts=(first.before.provenance.context.words, first.after.provenance.context.words),
        tau=thresholds.pop() if len(thresholds) == 1 else None,
        decisions=tuple(found),
        unpaired=(len(pairs.before) - len(pairs), len(pairs.after) - len(pairs)),
        features=_features(first),
    )


def _tau(pair: Pair, asked: float | None) -> float:
    """The threshold for both sides, which must have been tested alike."""
    a, b = pair.before, pair.after
    tests = [(e.keep_profile.alpha, e.keep_profile.adjust) for e in (a, b)]
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


def _drift(
    pair: Pair, tau: float, catalogue: Catalogue | None, k: int, options: tuple[OptionAgain, ...]
) -> DecisionDrift:
    a, b = pair.before, pair.after
    same_outcome = a.outcome == b.outcome
    changes: list[FactorChange] = []
    if same_outcome:
        changes += [*_changes(a.keep, b.keep, tau), *_changes(a.flip, b.flip, tau)]
    moved = tuple(change for change in changes if not (change.fate == "kept" and change.stays))
    codes: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    unknown: tuple[str, ...] = ()
    if catalogue is not None and same_outcome:
        was, now = (_codes(pair.name, e, catalogue, k) for e in (a, b))
        unknown = (*was.problems, *now.problems)
        codes = None if unknown else (was.codes, now.codes)
    return DecisionDrift(
        name=pair.name,
        outcomes=(a.outcome, b.outcome),
        predictions=(a.prediction, b.prediction),
        scores=(_score(a), _score(b)),
        factors=moved,
        unmoved=len(changes) - len(moved),
        members=tuple(_members(a, b, changes)),
        keep_distance=barcode_distance(a.keep, b.keep) if same_outcome else None,
        flip_distance=barcode_distance(a.flip, b.flip) if same_outcome else None,
        codes=codes,
        codes_unknown=unknown,
        options=options,
        complete=a.complete and b.complete,
    )


def _changes(before: View, after: View, tau: float) -> Iterator[FactorChange]:
    """Every set that is minimal on one side at least: those of the one before first."""
    old, new = (dict.fromkeys(minimal_sets(view, tau)) for view in (before, after))
    order = {name: i for i, name in enumerate(_names(before, after))}
    name: ViewName = before.name
    for features in {**old, **new}:
        fate: Fate = "lost" if features not in new else "kept" if features in old else "gained"
        was, sufficed = count_of(before, features, tau)
        now, suffices = count_of(after, features, tau)
        yield FactorChange(
            view=name,
            features=tuple(sorted(features, key=order.__getitem__)),
            fate=fate,
            before=None if was is None else Share(was, before.tally.n),
            after=None if now is None else Share(now, after.tally.n),
            sufficed=sufficed,
            suffices=suffices,
        )


def _members(
    a: Explanation, b: Explanation, changes: list[FactorChange]
) -> Iterator[tuple[str, int, int]]:
    """Each feature, with how many of the minimal sets before and after have it."""
    old = Counter(name for c in changes if c.fate != "gained" for name in c.features)
    new = Counter(name for c in changes if c.fate != "lost" for name in c.features)
    for name in _names(a.keep, b.keep):
        if old[name] or new[name]:
            yield name, old[name], new[name]


def _names(*views: View) -> list[str]:
    return list(dict.fromkeys(player.name for view in views for player in view.players))


def _score(e: Explanation) -> float | None:
    return None if e.score is None else e.score.value


def _codes(name: str, e: Explanation, catalogue: Catalogue, k: int) -> DecisionReasons:
    """The codes of one side, by the entries of the features that it has."""
    own = Catalogue(tuple(entry for entry in catalogue.entries if entry.feature in _all_of(e)))
    return reasons(e, own, k=k, problems="hold", ids=[name])[0]


def _all_of(e: Explanation) -> set[str]:
    return {player.name for player in (*e.players, *(left.player for left in e.left_out))}


def _features(pair: Pair) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Columns that only one side has."""
    before, after = inputs(pair.before), inputs(pair.after)
    return tuple(c for c in before if c not in after), tuple(c for c in after if c not in before)


def _again(
    pairs: Pairs, recourse: Any, explainer: Any, desired: Any
) -> dict[int, tuple[OptionAgain, ...]]:
    """By place before: its options, tried on the model after."""
    if recourse is None:
        for argument, given in (("explainer", explainer), ("desired", desired)):
            if given is not None:
                hint = "Pass what Explainer.recourse answered for the rows of a."
                raise InputError(argument, f"{argument} without recourse", "both, or none", hint)
        return {}
    if explainer is None:
        hint = "Options are tried on its model: compare(a, b, recourse=…, explainer=new)."
        raise InputError("explainer", None, "an Explainer of the model after", hint)
    asked = checked_explainer(explainer)
    every = [recourse] if isinstance(recourse, Recourse) else recourse
    allowed = f"one Recourse (or None) for each of the {len(pairs.before):,} decisions of a"
    if isinstance(every, str | bytes) or not isinstance(every, Sequence):
        raise InputError("recourse", recourse, allowed)
    if len(every) != len(pairs.before):
        raise InputError("recourse", f"{len(every):,} of them", allowed)
    offered: dict[int, Offered] = {}
    for name, (i, _) in zip(pairs.names, pairs.places, strict=True):
        found = every[i]
        if found is not None and not isinstance(found, Recourse):
            raise InputError("recourse", found, allowed)
        if found is not None:
            e = pairs.before[i]
            offered[i] = Offered(name, inputs(e), e.prediction, found)
    works = still_work(asked, offered.values(), desired)
    return {
        i: tuple(
            OptionAgain(option.says, option.cost, worked)
            for option, worked in zip(one.recourse.options, each, strict=True)
        )
        for (i, one), each in zip(offered.items(), works, strict=True)
    }
