"""Texts: planted words are found in both views, texts survive being cut and joined, marks show."""

import json
import pickle
import re
from io import StringIO
from itertools import combinations

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import assume, given, settings, strategies as st
from rich.console import Console
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from suffice import (
    Explainer,
    Explanation,
    InputError,
    ModelError,
    at_least,
    result_schema,
    versus,
)
from suffice.cli import app
from suffice.explanation.subject import TextSubject
from suffice.report.excerpt import excerpt
from suffice.summary import summarise
from suffice.text import Corpus, TextExplainer
from suffice.text.join import Join
from suffice.text.parts import cut
from suffice.text.passages import MOST_PASSAGES, passages, words_within
from suffice.text.spans import sentences, span_names, words


def labels(rule):
    """A model that calls a text "yes" where the rule holds for it."""
    return lambda texts: ["yes" if rule(text) else "no" for text in texts]


def has(*wanted):
    return lambda text: set(wanted) <= set(re.findall(r"\w+", text))


def sets(view):
    return {frozenset(f.features) for f in view.factors}


def of(*groups):
    return {frozenset(group.split()) for group in groups}


AND = labels(has("fine", "friends"))
OR = labels(lambda t: has("good")(t) or has("fine", "friends")(t))
FILM = "A good film, a fine evening with friends."

LONG = (
    "The film began late. In the long break the popcorn was good. We sat in the last row. "
    "Then we left early, because of the rain and the long way home. Nobody minded. "
    "A fine evening with friends."
)

TRAIN = [
    ("a good film with great actors", "good"),
    ("great fun and a good plot", "good"),
    ("good popcorn, great seats", "good"),
    ("a bad film with awful actors", "bad"),
    ("awful plot and no fun", "bad"),
    ("bad popcorn, awful seats", "bad"),
    ("awful", "bad"),
]


def pipeline():
    texts, y = zip(*TRAIN, strict=True)
    return make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, y)


# -- planted words ----------------------------------------------------------------------


def test_and_or_and_negation_are_found_in_both_views():
    e = TextExplainer(AND)("A fine evening with friends.")
    assert (sets(e.keep), sets(e.flip)) == (of("fine friends"), of("fine", "friends"))
    e = TextExplainer(OR)(FILM)
    assert sets(e.keep) == of("good", "fine friends")
    assert sets(e.flip) == of("good fine", "good friends")
    assert e.complete
    assert e.keep.necessity == e.flip.necessity == 1
    negated = labels(lambda t: "good" in t and "not good" not in t)
    e = TextExplainer(negated, mask=["good", "UNK"])("The film was not good at all")
    assert sets(e.keep) == sets(e.flip.at(0.5)) == of("not")
    # Against “UNK” alone nothing is needed to keep “no”, and no change of words flips it.
    e = TextExplainer(negated, mask="UNK")("not good")
    assert sets(e.keep) == {frozenset()}
    assert "nothing: it comes about anyway" in str(e)
    assert sets(e.flip) == of("not")


def test_the_mask_is_the_contrast_as_in_the_paper():
    """READ BOOK FORGET MOVIE: UNK is itself positive, so that PLATE is taken."""

    def model(texts):
        return labels(lambda t: "UNK" in t or has("read", "forget", "movie")(t))(texts)

    e = TextExplainer(model, candidates=("UNK", "plate"))("read book forget movie")
    assert "replaced by “plate”" in e.provenance.context.words
    assert sets(e.keep) == of("read forget movie")
    assert sets(e.flip) == of("read", "forget", "movie")


@settings(max_examples=40)
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
    assert {frozenset(numbers[f] for f in s) for s in sets(e.keep)} == keep
    assert {frozenset(numbers[f] for f in s) for s in sets(e.flip)} == flip
    for greedy in (TextExplainer(model, mask=tokens)(text, tau=tau, search="greedy"),):
        assert sets(greedy.keep) <= sets(e.keep)
    pruned = TextExplainer(model, mask=tokens)(text, tau=tau, search="pruned")
    assert (sets(pruned.keep), sets(pruned.flip)) == (sets(e.keep), sets(e.flip))


def test_outcomes_scores_and_values():
    def length(texts):
        return [float(len(t.split())) for t in texts]

    e = TextExplainer(length, mask="delete", outcome=at_least(2))("one two three")
    assert sets(e.keep) == of("one two", "one three", "two three")
    assert e.flip.outcome == "prediction < 2"
    model = pipeline()
    rather = TextExplainer(model, outcome=versus("good", "bad"))
    e = rather("a good film")
    assert e.keep.outcome == "good rather than bad"
    assert e.keep.complete
    scores = TextExplainer(lambda ts: model.predict_proba(ts))("a good film")
    assert scores.keep.outcome == "1"
    assert sets(scores.keep) == sets(e.keep) == of("good")


def test_a_corpus_gives_words_of_texts_that_come_out_otherwise():
    texts = [t for t, _ in TRAIN]
    model = pipeline()
    e = TextExplainer(model, mask=Corpus(texts), n_references=10)("a good and great film")
    assert 1 < e.provenance.n_references <= 10
    assert e.keep.everything.sufficiency == 1
    assert e.flip.everything.sufficiency == 1  # every reference is predicted otherwise
    assert "good" in set().union(*sets(e.keep))
    assert "for example: good → " in str(e)
    by_label = TextExplainer(model, mask=Corpus(texts, [y for _, y in TRAIN]), n_references=10)
    again = by_label("a good and great film")
    assert sets(again.keep) == sets(e.keep)
    assert TextExplainer(model, mask=Corpus(texts), n_references=10)("a good and great film") == e


def test_few_large_calls():
    asked = []

    def model(texts):
        asked.append(len(texts))
        return OR(texts)

    TextExplainer(model, mask="plate")("a good film and a fine evening with friends too")
    assert len(asked) <= 5
    assert sum(asked) <= 2**10 + 8


# -- long texts -------------------------------------------------------------------------


def test_long_texts_are_cut_into_passages_and_then_looked_into():
    explainer = TextExplainer(OR)
    coarse = explainer(LONG)
    assert len(coarse.keep.players) == len(coarse.subject.spans) <= MOST_PASSAGES
    assert [f.features for f in coarse.keep.factors] == [
        ("In the long break the popcorn was good.",),
        ("A fine evening with friends.",),
    ]
    assert "Complete for sets of these passages" in str(coarse)
    assert "not told apart" in str(coarse)

    fine = explainer.refine(coarse)
    assert sets(fine.keep) == of("good", "fine friends")
    assert sets(fine.flip) == of("good fine", "good friends")
    assert not fine.one_sweep
    flat = " ".join(str(fine).split())
    assert "Complete for sets of these words" in flat
    assert "Sets with words of the rest of the text were not looked at." in flat
    assert "words not looked at are all replaced (keep) or all held (flip)" in flat
    assert Explanation.from_json(fine.to_json()) == fine

    one = explainer.refine(coarse, features=coarse.keep.players[-1].name)
    assert sets(one.keep) == of("fine friends")
    assert sets(one.flip) == set()  # “good” is held, as it is out of sight


@settings(max_examples=25)
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
    assert sets(fine.keep) == {s for s in sets(whole.keep) if s <= seen}
    assert sets(fine.flip) == {s for s in sets(whole.flip) if s <= seen}
    for s in map(list, combinations(sorted(seen), 2)):
        assert fine.keep.sufficiency(s) == whole.keep.sufficiency(s)
        assert fine.flip.sufficiency(s) == whole.flip.sufficiency(s)
    # A sentence is replaced word by word.
    assert coarse.keep.sufficiency("aa bb cc.") == whole.keep.sufficiency(sorted(seen))


def test_many_words_are_searched_greedily_or_within_bounds():
    text = " ".join(f"w{i}" for i in range(40)) + " good."
    explainer = TextExplainer(OR)
    fine = explainer.refine(
        explainer(text), features=[p.name for p in explainer(text).keep.players]
    )
    assert not fine.complete
    assert sets(fine.keep) == sets(fine.flip) == of("good")
    assert "Not complete" in str(fine)
    bounded = TextExplainer(OR, unit="word")(text, max_size=1)
    assert sets(bounded.keep) == of("good")
    with pytest.raises(InputError, match=r"41 words, so 2\^41 sets.*refine"):
        TextExplainer(OR, unit="word")(text)


def test_refine_says_what_cannot_be_refined():
    explainer = TextExplainer(OR)
    with pytest.raises(InputError, match="nothing smaller"):
        explainer.refine(explainer(FILM))
    table = Explainer(lambda r: (r[:, 0] > 0).astype(int), np.eye(3)).explain([1.0, 0, 0])
    with pytest.raises(InputError, match="not of a text"):
        explainer.refine(table)
    coarse = explainer(LONG)
    with pytest.raises(InputError, match="unknown feature 'nope'"):
        explainer.refine(coarse, features=["nope"])
    same = TextExplainer(OR, unit="sentence", mask="good")(LONG)
    with pytest.raises(InputError, match="names no feature"):
        explainer.refine(same)


# -- cutting and joining ----------------------------------------------------------------


@given(st.text(max_size=60))
def test_any_text_is_joined_again_exactly(text):
    for spans in (words(text), sentences(text)):
        cells = [text[a:b] for a, b in spans]
        assert not spans or Join(text, spans)([cells]) == [text]
        assert spans == sorted(spans)
        assert len(set(span_names(text, spans))) == len(spans)
    assert sum(len(words_within(words(text), [s])) for s in sentences(text)) == len(words(text))


@given(st.text(alphabet="ab .,%\n-'。好😀", max_size=80), st.integers(1, 5))
def test_passages_hold_every_word_once(text, most):
    found = words(text)
    assume(found)
    parts = passages(text, found, most)
    assert len(parts) <= most
    assert [w for part in parts for w in words_within(found, [part])] == found


@given(st.lists(st.sampled_from(["", "so", "it", "%s"]), min_size=1, max_size=5), st.data())
def test_the_quick_ways_to_join_agree_with_the_slow_one(cells, data):
    inner = (
        [" "] * 4
        if data.draw(st.booleans())
        else data.draw(st.lists(st.sampled_from([" ", ", ", "% "]), min_size=4, max_size=4))
    )
    text, spans = "", []
    for i in range(len(cells)):
        spans.append((len(text), len(text) + 1))
        text += "w" + (inner[i] if i < len(cells) - 1 else "")
    join = Join(text, spans)
    filled = [cell or "x" for cell in cells]
    assert join([filled]) == [join._shorter(filled)]
    assert len(join([cells])[0]) <= len(join([filled])[0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don’t re-read o'clock!", ["Don’t", "re-read", "o'clock"]),
        ("naïve café 北京 3rd", ["naïve", "café", "北", "京", "3rd"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("great 👍🏽 ❤️!", ["great", "👍🏽", "❤️"]),
        ("- 'quoted' --", ["quoted"]),
        ("e\u0301te\u0301", ["e\u0301te\u0301"]),
    ],
)
def test_words(text, expected):
    assert [text[a:b] for a, b in words(text)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mr. X left. Why? Nobody knows!", ["Mr. X left.", "Why?", "Nobody knows!"]),
        ("It cost 3.50 dollars. ok", ["It cost 3.50 dollars. ok"]),
        ("“Stop.” He did", ["“Stop.”", "He did"]),
        ("One line\n\nanother line", ["One line", "another line"]),
        ("好。不好！", ["好。", "不好！"]),
        ("no end", ["no end"]),
        ("all small. like this", ["all small.", "like this"]),
    ],
)
def test_sentences(text, expected):
    assert [text[a:b] for a, b in sentences(text)] == expected


def test_names_are_unique_and_values_are_the_words():
    e = TextExplainer(OR)("so good so so")
    assert [p.name for p in e.keep.players] == ["so", "good", "so (2)", "so (3)"]
    assert e.keep.factors[0].values == {"good": "good"}
    assert span_names("a (2) a a", [(0, 1), (2, 5), (6, 7), (8, 9)]) == [
        "a",
        "(2)",
        "a (2)",
        "a (3)",
    ]
    odd = "a|a (2)|a"
    assert span_names(odd, [(0, 1), (2, 7), (8, 9)]) == ["a", "a (2)", "a (3)"]


def test_own_units_and_spans():
    phrase = [(0, 6), (7, 11)]
    e = TextExplainer(OR)("a good film", spans=phrase)
    assert [p.name for p in e.keep.players] == ["a good", "film"]
    assert "each span replaced by" in e.provenance.context.words
    by_unit = TextExplainer(OR, unit=lambda text: phrase[::-1])("a good film")
    assert by_unit == e
    one = TextExplainer(OR)("good")
    assert sets(one.keep) == sets(one.flip) == of("good")
    assert one.complete
    assert cut(LONG, "sentence", None).noun == "sentence"


# -- what people see --------------------------------------------------------------------


def screen(explanation, width=100):
    console = Console(width=width, file=StringIO())
    console.print(explanation)
    return console.file.getvalue()


def test_marks_are_in_their_place_everywhere():
    text = "A <good> film, a fine evening & friends."
    e = TextExplainer(OR)(text)
    for shown in (str(e), screen(e)):
        assert "A <[good]> film, a fine evening & friends." in shown
        assert "a [fine] evening & [friends]." in shown
        assert text in shown
        assert "Keep these words, replace all others: “yes” stays." in shown
        assert "subsets of 7 words" in shown
    for html in (e.to_html(), e._repr_html_()):
        assert "A &lt;<mark>good</mark>&gt; film" in html
        assert "evening &amp; <mark>friends</mark>." in html
        assert "Every threshold at once" not in html  # one reference: all thresholds are alike
        assert html.count("<svg") == 0
    several = TextExplainer(OR, mask=["UNK", "plate"])(text)
    assert "Every threshold at once" in several.to_html()
    assert "in at least 90% of cases" in str(several)
    assert max(map(len, screen(e, 40).splitlines())) <= 40


def test_long_texts_are_shortened_around_marks():
    e = TextExplainer(OR, unit="word")(("word " * 150) + "good" + (" more" * 150), max_size=1)
    line = next(line for line in str(e).splitlines() if "[good]" in line)
    assert len(line) < 92
    assert "… word word" in line
    assert "more …" in str(e)
    (factor,) = summarise(e).keep.factors
    assert "".join(text for text, _ in factor.pieces) == e.subject.text
    pieces = [("a " * 200, False), ("b " * 200, True), ("c", False), ("d", True)]
    short = excerpt(pieces, 100)
    assert [marked for _, marked in short] == [False, True, False, True]
    assert sum(len(text) for text, _ in short) < 250


def test_tables_look_as_they_did():
    e = Explainer(lambda r: (r[:, 0] > 0).astype(int), np.eye(3)).explain([1.0, 0, 0])
    html = e.to_html()
    assert "<mark>" not in html
    assert "blockquote" not in html
    assert ".suffice mark" not in html
    assert "Hold these values" in str(e)
    assert "3 features" in str(e)


def test_no_factor_and_bounds_are_said_in_words():
    e = TextExplainer(AND)("A fine evening with friends.", max_size=1)
    assert "No set of words reaches τ = 0.9." in str(e)
    assert "You could choose another mask." in " ".join(str(e).split())


def test_the_text_survives_storage():
    e = TextExplainer(OR)(FILM)
    assert e.subject == TextSubject(FILM, tuple(words(FILM)), "word")
    text = e.to_json()
    jsonschema.validate(json.loads(text), result_schema(Explanation))
    again = Explanation.from_json(text)
    assert again == e
    assert str(again) == str(e)
    assert again.at(0.5).subject == e.subject


# -- bad input --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "text: got ''; allowed: a text with at least one word"),
        (" \n", "a text with at least one word"),
        ("?!…", "which has no word; allowed: at least one word. Pass spans"),
        (7, "text: got int 7; allowed: one string"),
        (["a", "b"], r"text: got list .*Call it once for each text"),
    ],
)
def test_bad_texts(text, message):
    with pytest.raises(InputError, match=message):
        TextExplainer(OR)(text)


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        ([(0, 4), (3, 6)], r"\(0, 4\) and \(3, 6\), which overlap"),
        ([(5, 99)], r"\(5, 99\), which is out of range; .* within 0 to 11"),
        ([(4, 2)], "out of range"),
        ([(3, 3)], r"\(3, 3\), which is empty"),
        ([(-2, 3)], "out of range"),
        ([], "spans: got none"),
        ([3], "spans: got 3"),
        ([("a", "b")], "spans: got"),
        ("word", "spans: got word"),
        (5, "spans: got 5"),
    ],
)
def test_bad_spans(spans, message):
    with pytest.raises(InputError, match=message):
        TextExplainer(OR)("a good film", spans=spans)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unit": "words"}, "unit: got 'words'; .* Did you mean 'word'"),
        ({"mask": 3}, "mask: got 3; allowed: a token, a list of tokens"),
        ({"mask": []}, "mask: got no token"),
        ({"mask": ["a", 2]}, "mask: got"),
        ({"candidates": []}, "candidates: got no token"),
        ({"n_references": 0, "mask": "x"}, "n_references: got 0"),
        ({"model": 3}, "model: got int; allowed: a callable on a list of strings"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(InputError, match=message):
        TextExplainer(**{"model": OR} | options)("a good film")


def test_no_contrast_is_said_with_what_was_tried():
    with pytest.raises(InputError) as caught:
        TextExplainer(OR, candidates=("UNK", ""))("a dull film")
    message = str(caught.value)
    assert "comes out as “no”, as the input does: “UNK”, deletion" in message
    assert "Give a token of your own, other candidates, or Corpus(texts)" in message


def test_bad_corpora():
    for given_texts, message in (
        ([], "no texts"),
        ("text", "Corpus: got text"),
        ([1], "Corpus: got 1"),
        (7, "Corpus: got 7"),
    ):
        with pytest.raises(InputError, match=message):
            Corpus(given_texts)
    with pytest.raises(InputError, match="1 labels for 2 texts"):
        Corpus(["a", "b"], ["x"])
    with pytest.raises(InputError, match="none of them predicted otherwise"):
        TextExplainer(OR, mask=Corpus(["so good", "good too"]))("a good film")
    with pytest.raises(InputError, match="none of them predicted otherwise"):
        TextExplainer(OR, mask=Corpus(["so bad"], ["yes"]))("a good film")
    with pytest.raises(InputError, match="each of 1 texts made of its words comes out as “yes”"):
        TextExplainer(OR, mask=Corpus(["good"], ["no"]))("a good film")
    with pytest.raises(InputError, match="without labels for versus"):
        TextExplainer(pipeline(), mask=Corpus(["x"], ["bad"]), outcome=versus("good", "bad"))(
            "a good film"
        )


def test_bad_models():
    with pytest.raises(ModelError, match=r"returned shape \(3,\) for 2 row\(s\)"):
        TextExplainer(lambda texts: [1, 2, 3], mask="x")("a good film")

    def broken(texts):
        raise KeyError("no such word")

    with pytest.raises(ModelError, match="broken raised KeyError"):
        TextExplainer(broken)("a good film")


# -- the command ------------------------------------------------------------------------


def ask(*options, stdin=None):
    return CliRunner().invoke(app, ["explain", *map(str, options)], input=stdin)


@pytest.fixture
def skops_file(tmp_path):
    import skops.io

    path = tmp_path / "model.skops"
    skops.io.dump(pipeline(), path)
    types = skops.io.get_untrusted_types(file=path)
    return ["--model", path, *(o for t in types for o in ("--trust-type", t))]


def test_command_with_a_skops_pipeline(skops_file, tmp_path):
    files = [o for kind in ("json", "csv", "html") for o in (f"--{kind}", tmp_path / f"why.{kind}")]
    ran = ask("--text", "a good film", *skops_file, *files)
    assert ran.exit_code == 0, ran.output
    assert "a [good] film" in ran.output
    e = Explanation.from_json((tmp_path / "why.json").read_text())
    assert sets(e.keep) == of("good")
    assert "<mark>good</mark>" in (tmp_path / "why.html").read_text(encoding="utf-8")
    assert "good" in (tmp_path / "why.csv").read_text()

    ran = ask("--text", "-", "--outcome", "bad", *skops_file, stdin="a good film\n")
    assert ran.exit_code == 0, ran.output
    assert "Why “good”?" in ran.output
    ran = ask("--text", LONG, "--refine", "--view", "keep", *skops_file)
    assert ran.exit_code == 0, ran.output
    assert "popcorn was [good]" in ran.output


def test_command_with_an_onnx_pipeline(tmp_path):
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import StringTensorType

    texts, y = zip(*TRAIN, strict=True)
    numbers = [int(label == "good") for label in y]
    vectors = CountVectorizer(lowercase=False, token_pattern="[a-zA-Z]+")
    model = make_pipeline(vectors, LogisticRegression()).fit(texts, numbers)
    path = tmp_path / "model.onnx"
    types = [("text", StringTensorType([None, 1]))]
    path.write_bytes(to_onnx(model, initial_types=types).SerializeToString())
    ran = ask("--text", "a good film", "--model", path, "--outcome", "1")
    assert ran.exit_code == 0, ran.output
    assert "model.onnx, against 1 reference" in ran.output
    assert "a [good] film" in ran.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--text", "good", "--row", "3"], "--row: got it with --text"),
        (["--text", "good", "--auto-groups"], "--auto-groups: got it with --text"),
        (["--data", __file__, "--row", "0", "--mask", "x"], "--mask: got it without --text"),
        (["--text", "good"], "Missing option '--model'"),
        ([], "Missing option '--data'"),
    ],
)
def test_command_mistakes(options, message):
    ran = ask(*options)
    assert ran.exit_code != 0
    assert message in ran.output + str(ran.exception)


def test_explainers_travel_to_other_processes():
    explainer = pickle.loads(pickle.dumps(TextExplainer(pipeline())))
    assert sets(explainer("a good film").keep) == of("good")


def test_a_long_text_is_shown_by_its_beginning():
    text = "The evening began well. " * 60
    shown = str(TextExplainer(lambda ts: ["y" if "well" in t else "n" for t in ts])(text))
    assert "  The evening began well. The evening" in shown
    assert excerpt([("a " * 50, False)], 11) == [("a a a a a …", False)]


def test_an_example_of_a_change_names_only_words_that_change():
    def model(texts):
        return ["yes" if "good" in t and "film" in t else "no" for t in texts]

    e = TextExplainer(model, mask=Corpus(["a bad film", "a good play", "a dull day"]))(
        "a good film"
    )
    notes = [note for f in summarise(e).flip.factors for note in f.notes]
    moves = [m for note in notes for m in note.removeprefix("for example: ").split(", ")]
    assert moves
    assert all(old != new for old, new in (move.split(" → ") for move in moves))


def test_where_nothing_flips_the_advice_stands_alone():
    e = TextExplainer(lambda ts: ["y" if t else "n" for t in ts], mask=["UNK"])("a b")
    said = " ".join(str(e).split())
    assert "You could choose another mask." in said
    assert "Or choose" not in said


@pytest.mark.parametrize("spans", [[(0.5, 1.7)], [("0", "1")]])
def test_spans_are_whole_numbers(spans):
    with pytest.raises(InputError, match="spans: got"):
        TextExplainer(AND)("A fine evening.", spans=spans)


def test_only_an_explanation_of_a_text_is_refined():
    with pytest.raises(InputError, match="explanation: got one that is not of a text"):
        TextExplainer(AND).refine(3)


def test_an_example_of_a_change_of_long_passages_is_brief():
    text = "The weather was fine and warm all day. " * 4
    model = lambda ts: ["y" if t.count("fine") > 1 else "n" for t in ts]  # noqa: E731
    e = TextExplainer(model, unit="sentence", mask=["UNK", "so"])(text)
    notes = [note for f in summarise(e).flip.factors for note in f.notes]
    assert "The weather was fine and warm … → UNK UNK UNK UNK UNK UNK UNK …" in notes[0]
    assert "UNK " * 8 not in notes[0]


def test_command_refines_nothing_where_words_were_searched_already(skops_file):
    ran = ask("--text", "a good film", "--refine", *skops_file)
    assert ran.exit_code == 0, ran.output
    assert "Complete: all 8 subsets of 3 words" in ran.output
