"""The paper's LSTM on IMDB reviews (Appendix "IMDB"): preparation, network, cache.

As in the tutorial that the appendix follows: stop words go before letters are made small (so that
the "You" of "You'd better" stays), words that training never saw are skipped, reviews are cut or
padded at their end to the mean length, and the network reads the padding too.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["LABELS", "Recipe", "SentimentLSTM", "load_or_train", "one_thread", "prepare"]

LABELS = np.array(["negative", "positive"], dtype=object)
EMBEDDING, HIDDEN = 32, 64
_TAG, _OTHER = re.compile("<.*?>"), re.compile("[^A-Za-z]")
_CHUNK = 512


@dataclass(frozen=True)
class Recipe:
    """All that decides what is learned; a cached network counts only for the same recipe."""

    reviews: int = 50_000
    held_out: float = 0.2
    validation: float = 0.05
    vocabulary: int | None = None
    length: int | None = None
    """None: the mean length of the reviews trained on."""
    batch: int = 128
    epochs: int = 8
    patience: int = 2
    """Stop after so many epochs without a better validation loss; the best epoch counts."""
    rate: float = 0.001
    seed: int = 0
    version: int = 1
    """Changes with the code."""


QUICK = Recipe(reviews=4_000, vocabulary=5_000, length=40, batch=32, epochs=4)
"""A small true slice: it learns in seconds, and less well."""


def prepare(text: str, stops: frozenset[str]) -> list[str]:
    """A text's words as the network reads them."""
    plain = _OTHER.sub(" ", _TAG.sub("", text))
    return [word.lower() for word in plain.split() if word not in stops]


class SentimentLSTM:
    """A trained network, and what is known of it. Called with prepared texts, it gives labels."""

    def __init__(self, words: Sequence[str], length: int, facts: dict[str, Any]) -> None:
        import torch

        self.numbers = {word: i for i, word in enumerate(words, start=1)}
        self.length = length
        self.facts = facts
        self.embed = torch.nn.Embedding(len(words) + 1, EMBEDDING)
        self.lstm = torch.nn.LSTM(EMBEDDING, HIDDEN, batch_first=True)
        self.dense = torch.nn.Linear(HIDDEN, 1)
        self.layers = torch.nn.ModuleDict(
            {"embed": self.embed, "lstm": self.lstm, "dense": self.dense}
        )

    def __call__(self, texts: Iterable[str]) -> np.ndarray:
        """The label of each prepared text."""
        return LABELS[(self.probabilities(texts) > 0.5).astype(int)]

    def probabilities(self, texts: Iterable[str]) -> np.ndarray:
        """How likely each prepared text is positive."""
        return self.read(self.encode(text.lower().split() for text in texts))

    def read(self, encoded: np.ndarray) -> np.ndarray:
        """The same of encoded texts."""
        import torch

        with torch.inference_mode():
            parts = torch.from_numpy(encoded).split(_CHUNK)
            return torch.cat([torch.sigmoid(self.logits(part)) for part in parts]).numpy()

    def logits(self, encoded: Any) -> Any:
        """The network."""
        _, (last, _) = self.lstm(self.embed(encoded))
        return self.dense(last[0]).squeeze(1)

    def encode(self, texts: Iterable[Sequence[str]]) -> np.ndarray:
        """Words as numbers, 0 for padding."""
        rows = [[self.numbers[word] for word in words if word in self.numbers] for words in texts]
        out = np.zeros((len(rows), self.length), dtype=np.int64)
        for i, row in enumerate(rows):
            out[i, : len(row)] = row[: self.length]
        return out

    def save(self, path: Path) -> None:
        """Whole or not at all, should two runs train at once."""
        path.parent.mkdir(parents=True, exist_ok=True)
        weights = {name: value.numpy() for name, value in self.layers.state_dict().items()}
        known = json.dumps({"words": list(self.numbers), "length": self.length, **self.facts})
        unfinished = path.with_suffix(f".{os.getpid()}.npz")
        np.savez_compressed(unfinished, known=np.array(known), **weights)
        unfinished.replace(path)

    @classmethod
    def load(cls, path: Path) -> "SentimentLSTM":
        """A network that was saved."""
        import torch

        with np.load(path, allow_pickle=False) as stored:
            known = json.loads(str(stored["known"]))
            model = cls(known.pop("words"), known.pop("length"), known)
            weights = {n: torch.from_numpy(stored[n]) for n in stored.files if n != "known"}
        model.layers.load_state_dict(weights)
        return model


def load_or_train(
    data_home: Path, quick: bool = False, recipe: Recipe | None = None, progress: bool | None = None
) -> SentimentLSTM:
    """The network from SUFFICE_CACHE (or ~/.cache/suffice), trained first if it is not there."""
    recipe = recipe or (QUICK if quick else Recipe())
    print_of = json.dumps(asdict(recipe), sort_keys=True)
    name = f"imdb-lstm-{hashlib.sha256(print_of.encode()).hexdigest()[:12]}.npz"
    home = Path(os.environ.get("SUFFICE_CACHE", Path.home() / ".cache" / "suffice"))
    if not (home / name).exists():
        from experiments.imdb.training import train

        with one_thread():
            train(data_home, recipe, progress).save(home / name)
    return SentimentLSTM.load(home / name)


@contextmanager
def one_thread() -> Iterator[None]:
    """So small a network is no faster on two, and where others work too it is ten times slower."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
