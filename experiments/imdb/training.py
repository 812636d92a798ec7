"""How the LSTM learns: reviews prepared, words numbered, Adam, and the best epoch kept."""

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from experiments.imdb.lstm import HIDDEN, Recipe, SentimentLSTM, prepare
from suffice import datasets

__all__ = ["train"]


def train(data_home: Path, recipe: Recipe, progress: bool | None = None) -> SentimentLSTM:
    """Learn from a random part of the reviews; `facts` says how well that went on the others."""
    import torch

    started = perf_counter()
    disable = None if progress is None else not progress
    frame, stops = datasets.imdb(data_home), datasets.stopwords(data_home)
    order = np.random.default_rng(recipe.seed).permutation(len(frame))[: recipe.reviews]
    reviews = [
        prepare(text, stops)
        for text in tqdm(frame["review"].iloc[order], desc="preparing reviews", disable=disable)
    ]
    truth = (frame["sentiment"].iloc[order] == "positive").to_numpy(dtype=np.float32)
    known, checked = round(recipe.held_out * len(order)), round(recipe.validation * len(order))
    test, validation = slice(0, known), slice(known, known + checked)
    learn = slice(known + checked, None)

    counts = Counter(word for words in reviews[learn] for word in words)
    words = [word for word, _ in counts.most_common(recipe.vocabulary)]
    length = recipe.length or int(np.ceil(np.mean([len(words) for words in reviews[learn]])))
    torch.manual_seed(recipe.seed)
    model = SentimentLSTM(words, length, {})
    _start_as_keras(model)
    X, y = model.encode(reviews), truth
    history = _fit(model, X[learn], y[learn], X[validation], y[validation], recipe, disable)
    found = {
        name: float(np.mean((model.read(X[part]) > 0.5) == (y[part] > 0.5)))
        for name, part in (("training", learn), ("validation", validation), ("held-out", test))
    }
    model.facts = {
        "recipe": asdict(recipe),
        "accuracy": found,
        "reviews": {"training": len(reviews[learn]), "validation": checked, "held-out": known},
        "held out": sorted(int(i) for i in order[test]),
        "history": history,
        "seconds": round(perf_counter() - started, 1),
    }
    return model


def _fit(model, X, y, X_validation, y_validation, recipe: Recipe, disable) -> list[dict[str, Any]]:
    """Adam on binary cross-entropy; the weights of the epoch with the best validation loss stay."""
    import torch

    loss_of = torch.nn.functional.binary_cross_entropy_with_logits
    weights = model.layers.parameters()
    optimizer = torch.optim.Adam(weights, lr=recipe.rate, eps=1e-7, fused=True)
    shuffle = torch.Generator().manual_seed(recipe.seed)
    X, y, target = torch.from_numpy(X), torch.from_numpy(y), torch.from_numpy(y_validation)
    history, best, kept = [], np.inf, None
    for epoch in range(1, recipe.epochs + 1):
        batches = torch.randperm(len(X), generator=shuffle).split(recipe.batch)
        total = 0.0
        for batch in tqdm(batches, desc=f"LSTM, epoch {epoch}", disable=disable):
            loss = loss_of(model.logits(X[batch]), y[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(batch)
        p = torch.from_numpy(model.read(X_validation))
        held = float(torch.nn.functional.binary_cross_entropy(p, target))
        right = float(((p > 0.5) == (target > 0.5)).float().mean())
        history.append({"loss": total / len(X), "validation loss": held, "validation": right})
        if held < best:
            best, best_epoch = held, epoch
            kept = {name: value.clone() for name, value in model.layers.state_dict().items()}
        elif epoch - best_epoch >= recipe.patience:
            break
    model.layers.load_state_dict(kept)
    return history


def _start_as_keras(model: SentimentLSTM) -> None:
    """Keras' defaults, which the appendix names: they differ from torch's where it matters."""
    from torch.nn import init

    lstm = model.lstm
    init.uniform_(model.embed.weight, -0.05, 0.05)
    init.xavier_uniform_(lstm.weight_ih_l0)
    for gate in lstm.weight_hh_l0.data.split(HIDDEN):
        init.orthogonal_(gate)
    init.zeros_(lstm.bias_ih_l0)
    init.zeros_(lstm.bias_hh_l0)
    init.ones_(lstm.bias_ih_l0.data[HIDDEN : 2 * HIDDEN])  # the gate that forgets starts open
    init.xavier_uniform_(model.dense.weight)
    init.zeros_(model.dense.bias)
