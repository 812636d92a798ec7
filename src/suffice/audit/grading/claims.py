"""What another tool says of a decision, read as one of four kinds of claim.

A ranking of features, a set of them, a rule, or counterfactual rows. The tools' own objects are
known by what they offer, so that none of them is imported here:

| from | known by |
|---|---|
| shap | `values` and `base_values` |
| LIME | `as_map()`; or the pairs of `as_list()` |
| scikit-learn's permutation_importance | `importances_mean` |
| anchor-exp | `exp_map` with `names` |
| alibi's AnchorTabular | `data["anchor"]` |
| dice-ml | `cf_examples_list`, or one of its parts with `final_cfs_df` |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import and_
from typing import Any

import numpy as np

from suffice.audit.grading.rankings import Ranking, ranking_of_pairs, ranking_of_scores
from suffice.context.players import Players
from suffice.decision import Decision
from suffice.encodings.anchors import AnchorRules, Rule
from suffice.encodings.recourse import Option, Recourse
from suffice.errors import InputError, did_you_mean
from suffice.explanation import Explanation, View
from suffice.explanation.factor import SufficientFactor
from suffice.factors.kinds import Factor
from suffice.factors.reading import Labels, read_rule
from suffice.tables import Table, is_frame, storable
from suffice.tables.labels import find, own
from suffice.wording import and_more

__all__ = [
    "About",
    "Claim",
    "CounterfactualRows",
    "FeatureSet",
    "RuleClaim",
    "as_claim",
    "checked_labels",
]

ALLOWED = (
    "a ranking (scores by feature, names in order, an Explanation of shap or LIME), a set of "
    "names, a rule (text, a factor, an anchor), or counterfactual rows (a frame, DiCE's answer)"
)


@dataclass(frozen=True)
class FeatureSet:
    """Features that are said to matter together."""

    features: tuple[str, ...]


@dataclass(frozen=True)
class RuleClaim:
    """If these conditions hold, then the outcome; None: always."""

    factor: Factor | None


@dataclass(frozen=True, eq=False)
class CounterfactualRows:
    """Rows that are said to have another outcome."""

    rows: tuple[Any, ...]
    """Mappings from column to value, perhaps none."""


Claim = Ranking | FeatureSet | RuleClaim | CounterfactualRows


@dataclass(frozen=True, eq=False)
class About:
    """The decision that a claim is about, as far as reading the claim needs it."""

    decision: Decision
    absolute: bool | None = None
    """Rank scores by their size? None: as is usual for what was given."""
    labels: Labels | None = None

    @property
    def data(self) -> Table:
        """The table whose columns are named."""
        return self.decision.data

    @property
    def players(self) -> Players:
        """What is held or replaced together."""
        return self.decision.players

    @cached_property
    def class_number(self) -> int | None:
        """The place of the outcome's class among the model's; None where there is none."""
        classes, event = self.decision.target.model.classes, self.decision.target.event
        if classes is None:
            return None
        label = event.parameters[0] if event.kind == "class" else own(self.decision.prediction)
        return find(classes, label)

    def player(self, name: object) -> str:
        """The feature that a name means: its own, or that of the group that a column is in."""
        text = _text(name)
        if text in self.players.names:
            return text
        if text in self.data.names:
            return self.players.names[int(self.players.of_column[self.data.names.index(text)])]
        hint = did_you_mean(text, self.players.names)
        raise InputError("other", f"unknown feature {text!r}", "features of the data", hint)


def checked_labels(labels: object, data: Table) -> Labels | None:
    """What values are called, by column of the data; None: as they are."""
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


def as_claim(other: Any, about: About) -> Claim:
    """One claim of any tool, or an error that says what is known."""
    return _own(other, about) or _of_a_tool(other, about) or _plain(other, about)


def _own(other: Any, about: About) -> Claim | None:
    """What this package itself answers."""
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
            return FeatureSet(other.features)
        case Option():
            return CounterfactualRows((dict(other.values),))
        case Recourse():
            return CounterfactualRows(tuple(dict(option.values) for option in other.options))
        case View():
            if not len(other):
                raise InputError("other", "a view without factors", "at least one factor")
            return FeatureSet(other[0].features)
        case Explanation():
            hint = "other.keep or other.flip is one."
            raise InputError("other", "an explanation, which has two views", "one of them", hint)
    return None


def _of_a_tool(other: Any, about: About) -> Claim | None:
    """What other libraries answer, by what it offers."""
    if hasattr(other, "importances_mean"):
        return ranking_of_scores(other.importances_mean, about, by_size=False)
    if hasattr(other, "values") and hasattr(other, "base_values"):
        return _of_shap(other, about)
    if callable(getattr(other, "as_map", None)):
        return _of_lime(other, about)
    if isinstance(getattr(other, "exp_map", None), Mapping):
        return _of_conditions(other.exp_map.get("names", ()), about)
    data = getattr(other, "data", None)
    if isinstance(data, Mapping) and "anchor" in data:
        return _of_conditions(data["anchor"], about)
    if hasattr(other, "cf_examples_list"):
        examples = list(other.cf_examples_list)
        if len(examples) != 1:
            got = f"counterfactuals of {len(examples)} inputs"
            raise InputError("other", got, "those of one input", "Pass cf_examples_list[i].")
        other = examples[0]
    if hasattr(other, "final_cfs_df"):
        sparse = getattr(other, "final_cfs_df_sparse", None)  # what it shows, where there is one
        return _of_frame(other.final_cfs_df if sparse is None else sparse, about)
    return None


def _plain(other: Any, about: About) -> Claim:
    """Names, numbers, pairs, texts and frames."""
    if isinstance(other, str):
        if other in about.players.names:
            hint = f"A set of one is {{{other!r}}}, a ranking [{other!r}]."
            raise InputError("other", repr(other), ALLOWED, hint)
        return RuleClaim(read_rule(other, about.data, about.labels, "other"))
    if is_frame(other):
        return _of_frame(other, about)
    if isinstance(other, AbstractSet):
        return FeatureSet(_members(other, about))
    from pandas import Series

    if isinstance(other, Series):
        other = dict(other.items())
    if isinstance(other, Mapping) and other:
        return ranking_of_pairs(list(other.items()), about)
    if isinstance(other, np.ndarray) and other.dtype.kind in "iuf":
        return ranking_of_scores(other, about)
    if isinstance(other, bytes | Mapping) or not isinstance(other, Iterable):
        raise InputError("other", other, ALLOWED)
    listed = list(np.atleast_1d(other)) if isinstance(other, np.ndarray) else list(other)
    if not listed:
        raise InputError("other", "nothing", ALLOWED)
    if all(isinstance(item, str) for item in listed):
        return Ranking.of_names([about.player(name) for name in listed])
    if all(isinstance(item, Mapping) for item in listed):
        return CounterfactualRows(tuple(dict(row) for row in listed))
    if all(isinstance(item, tuple | list) and len(item) == 2 for item in listed):
        return ranking_of_pairs([(name, score) for name, score in listed], about)
    if all(isinstance(item, int | float | np.number) for item in listed):
        return ranking_of_scores(np.asarray(listed), about)
    raise InputError("other", other, ALLOWED)


def _of_shap(other: Any, about: About) -> Ranking:
    """Values of one row; of several classes, those of the outcome's."""
    values = np.asarray(other.values)
    named = getattr(other, "feature_names", None)
    names = None if named is None else list(named)
    width = len(about.data.names) if names is None else len(names)
    if values.ndim > 1 and values.shape[0] == 1:
        values = values[0]
    if values.ndim == 2 and values.shape[0] == width:
        number = about.class_number
        classes = len(about.decision.target.model.classes or ())
        if number is None or values.shape[1] != classes:
            got = f"shap values for {values.shape[1]} outputs"
            allowed = f"one output, or one for each of {classes} classes"
            raise InputError("other", got, allowed, "Pass those of one output: values[..., k].")
        values = values[:, number]
    if values.ndim != 1:
        got = f"shap values of shape {np.asarray(other.values).shape}"
        raise InputError("other", got, "those of one row", "Pass explanation[i].")
    if names is not None and len(names) == len(values) and set(map(_text, names)) <= _known(about):
        return ranking_of_pairs(list(zip(names, values.tolist(), strict=True)), about)
    return ranking_of_scores(values, about)


def _of_lime(other: Any, about: About) -> Ranking:
    """Weights by the number of a feature: its conditions' names need not be read."""
    weights = other.as_map()
    if not isinstance(weights, Mapping) or not weights:
        raise InputError("other", "an explanation of LIME without weights", ALLOWED)
    chosen = about.class_number if about.class_number in weights else next(iter(weights))
    mapper = getattr(other, "domain_mapper", None)
    names = [_text(name) for name in getattr(mapper, "feature_names", None) or ()]
    if not names or not set(names) <= _known(about):
        names = list(about.data.names)
    pairs = [(names[int(number)], weight) for number, weight in weights[chosen]]
    return ranking_of_pairs(pairs, about)


def _of_conditions(names: Any, about: About) -> RuleClaim:
    """Conditions that all have to hold, each a text, as both packages of anchors have them."""
    parts = [read_rule(str(name), about.data, about.labels, "other") for name in names]
    factors = [part for part in parts if part is not None]
    return RuleClaim(reduce(and_, factors) if factors else None)


def _of_frame(frame: Any, about: About) -> CounterfactualRows:
    """Rows of a frame; columns that the data has not, the outcome for instance, are left out."""
    if frame is None:
        return CounterfactualRows(())
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        import narwhals as nw

        frame = nw.from_native(frame, eager_only=True).to_pandas()
    names = {name: _text(name) for name in frame.columns}
    missing = [name for name in about.data.names if name not in names.values()]
    if missing:
        got = f"rows without {and_more(map(repr, missing), 4)}"
        raise InputError("other", got, "counterfactual rows with all columns of the data")
    kept = frame[[name for name, text in names.items() if text in about.data.names]]
    columns = [names[name] for name in kept.columns]
    cells = [kept.iloc[:, j].tolist() for j in range(len(columns))]
    return CounterfactualRows(
        tuple(dict(zip(columns, row, strict=True)) for row in zip(*cells, strict=True))
    )


def _members(given: Iterable[Any], about: About) -> tuple[str, ...]:
    """A set's features, in the data's order; of a group all columns, or its name."""
    asked = {_text(name) for name in given}
    found = {about.player(name) for name in asked}
    for name, columns in zip(about.players.names, about.players.columns, strict=True):
        inside = [about.data.names[j] for j in columns]
        if name in found and name not in asked and not asked.issuperset(inside):
            some = next(column for column in inside if column in asked)
            got = f"{some!r}, a column of the group {name!r}"
            hint = f"Name {name!r}, or explain without that group."
            raise InputError("other", got, "features that are held or replaced alone", hint)
    return tuple(name for name in about.players.names if name in found)


def _known(about: About) -> set[str]:
    return {*about.data.names, *about.players.names}


def _text(name: object) -> str:
    try:
        return storable(name)
    except Exception as error:  # an object that cannot be shown is no name
        raise InputError("other", name, "names of features") from error
