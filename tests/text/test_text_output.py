"""Texts on screens and pages, stored, and by the command."""

import json
import pickle

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from suffice import Explainer, Explanation, InputError, ModelError, result_schema, versus
from suffice.cli import app
from suffice.explanation.schema import TextSubject
from suffice.formatting import excerpt
from suffice.report import page_data
from suffice.summary import summarise
from suffice.text import Corpus, TextExplainer
from suffice.text.segmentation import words
from tests.cli.command_call import open_files_at_once
from tests.text.word_models import (
    AND,
    FILM,
    LONG,
    OR,
    TRAIN,
    factor_sets,
    pipeline,
    terminal_text,
    word_sets,
)


def test_marks_are_in_their_place_everywhere():
    text = "A <good> film, a fine evening & friends."
    e = TextExplainer(OR)(text)
    for shown in (str(e), terminal_text(e)):
        assert "A <[good]> film, a [fine] evening & [friends]." in shown
        assert shown.count("film") == 1  # the text stands there once
        assert "100%" in shown and "“fine”, “friends”" in shown
        assert "Keep these words, replace all others: “yes” stays." in shown
        assert "subsets of 7 words" in shown
    for html in (e.to_html().split("<script>")[0], e._repr_html_().split("</iframe>")[1]):
        assert "A &lt;<mark>good</mark>&gt; film" in html
        assert "evening &amp; <mark>friends</mark>." in html
        assert "Every threshold at once" not in html  # one reference: all thresholds are alike
        assert html.count("<svg") == 0
    several = TextExplainer(OR, mask=["UNK", "plate"])(text)
    assert "Every threshold at once" in several.to_html()
    assert "in at least 90% of cases" in str(several)
    assert max(map(len, terminal_text(e, 40).splitlines())) <= 40


def test_long_texts_are_shortened_around_marks():
    e = TextExplainer(OR, unit="word")(("word " * 150) + "good" + (" more" * 150), max_size=1)
    line = next(line for line in str(e).splitlines() if "[good]" in line)
    assert len(line) < 92
    assert "word word [good] more" in line
    assert "… word" in str(e) and "more …" in str(e)
    assert str(e).count("word word") < 40
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
    assert "No single word reaches τ = 0.9." in str(e)
    more = "Sets of more than 1 word were not all tried: give a larger max_size."
    assert more in " ".join(str(e).split())


def test_the_text_survives_storage():
    e = TextExplainer(OR)(FILM)
    assert e.subject == TextSubject(FILM, tuple(words(FILM)), "word")
    text = e.to_json()
    jsonschema.validate(json.loads(text), result_schema(Explanation))
    again = Explanation.from_json(text)
    assert again == e
    assert str(again) == str(e)
    assert again.at(0.5).subject == e.subject


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "text: got ''; allowed: a text with at least one word"),
        (" \n", "a text with at least one word"),
        ("?!…", "which has no word; allowed: at least one word. Pass spans"),
        (7, "text: got int 7; allowed: one string"),
        (["a", "b"], r"text: got list .*Call explain once for each text"),
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
        ("text", "texts: got text"),
        ([1], "texts: got 1"),
        (7, "texts: got 7"),
    ):
        with pytest.raises(InputError, match=message):
            Corpus(given_texts)
    with pytest.raises(InputError, match="labels: got 1 labels for 2 texts"):
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
    with pytest.raises(ModelError, match=r"returned shape \(3,\) for 2 rows"):
        TextExplainer(lambda texts: [1, 2, 3], mask="x")("a good film")

    def broken(texts):
        raise KeyError("no such word")

    with pytest.raises(ModelError, match="broken raised KeyError"):
        TextExplainer(broken)("a good film")


def ask(*options, stdin=None):
    return CliRunner().invoke(app, ["explain", *map(str, options)], input=stdin)


@pytest.fixture
def skops_file(tmp_path):
    import skops.io

    path = tmp_path / "model.skops"
    skops.io.dump(pipeline(), path)
    types = skops.io.get_untrusted_types(file=path)
    return ["--model", path, *(o for t in types for o in ("--trust-type", t))]


def test_command_with_a_skops_pipeline(skops_file, tmp_path, monkeypatch):
    open_files_at_once(monkeypatch)
    files = [o for kind in ("json", "csv", "html") for o in (f"--{kind}", tmp_path / f"why.{kind}")]
    ran = ask("--text", "a good film", *skops_file, *files)
    assert ran.exit_code == 0, ran.output
    assert "a [good] film" in ran.output
    e = Explanation.from_json((tmp_path / "why.json").read_text())
    assert factor_sets(e.keep) == word_sets("good")
    assert "<mark>good</mark>" in (tmp_path / "why.html").read_text(encoding="utf-8")
    assert "good" in (tmp_path / "why.csv").read_text()

    ran = ask("--text", "-", "--outcome", "bad", *skops_file, stdin="a good film\n")
    assert ran.exit_code == 0, ran.output
    assert "Why “good”?" in ran.output
    ran = ask("--text", LONG, "--refine", "--budget", "3000", "--view", "keep", *skops_file)
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
        (["--text", "good", "--row", "3"], "--row cannot be combined with --text"),
        (["--text", "good", "--auto-groups"], "--auto-groups cannot be combined with --text"),
        (["--data", __file__, "--row", "0", "--mask", "x"], "--mask needs --text"),
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
    assert factor_sets(explainer("a good film").keep) == word_sets("good")


def test_a_long_text_is_shown_by_its_beginning():
    text = "The evening began well. " * 60
    shown = str(TextExplainer(lambda ts: ["y" if "well" in t else "n" for t in ts])(text))
    assert "[well]. The evening began" in shown and shown.count("began") < 60
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
    with pytest.raises(InputError, match="explanation: got an explanation of other data"):
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


def test_a_page_with_some_of_the_sets_counts_over_all(monkeypatch):
    text = "dull long slow weak plain bad poor thin cheap lame loud flat cold vague"

    def model(texts):
        return ["bad" if "dull" in t and t.count("UNK") < 11 else "good" for t in texts]

    e = TextExplainer(model, mask="UNK", unit="word")(text, search="pruned")
    n, counts = len(e.keep), dict(e.keep.digest.counts)
    monkeypatch.setattr(page_data, "_MOST_SETS_AT_TAU", 5)
    view = json.loads(page_data.page_scripts(e, summarise(e)).words)["views"][0]
    assert n > 5 == len(view["bars"]) and view["n_sets"] == n == counts["dull"]
    names = [player.name for player in e.players]
    assert {names[j]: sets for j, sets in view["common"]} == {
        name: sets for name, sets in counts.items() if 2 * sets >= n
    }
    monkeypatch.undo()
    whole = json.loads(page_data.page_scripts(e, summarise(e)).words)["views"][0]
    assert len(whole["bars"]) == n and "n_sets" not in whole
