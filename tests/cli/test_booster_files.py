"""Files that boosters write, explained by the command: the answers are Python's own."""

from __future__ import annotations

import re
import zipfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from sklearn.ensemble import RandomForestClassifier

from suffice import Explainer, Explanation, adapt, at_least, datasets
from suffice.cli import main
from suffice.cli.models import load_model
from suffice.errors import InputError
from tests.cli.command_call import open_files_at_once
from tests.effort import examples
from tests.models.loan_models import ROWS, THREE_CLASSES, TWO_CLASSES, X, Y, factors_and_necessity
from tests.soak.broken_files import mutate_models

LIBRARIES = ("xgboost", "lightgbm", "catboost")
pytestmark = pytest.mark.skipif(
    not all(map(find_spec, LIBRARIES)), reason=f"needs {', '.join(LIBRARIES)}"
)

NAMES = ["refused", "granted"]
"""In the order of TWO."""


def run(*arguments: Any, capsys: Any) -> tuple[int, str, str]:
    code = 0
    try:
        main([str(a) for a in arguments])
    except SystemExit as stop:
        code = int(stop.code or 0)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    open_files_at_once(monkeypatch)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "loans.csv"
    X.assign(decision=Y).to_csv(path, index=False)
    return path


def xgboost_wrapper(kind: str = "XGBClassifier", labels: Any = TWO_CLASSES, **more: Any) -> Any:
    return getattr(import_module("xgboost"), kind)(
        n_estimators=8, max_depth=3, n_jobs=1, **more
    ).fit(X, labels)


def lightgbm_wrapper(labels: Any = TWO_CLASSES) -> Any:
    made = import_module("lightgbm").LGBMClassifier(
        n_estimators=8, num_leaves=7, n_jobs=1, verbose=-1
    )
    return made.fit(X, labels)


def catboost_wrapper(kind: str = "CatBoostClassifier", labels: Any = Y, **more: Any) -> Any:
    quiet = {"verbose": 0, "allow_writing_files": False, "thread_count": 1, "random_seed": 0}
    return getattr(import_module("catboost"), kind)(iterations=8, depth=3, **quiet, **more).fit(
        X, labels
    )


def stopped_early() -> Any:
    """Its last rounds count for the booster alone, not for the wrapper."""
    model = import_module("xgboost").XGBClassifier(
        n_estimators=60, max_depth=3, n_jobs=1, learning_rate=0.5, early_stopping_rounds=4
    )
    model.fit(X[:90], TWO_CLASSES[:90], eval_set=[(X[90:], TWO_CLASSES[90:])], verbose=False)
    assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    return model


MADE = {
    "wrapper.json": lambda: (model := xgboost_wrapper(), model.save_model),
    "wrapper.ubj": lambda: (model := xgboost_wrapper(), model.save_model),
    "early.ubj": lambda: (model := stopped_early(), model.save_model),
    "booster.json": lambda: (model := xgboost_wrapper(), model.get_booster().save_model),
    "booster.ubj": lambda: (model := xgboost_wrapper(), model.get_booster().save_model),
    "forest.json": lambda: (model := xgboost_wrapper("XGBRFClassifier"), model.save_model),
    "lightgbm.txt": lambda: (model := lightgbm_wrapper(), model.booster_.save_model),
    "catboost.cbm": lambda: (model := catboost_wrapper(), model.save_model),
    "catboost.json": lambda: (
        model := catboost_wrapper(),
        lambda path: model.save_model(path, format="json"),
    ),
}


OPENED_IN_CHILD = "wrapper.ubj", "lightgbm.txt", "catboost.cbm"


@pytest.mark.parametrize("name", MADE)
def test_the_command_answers_as_python_does(
    name: str, table: Path, tmp_path: Path, capsys: Any, monkeypatch: Any
) -> None:
    if name not in OPENED_IN_CHILD:
        open_files_at_once(monkeypatch)
    model, save = MADE[name]()
    save(str(tmp_path / name))
    numbered = not name.startswith("catboost")
    ask = ["explain", "--data", table, "--target", "decision", "--model", tmp_path / name]
    ask += ["--tau", 0.7, "--json", tmp_path / "why.json", "--engine", "trees"]
    ask += ["--classes", "refused,granted"] if numbered else []
    python = Explainer(adapt(model, classes=NAMES) if numbered else model, X, engine="blackbox")
    for row in (3, 16):
        code, out, err = run(*ask, "--row", row, capsys=capsys)
        assert code == 0, err
        assert f"{name}, against" in out
        assert "--classes" not in err
        found = Explanation.from_json((tmp_path / "why.json").read_text())
        wanted = python.explain(X.iloc[row], tau=0.7)
        assert found.provenance.evaluator == "trees"
        assert found.prediction == wanted.prediction in NAMES
        assert factors_and_necessity(found) == factors_and_necessity(wanted)


@pytest.mark.usefixtures("at_once")
def test_numbered_classes_stay_numbers_until_they_are_named(
    table: Path, tmp_path: Path, capsys: Any
) -> None:
    path = tmp_path / "model.json"
    ask = ["explain", "--data", table, "--target", "decision", "--model", path, "--row", 3]
    # Which number means which label is the modeller's choice: no order of the labels tells it.
    for labels, told in ((TWO_CLASSES, "refused,granted"), (1 - TWO_CLASSES, "granted,refused")):
        xgboost_wrapper(labels=labels).save_model(path)
        code, out, err = run(*ask, capsys=capsys)
        assert code == 0
        assert out.startswith(("Why “0”?", "Why “1”?"))
        assert (
            f"model.json numbers its classes. By the table's labels, 0 mostly '{told[:7]}'" in err
        )
        assert f"--classes {told}?" in err
        code, out, err = run(*ask, "--classes", told, capsys=capsys)
        assert code == 0
        assert out.startswith("Why “refused”?")
        assert "numbers its classes" not in err
    assert run(*ask, "--outcome", 1, capsys=capsys)[0] == 0
    X.assign(decision=TWO_CLASSES).to_csv(table, index=False)
    xgboost_wrapper().save_model(path)
    assert "--classes" not in run(*ask, capsys=capsys)[2]


@pytest.mark.usefixtures("at_once")
def test_several_classes_and_numbers(table: Path, tmp_path: Path, capsys: Any) -> None:
    ask = ["explain", "--data", table, "--target", "decision", "--row", 3]
    three = tmp_path / "three.txt"
    lightgbm_wrapper(THREE_CLASSES).booster_.save_model(three)
    code, out, _ = run(*ask, "--model", three, "--classes", 'low,"mid, or so",high', capsys=capsys)
    assert code == 0
    assert "mid, or so" in out
    code, _, err = run(*ask, "--model", three, "--classes", "low,high", capsys=capsys)
    assert code == 2
    assert "--classes: got low, high; allowed: a name for each of 0, 1, 2." in err

    value = ROWS[:, 1]
    xgboost_wrapper("XGBRegressor", value).save_model(tmp_path / "value.ubj")
    catboost_wrapper("CatBoostRegressor", value).save_model(tmp_path / "value.cbm")
    for name in ("value.ubj", "value.cbm"):
        asked = [*ask, "--model", tmp_path / name]
        code, _, err = run(*asked, capsys=capsys)
        assert code == 2
        assert "--at-least, --at-most: got neither" in err
        code, _, err = run(*asked, "--classes", "low,high", capsys=capsys)
        assert code == 2
        assert f"--classes: got low, high for {name}, which gives numbers" in err
        why = tmp_path / "why.json"
        assert run(*asked, "--at-least", 50, "--json", why, capsys=capsys)[0] == 0
        model = load_model(tmp_path / name)
        wanted = Explainer(model, X, outcome=at_least(50.0), engine="blackbox").explain(X.iloc[3])
        assert factors_and_necessity(
            Explanation.from_json(why.read_text())
        ) == factors_and_necessity(wanted)


@pytest.mark.usefixtures("at_once")
def test_classes_that_a_file_names_itself(table: Path, tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "model.cbm"
    catboost_wrapper().save_model(path)
    ask = ["explain", "--data", table, "--target", "decision", "--row", 3]
    code, out, _ = run(*ask, "--model", path, "--classes", "refused,granted", capsys=capsys)
    assert code == 0
    assert out.startswith("Why “refused”?")
    code, _, err = run(*ask, "--model", path, "--classes", "no,yes", capsys=capsys)
    assert code == 2
    assert "--classes: got no, yes; allowed: the names in the file: granted, refused." in err
    code, _, err = run(*ask, "--train", "logistic", "--classes", "no,yes", capsys=capsys)
    assert code == 2
    assert "--classes: got class names with --train; allowed: class names with --model" in err
    code, _, err = run("explain", "--text", "a", "--classes", "no,yes", capsys=capsys)
    assert code == 2
    assert "--classes cannot be combined with --text" in err


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("m.json", X.to_json(), "which is not an xgboost or catboost model"),
        ("m.json", "[1, 2]", "A table is given by --data."),
        ("m.json", '{"learner"', "a readable model file"),
        ("m.json", '{"learner": {}}', "a readable model file"),
        ("m.json", '{"features_info": {}}', "a readable model file"),
        ("m.ubj", "nonsense", "a readable model file"),
        ("m.txt", "nonsense", "which is not a lightgbm model"),
        ("m.txt", "", "which is not a lightgbm model"),
        ("m.txt", "tree\nnonsense", "a readable model file"),
        ("m.cbm", "nonsense", "a readable model file"),
    ],
)
def test_damaged_and_other_files(
    name: str, content: str, message: str, table: Path, tmp_path: Path, capsys: Any
) -> None:
    (tmp_path / name).write_text(content)
    code, _, err = run(
        "explain", "--data", table, "--model", tmp_path / name, "--row", 0, capsys=capsys
    )
    assert code == 2
    assert err.startswith(f"Error: --model: got {name}")
    assert message in err
    assert "Stack trace" not in err


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_that_is_not_installed(
    library: str, table: Path, tmp_path: Path, capsys: Any, monkeypatch: Any
) -> None:
    name = {"xgboost": "m.ubj", "lightgbm": "m.txt", "catboost": "m.cbm"}[library]
    (tmp_path / name).write_text("tree")
    monkeypatch.setitem(__import__("sys").modules, library, None)
    code, _, err = run(
        "explain", "--data", table, "--model", tmp_path / name, "--row", 0, capsys=capsys
    )
    assert code == 1
    assert f"Opening this model file needs {library}. Install it with: pip install {library}" in err


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("library", LIBRARIES)
def test_categories(library: str, tmp_path: Path, capsys: Any) -> None:
    plain, _ = datasets.loans(150)
    texts = ["home", "job"]
    rows = plain if library == "catboost" else plain.astype(dict.fromkeys(texts, "category"))
    if library == "xgboost":
        path = tmp_path / "m.ubj"
        model = (
            import_module("xgboost")
            .XGBClassifier(n_estimators=8, n_jobs=1, enable_categorical=True)
            .fit(rows, TWO_CLASSES)
        )
        model.save_model(path)
    elif library == "lightgbm":
        path = tmp_path / "m.txt"
        model = import_module("lightgbm").LGBMClassifier(
            n_estimators=8, n_jobs=1, verbose=-1, cat_smooth=1
        )
        model.fit(rows, TWO_CLASSES).booster_.save_model(path)
    else:
        path = tmp_path / "m.cbm"
        quiet = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
        model = import_module("catboost").CatBoostClassifier(
            iterations=8, depth=3, cat_features=texts, **quiet
        )
        model.fit(rows, Y).save_model(path)
    plain.to_csv(tmp_path / "rows.csv", index=False)
    rows.to_parquet(tmp_path / "rows.parquet")
    why = tmp_path / "why.json"
    ask = ["explain", "--model", path, "--row", 3, "--json", why, "--data"]
    code, _, err = run(*ask, tmp_path / "rows.csv", capsys=capsys)
    if library != "catboost":
        assert code == 2
        assert f"--data: got column '{texts[0]}', which holds text" in err
        assert f"data.astype({{'{texts[0]}': 'category'}}).to_parquet" in err
        code, _, err = run(*ask, tmp_path / "rows.parquet", capsys=capsys)
    assert code == 0, err
    found = Explanation.from_json(why.read_text())
    assert factors_and_necessity(found) == factors_and_necessity(
        Explainer(model, rows, engine="blackbox").explain(rows.iloc[3])
    )


@pytest.mark.usefixtures("at_once")
def test_many_rows_of_a_booster(table: Path, tmp_path: Path, capsys: Any) -> None:
    from suffice import load

    model = lightgbm_wrapper()
    model.booster_.save_model(tmp_path / "m.txt")
    ask = ["batch", "--data", table, "--target", "decision", "--model", tmp_path / "m.txt"]
    ask += ["--rows", "0:6", "--out", tmp_path / "why"]
    named = ["--classes", "refused,granted"]
    code, _, err = run(*ask, *named, "--workers", 1, capsys=capsys)
    assert code == 0, err
    python = Explainer(adapt(model, classes=NAMES), X, n_references=100)
    for i, e in enumerate(load(tmp_path / "why")):
        assert factors_and_necessity(e) == factors_and_necessity(python.explain(X.iloc[i]))
    # With other names it is another run.
    code, _, err = run(*ask, "--classes", "no,yes", "--resume", capsys=capsys)
    assert code == 2
    assert "model" in err
    assert run(*ask, *named, "--resume", capsys=capsys)[0] == 0


@pytest.mark.usefixtures("at_once")
def test_an_audit_names_classes(table: Path, tmp_path: Path, capsys: Any) -> None:
    stopped_early().save_model(tmp_path / "m.ubj")
    lightgbm_wrapper().booster_.save_model(tmp_path / "before.txt")
    text = """
[model]
file = "m.ubj"
classes = ["refused", "granted"]
[data]
file = "loans.csv"
target = "decision"
decided = "refused"
sample = 6
[roles]
[compare]
with = "before.txt"
"""
    config = tmp_path / "audit.toml"
    config.write_text(text)
    out = tmp_path / "record"
    code, _, err = run("audit", "--config", config, "--out", out, capsys=capsys)
    assert code == 0, err
    assert "refused" in (out / "results" / "compare.json").read_text()
    code, _, err = run("audit", "verify", out, "--rows", 2, capsys=capsys)
    assert code == 0, err
    config.write_text(text.replace('["refused", "granted"]', '["a", "b", "c"]'))
    code, _, err = run("audit", "--config", config, "--out", tmp_path / "no", capsys=capsys)
    assert code == 2
    assert "[model] classes: got a, b, c; allowed: a name for each of 0, 1." in err


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("name", ["early.ubj", "lightgbm.txt", "catboost.json"])
def test_the_explorer_writes_code_that_opens_the_same_model(name: str, tmp_path: Path) -> None:
    from suffice.cli.models import model_code

    _, save = MADE[name]()
    path = tmp_path / name
    save(str(path))
    classes = None if name.startswith("catboost") else NAMES
    found: dict[str, Any] = {"suffice": __import__("suffice")}
    exec("\n".join(model_code(path, classes, [])), found)
    opened = adapt(found["model"])
    ours = load_model(path, classes=classes)
    assert np.array_equal(opened.predict(X), ours.predict(X))
    assert np.array_equal(opened.predict_proba(X), ours.predict_proba(X))


FITTED = {
    "xgboost": xgboost_wrapper,
    "xgboost three": lambda: xgboost_wrapper(labels=THREE_CLASSES),
    "booster": lambda: xgboost_wrapper().get_booster(),
    "lightgbm": lightgbm_wrapper,
    "lightgbm booster": lambda: lightgbm_wrapper(THREE_CLASSES).booster_,
    "catboost": catboost_wrapper,
    "forest": lambda: RandomForestClassifier(7, max_depth=4, random_state=0).fit(X, TWO_CLASSES),
}


@pytest.mark.parametrize("kind", FITTED)
@settings(max_examples=examples(8), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_trees_are_read_whatever_their_classes_are_called(kind: str, data: Any) -> None:
    """The tree engine's counts through an adapter that names classes are the black box's."""
    model = (
        _FITTED.setdefault(kind, None) or _FITTED.update({kind: FITTED[kind]()}) or _FITTED[kind]
    )
    count = len(adapt(model, batch_size=64).classes_)
    names = data.draw(st.permutations(["refused", "granted", 1, 0, "b"]))[:count]
    row = data.draw(st.integers(0, len(X) - 1))
    named = adapt(model, classes=names)
    found, wanted = (
        Explainer(named, X, engine=engine, n_references=40).explain(X.iloc[row], tau=0.7)
        for engine in ("trees", "blackbox")
    )
    assert found.provenance.evaluator == "trees"
    assert found.prediction == wanted.prediction == named.predict(X.iloc[[row]])[0]
    assert factors_and_necessity(found) == factors_and_necessity(wanted)
    for size in range(1, 16):
        held = [name for bit, name in enumerate(X.columns) if size >> bit & 1]
        assert found.keep.measures(held) == wanted.keep.measures(held)


_FITTED: dict[str, Any] = {}


def test_trees_are_not_read_through_a_threshold_or_rows_of_ones_own() -> None:
    model = lightgbm_wrapper()
    for told in (
        adapt(model, classes=NAMES, threshold=0.7),
        adapt(model, preprocess=lambda rows: rows),
    ):
        with pytest.raises(InputError, match="is given a threshold or rows of the user's"):
            Explainer(told, X, engine="trees").explain(X.iloc[3])
        assert Explainer(told, X).explain(X.iloc[3]).provenance.evaluator == "blackbox"


def lightgbm_file(folder: Path, old: str, new: str) -> Path:
    """Save a lightgbm model with a piece of its text replaced."""
    path = folder / "model.txt"
    text = lightgbm_wrapper().booster_.model_to_string()
    changed, found = re.subn(old, new, text, count=1)
    assert found
    path.write_text(changed)
    return path


def test_a_file_that_ends_its_reader_ends_in_a_sentence(tmp_path: Path) -> None:
    path = lightgbm_file(tmp_path, r"num_leaves=\d+", "num_leaves=2000000000")
    with pytest.raises(
        InputError, match=r"model\.txt could not be read: the reader ended by signal"
    ):
        load_model(path)


def test_a_file_that_takes_too_long_is_given_up(tmp_path: Path, monkeypatch: Any) -> None:
    path = lightgbm_file(tmp_path, "tree", "tree")
    monkeypatch.setattr("suffice.cli.models._CHILD_SECONDS", 1e-3)
    with pytest.raises(InputError, match="the reader did not end within"):
        load_model(path)


def test_a_file_that_unpacks_to_too_much_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "model.skops"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", bytes(250_000_000))
    assert path.stat().st_size < 1e6
    with pytest.raises(InputError, match=r"which unpacks from .* to 250,000,000 bytes"):
        load_model(path)


def test_mutated_files_are_opened_or_refused() -> None:
    """A slice of `make soak`, which tries each kind many times: a process takes a second each."""
    tally = mutate_models(2, seed=0)
    assert tally.tries == 2
    assert not tally.failures, tally.failures[0]
