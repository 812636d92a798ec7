"""Texts: which words suffice, against brute force, masks, corpora and long texts."""

from itertools import combinations
from time import perf_counter

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from suffice import Explainer, Explanation, InputError, at_least, versus
from suffice.explanation.schema import MaskRecord, TextRefinement
from suffice.search.limits import Stop
from suffice.text import Corpus, TextExplainer
from suffice.text.segmentation import MOST_PASSAGES, split_text
from suffice.text.text_explainer import passages_then_words
from tests.effort import examples
from tests.fakes import fake_time
from tests.text.word_models import (
    AND,
    FILM,
    LONG,
    OR,
    TRAIN,
    contains_words,
    factor_sets,
    pipeline,
    timed,
    word_sets,
    yes_or_no,
)


def test_and_or_and_negation_are_found_in_both_views():
    e = TextExplainer(AND)("A fine evening with friends.")
    assert (factor_sets(e.keep), factor_sets(e.flip)) == (
        word_sets("fine friends"),
        word_sets("fine", "friends"),
    )
    e = TextExplainer(OR)(FILM)
    assert factor_sets(e.keep) == word_sets("good", "fine friends")
    assert factor_sets(e.flip) == word_sets("good fine", "good friends")
    assert e.complete
    assert e.keep.necessity == e.flip.necessity == 1
    negated = yes_or_no(lambda t: "good" in t and "not good" not in t)
    e = TextExplainer(negated, mask=["good", "UNK"])("The film was not good at all")
    assert factor_sets(e.keep) == factor_sets(e.flip.at(0.5)) == word_sets("not")
    # Against “UNK” alone nothing is needed to keep “no”, and no change of words flips it.
    e = TextExplainer(negated, mask="UNK")("not good")
    assert factor_sets(e.keep) == {frozenset()}
    assert "nothing: it comes about anyway" in str(e)
    assert factor_sets(e.flip) == word_sets("not")


def test_the_mask_is_the_contrast_as_in_the_paper():
    """READ BOOK FORGET MOVIE: UNK is itself positive, so that PLATE is taken."""

    def model(texts):
        return yes_or_no(lambda t: "UNK" in t or contains_words("read", "forget", "movie")(t))(
            texts
        )

    e = TextExplainer(model, candidates=("UNK", "plate"))("read book forget movie")
    assert "replaced by “plate”" in e.provenance.context.words
    assert factor_sets(e.keep) == word_sets("read forget movie")
    assert factor_sets(e.flip) == word_sets("read", "forget", "movie")


@settings(max_examples=examples(40))
@given(st.integers(1, 6), st.integers(1, 3), st.randoms(use_true_random=False))
def test_random_word_models_against_brute_force(d, n, random):
    text = " ".join(random.choice(["so", "it", "was", "odd", "then"]) for _ in range(d))
    tokens = random.sample(["so", "UNK", "x", "then"], n)
    table = {}

    def model(texts):
        return [table.setdefault(t, random.random() < 0.5) for t in texts]

    tau = random.choice([0.3, 0.5, 0.9, 1.0])
    e = TextExplainer(model, mask=tokens)(text, tau=tau)
    given_words = text.split()
    y = table[text]

    def share(changed, wanted):
        hits = 0
        for token in tokens:
            row = [token if i in changed else w for i, w in enumerate(given_words)]
            hits += table[" ".join(row)] == wanted
        return hits / n

    def minimal(passes):
        found = []
        for size in range(d + 1):
            for s in map(frozenset, combinations(range(d), size)):
                if not any(f <= s for f in found) and passes(s):
                    found.append(s)
        return set(found)

    everything = frozenset(range(d))
    names = [player.name for player in e.keep.players]
    numbers = {name: i for i, name in enumerate(names)}
    keep = minimal(lambda s: share(everything - s, y) >= tau)
    flip = minimal(lambda s: share(s, not y) >= tau)
    assert {frozenset(numbers[f] for f in s) for s in factor_sets(e.keep)} == keep
    assert {frozenset(numbers[f] for f in s) for s in factor_sets(e.flip)} == flip
    for greedy in (TextExplainer(model, mask=tokens)(text, tau=tau, search="greedy"),):
        assert factor_sets(greedy.keep) <= factor_sets(e.keep)
    pruned = TextExplainer(model, mask=tokens)(text, tau=tau, search="pruned")
    assert (factor_sets(pruned.keep), factor_sets(pruned.flip)) == (
        factor_sets(e.keep),
        factor_sets(e.flip),
    )


def test_outcomes_scores_and_values():
    def length(texts):
        return [float(len(t.split())) for t in texts]

    e = TextExplainer(length, mask="delete", outcome=at_least(2))("one two three")
    assert factor_sets(e.keep) == word_sets("one two", "one three", "two three")
    assert e.flip.outcome == "prediction < 2"
    model = pipeline()
    rather = TextExplainer(model, outcome=versus("good", "bad"))
    e = rather("a good film")
    assert e.keep.outcome == "good rather than bad"
    assert e.keep.complete
    scores = TextExplainer(lambda ts: model.predict_proba(ts))("a good film")
    assert scores.keep.outcome == "1"
    assert factor_sets(scores.keep) == factor_sets(e.keep) == word_sets("good")


def test_a_corpus_gives_words_of_texts_predicted_otherwise():
    texts = [t for t, _ in TRAIN]
    model = pipeline()
    e = TextExplainer(model, mask=Corpus(texts), n_references=10)("a good and great film")
    assert 1 < e.provenance.n_references <= 10
    assert e.keep.everything.sufficiency == 1
    assert e.flip.everything.sufficiency == 1  # every reference is predicted otherwise
    assert "good" in set().union(*factor_sets(e.keep))
    assert "for example: good → " in str(e)
    by_label = TextExplainer(model, mask=Corpus(texts, [y for _, y in TRAIN]), n_references=10)
    again = by_label("a good and great film")
    assert factor_sets(again.keep) == factor_sets(e.keep)
    assert TextExplainer(model, mask=Corpus(texts), n_references=10)("a good and great film") == e


def test_few_large_calls():
    asked = []

    def model(texts):
        asked.append(len(texts))
        return OR(texts)

    TextExplainer(model, mask="plate")("a good film and a fine evening with friends too")
    assert len(asked) <= 5
    assert sum(asked) <= 2**10 + 8


def test_passages_are_searched_and_then_looked_into():
    explainer = TextExplainer(OR, unit="passage")
    coarse = explainer(LONG, search="exhaustive")
    assert len(coarse.keep.players) == len(coarse.subject.spans) <= MOST_PASSAGES
    assert [f.features for f in coarse.keep.factors] == [
        ("In the long break the popcorn was good.",),
        ("A fine evening with friends.",),
    ]
    assert "Complete for sets of these passages" in str(coarse)
    assert "were not distinguished" in str(coarse)

    fine = explainer.refine(coarse, search="exhaustive")
    assert factor_sets(fine.keep) == word_sets("good", "fine friends")
    assert factor_sets(fine.flip) == word_sets("good fine", "good friends")
    assert not fine.one_sweep
    flat = " ".join(str(fine).split())
    assert "Complete for sets of these words" in flat
    assert "Sets with words of the rest of the text were not looked at." in flat
    assert "words not looked at are all replaced (keep) or all held (flip)" in flat
    assert Explanation.from_json(fine.to_json()) == fine

    one = explainer.refine(coarse, features=coarse.keep.players[-1].name)
    assert factor_sets(one.keep) == word_sets("fine friends")
    assert factor_sets(one.flip) == set()  # “good” is held, as it is out of sight


@settings(max_examples=examples(25))
@given(st.integers(1, 2), st.randoms(use_true_random=False))
def test_what_is_found_among_some_words_is_minimal_in_the_whole_text(n, random):
    """Refined factors are exactly those of the whole text that name no other word."""
    text = "aa bb cc. Dd ee ff."
    table = {}

    def model(texts):
        return [table.setdefault(t, random.random() < 0.5) for t in texts]

    tokens = ["x", "y"][:n]
    whole = TextExplainer(model, unit="word", mask=tokens)(text)
    explainer = TextExplainer(model, unit="sentence", mask=tokens)
    coarse = explainer(text)
    seen = {"aa", "bb", "cc"}
    fine = explainer.refine(coarse, features=["aa bb cc."])
    assert factor_sets(fine.keep) == {s for s in factor_sets(whole.keep) if s <= seen}
    assert factor_sets(fine.flip) == {s for s in factor_sets(whole.flip) if s <= seen}
    for s in map(list, combinations(sorted(seen), 2)):
        assert fine.keep.sufficiency(s) == whole.keep.sufficiency(s)
        assert fine.flip.sufficiency(s) == whole.flip.sufficiency(s)
    # A sentence is replaced word by word.
    assert coarse.keep.sufficiency("aa bb cc.") == whole.keep.sufficiency(sorted(seen))


def of_words(n, last="good"):
    return " ".join(f"w{i}" for i in range(n - 1)) + f" {last}."


@pytest.mark.parametrize("n", [19, 20, 21, 22, 40, 60])
def test_words_are_players_up_to_sixty(n, monkeypatch):
    """There is no length at which the answer turns coarse, or the rows run away."""
    clock = fake_time(monkeypatch, step=1e-4)
    e = TextExplainer(timed(OR, clock))(of_words(n))
    assert e.subject.unit == "word"
    assert len(e.players) == n
    assert e.subject.closer is None
    assert factor_sets(e.keep) == factor_sets(e.flip) == word_sets("good")
    assert e.provenance.rows_predicted <= 20_000 and clock.now < 12


def test_past_sixty_words_passages_come_first_and_are_looked_into(monkeypatch):
    text = "It rained all day, as it does. " * 12 + LONG
    model = timed(OR, fake_time(monkeypatch, step=1e-4))
    e = TextExplainer(model)(text)
    assert e.subject.unit == "word"
    assert e.subject.closer == TextRefinement(
        122, MOST_PASSAGES, True, e.subject.closer.within, True
    )
    assert factor_sets(e.keep) >= word_sets("good")
    assert all(f.size <= 3 for f in (*e.keep.factors, *e.flip.factors))
    assert factor_sets(e.flip)
    flat = " ".join(str(e).split())
    assert "The text has 122 words, so its 12 passages were searched first (every set of" in flat
    assert "those of each view's best set." in flat
    assert "Sets with words of the rest of the text were not looked at." in flat
    assert Explanation.from_json(e.to_json()) == e
    just = TextExplainer(model)(of_words(61))
    assert just.subject.closer.words == 61
    assert factor_sets(just.keep) == factor_sets(just.flip) == word_sets("good")


def test_limits_of_a_long_text_are_reported_as_they_were_given():
    text = "It rained all day, as it does. " * 12 + LONG
    e = TextExplainer(OR)(text, budget=3000)
    assert e.provenance.rows_predicted <= 3000
    assert e.stopped is None or e.stopped.kind != "budget" or e.stopped.limit == 3000
    most = yes_or_no(lambda t: t.count("x") < 20)
    e = TextExplainer(most, mask="x")(text, budget=2500)
    assert e.provenance.rows_predicted <= 2500
    assert e.stopped == Stop("budget", 2500)
    assert "budget=2500 model rows" in str(e)
    assert [more.arguments for more in e.provenance.plan.more] == [{"budget": 15000}]


def test_where_no_words_are_found_passages_are_the_answer_and_it_says_so():
    text = "It rained all day, as it does. " * 12 + LONG
    parts = split_text(text, "auto", None)
    explainer = TextExplainer(OR)
    started = perf_counter()
    prepared = explainer._prepare(parts)

    def answer(parts, question):
        some = question if parts.unit == "passage" else question | {"max_size": 1}
        return explainer._explain_parts(prepared, parts, some)

    e = passages_then_words(answer, parts, {}, started)
    assert e.subject.unit == "passage"
    assert e.subject.closer.within
    assert not e.subject.closer.found
    assert "in which no set of words was found within the limits." in " ".join(str(e).split())


def test_the_mask_of_a_long_text_is_chosen_once():
    text = "It rained all day, as it does. " * 12 + LONG
    rows = 0

    def counted(texts):
        nonlocal rows
        rows += len(texts)
        return OR(texts)

    e = TextExplainer(counted)(text)
    assert e.subject.closer.found
    assert rows == e.provenance.rows_predicted


def test_many_words_are_searched_within_bounds():
    text = of_words(100)
    bounded = TextExplainer(OR, unit="word")(text, max_size=1)
    assert factor_sets(bounded.keep) == word_sets("good")
    assert not bounded.complete
    e = TextExplainer(OR, unit="word")(text, budget=2000)
    assert factor_sets(e.keep) == factor_sets(e.flip) == word_sets("good")
    with pytest.raises(InputError, match=r"100 features, so 2\^100 subsets.*search='auto'"):
        TextExplainer(OR, unit="word")(text, search="exhaustive")


def test_the_mask_that_was_found_is_shown_with_why_it_may_be_poor():
    e = TextExplainer(pipeline())("a good film with great actors")
    assert e.provenance.references.mask == MaskRecord("UNK", "bad", (), known=False)
    flat = " ".join(str(e).split())
    assert (
        "Each word left out is replaced by “UNK”: a text of nothing else comes out as “bad”."
        in flat
    )
    assert "The model does not know “UNK”, so such a text reads as if the words were not" in flat
    assert "see whether another mask says the same" in flat
    assert Explanation.from_json(e.to_json()) == e

    e = TextExplainer(lambda texts: pipeline().predict(texts))("a good film with great actors")
    assert e.provenance.references.mask.known is None
    assert "The model may never have met texts with “UNK” in so many places" in " ".join(
        str(e).split()
    )

    e = TextExplainer(pipeline(), candidates=["good", "awful"])("a good film with great actors")
    assert e.provenance.references.mask == MaskRecord("awful", "bad", ("good",), known=True)
    flat = " ".join(str(e).split())
    assert "while one of “good” comes out as this text does" in flat
    assert "The model knows “awful” and counts it wherever it stands" in flat

    given = TextExplainer(pipeline(), mask="UNK")("a good film")
    assert given.provenance.references.mask is None
    assert "Each word left out" not in str(given)


def test_a_mask_found_is_no_word_of_the_vocabulary_where_another_one_contrasts():
    text = "a good film with great actors"
    for candidates in (["awful", "UNK"], ["film", "UNK"], ["film", "", "awful"]):
        mask = TextExplainer(pipeline(), candidates=candidates)(text).provenance.references.mask
        assert mask.known is False and mask.token in ("UNK", "")
    known = TextExplainer(pipeline(), candidates=["film", "awful"])(text)
    assert known.provenance.references.mask.known  # nothing else makes a contrast


def test_of_tokens_that_contrast_the_mildest_is_taken():
    """One "never" outweighs all else; "seldom" only what is not said twice."""
    model = yes_or_no(lambda t: "never" not in t and t.count("good") > t.count("seldom") / 9)
    text = "good " * 9 + "film"
    e = TextExplainer(model, candidates=["never", "seldom"])(text)
    assert e.provenance.references.mask.token == "seldom"
    assert TextExplainer(model, candidates=["UNK", "seldom"])(text).provenance.references.mask == (
        MaskRecord("UNK", "no", (), known=None)
    )


def test_refine_says_what_cannot_be_refined():
    explainer = TextExplainer(OR, unit="passage")
    with pytest.raises(InputError, match="Single words cannot be cut further"):
        explainer.refine(TextExplainer(OR)(FILM))
    table = Explainer(lambda r: (r[:, 0] > 0).astype(int), np.eye(3)).explain([1.0, 0, 0])
    with pytest.raises(InputError, match="allowed: an explanation of a text"):
        explainer.refine(table)
    coarse = explainer(LONG)
    with pytest.raises(InputError, match="unknown feature 'nope'"):
        explainer.refine(coarse, features=["nope"])
    same = TextExplainer(OR, unit="sentence", mask="good")(LONG)
    with pytest.raises(InputError, match="names no feature"):
        explainer.refine(same)


def test_only_a_time_limit_has_the_model_timed():
    texts = []

    def model(given):
        texts.extend(given)
        return ["good" if "fine" in text else "bad" for text in given]

    text = "a fine film that one can see now and then again"
    e = TextExplainer(model, mask="UNK")(text)
    assert len(texts) == e.provenance.rows_predicted
    texts.clear()
    timed = TextExplainer(model, mask="UNK")(text, time_limit=60)
    assert len(texts) == timed.provenance.rows_predicted > e.provenance.rows_predicted
    assert [f.features for f in timed.keep] == [f.features for f in e.keep]


@pytest.mark.parametrize("mask", ["auto", "UNK", "delete", Corpus(["a bad one", "dull as ever"])])
@pytest.mark.parametrize("limits", [{"budget": 200}, {"budget": 90}, {"time_limit": 0.01}])
def test_every_text_that_is_predicted_counts(mask, limits):
    texts = []

    def model(given):
        texts.extend(given)
        return ["good" if "fine" in text else "bad" for text in given]

    text = "a fine film that one can see now and then again and again"
    e = TextExplainer(model, mask=mask, n_references=3)(text, **limits)
    assert len(texts) == e.provenance.rows_predicted <= limits.get("budget", np.inf)
    assert e.keep.factors and e.flip.factors
    few = TextExplainer(model, mask=mask, n_references=3)
    with pytest.raises(InputError, match="budget: got 5 rows"):
        few(text, budget=5)
