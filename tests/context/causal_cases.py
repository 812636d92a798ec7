"""Causal models for tests: people fitted from data, and random ones fitted to noise."""

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from suffice.context.causal import CausalModel

TREE = DecisionTreeClassifier(min_samples_leaf=10)


def people(n=400, seed=0):
    """Age and sex cause a job; job and age cause income; job and income cause a home."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 70, n)
    sex = rng.choice(["f", "m"], n)
    job = np.where(
        rng.random(n) < 0.2 + 0.01 * (age - 20), "office", rng.choice(["shop", "farm"], n)
    )
    income = 20 + 0.3 * age + 10.0 * (job == "office") + rng.normal(0, 4, n)
    home = rng.random(n) < 1 / (1 + np.exp(-(income - 40) / 8))
    return pd.DataFrame({"age": age, "sex": sex, "job": job, "income": income, "owns": home})


DAG = [
    ("age", "job"),
    ("sex", "job"),
    ("job", "income"),
    ("age", "income"),
    ("job", "owns"),
    ("income", "owns"),
]


def fitted_causal_model(data=None):
    return CausalModel(
        DAG, people() if data is None else data, mechanisms={"job": TREE, "owns": TREE}
    )


@st.composite
def random_models(draw):
    """A DAG on up to six nodes, some numbers, some labels, fitted to data without meaning."""
    size = draw(st.integers(2, 6))
    names = draw(st.permutations("abcdef"[:size]))
    dag = {
        node: [cause for cause in names[:i] if draw(st.booleans())] for i, node in enumerate(names)
    }
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    columns = {}
    for node in names:
        kind = draw(st.sampled_from(["float", "int", "label", "bool", "coded"]))
        columns[node] = {
            "float": rng.normal(size=60),
            "int": rng.integers(0, 9, 60),
            "label": rng.choice(["x", "y", "z"], 60),
            "bool": rng.random(60) < 0.4,
            "coded": rng.choice([0.0, 0.7, 1.0], 60),
        }[kind]
    data = pd.DataFrame(columns)
    coded = [c for c in data if data[c].dtype == float and data[c].nunique() < 5]
    trees = {
        node: TREE
        for node, causes in dag.items()
        if causes and (node in coded or data[node].dtype.kind not in "if")
    }
    return CausalModel(dag, data, mechanisms=trees, categorical=coded), data


def draw_intervention(draw_from, scm, data, rows):
    """An intervention on some nodes, with values taken from other rows."""
    nodes = draw_from.draw(st.sets(st.sampled_from(scm.nodes)))
    return {node: data[node].to_numpy()[::-1][: len(rows)] for node in nodes}
