"""Short sentences of the IMDB data, and what is measured on each: both views, Anchors, corpus."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from experiments.imdb.lstm import SentimentLSTM, prepare
from experiments.imdb.masked_words import MASKS, Masked, anchors, brittleness, contrasting_mask
from suffice import Corpus, TextExplainer, datasets

__all__ = ["MOST_WORDS", "Sentence", "find", "masks_of", "measure", "short_sentences"]

MOST_WORDS = 10
_FEWEST = 3
_COMMON = 100


class Sentence(NamedTuple):
    """A text as prepared, as written, what its writer meant, and where it stands in the data."""

    text: str
    raw: str
    truth: str
    source: str
    row: int | None = None
    """Its row among the reviews."""


def find(data_home: Path, texts: Sequence[str]) -> list[Sentence]:
    """The reviews that become these texts when they are prepared, in the texts' order."""
    stops, frame = datasets.stopwords(data_home), datasets.imdb(data_home)
    short = frame[frame["review"].str.len() < 400]
    found: dict[str, Sentence] = {}
    for row, split, truth, number, _, raw in short.itertuples(name=None):
        text = " ".join(prepare(raw, stops))
        if text in texts:
            source = f"review {split}/{truth}/{number}"
            found.setdefault(text, Sentence(text, raw, truth, source, row))
    return [found[text] for text in texts]


def short_sentences(data_home: Path) -> list[Sentence]:
    """Labelled sentences of three to ten words once prepared, in the file's order."""
    stops = datasets.stopwords(data_home)
    out: dict[str, Sentence] = {}
    for line, (raw, truth) in enumerate(datasets.imdb_sentences(data_home), start=1):
        words = prepare(raw, stops)
        if _FEWEST <= len(words) <= MOST_WORDS:
            text = " ".join(words)
            out.setdefault(text, Sentence(text, raw, truth, f"labelled sentence {line}"))
    return list(out.values())


def masks_of(model: SentimentLSTM) -> tuple[str, ...]:
    """The paper's masks; should neither contrast, the commonest words of the reviews in turn."""
    return (*MASKS, *list(model.numbers)[:_COMMON])


def measure(
    model: SentimentLSTM, text: str, tau: float, seed: int, corpus: Corpus | None = None, n: int = 0
) -> dict[str, Any]:
    """Both views, brittleness, and Anchors with its own mask and with ours; plain JSON."""
    words = text.split()
    mask = contrasting_mask(model, words, masks_of(model))
    chance = round(float(model.probabilities([text])[0]), 4)
    out: dict[str, Any] = {"text": text, "label": model([text])[0], "chance": chance, "mask": mask}
    if mask is None:
        return out
    explainer = TextExplainer(model, unit="word", mask=mask, random_state=seed)
    e = explainer.explain(text, tau=tau, search="exhaustive")
    masked = Masked(model, words, mask)
    out |= {
        "keep": _sets(e.keep),
        "flip": _sets(e.flip),
        "brittle": brittleness(model, words, mask),
        "anchors": [],
    }
    for own in dict.fromkeys([MASKS[0], mask]):
        used = masked if own == mask else Masked(model, words, own)
        out["anchors"].append(_score(anchors(used, seed), used, masked, e, tau))
    if corpus is not None:
        with_words = TextExplainer(
            model, unit="word", mask=corpus, n_references=n, random_state=seed
        )(text, tau=tau)
        out["corpus"] = {
            "keep": _sets(with_words.keep),
            "flip": _sets(with_words.flip),
            "references": with_words.provenance.n_references,
            "flip of single words": [
                with_words.flip.sufficiency([player.name]) for player in with_words.flip.players
            ],
            "PS of keep": [with_words.keep.sufficiency(_names(e, s)) for s in out["keep"]],
            "PS of flip": [with_words.flip.sufficiency(_names(e, s)) for s in out["flip"]],
            "PS of anchors": [
                with_words.keep.sufficiency(_names(e, rule["held"])) for rule in out["anchors"]
            ],
        }
    return out


def _score(rule: dict[str, Any], used: Masked, ours: Masked, e: Any, tau: float) -> dict[str, Any]:
    """An anchor, its precision without sampling, its PS, and how little of it is enough."""
    held, threshold = rule["held"], 0.95
    return rule | {
        "precision": used.precision(held),
        "PS": e.keep.sufficiency(_names(e, held)),
        "enough for its precision": used.smaller(held, lambda s: used.precision(s) >= threshold),
        "enough to keep": ours.smaller(held, ours.keeps),
    }


def _names(e: Any, places: Sequence[int]) -> list[str]:
    return [e.keep.players[i].name for i in places]


def _sets(view: Any) -> list[list[int]]:
    place = {player.name: i for i, player in enumerate(view.players)}
    return sorted((sorted(place[name] for name in f.features) for f in view.factors), key=_key)


def _key(places: list[int]) -> tuple[int, list[int]]:
    return len(places), places
