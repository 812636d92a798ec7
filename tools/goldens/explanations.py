"""Explanations by every search, limit, engine and model; of tables, texts and pictures."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import suffice
from suffice import Explainer
from tools.goldens.data import (
    NUMBERS,
    applicant,
    causes,
    explainer,
    judge_text,
    loans,
    model,
    random_table,
    reader,
    simple,
)
from tools.goldens.values import Calls, digest

CASES = (
    ("forest", "blackbox", None),
    ("forest", "trees", None),
    ("boosting", "blackbox", None),
    ("boosting", "trees", None),
    ("logistic", "blackbox", None),
    ("logistic", "additive", None),
    ("callable", "blackbox", None),
    ("forest", "trees", 10),
    ("logistic", "additive", 10),
    ("forest", "trees", 30),
    ("logistic", "additive", 30),
    ("logistic", "blackbox", 30),
)
SEARCHES = "auto", "exhaustive", "pruned", "bounds", "greedy"


def questions(columns: int | None) -> Iterator[dict[str, Any]]:
    """Yield arguments of `explain`; a wide table is never searched without a budget."""
    for search in SEARCHES:
        yield from ([] if columns == 30 else [{"search": search}])
        yield {"search": search, "budget": 3000}
        yield {"search": search, "budget": 3000, "max_size": 2, "tau": 0.7}
    if columns != 30:
        yield {"alpha": 0.05, "tau": 0.7}
        yield {"alpha": 0.1, "adjust": "holm", "tau": 0.6}
        yield {"alpha": 0.1, "adjust": "bh", "tau": 0.6, "max_size": 3}


def cases() -> Iterator[tuple[str, Explainer, Any, dict[str, Any]]]:
    """Yield a name, an explainer, a row and a question for every combination."""
    for name, engine, columns in CASES:
        made = explainer(name, engine, columns)
        row = (loans() if columns is None else random_table(columns))[0].iloc[8]
        for question in questions(columns):
            yield f"{name} {engine} {columns or 'loans'} {question}", made, row, question


def searches() -> Calls:
    """Explain by every search, limit, engine and model."""
    for key, made, row, question in cases():
        yield key, partial(made.explain, row, **question)


def plans() -> Calls:
    """Plan the same searches, and those of wide tables without a limit."""

    def fields(made: Explainer, row: Any, question: dict[str, Any]) -> Any:
        plan = made.plan(row, **question)
        return plan.way, plan.players, plan.left_out, plan.complete, plan.every_tau, plan.evaluator

    for key, made, row, question in cases():
        yield key, partial(fields, made, row, question)
    for name, engine, columns in CASES[-3:]:
        made, row = explainer(name, engine, columns), random_table(30)[0].iloc[8]
        for search in SEARCHES:
            yield f"{name} {engine} {search}", partial(fields, made, row, {"search": search})


def contrasts() -> Calls:
    """Explain in other contexts, with other outcomes, references, groups, costs and weights."""
    X, _ = loans()
    base, row, people = simple(engine="blackbox"), applicant(), X[NUMBERS]
    forest = model("forest")
    yield (
        "conditional",
        partial(
            base.but(context=suffice.ConditionalContext(n_drawn=30), references="all").explain, row
        ),
    )
    for noise in ("sampled", "kept"):
        causal = base.but(context=suffice.CausalContext(causes(), noise=noise), n_references=30)
        yield f"causal {noise}", partial(causal.explain, row)
        yield f"causal {noise} budget", partial(causal.explain, row, budget=500)
    yield "all references", partial(base.but(references="all").explain, row)
    yield "mask of references", partial(base.but(references=people["age"] > 50).explain, row)
    yield "given references", partial(base.but(references=people.iloc[:9]).explain, row)
    yield "groups", partial(base.but(groups={"money": ["income", "debt"]}).explain, row)
    yield "auto groups", partial(base.but(groups="auto").explain, row)
    yield "outcome", partial(base.but(outcome="granted").explain, row)
    yield "versus", partial(base.but(outcome=suffice.versus("refused", "granted")).explain, row)
    for key, options in {
        "weights": {"size_weights": [1, 2, 3, 4, 3, 2, 1, 1]},
        "weighted cost": {"cost": {"age": 5.0, "debt": 0.5}},
        "own cost": {"cost": lambda column, old, new: np.asarray(new != old) * len(column)},
        "seed": {"random_state": 5, "n_references": 25},
    }.items():
        yield key, partial(Explainer(forest, X, engine="blackbox", **options).explain, X.iloc[8])
    for key, outcome in {
        "at least": suffice.at_least(0.5),
        "at most": suffice.at_most(0.2),
        "within": suffice.within(0.4),
        "satisfies": suffice.satisfies(lambda values: values > 0),
    }.items():
        for name in ("regression", "regression forest"):
            made = explainer(name, "blackbox", 8).but(outcome=outcome)
            yield f"{name} {key}", partial(made.explain, random_table(8)[0].iloc[3, 1:])


def streamed() -> Calls:
    """Decide all sets of 25 features at one τ, which are too many to count."""
    X, y = random_table(25)
    from sklearn.linear_model import LogisticRegression

    made = Explainer(LogisticRegression().fit(X, y), X, engine="additive", n_references=3)
    yield "25 features", partial(made.explain, X.iloc[8], search="exhaustive", tau=1.0)


TEXT = "The film is fine, and the music is great! It was fine to see. A long start, though."


def texts() -> Calls:
    """Explain texts by words and by sentences, against tokens and texts."""
    short = "a fine film with great music"
    for kind in ("rule", "counts", "tf-idf"):
        for search in SEARCHES:
            made = reader(kind, unit="word")
            yield f"{kind} {search}", partial(made.explain, short, search=search)
            yield f"{kind} {search} budget", partial(made.explain, TEXT, search=search, budget=2000)
        made = reader(kind, unit="sentence", mask="delete")
        yield f"{kind} sentences", partial(made.explain, TEXT)
        yield f"{kind} refined", lambda made=made: made.refine(made.explain(TEXT))
    corpus = suffice.Corpus(["a dull film", "a slow one", "it is not good at all"])
    yield "corpus", partial(suffice.TextExplainer(judge_text, mask=corpus).explain, short)


def pictures() -> Calls:
    """Explain a text by its words and a picture by its regions, in every form of the results."""
    yield "text", partial(reader("rule", unit="word").explain, "a fine film")
    image = np.random.default_rng(0).random((12, 12, 3)).round(3)
    image[:6, :6] = (image[:6, :6] + 1) / 2
    for references in ("blur", "mean", 0):
        made = suffice.ImageExplainer(
            lambda images: images[:, :6, :6].mean(axis=(1, 2, 3)) > 0.65,
            regions="grid",
            n_regions=4,
            references=references,
        )
        yield f"{references}", partial(made.explain, image)
        yield (
            f"{references} refined",
            lambda made=made: made.refine(made.explain(image), image=image),
        )
        yield (
            f"{references} overlay",
            lambda made=made: digest(suffice.overlay(made.explain(image)).pixels.tobytes()),
        )
