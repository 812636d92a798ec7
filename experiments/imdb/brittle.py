"""Table 2: which words keep or flip an LSTM's verdict on short sentences, and Anchors beside it."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from experiments.imdb.claims import claims
from experiments.imdb.figure import draw
from experiments.imdb.lstm import QUICK, Recipe, SentimentLSTM, load_or_train, one_thread
from experiments.imdb.masked_words import MASKS, anchors, brittleness, contrasting_mask
from experiments.imdb.sentences import (
    MOST_WORDS,
    Sentence,
    find,
    masks_of,
    measure,
    short_sentences,
)
from experiments.imdb.tables import drawn_row, run_row, sentences_table
from experiments.runner.lab import Lab
from experiments.runner.result import Result

TAU, SEED = 0.9, 0
PAPER = {
    "read book forget movie": {
        "label": "positive",
        "keep": [["read", "forget", "movie"]],
        "flip": [["read"], ["forget"], ["movie"]],
        "anchor": ["read", "movie"],
        "precision": 0.94,
    },
    "you better choose paul verhoeven even watched": {
        "label": "negative",
        "keep": [["choose"], ["even"]],
        "flip": [["better"], ["choose"], ["paul"], ["even"]],
        "anchor": ["choose", "better", "even", "you", "paul", "verhoeven"],
        "precision": 0.95,
    },
}
"""What the paper's table has."""


def run(lab: Lab) -> Result:
    with one_thread():
        return _run(lab)


def _run(lab: Lab) -> Result:
    seeds = range(lab.size(3, 1))
    models = [
        load_or_train(lab.data, recipe=QUICK if lab.quick else Recipe(seed=seed)) for seed in seeds
    ]
    model = models[0]
    settings = {
        "τ": TAU,
        "model": f"LSTM, embedding 32, hidden 64, {len(model.numbers):,} words, {model.length} "
        f"tokens, {model.facts['reviews']['training']:,} reviews to learn from",
        "held-out accuracy": ", ".join(f"{m.facts['accuracy']['held-out']:.4f}" for m in models),
        "most words": MOST_WORDS,
        "masks": " then ".join(MASKS) + ", then the commonest words; the first that contrasts",
        "Anchors": "anchor-exp as released: threshold 0.95, words masked with probability 1/2",
        "seed": SEED,
    }
    code = (measure, anchors)
    every = short_sentences(lab.data)[: lab.size(1_000, 60)]
    surveyed = lab.each(
        partial(survey, model), [s.text for s in every], settings, "short sentences", code
    )
    shown = find(lab.data, list(PAPER)) + _chosen(every, surveyed)
    # Words of texts that the model takes otherwise, in place of one token: the fairer references.
    draws = lab.size(50, 10)
    texts = [s.text for s in every]
    close = partial(_with_corpus, model, texts, draws)
    found = lab.each(close, [s.text for s in shown], settings | {"draws": draws}, "shown", code)
    rng = np.random.default_rng(SEED)
    drawn = sorted(rng.choice(len(every), lab.size(100, 6), replace=False).tolist())
    sample = lab.each(
        partial(measure, model, tau=TAU, seed=SEED),
        [texts[i] for i in drawn],
        settings,
        "drawn sentences",
        code,
    )
    runs = _runs(lab, models, settings)
    return Result(
        "Table 2: sufficient words of short sentences (IMDB, LSTM)",
        claims(PAPER, models, shown, found, surveyed, sample, runs, lab.quick),
        settings | {"short sentences": len(every), "drawn": len(drawn), "corpus draws": draws},
        tables={
            "sentences": sentences_table(PAPER, shown, found),
            "runs": pd.DataFrame([run_row(row) for row in runs]),
            "drawn": pd.DataFrame([drawn_row(row) for row in sample if row["mask"]]),
        },
        figures={
            "sentences": draw(shown, found),
            "runs": draw([s for row in runs for s in shown if s.text == row["text"]], runs),
        },
        timings={f"training, run {i}": m.facts["seconds"] for i, m in enumerate(models)},
    )


def survey(model: SentimentLSTM, text: str) -> dict[str, Any]:
    """A sentence's label, its mask, and the share of its words that flip it alone."""
    words = text.split()
    mask = contrasting_mask(model, words, masks_of(model))
    chance = round(float(model.probabilities([text])[0]), 4)
    brittle = None if mask is None else brittleness(model, words, mask)
    return {"label": model([text])[0], "chance": chance, "mask": mask, "brittle": brittle}


def _with_corpus(model: SentimentLSTM, texts: list[str], n: int, text: str) -> dict[str, Any]:
    from suffice import Corpus

    return measure(model, text, TAU, SEED, Corpus([t for t in texts if t != text]), n)


def _chosen(every: list[Sentence], surveyed: list[dict[str, Any]]) -> list[Sentence]:
    """The sentence most surely mistaken, and the one most of whose words flip it alone.

    Of those that one of the paper's masks contrasts with; on a tie the longer one, then the first.
    """
    pairs = [(s, r) for s, r in zip(every, surveyed, strict=True) if r["mask"] in MASKS]
    wrong = [(s, r) for s, r in pairs if r["label"] != s.truth]
    mistaken = [max(wrong, key=lambda p: abs(p[1]["chance"] - 0.5))[0]] if wrong else []
    brittle = max(pairs, key=lambda p: (p[1]["brittle"], len(p[0].text.split())))[0]
    return list(dict.fromkeys([*mistaken, brittle]))


def _runs(lab: Lab, models, settings) -> list[dict[str, Any]]:
    """The paper's sentences under each training run."""
    rows = []
    for number, model in enumerate(models):
        rest = partial(measure, model, tau=TAU, seed=SEED)
        again = lab.each(rest, list(PAPER), settings | {"run": number}, "runs", (measure,))
        masks = {mask: float(model.probabilities([" ".join([mask] * 4)])[0]) for mask in MASKS}
        of_run = {"run": number, "masks": masks, "facts": model.facts["accuracy"]}
        rows += [of_run | row for row in again]
    return rows
