"""`Explainer.prove` and its result: feature sets that keep the outcome for every row of a domain.

Sufficiency is a share of references; a proof is about all rows that a domain allows. Both are
exact, and they differ: a set that keeps the outcome for all references may lose it for a row that
nobody has seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, Literal, cast

from suffice.context.change_rules import Names
from suffice.decision import Decision, SupportsDecide
from suffice.engines.select_engine import Unreadable
from suffice.errors import InputError
from suffice.factors import Factor
from suffice.factors.predicates import AnyFactor
from suffice.factors.rule_text import format_rule
from suffice.formatting import format_features, format_value, percent, plural
from suffice.prove.domain import DOMAINS, DomainKind
from suffice.prove.prover import (
    MinimalSets,
    OutOfTimeError,
    ProofResult,
    Prover,
    Refutation,
    find_minimal_sets,
    make_prover,
)
from suffice.prove.region import proved_region
from suffice.prove.restrictions import Restrictions, read_restrictions
from suffice.results import Column, FrozenDict, OmittedRows, Panel, Result, Sheet
from suffice.tables.cells import as_scalar
from suffice.typing import Scalar
from suffice.validation import check_bool, check_choice, check_integer, check_number

VerdictName = Literal["proved", "refuted", "open"]

_SETS_IN_FULL = 10
"""A search for minimal sets ends after so many times the boxes of one set."""

_ROWS_SHOWN = 10

_IN_WORDS: dict[DomainKind, str] = {
    "values": "any combination of values that the data holds",
    "range": "any numbers between the least and the largest of the data, and categories in it",
    "box": "any numbers, and any categories that the data or its dtypes list",
}


@dataclass(frozen=True)
class Verdict:
    """Verdict on one feature set over the whole domain.

    >>> Verdict(("age",), "refuted", {"age": 22, "income": 58}).counterexample["income"]
    58
    """

    features: tuple[str, ...]
    verdict: VerdictName
    """Holding these features keeps the outcome for every row of the domain; or there is a row that
    refutes it; or neither was shown with the work allowed."""
    counterexample: Mapping[str, Scalar] | None = None
    """Where it is refuted: a row with the input's values of these features, which the model itself
    gives another outcome."""
    bound: float | None = None
    """Where it is open: how far beyond the boundary of the decision a row could still be, in parts
    of the largest distance that scores can have from it."""
    rule: AnyFactor | None = None
    """Where rules were asked for and the set is proved: every row of the domain that satisfies the
    rule has the outcome, the input among them. None also where every row has it."""

    def __post_init__(self) -> None:
        if self.counterexample is not None:
            object.__setattr__(self, "counterexample", FrozenDict(self.counterexample))
        if (self.verdict == "refuted") != (self.counterexample is not None):
            raise InputError("verdict", self.verdict, "'refuted' exactly with a counterexample")
        if (self.verdict == "open") != (self.bound is not None):
            raise InputError("verdict", self.verdict, "'open' exactly with a bound")
        if self.rule is not None and self.verdict != "proved":
            raise InputError("rule", self.rule, "None where the set is not proved")
        if self.bound is not None:
            check_number("bound", self.bound, "a number in (0, 1]", above=0, most=1)


@dataclass(frozen=True, repr=False)
class Proof(Result):
    """Verdicts on feature sets of one decision over a whole domain.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from suffice import Explainer, datasets
    >>> X, y = datasets.loans()
    >>> X = X[["age", "income", "debt", "late payments"]]
    >>> explainer = Explainer(DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y), X)
    >>> p = explainer.prove(X.iloc[5])
    >>> [v.features for v in p.sufficient], p.complete
    ([('income', 'debt'), ('debt', 'late payments')], True)
    """

    plots = ()

    outcome: str
    domain: DomainKind
    restrictions: tuple[str, ...]
    """One sentence for each restriction of the domain."""
    players: tuple[str, ...]
    values: Mapping[str, Scalar]
    """The input, by column."""
    verdicts: tuple[Verdict, ...]
    """One for each set that was asked about; without such sets: the minimal proved sets, and after
    them those that were left open."""
    contrastive: tuple[Verdict, ...]
    """Minimal sets whose change alone can lose the outcome. Each is the refutation of holding all
    other features, and its counterexample differs from the input on no others."""
    searched: bool
    """Whether minimal sets were searched for; else sets that were given were decided."""
    complete: bool
    """Whether every minimal set is listed, or every set that was given is decided."""
    stopped: str | None
    """Why the search ended early; None if it did not."""
    boxes: int
    """Boxes of rows that branch and bound looked at."""
    rows_predicted: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", FrozenDict(self.values))
        check_integer("boxes", self.boxes, least=0)
        check_integer("rows_predicted", self.rows_predicted, least=0)
        for verdict in (*self.verdicts, *self.contrastive):
            if unknown := set(verdict.features) - set(self.players):
                raise InputError("features", sorted(unknown), "players of the decision")
            row = verdict.counterexample
            if row is not None and set(row) != set(self.values):
                raise InputError("counterexample", sorted(row), "a value for each column")
        if self.complete and (self.open or self.stopped is not None):
            raise InputError(
                "complete", True, "False where a set is open or the search ended early"
            )

    @property
    def sufficient(self) -> tuple[Verdict, ...]:
        """The proved sets; if minimal sets were searched for, none contains another."""
        return tuple(v for v in self.verdicts if v.verdict == "proved")

    @property
    def open(self) -> tuple[Verdict, ...]:
        """The sets that are neither proved nor refuted."""
        return tuple(v for v in self.verdicts if v.verdict == "open")

    @property
    def sheet(self) -> Sheet:
        """Sentences on the verdicts, and a table of the sets."""
        lead = [f"The domain: {'; '.join((_IN_WORDS[self.domain], *self.restrictions))}."]
        if self.searched:
            lead += self._search_sentences()
        panels = [self._verdict_panel()] if self.verdicts else []
        if self.contrastive:
            panels.append(self._contrastive_panel())
        notes = [
            "Proved: no row of the domain with the input's values of these features has another "
            "outcome. It is a statement about this model, not about people or the future.",
            f"Work: {self.boxes:,} box{'' if self.boxes == 1 else 'es'} of rows looked at, "
            f"{plural(self.rows_predicted, 'row')} predicted by the model.",
        ]
        if self.stopped is not None:
            notes.insert(0, f"Not complete: {self.stopped}.")
        return Sheet(f"What proves “{self.outcome}”", tuple(lead), tuple(panels), tuple(notes))

    def _search_sentences(self) -> list[str]:
        n = len(self.sufficient)
        if not self.complete and not n:
            return ["No feature set was proved before the search ended; some may be."]
        if not self.complete:
            found = f"At least {plural(n, 'feature set')} prove" + ("s" if n == 1 else "")
            return [f"{found} the outcome; others may."]
        if self.sufficient == (Verdict((), "proved"),):
            return ["Every row of the domain has the outcome: no feature is needed."]
        every = "One feature set proves" if n == 1 else f"{n} feature sets prove"
        return [f"{every} the outcome, and no other set does unless it contains one of them."]

    def _verdict_panel(self) -> Panel:
        rows = []
        for one in self.verdicts[:_ROWS_SHOWN]:
            word: str = one.verdict
            if one.bound is not None:
                word = f"open, within {percent(one.bound)} of the boundary"
            rule = None if one.rule is None else format_rule(one.rule)
            rows.append((self._held(one.features), word, self._difference(one), rule))
        more = OmittedRows(len(self.verdicts) - len(rows), ".verdicts")
        heads = ("feature set", "verdict", "counterexample", "proved rule")
        used = [i for i in range(4) if i < 2 or any(row[i] for row in rows)]
        return Panel(
            tuple(Column(heads[i]) for i in used),
            tuple(tuple(row[i] for i in used) for row in rows),
            "Holding these",
            more,
        )

    def _contrastive_panel(self) -> Panel:
        shown = self.contrastive[:_ROWS_SHOWN]
        rows = tuple((format_features(v.features), self._difference(v)) for v in shown)
        more = OmittedRows(len(self.contrastive) - len(shown), ".contrastive")
        columns = (Column("feature set"), Column("a change that does it"))
        return Panel(
            columns, rows, "Changing these alone can lose it, and nothing smaller can", more
        )

    def _held(self, features: tuple[str, ...]) -> str:
        held = [
            f"{name} = {format_value(self.values[name])}" if name in self.values else name
            for name in features
        ]
        return ", ".join(held) or "no feature"

    def _difference(self, verdict: Verdict) -> str | None:
        """Return the text of the changes from the input to a counterexample; None without one."""
        if verdict.counterexample is None:
            return None
        return ", ".join(
            f"{name} {format_value(self.values[name])} → {format_value(value)}"
            for name, value in verdict.counterexample.items()
            if value != self.values[name] or type(value) is not type(self.values[name])
        )

    def to_frame(self) -> Any:
        """Return a pandas frame with a row for each verdict, contrastive sets last."""
        import pandas as pd

        kinds = [("holding", v) for v in self.verdicts]
        kinds += [("changing", v) for v in self.contrastive]
        rows = [
            {
                "kind": kind,
                "features": verdict.features,
                "verdict": verdict.verdict,
                "counterexample": verdict.counterexample,
                "bound": verdict.bound,
                "rule": verdict.rule,
            }
            for kind, verdict in kinds
        ]
        names = ["kind", "features", "verdict", "counterexample", "bound", "rule"]
        return pd.DataFrame(rows, columns=names)


def prove(
    explainer: SupportsDecide,
    x: Any,
    features: object = None,
    *,
    domain: DomainKind = "values",
    immutable: Names = (),
    ranges: Mapping[str, Any] | None = None,
    increasing: Names = (),
    decreasing: Names = (),
    forbidden: Factor | Iterable[Factor] = (),
    max_sets: int = 1000,
    rules: bool = False,
    max_boxes: int = 20_000,
    time_limit: float | None = None,
) -> Proof:
    """Prove or refute that feature sets keep the outcome of `x` for every row of a domain.

    See `Explainer.prove`.
    """
    kind = check_choice("domain", domain, DOMAINS)
    max_sets = check_integer("max_sets", max_sets)
    check_bool("rules", rules)
    max_boxes = check_integer("max_boxes", max_boxes)
    if time_limit is not None:
        check_number("time_limit", time_limit, "None or a number of seconds > 0", above=0)
    end = None if time_limit is None else monotonic() + time_limit
    decision = explainer.decide(x)
    asked = _read_sets(decision, features)
    limits = read_restrictions(decision, immutable, ranges, increasing, decreasing, forbidden)
    try:
        prover = make_prover(decision, kind, max_boxes, limits)
    except Unreadable as reason:
        raise InputError(
            "prove",
            f"a model or a question that cannot be proved about: {reason}",
            "a tree or additive model that suffice reads (see the guide to models), and an outcome "
            "that follows from its scores",
            "explain(x) counts references for any model.",
        ) from None
    if end is not None:
        prover.out_of_time = lambda: monotonic() > end
    if asked is None:
        boxes = _SETS_IN_FULL * max_boxes
        return _search(decision, kind, limits, prover, max_sets, boxes, time_limit, rules)
    results: list[ProofResult] = []
    stopped = None
    for mask in asked:
        try:
            results.append(prover.decide(mask))
        except OutOfTimeError:
            stopped = _time_limit_text(time_limit)
            results.append(ProofResult(None, 1.0))
    verdicts = tuple(_verdict(prover, m, f) for m, f in zip(asked, results, strict=True))
    if rules:
        verdicts, finished = _with_rules(prover, verdicts)
        stopped = stopped if finished else _time_limit_text(time_limit)
    decided = all(v.verdict != "open" for v in verdicts)
    return _proof(
        decision, kind, limits, prover, verdicts, (), False, decided and stopped is None, stopped
    )


def _time_limit_text(seconds: float | None) -> str:
    return f"the time limit of {seconds} s, so the answer depends on the machine"


def _search(
    decision: Decision,
    kind: DomainKind,
    limits: Restrictions,
    prover: Prover,
    max_sets: int,
    most_boxes: int,
    time_limit: float | None,
    rules: bool,
) -> Proof:
    found = MinimalSets()
    stopped = None
    try:
        find_minimal_sets(prover, found, max_sets, lambda: prover.boxes >= most_boxes)
    except OutOfTimeError:
        stopped = _time_limit_text(time_limit)
    if not found.complete and stopped is None:
        if prover.boxes >= most_boxes:
            stopped = f"{most_boxes:,} boxes were looked at"
        elif found.open:
            stopped = f"{plural(len(found.open), 'set')} could not be decided"
        else:
            stopped = f"max_sets={max_sets} sets were found"
    by_size = sorted(found.sufficient, key=lambda m: (m.bit_count(), _bits(m)))
    # A set that contains a proved one is proved, whatever was left open on the way.
    left = [m for m in found.open if not any(m & s == s for s in found.sufficient)]
    verdicts = [_verdict(prover, mask, ProofResult(None, 0.0)) for mask in by_size]
    verdicts += [_verdict(prover, mask, found.open[mask]) for mask in sorted(left)]
    everyone = (1 << prover.d) - 1
    contrastive = tuple(
        _contrastive(prover, mask, prover.decide(everyone & ~mask).refutation)
        for mask in sorted(found.contrastive, key=lambda m: (m.bit_count(), _bits(m)))
    )
    listed, finished = tuple(verdicts), True
    if rules:
        listed, finished = _with_rules(prover, listed)
    if not finished and stopped is None:
        stopped = _time_limit_text(time_limit)
    complete = found.complete and not left and finished
    return _proof(decision, kind, limits, prover, listed, contrastive, True, complete, stopped)


def _with_rules(prover: Prover, verdicts: tuple[Verdict, ...]) -> tuple[tuple[Verdict, ...], bool]:
    """Return the verdicts with rules for proved sets, and whether all rules were grown fully."""
    out, all_finished = list(verdicts), True
    for i, verdict in enumerate(verdicts):
        if verdict.verdict == "proved":
            members = prover.decision.players.indices(verdict.features, "features")
            rule, finished = proved_region(prover, sum(1 << player for player in members))
            all_finished &= finished
            out[i] = replace(verdict, rule=cast("AnyFactor | None", rule))
    return tuple(out), all_finished


def _read_sets(decision: Decision, features: object) -> list[int] | None:
    """Return the bit masks of the sets to prove; None: all minimal ones."""
    if features is None:
        return None
    if isinstance(features, str) or not isinstance(features, Iterable):
        sets: list[object] = [features]
    else:
        listed = list(features)
        one_set = all(isinstance(name, str) for name in listed)
        sets = [listed] if one_set else listed
    return [
        sum(1 << player for player in decision.players.indices(one, "features")) for one in sets
    ]


def _verdict(prover: Prover, mask: int, result: ProofResult) -> Verdict:
    names = _names(prover, mask)
    if result.refutation is not None:
        return Verdict(names, "refuted", _row(prover, result.refutation))
    if result.proved:
        return Verdict(names, "proved")
    return Verdict(names, "open", bound=result.open_share)


def _contrastive(prover: Prover, mask: int, refutation: Refutation | None) -> Verdict:
    assert refutation is not None  # that is how the set was found
    return Verdict(_names(prover, mask), "refuted", _row(prover, refutation))


def _row(prover: Prover, refutation: Refutation) -> dict[str, Scalar]:
    table = prover.table_of(refutation)
    return {name: as_scalar(table.cell(0, j)) for j, name in enumerate(table.names)}


def _names(prover: Prover, mask: int) -> tuple[str, ...]:
    return tuple(name for i, name in enumerate(prover.decision.players.names) if mask >> i & 1)


def _bits(mask: int) -> list[int]:
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


def _proof(
    decision: Decision,
    kind: DomainKind,
    limits: Restrictions,
    prover: Prover,
    verdicts: tuple[Verdict, ...],
    contrastive: tuple[Verdict, ...],
    searched: bool,
    complete: bool,
    stopped: str | None,
) -> Proof:
    prover.check()
    row = decision.row
    return Proof(
        outcome=decision.target.event.describe(decision.y),
        domain=kind,
        restrictions=limits.texts,
        players=decision.players.names,
        values={name: as_scalar(row.cell(0, j)) for j, name in enumerate(row.names)},
        verdicts=verdicts,
        contrastive=contrastive,
        searched=searched,
        complete=complete,
        stopped=stopped,
        boxes=prover.boxes,
        rows_predicted=prover.rows_predicted + decision.rows_predicted,
    )
