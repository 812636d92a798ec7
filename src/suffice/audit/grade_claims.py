"""Read outputs of shap, LIME, anchors, DiCE and others as a ranking, set, rule or counterfactuals.

| tool | read as |
|---|---|
| shap, LIME, permutation_importance, scores, names in order | `RankingClaim` |
| a set of names, a sufficient factor | `SetClaim` |
| anchor-exp, alibi, a text such as "age > 30", a factor | `RuleClaim` |
| dice-ml, a frame of rows, recourse options | `CounterfactualClaim` |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import and_
from typing import Any

import numpy as np

from suffice.context.players import Players
from suffice.decision import Decision
from suffice.errors import InputError, did_you_mean
from suffice.explanation import Explanation, View
from suffice.explanation.sufficient_factor import SufficientFactor
from suffice.factors.predicates import Factor
from suffice.factors.rule_text import ValueNames, condition_column, parse_rule
from suffice.formatting import join_first
from suffice.recourse import Option, Recourse
from suffice.rules import AnchorRules, Rule
from suffice.tables import Table, as_scalar, is_frame, utf8_text
from suffice.tables.cells import label_index, unwrap_label
from suffice.validation import check_number


@dataclass(frozen=True)
class RankingClaim:
    """Features, the most important first; a tool may rank only some."""

    features: tuple[str, ...]
    scores: tuple[float, ...] | None = None
    """Scores in the same order; None if only the order is known."""
    caution: str = ""
    """What the tool may have done unasked; "" if nothing is known of it."""

    @classmethod
    def of_names(cls, names: Sequence[str]) -> RankingClaim:
        """Return a ranking in the order of the names; a group takes its first column's place."""
        return cls(tuple(dict.fromkeys(names)))


def ranking_of_scores(scores: Any, about: ClaimContext, by_size: bool = True) -> RankingClaim:
    """Read scores in the order of the features, or of the columns if there are groups."""
    values = np.asarray(scores)
    if values.ndim == 2 and 1 in values.shape:
        values = values.ravel()
    names = about.players.names
    if values.ndim == 1 and len(values) != len(names):
        names = about.data.names
    if values.ndim != 1 or len(values) != len(names):
        got = f"scores of shape {values.shape}"
        hint = "Pass the scores of one class or row: values[i]."
        raise InputError("other", got, f"one for each of the {len(names)} features", hint)
    return _rank_features(list(zip(names, values.tolist(), strict=True)), about, by_size)


def ranking_of_pairs(pairs: Sequence[tuple[Any, Any]], about: ClaimContext) -> RankingClaim:
    """Read (name, score) pairs; a name may be a condition on a column, as LIME has it.

    Features without a pair are not ranked.
    """
    named = []
    for name, score in pairs:
        text = name if isinstance(name, str) else str(name)
        known = text in about.players.names
        named.append((text if known else condition_column(text, about.data, "other"), score))
    return _rank_features(named, about)


def _rank_features(
    pairs: Sequence[tuple[str, Any]], about: ClaimContext, by_size: bool = True
) -> RankingClaim:
    """Rank features by score; the scores of a group's columns are added up."""
    if about.absolute is not None:
        by_size = about.absolute
    totals: dict[str, float] = {}
    for name, score in pairs:
        allowed = f"a finite number for {name!r}"
        value = check_number("other", score, allowed)
        player = about.feature_of(name)
        # Columns of a group share its name and are added up; a feature named twice is a mistake.
        if player == name and player in totals:
            raise InputError("other", f"two scores for {name!r}", "one for each feature")
        totals[player] = totals.get(player, 0.0) + value
    if not totals:
        raise InputError("other", "no scores", "one for each feature")
    # Equal scores rank in the data's order, so that a ranking does not depend on a dict's.
    order = {name: place for place, name in enumerate(about.players.names)}
    ranked = sorted(
        totals,
        key=lambda name: (-(abs(totals[name]) if by_size else totals[name]), order[name]),
    )
    return RankingClaim(tuple(ranked), tuple(totals[name] for name in ranked))


ALLOWED_CLAIMS = (
    "a ranking (scores by feature, names in order, an Explanation of shap or LIME), a set of "
    "names, a rule (text, a factor, an anchor), or counterfactual rows (a frame, DiCE's result)"
)


@dataclass(frozen=True)
class SetClaim:
    """A set of features that matter together."""

    features: tuple[str, ...]


@dataclass(frozen=True)
class RuleClaim:
    """A rule for the outcome; None holds always."""

    factor: Factor | None


@dataclass(frozen=True, eq=False)
class CounterfactualClaim:
    """Counterfactual rows: inputs that should have another outcome."""

    rows: tuple[Any, ...]
    """Mappings from column to value; may be empty."""


Claim = RankingClaim | SetClaim | RuleClaim | CounterfactualClaim


@dataclass(frozen=True, eq=False)
class ClaimContext:
    """Decision that a claim is about, with the options for reading claims."""

    decision: Decision
    absolute: bool | None = None
    """Whether scores are ranked by absolute value; None: as usual for the tool."""
    labels: ValueNames | None = None

    @property
    def data(self) -> Table:
        """Table whose columns claims name."""
        return self.decision.data

    @property
    def players(self) -> Players:
        """Features: columns that are held or replaced together."""
        return self.decision.players

    @cached_property
    def class_number(self) -> int | None:
        """Position of the outcome's class among the model's classes; None if there is none."""
        classes, event = self.decision.target.wrapped.classes, self.decision.target.event
        if classes is None:
            return None
        label = (
            event.parameters[0] if event.kind == "class" else unwrap_label(self.decision.prediction)
        )
        return label_index(classes, label)

    def feature_of(self, name: object) -> str:
        """Return the feature with this name, or the group that this column is in."""
        text = _name_text(name)
        if text in self.players.names:
            return text
        if text in self.data.names:
            return self.players.names[int(self.players.of_column[self.data.names.index(text)])]
        hint = did_you_mean(text, self.players.names)
        raise InputError("other", f"unknown feature {text!r}", "features of the data", hint)


def check_labels(labels: object, data: Table) -> ValueNames | None:
    """Return the names of coded values by column, checked."""
    if labels is None:
        return None
    allowed = "{column: {value: name}} or {column: [names of 0, 1, …]}"
    if not isinstance(labels, Mapping):
        raise InputError("labels", labels, allowed)
    for column, names in labels.items():
        data.position(column, "labels")
        listed = isinstance(names, Sequence) and not isinstance(names, str | bytes)
        if not listed and not isinstance(names, Mapping):
            raise InputError("labels", f"{names!r} for {column!r}", allowed)
    return labels


def read_claim(other: Any, about: ClaimContext) -> Claim:
    """Read one claim of any tool; raise `InputError` if it is of no known form."""
    # Own results are known by their type; only then are attributes of other tools looked at.
    return _own_claim(other, about) or _tool_claim(other, about) or _plain_claim(other, about)


def _own_claim(other: Any, about: ClaimContext) -> Claim | None:
    """Read results of this package; None if it is none."""
    match other:
        case Factor():
            other.check_storable()
            for name in other.columns():
                about.data.position(name, "other")
            return RuleClaim(other)
        case Rule():
            return RuleClaim(other.factor)
        case AnchorRules():
            best = other.best
            if best is None:
                raise InputError("other", "anchors of which none was found", "at least one rule")
            return RuleClaim(best.factor)
        case SufficientFactor():
            return SetClaim(other.features)
        case Option():
            return CounterfactualClaim((dict(other.values),))
        case Recourse():
            return CounterfactualClaim(tuple(dict(option.values) for option in other.options))
        case View():
            if not len(other):
                raise InputError("other", "a view without factors", "at least one factor")
            return SetClaim(other[0].features)
        case Explanation():
            hint = "Pass other.keep or other.flip."
            raise InputError("other", "an explanation, which has two views", "one view", hint)
    return None


def _tool_claim(other: Any, about: ClaimContext) -> Claim | None:
    """Read results of other libraries by their attributes; None if it is none."""
    if hasattr(other, "importances_mean"):
        return ranking_of_scores(other.importances_mean, about, by_size=False)
    if hasattr(other, "values") and hasattr(other, "base_values"):
        return _read_shap(other, about)
    if callable(getattr(other, "as_map", None)):
        return _read_lime(other, about)
    if isinstance(getattr(other, "exp_map", None), Mapping):
        return _read_anchor(other.exp_map.get("names", ()), about)
    data = getattr(other, "data", None)
    if isinstance(data, Mapping) and "anchor" in data:
        return _read_anchor(data["anchor"], about)
    if hasattr(other, "cf_examples_list"):
        examples = list(other.cf_examples_list)
        if len(examples) != 1:
            got = f"counterfactuals of {len(examples)} inputs"
            raise InputError("other", got, "those of one input", "Pass cf_examples_list[i].")
        other = examples[0]
    if hasattr(other, "final_cfs_df"):
        sparse = getattr(other, "final_cfs_df_sparse", None)  # what DiCE shows, if there is one
        return _read_counterfactuals(other.final_cfs_df if sparse is None else sparse, about)
    return None


def _plain_claim(other: Any, about: ClaimContext) -> Claim:
    """Read names, numbers, pairs, texts and frames."""
    if isinstance(other, str):
        if other in about.players.names:
            hint = f"A set of one is {{{other!r}}}, a ranking [{other!r}]."
            raise InputError("other", repr(other), ALLOWED_CLAIMS, hint)
        return RuleClaim(parse_rule(other, about.data, about.labels, "other"))
    if is_frame(other):
        return _read_counterfactuals(other, about)
    if isinstance(other, AbstractSet):
        return SetClaim(_set_features(other, about))
    from pandas import Series

    if isinstance(other, Series):
        other = dict(other.items())
    if isinstance(other, Mapping) and other:
        return ranking_of_pairs(list(other.items()), about)
    if isinstance(other, np.ndarray) and other.dtype.kind in "iuf":
        return ranking_of_scores(other, about)
    if isinstance(other, bytes | Mapping) or not isinstance(other, Iterable):
        raise InputError("other", other, ALLOWED_CLAIMS)
    listed = list(np.atleast_1d(other)) if isinstance(other, np.ndarray) else list(other)
    if not listed:
        raise InputError("other", "nothing", ALLOWED_CLAIMS)
    if all(isinstance(item, str) for item in listed):
        return RankingClaim.of_names([about.feature_of(name) for name in listed])
    if all(isinstance(item, Mapping) for item in listed):
        return CounterfactualClaim(tuple(dict(row) for row in listed))
    if all(isinstance(item, tuple | list) and len(item) == 2 for item in listed):
        return ranking_of_pairs([(name, score) for name, score in listed], about)
    if all(isinstance(item, int | float | np.number) for item in listed):
        return ranking_of_scores(np.asarray(listed), about)
    raise InputError("other", other, ALLOWED_CLAIMS)


def _read_shap(other: Any, about: ClaimContext) -> RankingClaim:
    """Read shap values of one row; of several classes, those of the outcome's class."""
    values = np.asarray(other.values)
    named = getattr(other, "feature_names", None)
    names = None if named is None else list(named)
    width = len(about.data.names) if names is None else len(names)
    # A one-row Explanation of shap keeps its axis of rows.
    if values.ndim > 1 and values.shape[0] == 1:
        values = values[0]
    if values.ndim == 2 and values.shape[0] == width:
        number = about.class_number
        classes = len(about.decision.target.wrapped.classes or ())
        # Taking some class's values without knowing which would grade another explanation.
        if number is None or values.shape[1] != classes:
            got = f"shap values for {values.shape[1]} outputs"
            allowed = f"one output, or one for each of {classes} classes"
            raise InputError("other", got, allowed, "Pass those of one output: values[..., k].")
        values = values[:, number]
    if values.ndim != 1:
        got = f"shap values of shape {np.asarray(other.values).shape}"
        raise InputError("other", got, "those of one row", "Pass explanation[i].")
    known = names is not None and set(map(_name_text, names)) <= _known_names(about)
    if names is not None and known and len(names) == len(values):
        found = ranking_of_pairs(list(zip(names, values.tolist(), strict=True)), about)
    else:
        found = ranking_of_scores(values, about)
    return replace(found, caution=_SHAP_CAUTION)


_SHAP_CAUTION = (
    "shap cuts a background given as a table to 100 rows without a warning; "
    "shap.maskers.Independent(table, max_samples=len(table)) keeps all. The values do not tell."
)
"""A result of shap holds no background, so the caution stands beside every one."""


def _read_lime(other: Any, about: ClaimContext) -> RankingClaim:
    """Read LIME's weights by feature number, so that its conditions need not be parsed."""
    weights = other.as_map()
    if not isinstance(weights, Mapping) or not weights:
        raise InputError("other", "an explanation of LIME without weights", ALLOWED_CLAIMS)
    number, classes = about.class_number, about.decision.target.wrapped.classes or ()
    if number in weights:
        chosen = number
    elif number is None or (len(classes) == 2 and about.absolute is not False):
        # Of two classes the weights are each other's negatives: their sizes rank the same.
        chosen = next(iter(weights))
    else:
        got = (
            f"weights of LIME without those of the outcome's class, {as_scalar(classes[number])!r}"
        )
        hint = f"Pass labels=[{number}] to explain_instance."
        raise InputError("other", got, "the weights of that class", hint)
    mapper = getattr(other, "domain_mapper", None)
    names = [_name_text(name) for name in getattr(mapper, "feature_names", None) or ()]
    if not names or not set(names) <= _known_names(about):
        names = list(about.data.names)
    pairs = [(names[int(number)], weight) for number, weight in weights[chosen]]
    return ranking_of_pairs(pairs, about)


def _read_anchor(names: Any, about: ClaimContext) -> RuleClaim:
    """Read an anchor: texts of conditions that all have to hold (anchor-exp, alibi)."""
    parts = [parse_rule(str(name), about.data, about.labels, "other") for name in names]
    factors = [part for part in parts if part is not None]
    return RuleClaim(reduce(and_, factors) if factors else None)


def _read_counterfactuals(frame: Any, about: ClaimContext) -> CounterfactualClaim:
    """Read the rows of a frame; columns that the data lacks, as the outcome, are ignored."""
    if frame is None:
        return CounterfactualClaim(())
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        import narwhals as nw

        frame = nw.from_native(frame, eager_only=True).to_pandas()
    names = {name: _name_text(name) for name in frame.columns}
    missing = [name for name in about.data.names if name not in names.values()]
    if missing:
        got = f"rows without {join_first(map(repr, missing), 4)}"
        raise InputError("other", got, "counterfactual rows with all columns of the data")
    # DiCE's frames have the outcome as a further column.
    kept = frame[[name for name, text in names.items() if text in about.data.names]]
    columns = [names[name] for name in kept.columns]
    cells = [kept.iloc[:, j].tolist() for j in range(len(columns))]
    return CounterfactualClaim(
        tuple(dict(zip(columns, row, strict=True)) for row in zip(*cells, strict=True))
    )


def _set_features(given: Iterable[Any], about: ClaimContext) -> tuple[str, ...]:
    """Return a set's features in the data's order; a group needs its name or all its columns."""
    named = {_name_text(name) for name in given}
    found = {about.feature_of(name) for name in named}
    for name, columns in zip(about.players.names, about.players.columns, strict=True):
        inside = [about.data.names[j] for j in columns]
        if name in found and name not in named and not named.issuperset(inside):
            some = next(column for column in inside if column in named)
            got = f"{some!r}, a column of the group {name!r}"
            hint = f"Name {name!r}, or explain without that group."
            raise InputError("other", got, "features that are held or replaced alone", hint)
    return tuple(name for name in about.players.names if name in found)


def _known_names(about: ClaimContext) -> set[str]:
    return {*about.data.names, *about.players.names}


def _name_text(name: object) -> str:
    try:
        return utf8_text(name)
    except Exception as error:  # the str() of a foreign object may raise anything
        raise InputError("other", name, "names of features") from error
