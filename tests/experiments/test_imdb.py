"""Table 2's parts on a network trained in seconds: what is reported is predicted again."""

from itertools import combinations

import numpy as np
import pytest
from experiments.imdb.lstm import Recipe, SentimentLSTM, load_or_train, prepare
from experiments.imdb.masked_words import Masked, anchors, brittleness, contrasting_mask
from experiments.imdb.sentences import find, masks_of, measure, short_sentences

from suffice import InputError, TextExplainer, datasets

SMALL = Recipe(reviews=2_400, vocabulary=3_000, length=30, batch=32, epochs=3)
PAPER = ["read book forget movie", "you better choose paul verhoeven even watched"]


@pytest.fixture(scope="module")
def reviews(data_home):
    """The reviews, read once: unpacking 50,000 of them takes seconds."""
    frame = datasets.imdb(data_home)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(datasets, "imdb", lambda *_: frame)
        yield frame


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def model(data_home, reviews, cache):
    pytest.importorskip("torch")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SUFFICE_CACHE", str(cache))
        return load_or_train(data_home, recipe=SMALL, progress=False)


@pytest.fixture(scope="module")
def sentence(data_home, model):
    """The first of five words or six for which there is a mask, and not one that flips it alone."""
    for s in short_sentences(data_home):
        words = s.text.split()
        if len(words) in (5, 6) and len(set(words)) == len(words):
            mask = contrasting_mask(model, words, masks_of(model))
            if mask is not None and brittleness(model, words, mask) < 0.5:
                return words, mask
    pytest.fail("no sentence with a mask that contrasts")


def all_ways(words, mask):
    """Independent of Masked: {positions held: text}."""
    d = len(words)
    return {
        held: " ".join(w if i in held else mask for i, w in enumerate(words))
        for size in range(d + 1)
        for held in combinations(range(d), size)
    }


def test_reviews_and_sentences_are_read_as_they_stand(data_home, reviews):
    frame = reviews
    assert frame["sentiment"].value_counts().to_dict() == {"positive": 25_000, "negative": 25_000}
    assert frame["review"].iloc[6850] == "Read the book, forget the movie!"
    pairs = datasets.imdb_sentences(data_home)
    assert len(pairs) == 1_000
    assert sum(label == "positive" for _, label in pairs) == 500
    assert all(text == text.strip() and text for text, _ in pairs)


@pytest.mark.parametrize(
    ("load", "path", "who"),
    [
        (datasets.imdb, "imdb/imdb_50k.csv.gz", "ai.stanford.edu"),
        (datasets.imdb_sentences, "imdb/imdb_labelled.txt", "archive.ics.uci.edu"),
    ],
)
def test_a_missing_or_damaged_file_says_which_and_where_to_get_it(tmp_path, load, path, who):
    with pytest.raises(InputError, match=f"data_home: got a folder without .*{path}.*{who}"):
        load(tmp_path)
    (tmp_path / "imdb").mkdir()
    (tmp_path / path).write_bytes(b"another")
    with pytest.raises(InputError, match=f"checksum.*damaged or another version.*{who}"):
        load(tmp_path)


def test_stop_words_go_before_letters_are_made_small(data_home, reviews):
    stops = datasets.stopwords(data_home)
    assert prepare("<br />You'd never, ever 2 see the You!", stops) == [
        "you",
        "never",
        "ever",
        "see",
        "you",
    ]
    found = find(data_home, PAPER)
    assert [s.text for s in found] == PAPER
    assert [" ".join(prepare(s.raw, stops)) for s in found] == PAPER
    assert [s.truth for s in found] == ["negative", "negative"]


def test_it_learns_and_is_the_same_when_read_back_or_learned_again(
    data_home, cache, model, tmp_path, monkeypatch
):
    assert model.facts["accuracy"]["held-out"] > 0.6
    assert model.facts["reviews"] == {"training": 1_800, "validation": 120, "held-out": 480}
    assert len(set(model.facts["held out"])) == 480
    (path,) = cache.glob("imdb-lstm-*.npz")
    texts = [*PAPER, "great film", "UNK"]
    p = model.probabilities(texts)
    assert np.array_equal(SentimentLSTM.load(path).probabilities(texts), p)
    tiny = Recipe(reviews=300, vocabulary=200, length=10, epochs=1)
    twice = []
    for name in ("a", "b"):
        monkeypatch.setenv("SUFFICE_CACHE", str(tmp_path / name))
        twice.append(load_or_train(data_home, recipe=tiny, progress=False).probabilities(texts))
    assert np.array_equal(*twice)
    assert not np.array_equal(twice[0], p)


def test_words_never_seen_are_skipped_and_long_texts_cut(model):
    assert "unk" not in model.numbers
    p = model.probabilities(["great UNK film", "great film", "UNK", ""])
    assert p[0] == p[1]
    assert p[2] == p[3]
    long = ["great"] * (model.length + 5)
    assert np.array_equal(model.encode([long]), model.encode([long[:-5]]))


def test_both_views_are_what_the_model_predicts_again(model, sentence, monkeypatch):
    # Anchors' rule is tested below; without it, this test needs no other tool.
    rule = {"held": [], "precision reported": 1.0}
    monkeypatch.setattr("experiments.imdb.sentences.anchors", lambda masked, seed: rule)
    words, mask = sentence
    ways = all_ways(words, mask)
    labels = dict(zip(ways, model(list(ways.values())), strict=True))
    everything = tuple(range(len(words)))
    y = labels[everything]
    assert labels[()] != y

    def rest(t):
        return tuple(i for i in everything if i not in t)

    keeps = [s for s in ways if labels[s] == y]
    flips = [t for t in ways if labels[rest(t)] != y]
    row = measure(model, " ".join(words), 0.9, 0)
    assert row["mask"] == mask
    assert row["label"] == y
    for name, enough in (("keep", keeps), ("flip", flips)):
        minimal = {s for s in enough if not any(set(t) < set(s) for t in enough)}
        assert {tuple(s) for s in row[name]} == minimal
    singles = [labels[rest((i,))] != y for i in everything]
    assert row["brittle"] == brittleness(model, words, mask) == np.mean(singles)


def test_an_anchor_is_scored_without_sampling(model, sentence):
    pytest.importorskip("spacy")
    pytest.importorskip("anchor.anchor_text")
    words, mask = sentence
    masked = Masked(model, words, mask)
    rule = anchors(masked, 0)
    assert rule == anchors(masked, 0)
    ways = all_ways(words, mask)
    labels = dict(zip(ways, model(list(ways.values())), strict=True))
    y = labels[tuple(range(len(words)))]
    held = set(rule["held"])
    over = [labels[s] == y for s in ways if held <= set(s)]
    assert masked.precision(held) == np.mean(over)
    assert abs(rule["precision reported"] - masked.precision(held)) < 0.1
    e = TextExplainer(model, unit="word", mask=mask)(" ".join(words))
    for s in ways:
        names = [e.keep.players[i].name for i in s]
        assert e.keep.sufficiency(names) == masked.keeps(s) == (labels[s] == y)
        assert e.flip.sufficiency(names) == masked.flips(s)


def test_the_smallest_part_that_is_enough():
    masked = Masked(lambda texts: np.array(["b" in t for t in texts]), ["a", "b", "c"], "X")
    assert masked.smaller([0, 1, 2], masked.keeps) == [1]
    assert masked.smaller([1], masked.keeps) == [1]
    assert masked.smaller([0, 2], masked.keeps) == [0, 2]
    assert [masked.precision(s) for s in ([], [1], [0])] == [0.5, 1.0, 0.5]


def test_short_sentences_are_short_and_labelled(data_home):
    found = short_sentences(data_home)
    assert len({s.text for s in found}) == len(found) > 500
    assert {s.truth for s in found} == {"positive", "negative"}
    assert {3, 10} <= {len(s.text.split()) for s in found} <= set(range(3, 11))
