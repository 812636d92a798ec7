"""E-mails cut into nine segments, and explained by them."""

import base64
import doctest
import gzip
import hashlib
import json
from email.message import EmailMessage

import numpy as np
import pandas as pd
import polars as pl
import pytest
from experiments.spam import mail_parser
from experiments.spam.mail_parser import (
    clean,
    mail_segments,
    mean_vectors,
    sentences_of,
    vector_columns,
    vector_groups,
)
from hypothesis import example, given, strategies as st
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

from suffice import Explainer, Explanation, InputError, datasets
from suffice.datasets import SEGMENTS

PLAIN = """From shop@example.com  Thu Aug 22 12:36:23 2002
From: Ann Lee <ann@shop.example>
To: bo@home.example,
\tcy@home.example
Subject: Your order

Dear Bo. It is ready! See www.shop.example/42.
Mail me at ann@shop.example
today. Was it good? Yours, Ann
"""


def test_examples_in_the_docstrings():
    assert doctest.testmod(mail_parser) == (0, 11)


def test_a_plain_mail_has_nine_segments():
    assert mail_segments(PLAIN) == {
        "From": "Ann Lee <ann@shop.example>",
        "To": "bo@home.example, cy@home.example",
        "Subject": "Your order",
        "Urls": "www.shop.example/42",
        "Emails": "ann@shop.example",
        "First Sentence": "Dear Bo.",
        "Second Sentence": "It is ready!",
        "Penult Sentence": "Was it good?",
        "Last Sentence": "Yours, Ann",
    }
    assert tuple(mail_segments(PLAIN)) == SEGMENTS
    assert mail_segments(PLAIN.encode()) == mail_segments(PLAIN)
    assert mail_segments(PLAIN.replace("\n", "\r\n")) == mail_segments(PLAIN)


def test_lines_are_sentences_if_chosen():
    found = mail_segments(PLAIN, lines_are_sentences=True)
    assert found["Penult Sentence"] == "Was it good?"
    mail = "Subject: x\n\none\ntwo\nthree"
    assert mail_segments(mail)["First Sentence"] == "one two three"
    assert mail_segments(mail, lines_are_sentences=True)["First Sentence"] == "one"


@pytest.mark.parametrize(
    ("body", "sentences"),
    [
        ("", ("", "", "", "")),
        ("-- \n***", ("", "", "", "")),
        ("One.", ("One.", "", "", "")),
        ("One. Two.", ("One.", "", "", "Two.")),
        ("One. Two. Three.", ("One.", "", "", "Three.")),
        ("One. Two. Three. Four.", ("One.", "Two.", "Three.", "Four.")),
        ("One. Two. Three. Four. Five.", ("One.", "Two.", "Four.", "Five.")),
    ],
)
def test_no_sentence_of_a_short_mail_stands_twice(body, sentences):
    assert tuple(mail_segments(f"Subject: x\n\n{body}").values())[5:] == sentences


def test_sentences():
    assert sentences_of("Version 2.0 is out, e.g.  here. It works") == [
        "Version 2.0 is out, e.g. here.",
        "It works",
    ]
    assert sentences_of('He said "no." Then left') == ['He said "no."', "Then left"]
    assert sentences_of("J. Smith and Mr. Bo.\n\n\nbye") == ["J. Smith and Mr. Bo.", "bye"]


def test_the_plain_alternative_is_read_and_attachments_are_not():
    mail = EmailMessage()
    mail["From"] = "a@b.example"
    mail.set_content("Plain words.\n")
    mail.add_alternative("<p>Marked words.</p>", subtype="html")
    mail.add_attachment("Attached words.", filename="a.txt")
    mail.add_attachment(b"\x00\x01", maintype="image", subtype="png", filename="a.png")
    assert mail_segments(mail.as_bytes())["First Sentence"] == "Plain words."
    assert mail_segments(mail.as_bytes())["Last Sentence"] == ""


def test_all_parts_and_forwarded_mails_are_read_in_order():
    inner = EmailMessage()
    inner.set_content("Third.")
    mail = EmailMessage()
    mail.set_content("Zeroth. First.")
    mail.make_mixed()
    mail.add_attachment("Second.", disposition="inline")
    mail.add_attachment(inner, disposition="inline")
    found = mail_segments(mail.as_string())
    assert [found[s] for s in SEGMENTS[5:]] == ["Zeroth.", "First.", "Second.", "Third."]


HTML = """<html><head><title>T</title><style>p {color: red}</style></head><body>
<p>Dear <b>fr</b>iend,<br>You have&nbsp;won<!-- not -->!
<a href="http://win.example/a?b=1&amp;c=2">Click here.</a></p>
<script>alert("no")</script><img src='http://img.example/x.gif'>
<td>Bye.</td> <a href="mailto:out@win.example?subject=x">Leave</a></body></html>"""


@pytest.mark.parametrize("kind", ["text/html", "text/plain"])
def test_html_is_read_whatever_it_says_it_is(kind):
    found = mail_segments(f"Content-Type: {kind}\n\n{HTML}")
    assert [found[s] for s in SEGMENTS[3:]] == [
        "http://win.example/a?b=1&c=2 http://img.example/x.gif",
        "out@win.example",
        "Dear friend,",
        "You have won!",
        "Bye.",
        "Leave",
    ]


def test_html_that_the_parser_rejects_loses_its_tags_alone():
    found = mail_segments("Content-Type: text/html\n\n<p>Hello <![bad[ x ]]> <i>you</i>")
    assert "Hello" in found["First Sentence"]


def test_transfer_encodings_and_charsets():
    quoted = (
        "Content-Type: text/plain; charset=iso-8859-1\n"
        "Content-Transfer-Encoding: quoted-printable\n\nGr=FC=DFe aus=\n Wien"
    )
    assert mail_segments(quoted)["First Sentence"] == "Grüße aus Wien"
    encoded = base64.b64encode("Привет!".encode("koi8-r")).decode()
    mail = (
        "Content-Type: text/plain; charset=koi8-r\n"
        f"Content-Transfer-Encoding: base64\n\n{encoded}\n"
    )
    assert mail_segments(mail)["First Sentence"] == "Привет!"
    for charset in ("no-such-charset", "hex", "utf-16", '"a\0b"', "unicode_escape"):
        raw = b"Content-Type: text/plain; charset=" + charset.encode() + b"\n\nGr\xfc\xdfe\\x"
        assert mail_segments(raw)["First Sentence"].startswith("Gr")
    known = mail_segments("Content-Type: text/plain; charset=latin-1\n\nGrüße")
    assert known["First Sentence"] == "Grüße"


@pytest.mark.parametrize(
    ("header", "text"),
    [
        ("=?utf-8?B?R3LDvMOfZQ==?=", "Grüße"),
        ("=?iso-8859-1?q?Gr=FC=DFe_an?= alle", "Grüße an alle"),
        ("=?utf-8?q?one?=\n =?utf-8?q?_two?=", "one two"),
        ("=?utf-8?B?R3LDvMOfZQ?=", "Grüße"),
        ("=?utf-8?B?x?=", "=?utf-8?B?x?="),
        ("=?nonsense?q?caf=E9?=", "café"),
    ],
)
def test_encoded_words(header, text):
    assert mail_segments(f"Subject: {header}\n\nx")["Subject"] == text


def test_bytes_in_headers_are_read():
    assert mail_segments(b"Subject: Gr\xfc\xdfe\n\nx")["Subject"] == "Grüße"
    assert mail_segments("Subject: Grüße\n\nx".encode())["Subject"] == "Grüße"
    assert mail_segments("Subject: Grüße\n\nx")["Subject"] == "Grüße"


def test_a_multipart_without_a_boundary_is_text():
    raw = "Content-Type: multipart/mixed\n\nStill words."
    assert mail_segments(raw)["First Sentence"] == "Still words."


def test_parts_nested_without_end_do_no_harm():
    raw = "".join(
        f'Content-Type: multipart/mixed; boundary="b{i}"\n\n--b{i}\n' for i in range(1500)
    )
    assert set(mail_segments(raw + "\nend")) == set(SEGMENTS)


@pytest.mark.parametrize("unit", ["a.", "<", "<a ", '<a b="', "<!--", "<![", "&", ". ", "> ", "a@"])
@pytest.mark.parametrize("kind", ["html", "plain"])
def test_no_text_takes_for_ever(unit, kind):
    """It ends at all: the parser of HTML alone would take minutes for some of these."""
    found = mail_segments(f"Content-Type: text/{kind}\n\n" + unit * (100_000 // len(unit)))
    assert tuple(found) == SEGMENTS


def test_a_lone_bracket_is_text_and_a_comment_is_not():
    found = mail_segments("Content-Type: text/html\n\n<p>3 < 4 <!-- <b>not</b> -->and 5 <")
    assert found["First Sentence"] == "3 < 4 and 5 <"


@pytest.mark.parametrize("raw", [None, 7, ["From: x"], "", " \n", b""])
def test_what_is_no_mail_is_refused(raw):
    with pytest.raises(InputError, match=r"raw: got .*; allowed: a raw e-mail"):
        mail_segments(raw)


_HEADERS = [b"From: ", b"Content-Type: multipart/mixed; boundary=b\n\n--b\n", b"\n--b--", b"=?x?q?"]
_HEADERS += [b"Content-Type: text/html\n\n<p <![ &#x; <!", b"Content-Transfer-Encoding: base64\n"]
_HEADERS += [
    b"Content-Type: text/plain; charset*=utf-7''%00\n\n",
    b"Subject:",
    b"\n\n",
    b"\xff\xfe",
]


@given(st.lists(st.sampled_from(_HEADERS) | st.binary(max_size=30), max_size=12).map(b"".join))
@example(b"Content-Type: text/html\n\n<![x[")
@example(b"Content-Type: text/plain; charset=idna\n\n\xff.")
def test_no_bytes_raise(raw):
    if not raw.strip():
        return
    for mail in (raw, raw.decode("latin-1"), raw.decode("utf-8", "surrogateescape")):
        if mail.strip():
            found = mail_segments(mail)
            assert tuple(found) == SEGMENTS
            assert all(isinstance(text, str) and "\n" not in text for text in found.values())


def test_cleaning():
    stop = {"don", "t", "the", "you", "re"}
    assert clean("DON'T miss THE e-mail__2 -- you're #1!", stop) == "miss e-mail__2 1"
    assert clean("", stop) == ""
    with pytest.raises(InputError, match="text: got None"):
        clean(None, stop)
    with pytest.raises(InputError, match=r"stopwords: got .*a set of words"):
        clean("a", "the")


@given(st.text(), st.sets(st.sampled_from(["the", "a", "x", "i", "ß"])))
@example("İ ΑΣ -the- _a_", {"the", "a", "i"})
def test_cleaning_twice_is_cleaning_once(text, stop):
    once = clean(text, stop)
    assert clean(once, stop) == once
    assert not set(once.split()) & stop


VECTORS = {"free": [1.0, 0.0], "money": [0.0, 3.0]}


def test_means_are_over_the_words_that_are_known():
    mails = [{"Subject": "free money free x", "To": "y"}, {"Subject": "money", "To": "free"}]
    expected = [[2 / 3, 1, 0, 0], [0, 3, 1, 0]]
    wanted = ["Subject", "To"]
    for given_as in (mails, pd.DataFrame(mails), pl.DataFrame(mails), iter(mails)):
        assert mean_vectors(given_as, VECTORS, wanted) == pytest.approx(np.array(expected))
    assert mean_vectors(mails[0], VECTORS, ["To", "Subject"])[0] == pytest.approx([0, 0, 2 / 3, 1])
    assert mean_vectors([], VECTORS).shape == (0, 18)
    assert mean_vectors(mail_segments(PLAIN), VECTORS).shape == (1, 18)


def test_groups_name_the_columns_in_order():
    groups = vector_groups(100)
    assert tuple(groups) == SEGMENTS
    assert [c for columns in groups.values() for c in columns] == vector_columns(100)
    assert len(set(vector_columns(100))) == 900


@pytest.mark.parametrize(
    ("fields", "vectors", "message"),
    [
        (None, VECTORS, "fields: got None"),
        ("free", VECTORS, "fields: got free"),
        (["free"], VECTORS, r"documents as \{segment: text\}"),
        ({"Subjet": "free"}, VECTORS, r"no segment 'Subject'.*Did you mean 'Subjet'\?"),
        ({"Subject": None}, VECTORS, "None for 'Subject'"),
        ({"Subject": "a"}, {}, r"vectors: got \{\}"),
        ({"Subject": "a"}, {"a": []}, "vectors of no numbers"),
        ({"Subject": "a b"}, {"a": [1.0], "b": [1.0, 2.0]}, "vectors of several lengths"),
    ],
)
def test_what_cannot_become_vectors_is_refused(fields, vectors, message):
    with pytest.raises(InputError, match=message):
        mean_vectors(fields, vectors, ["Subject"])
    with pytest.raises(InputError, match="size: got 0"):
        vector_groups(0)


def test_a_frame_of_one_dtype_is_explained_as_one_of_several():
    """The first is handled as one array, the second column by column."""
    groups = vector_groups(4, ["a", "b", "c"])
    values = np.random.default_rng(0).normal(size=(60, 12))
    reals = pd.DataFrame(values, columns=vector_columns(4, ["a", "b", "c"]))

    def model(rows):
        assert list(rows.columns) == list(reals.columns)
        return (rows.iloc[:, :4].sum(axis=1) + rows.iloc[:, 4] > 0).to_numpy()

    def told(frame):
        e = Explainer(model, frame, groups=groups).explain(frame.iloc[[0]])
        assert Explanation.from_json(e.to_json()).flip.factors == e.flip.factors
        return [(f.features, f.sufficiency) for v in (e.keep, e.flip) for f in v.factors]

    for frame in (reals, reals.astype("float32"), reals.round().astype(int), reals > 0):
        # The model does not look at the last column, which here is of another dtype.
        assert told(frame) == told(frame.assign(**{"c 3": frame["c 3"].astype(str)}))


@pytest.mark.parametrize(
    ("load", "path", "source"),
    [
        (datasets.spam, "spam/spam_clean_str.csv", "limorigu/LENS"),
        (datasets.spam_raw, "spam/spamassassin_raw.jsonl.gz", "publiccorpus"),
        (datasets.glove, "glove/glove.6B.100d.subset.npz", "nlp.stanford.edu"),
        (datasets.stopwords, "stopwords/nltk_english.txt", "nltk.download"),
        (datasets.german_credit, "german/german_credit_data.csv", "Kaggle"),
    ],
)
def test_a_file_that_is_absent_or_another_is_reported(load, path, source, tmp_path):
    with pytest.raises(InputError, match=f"without .*{path}.*{source}.*SUFFICE_DATA"):
        load(tmp_path)
    (tmp_path / path).parent.mkdir()
    (tmp_path / path).write_text("x")
    seen = hashlib.sha256(b"x").hexdigest()[:12]
    with pytest.raises(InputError, match=rf"checksum {seen}….*another version.*{source}.*verify"):
        load(tmp_path)


def test_other_versions_of_the_files_can_be_had(tmp_path):
    for folder in ("spam", "glove", "stopwords"):
        (tmp_path / folder).mkdir()
    (tmp_path / "stopwords/nltk_english.txt").write_text("the\na\n")
    np.savez(tmp_path / "glove/glove.6B.100d.subset.npz", words=["a"], vectors=[[1.0, 2.0]])
    with gzip.open(tmp_path / "spam/spamassassin_raw.jsonl.gz", "wt") as out:
        out.write(json.dumps({"text": PLAIN, "label": 0}) + "\n")
    assert datasets.stopwords(tmp_path, verify=False) == {"the", "a"}
    assert datasets.glove(tmp_path, verify=False)["a"].tolist() == [1.0, 2.0]
    assert datasets.spam_raw(tmp_path, verify=False) == [(PLAIN, 0)]


@pytest.fixture(scope="module")
def real(data_home):
    X, y = datasets.spam(data_home)
    vectors = datasets.glove(data_home)
    every_fourth = slice(None, None, 4)
    X, y = X.iloc[every_fourth], y[every_fourth]
    table = pd.DataFrame(mean_vectors(X, vectors), columns=vector_columns(100))
    train, test, y_train, y_test = train_test_split(table, y, test_size=0.25, random_state=0)
    model = MLPClassifier(20, random_state=1, max_iter=300).fit(train, y_train)
    assert model.score(test, y_test) > 0.95
    return model, train, test, vectors


def test_prepared_mails(data_home):
    X, y = datasets.spam(data_home)
    assert X.shape == (4439, 9)
    assert tuple(X.columns) == SEGMENTS
    assert y.sum() == 1889
    assert X["First Sentence"].iloc[0] == "multi part message mime format"
    # A sentence that a short mail does not have: neither second nor last but one.
    assert ((X["Second Sentence"] == "") & (X["Penult Sentence"] == "")).sum() > 200


def test_a_spam_mail_is_explained_by_its_segments(real):
    model, train, test, _ = real
    is_spam = model.predict(test) == 1
    x = test[is_spam].iloc[0]
    explainer = Explainer(model, train, groups=vector_groups(100), n_references=30)
    e = explainer.explain(x, tau=0.9, search="exhaustive")
    assert e.complete
    assert e.provenance.hybrids == 512 * 30
    assert [p.name for p in e.keep.players] == list(SEGMENTS)
    assert e.keep.factors
    assert e.flip.factors
    # The counts against hybrids made by hand.
    references = explainer.decide(x).references.table.native
    for view, held_where in ((e.keep, True), (e.flip, False)):
        factor = view.factors[0]
        of_factor = np.repeat([s in factor.features for s in SEGMENTS], 100)
        values = np.where(of_factor == held_where, x, references)
        rows = pd.DataFrame(values, columns=references.columns)
        assert factor.sufficiency == np.mean(model.predict(rows) == (1 if held_where else 0))


def test_raw_mails_are_read_and_classified(real, data_home):
    model, _, _, vectors = real
    stop = datasets.stopwords(data_home)
    mails = datasets.spam_raw(data_home)
    assert len(mails) == 6046
    some = mails[::40]
    segments = [mail_segments(raw, lines_are_sentences=True) for raw, _ in some]
    assert sum(bool(s["From"] and s["Subject"] and s["First Sentence"]) for s in segments) > 140
    cleaned = [{name: clean(text, stop) for name, text in s.items()} for s in segments]
    table = pd.DataFrame(mean_vectors(cleaned, vectors), columns=vector_columns(100))
    labels = np.array([label for _, label in some])
    # Trained on the prepared fields, which differ: far better than chance is what to expect.
    assert (model.predict(table) == labels).mean() > 0.85
