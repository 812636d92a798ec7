"""Figure 2 and its twin on the SpamAssassin mails: 25 inputs, R2I and I2R, nine segments.

A segment's SHAP value is the sum of its columns' values.
"""

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier

from experiments.peers.attribution import compare, tree_shap
from experiments.runner.lab import Lab
from experiments.runner.result import Result
from experiments.spam.mails import SPLIT_SEED, load
from suffice import Explainer

SEED = 0


def run(lab: Lab) -> Result:
    mails = load(lab.data)
    train, _ = mails.split
    trees = lab.size(100, 20)
    model = ExtraTreesClassifier(trees, random_state=SEED, max_depth=15)
    model.fit(mails.X.iloc[train], mails.y[train])
    scores = mails.scores(model, train)
    inputs = np.random.default_rng(SEED).choice(len(mails.y), lab.size(25, 3), replace=False)
    background = mails.X.sample(lab.size(100, 20), random_state=SEED)
    n_references = 200 if lab.quick else None
    explainer = Explainer(
        model, mails.X, groups=mails.groups, n_references=n_references, engine="trees"
    )
    return compare(
        lab,
        "Figure 2: SHAP's top k against the best set of k (SpamAssassin mails)",
        explainer,
        mails.row,
        inputs,
        tree_shap(model, background, mails.groups),
        {
            "inputs": len(inputs),
            "references": f"{n_references or 'all'} mails predicted otherwise",
            "model": f"ExtraTrees of {trees} trees, depth 15, as on German credit; held-out "
            f"accuracy {scores['accuracy']:.3f}, {scores['accuracy without equals']:.3f} without "
            "mails that have an equal in training",
            "word vectors": f"GloVe, {len(mails.groups['From'])} numbers (paper: 50)",
            "SHAP background": f"{len(background)} rows",
            "engine": "trees",
            "seed": f"{SEED}; split {SPLIT_SEED}",
        },
    )
