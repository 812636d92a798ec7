"""The spam experiments on a small slice: what they say is checked against hybrids made by hand."""

import numpy as np
import pandas as pd
import pytest
from experiments.spam.adversarial import HARMLESS, SPAM, _find
from experiments.spam.claims import claims
from experiments.spam.mail_parser import mean_vectors
from experiments.spam.mails import fit, load
from experiments.spam.relabel import ANY, PAIRS, SURELY, Relabeller
from experiments.spam.tables import options_table, pasted_table, segments_table, smallest
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

from suffice import Explainer, datasets
from suffice.datasets import SEGMENTS


@pytest.fixture(scope="module")
def mails(data_home):
    return load(data_home)


@pytest.fixture(scope="module")
def work(mails):
    spam = [_find(mails, sender) for sender in SPAM]
    train = mails.split[0][~np.isin(mails.split[0], spam)][:600]
    return Relabeller(
        mails,
        MLPClassifier(20, random_state=1, max_iter=300).fit(mails.X.iloc[train], mails.y[train]),
    )


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SUFFICE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_the_papers_mails_are_found_in_the_data(mails):
    assert [mails.y[_find(mails, sender)] for sender in SPAM] == [1, 1, 1]
    subjects = [mails.texts.loc[_find(mails, sender), "Subject"] for sender in SPAM]
    assert subjects[0] == "adv put resume back work"
    assert subjects[2] == "adv harvest lots target email address quickly"
    assert [mails.y[_find(mails, *mail)] for mail in HARMLESS] == [0, 0]


def test_equals_across_the_split_are_left_out(mails):
    train, held_out = mails.split
    assert not set(train) & set(held_out)

    class Right:
        """Knows every mail but those that have an equal in training."""

        def predict(self, X):
            seen = {row.tobytes() for row in mails.X.iloc[train].to_numpy()}
            equal = np.array([row.tobytes() in seen for row in X.to_numpy()])
            return np.where(equal, 1 - mails.y[X.index], mails.y[X.index])

    scores = mails.scores(Right(), train)
    assert scores["accuracy without equals"] == 1
    assert 0 < scores["without equals"] < scores["held out"] == len(held_out)
    assert scores["accuracy"] == scores["without equals"] / scores["held out"]


def test_a_fit_is_kept_and_belongs_to_its_rows(mails, cache):
    rows = mails.split[0][:60]
    first = fit(LogisticRegression(), mails, rows)
    (file,) = cache.iterdir()
    file_was = file.stat().st_mtime_ns
    again = fit(LogisticRegression(), mails, rows)
    assert (again.coef_ == first.coef_).all()
    assert [f.stat().st_mtime_ns for f in cache.iterdir()] == [file_was]
    fit(LogisticRegression(C=2), mails, rows)
    fit(LogisticRegression(), mails, rows[1:])
    assert len(list(cache.iterdir())) == 3


def test_words_of_an_option_really_have_the_mail_let_through(work, mails, data_home):
    i = _find(mails, SPAM[2])
    assert work.model.predict(mails.X.iloc[[i]])[0] == 1
    found = work.from_spam(20, i)
    vectors = datasets.glove(data_home)
    rewritten, sure = [], {tuple(f["segments"]) for f in found[SURELY]}
    for f in found[SURELY] + found[ANY]:
        text = {name: work.text(i, name) for name in SEGMENTS}
        text |= {name: work.text(f["donor"], name) for name in f["segments"]}
        rewritten.append(text)
        assert mails.y[f["donor"]] == 0
        assert f["PS"] >= (0.9 if tuple(f["segments"]) in sure else 1 / 20)
    numbers = pd.DataFrame(mean_vectors(rewritten, vectors), columns=mails.X.columns)
    assert (work.model.predict(numbers) == 0).all()
    sets = [set(f["segments"]) for f in found[ANY]]
    assert not any(a < b for a in sets for b in sets)
    table = options_table(work, [i], [found])
    shown = sum(len(f["segments"]) for s in (SURELY, ANY) for f in smallest(found[s]))
    assert len(table) == shown
    assert len(segments_table([found])) == 2 * len(SEGMENTS)


def test_text_put_into_the_three_mails_by_hand(work, mails):
    spam = [_find(mails, sender) for sender in SPAM]
    harmless = [_find(mails, *mail) for mail in HARMLESS]
    answers = [work.from_harmless(spam, None, i) for i in harmless]
    for i, answer in zip(harmless, answers, strict=True):
        assert [tuple(f["segments"]) for f in answer["pairs"]] == list(PAIRS)
        for f in answer["pairs"] + answer["minimal"]:
            columns = [c for segment in f["segments"] for c in mails.groups[segment]]
            rows = mails.X.iloc[spam].copy()
            rows[columns] = mails.X.loc[i, columns].to_numpy()
            assert f["PS"] == np.mean(work.model.predict(rows) == 0)
            assert f["references"] == 3
    with pytest.raises(ValueError, match="is predicted 1: asked about as 0"):
        work.from_harmless(None, 5, spam[0])
    table = pasted_table(work, harmless, answers, answers)
    assert set(table["put into"]) == {"the three mails", "all spam"}


def test_a_claim_that_fails_says_so():
    scores = dict.fromkeys(("accuracy", "accuracy without equals"), 0.97)
    scores |= {"held out": 100, "without equals": 90}
    large = [{"segments": ["To", "Urls", "Emails"], "PS": 0.95, "references": 20}]
    found = [{SURELY: large, ANY: [{"segments": ["To"], "PS": 0.1, "references": 20}]}]
    pairs = [{"segments": list(p), "PS": 0.5, "references": 20} for p in PAIRS]
    answer = {"minimal": [], "pairs": pairs}
    told = claims(scores, np.array([1]), ["a"], found, found, [answer] * 2, [answer] * 2)
    assert [c.holds for c in told] == [
        False, False, True, False, False, True, False, True, False, False, False,
    ]  # fmt: skip
    assert told[0].ours == "97.0% of 100 held-out mails"
    assert told[3].ours.startswith("From, To: 10 of 20; ")


def test_trees_serve_for_segments(mails):
    train = mails.split[0][:400]
    model = ExtraTreesClassifier(10, random_state=0).fit(mails.X.iloc[train], mails.y[train])
    explainer = Explainer(model, mails.X, groups=mails.groups, n_references=20, engine="trees")
    e = explainer.explain(mails.row(0), progress=False)
    assert e.provenance.evaluator == "trees"
    assert e.complete
