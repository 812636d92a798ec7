"""Marks for shap, anchor-exp and dice-ml on German credit: the paper's Figures 2 to 4 in one table.

100 held-out rows. Each tool is run as its users run it, and `audit.grade` marks what it answers.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from experiments.german.causal import CATEGORICAL
from experiments.german.setting import setting
from experiments.peers.anchor_exp import DEFAULTS, Anchors, label_of
from experiments.runner.lab import Lab
from experiments.runner.result import Claim, Result
from suffice import Explainer, audit
from suffice.cli.peer_tools import seeded_and_quiet
from suffice.inference import clopper_pearson

TAU = 0.9
SEED = 0
ROWS = 100
TOTAL = 5
"""Counterfactuals that DiCE is asked for."""
SHORT = 0.14
"""The share of inputs on which Anchors falls short, as the paper reports it."""
OUTCOME = "risk"


def run(lab: Lab) -> Result:
    model, X, _, accuracy = setting(lab.data)
    chosen = held_out(len(X))[: lab.size(ROWS, 3)]
    settings = {
        "inputs": f"{len(chosen)} held-out rows, seed {SEED}",
        "τ": TAU,
        "references": "all rows predicted otherwise",
        "model": f"ExtraTrees, held-out accuracy {accuracy:.2f}",
        "shap": "TreeExplainer, background of 100 rows; ranked by size, and by value",
        "anchor-exp": f"explain_instance, quartiles, δ = {DEFAULTS['delta']}, threshold {TAU}",
        "dice-ml": f"random, total_CFs={TOTAL}, otherwise as it comes",
    }
    explainer = Explainer(model, X)
    tools = peers(model, X)

    def work(i: int) -> str:
        found = audit.grade(explainer, X.iloc[[i]], tools, tau=TAU)
        return found.to_json()

    found = together(lab.each(work, chosen, settings, code=(peers, Anchors)), chosen)
    return Result(
        "Figures 2 to 4 as marks: shap, anchor-exp and dice-ml on held-out rows (German credit)",
        claims(found),
        settings,
        tables={"marks": found.to_tool_frame(), "rows": _plain(found.to_frame())},
        figures={"marks": found.plot().figure},
    )


def peers(model: Any, X: pd.DataFrame) -> dict[str, Callable[[pd.DataFrame], Any]]:
    """Each tool as a function from a row of the table to what it says of it."""
    import shap

    tree = shap.TreeExplainer(model, X.sample(100, random_state=SEED))
    anchors = Anchors(label_of(model), X, {c: np.unique(X[c]) for c in CATEGORICAL})
    dice = _dice(model, X)

    def by_shap(row: pd.DataFrame) -> Any:
        return tree(row, check_additivity=False)

    def by_value(row: pd.DataFrame) -> list[str]:
        """What speaks for the outcome first: the kinder reading of the same numbers."""
        label = list(model.classes_).index(model.predict(row)[0])
        values = tree(row, check_additivity=False).values[0, :, label]
        return [str(name) for name in X.columns[np.argsort(-values, kind="stable")]]

    def by_anchors(row: pd.DataFrame) -> Any:
        with seeded_and_quiet(SEED, int(row.index[0])):
            (codes,) = anchors.encode(row)
            return anchors.explainer.explain_instance(codes, label_of(model), threshold=TAU)

    def by_dice(row: pd.DataFrame) -> Any:
        with seeded_and_quiet(SEED):
            return dice.generate_counterfactuals(
                row.astype(dict.fromkeys(CATEGORICAL, str)),
                total_CFs=TOTAL,
                desired_class="opposite",
                random_seed=SEED,
                verbose=False,
            )

    return {
        "shap": by_shap,
        "shap by value": by_value,
        "anchor-exp": by_anchors,
        "dice-ml": by_dice,
    }


def _dice(model: Any, X: pd.DataFrame) -> Any:
    """DiCE wants categories as strings; the model wants its numbers back."""
    import dice_ml

    class Numbers:
        classes_ = model.classes_

        def predict(self, rows: pd.DataFrame) -> Any:
            return model.predict(rows[list(X.columns)].astype(X.dtypes.to_dict()))

        def predict_proba(self, rows: pd.DataFrame) -> Any:
            return model.predict_proba(rows[list(X.columns)].astype(X.dtypes.to_dict()))

    frame = X.astype(dict.fromkeys(CATEGORICAL, str)).assign(**{OUTCOME: model.predict(X)})
    numbers = [name for name in X.columns if name not in CATEGORICAL]
    data = dice_ml.Data(dataframe=frame, continuous_features=numbers, outcome_name=OUTCOME)
    wrapped = dice_ml.Model(model=Numbers(), backend="sklearn")
    return dice_ml.Dice(data, wrapped, method="random")


def together(texts: list[str], rows: list[int]) -> audit.Grades:
    """The marks of single rows as one table of marks."""
    found = [audit.Grades.from_json(text) for text in texts]
    entries = [replace(e, row=i) for i, one in enumerate(found) for e in one.entries]
    return audit.Grades(TAU, tuple(map(str, rows)), found[0].tool_names, tuple(entries))


def claims(found: audit.Grades) -> tuple[Claim, ...]:
    anchors, dice = found.of("anchor-exp"), found.of("dice-ml")
    return (
        _ranking_claim(found.of("shap"), "ranked by size, as its charts are"),
        _ranking_claim(found.of("shap by value"), "kinder: ranked by value"),
        _anchors_claim(found),
        Claim(
            "the features that a rule of anchor-exp reads, as a set held",
            "—",
            f"sufficiency {_share(anchors.sufficiency)}, the best set of the same size "
            f"{_share(anchors.best)}; minimal on {_share(anchors.minimal.share)}",
            None,
            setting="ours",
        ),
        Claim(
            "DiCE's counterfactuals flip the outcome",
            "—",
            f"{_share(dice.valid.share)} of {dice.valid.n} rows, {_said(dice)}; of those that "
            f"flip, {_share(dice.lean.share)} have no change to spare",
            None,
            setting="ours",
        ),
        Claim(
            "the cheapest change costs less than DiCE's",
            "lower cost (on Adult)",
            f"on average {_mean(dice.cheapest)} against {_mean(dice.cost)}, DiCE's cheapest that "
            "flips",
            None if dice.cost is None else bool(dice.cheapest < dice.cost),
            setting="the same comparison on German",
            note="DiCE may choose any values, the cheapest change takes those of one reference; so "
            "this need not hold.",
        ),
    )


def _ranking_claim(shap: audit.ToolMarks, setting: str) -> Claim:
    return Claim(
        "the best set of k features suffices more surely than the first k of a ranking",
        "higher for all cardinalities",
        f"at the size of the smallest set that reaches τ: shap's first features "
        f"{_share(shap.sufficiency)}, the best set {_share(shap.best)}; {_said(shap)}; as good "
        f"as the best on {_share(shap.as_good.share)}; to reach τ it takes its first "
        f"{_mean(shap.first)}, where {_mean(shap.smallest)} could",
        None if shap.best is None else bool(shap.sufficiency <= shap.best),
        setting=setting,
        note="That it is at least as sure is certain; what is measured is how much is lost.",
    )


def _anchors_claim(found: audit.Grades) -> Claim:
    anchors = found.of("anchor-exp")
    rules = [e.grade.rule.rule for e in found.entries if e.grade is not None and e.grade.rule]
    surely = sum(rule.interval is not None and rule.interval[1] < TAU for rule in rules)
    short, n = anchors.precise.n - anchors.precise.hits, anchors.precise.n
    low, high = (float(v) for v in clopper_pearson(short, n)) if n else (0.0, 1.0)
    return Claim(
        "Anchors falls short of τ on some inputs",
        f"{SHORT:.0%} of inputs",
        f"{_share(short / n if n else None)} of {n} rules (95% interval {low:.0%} to {high:.0%}); "
        f"surely below: {surely}; mean precision {_share(anchors.precision)}; {_said(anchors)}",
        bool(low <= SHORT <= high),
        setting="exact precision over all rows, made to meet the rule as it is told",
        note="Holds if the interval has the paper's value in it.",
    )


def _said(found: audit.ToolMarks) -> str:
    """How many rows a tool said something of."""
    said = found.asked - found.failed - found.nothing
    return f"{said} of {found.asked} rows marked"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"


def _mean(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    """Sets as words, for a file."""
    out = frame.copy()
    for name in out.columns[out.map(lambda cell: isinstance(cell, tuple)).any()]:
        cells = out[name]
        out[name] = [", ".join(c) if isinstance(c, tuple) else c for c in cells]
    return out


def held_out(n: int) -> list[int]:
    """Rows that the model was not fitted on, in an order of their own."""
    _, test = train_test_split(np.arange(n), test_size=0.2, random_state=42)
    return np.random.default_rng(SEED).permutation(test).tolist()
