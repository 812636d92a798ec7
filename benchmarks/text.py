"""A ten-word sentence and an LSTM, both views: how much is there beside the model's own time?

The time inside the model is taken by a clock around the user's callable, so that everything else
counts: cutting the text, choosing the mask, joining, counting, both views.
"""

from collections.abc import Iterator
from dataclasses import replace
from statistics import median
from time import perf_counter

from benchmarks.timing import Row, at_most
from suffice import Explanation, InputError, datasets
from suffice.text import TextExplainer
from suffice.text.segmentation import words

SENTENCE = "you better choose paul verhoeven even watched his other films"
MOST_CALLS = 4
"""The text with its candidate masks, the references, the input, and one sweep."""


class Clocked:
    """A small LSTM on words, and a clock around it."""

    def __init__(self) -> None:
        import torch

        torch.manual_seed(0)
        torch.set_num_threads(1)
        self._torch = torch
        self._numbers: dict[str, int] = {}
        self._embed = torch.nn.Embedding(512, 32)
        self._lstm = torch.nn.LSTM(32, 64, batch_first=True)
        self._out = torch.nn.Linear(64, 2)
        self.seconds, self.calls = 0.0, 0

    def __call__(self, texts: list[str]) -> object:
        started = perf_counter()
        numbers = [
            [self._numbers.setdefault(word, len(self._numbers) % 511 + 1) for word in text.split()]
            for text in texts
        ]
        longest = max(map(len, numbers))
        padded = [row + [0] * (longest - len(row)) for row in numbers]
        with self._torch.inference_mode():
            _, (last, _) = self._lstm(self._embed(self._torch.tensor(padded)))
            scores = self._out(last[0]).numpy()
        self.seconds += perf_counter() - started
        self.calls += 1
        return scores


def measure(runs: int = 9) -> tuple[float, float, int]:
    """The median ratio of all time to the model's, the median seconds, and the calls of one run."""
    model = Clocked()
    explain = TextExplainer(model, mask="plate")
    explain(SENTENCE)
    ratios, whole = [], []
    for _ in range(runs):
        model.seconds, model.calls = 0.0, 0
        started = perf_counter()
        explain(SENTENCE)
        whole.append(perf_counter() - started)
        ratios.append(whole[-1] / model.seconds)
    return median(ratios), median(whole), model.calls


def thirty_words() -> tuple[float, Explanation] | None:
    """Seconds for a sentence of 30 words, by TF-IDF and logistic regression: the first call."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    try:
        texts, labels = map(list, zip(*datasets.imdb_sentences(), strict=True))
    except InputError:  # no data here
        return None
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, labels)
    positive = [t for t, y in zip(texts, model.predict(texts), strict=True) if y == "positive"]
    text = min(positive, key=lambda t: abs(len(words(t)) - 30))
    started = perf_counter()
    e = TextExplainer(model)(text)
    return perf_counter() - started, e


def rows() -> Iterator[Row]:
    measured = thirty_words()
    if measured is None:
        yield Row("30 words, TF-IDF", "not measured", "≤ 5 s", None, "needs the IMDB sentences")
    else:
        seconds, e = measured
        note = f"{len(e.players)} words, complete: {e.complete}, {len(e.flip)} flips"
        row = at_most("30 words, TF-IDF and logistic regression", seconds, 5, note, "s")
        yield replace(row, met=bool(row.met and e.complete))
    try:
        import torch  # noqa: F401
    except ImportError:
        yield Row("ten words, LSTM", "not measured", "≤ 1.2 ×", None, "needs torch")
        return
    ratio, seconds, calls = measure()
    row = at_most(
        "ten words, LSTM, both views", ratio, 1.2, f"{1000 * seconds:.0f} ms, {calls} model calls"
    )
    yield replace(row, met=bool(row.met and calls <= MOST_CALLS))
