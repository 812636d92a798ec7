"""Audit records: the same audit gives the same seal, and no byte can be changed unnoticed."""

import inspect
import io
import json
import shutil
import subprocess
from importlib import import_module

import msgspec
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from tqdm import tqdm

import suffice
from suffice import CausalContext, CausalModel, Explainer, InputError, audit, datasets
from suffice.audit.record_analyses import ANALYSES as ANALYSES_OF_RECORDS
from suffice.audit.record_result import Record, record_files
from suffice.audit.record_seal import (
    RECORD_MANIFEST,
    SUMS_FILE,
    RecordManifest,
    list_files,
    seal_file,
    seal_manifest,
)
from suffice.context.causal import noisy
from suffice.formatting import escape_markdown
from suffice.recourse import solver
from suffice.report.render_result import _figure_uri, _figures
from suffice.search import plan
from tests.audit.mixed_table import mixed_table, rule
from tests.fakes import fake_time

TABLE = mixed_table(120).drop(columns="screened")
DETAINED = TABLE[rule(TABLE) == "detained"].iloc[:12]
CATALOGUE = {name: {"any": (name[:2].upper(), f"Because of {name}")} for name in TABLE.columns}
ANALYSES = {
    "reliance": {"protected": {"sex": ["sex"], "origin": "origin"}, "by": "sex"},
    "reasons": {"catalogue": CATALOGUE, "k": 3, "problems": "hold", "protected": ["sex", "origin"]},
    "roles": {},
    "global_factors": {"cover": 0.5},
    "cohort": {"by": "region"},
    "global_recourse": {
        "cover": 0.5,
        "immutable": ["sex", "age"],
        "max_size": 2,
        "max_searched": 4,
        "by": "region",
    },
}


@pytest.fixture(scope="module", autouse=True)
def without_figures():
    """Write pages as they are without matplotlib: drawing takes four fifths of a record's time."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            import_module("suffice.report.render_result"), "_figures", lambda result: []
        )
        yield


REFUSING = {"problems": "raise"}


def explainer(**more):
    return Explainer(rule, TABLE, n_references=12, **more)


def decisions():
    """With a column that the rule does not see, and names."""
    regions = ["north", "south", None] * 4
    return DETAINED.assign(region=regions, case=[f"case {i}" for i in range(12)])


def make(out, **more):
    asked = {"analyses": ANALYSES, "id": "case", "title": "Detentions", "tau": 0.8} | more
    return audit.record(explainer(), decisions(), out, **asked)


@pytest.fixture(scope="module")
def made(tmp_path_factory, without_figures):
    """A record and its folder, for tests that leave both as they are."""
    folder = tmp_path_factory.mktemp("made") / "record"
    return make(folder), folder


@pytest.fixture
def copied(tmp_path, made):
    record, folder = made
    shutil.copytree(folder, tmp_path / "copy")
    return record, tmp_path / "copy"


def check(folder, **more):
    return audit.verify(folder, explainer(), decisions(), rows=4, **more)


def test_what_is_recorded_is_what_the_analyses_say(made):
    record, folder = made
    stored = suffice.load(folder / "explanations")
    ids = [f"case {i}" for i in range(12)]
    assert [e.tau for e in stored] == [0.8] * 12
    alone = explainer().explain(DETAINED.iloc[[3]], tau=0.8)
    assert stored[3].keep.factors == alone.keep.factors
    assert stored[3].flip.factors == alone.flip.factors
    asked = ANALYSES["reliance"]
    assert record["reliance"] == audit.reliance(stored, asked["protected"], by="sex", ids=ids)
    assert record["roles"] == audit.roles(stored)
    assert record["global_factors"] == audit.global_factors(stored, cover=0.5, ids=ids)
    regions = ["north", "south", None] * 4
    assert record["cohort"] == audit.cohort(stored, regions, ids=ids)
    asked = ANALYSES["global_recourse"] | {"by": regions, "ids": ids}
    assert record["global_recourse"] == audit.global_recourse(explainer(), DETAINED, **asked)
    more = {k: v for k, v in ANALYSES["reasons"].items() if k != "catalogue"}
    assert record["reasons"] == audit.reasons(stored, CATALOGUE, ids=ids, **more)
    with pytest.raises(InputError, match=r"name: got 'role'; allowed: .*Did you mean 'roles'"):
        record["role"]


def test_every_file_says_the_same(made):
    record, folder = made
    for name in ANALYSES:
        text = (folder / "results" / f"{name}.json").read_bytes()
        assert type(record[name]).from_json(text) == record[name]
        table = pd.read_csv(folder / "tables" / f"{name}.csv")
        assert len(table) == len(record[name].to_frame())
    assert suffice.load(folder / "explanations").ids == [f"case {i}" for i in range(12)]
    letters = pd.read_csv(folder / "tables" / "letters.csv", keep_default_na=False)
    for decision, row in zip(record["reasons"], letters.to_dict("records"), strict=True):
        assert (row["letter"] == "") == decision.hold
        assert all(r.text in row["letter"] for r in decision.reasons if not decision.hold)
    page = (folder / "index.html").read_text(encoding="utf-8")
    card = (folder / "model-card.md").read_text(encoding="utf-8")
    assert card == record.model_card
    assert "Made with `suffice.audit` from counts" in card  # this record was made in Python
    for name in ANALYSES:
        assert f'href="tables/{name}.csv"' in page
        assert record[name].sheet.lead[0][:30].replace("“", "") in page.replace("“", "")
        assert escape_markdown(record[name].sheet.title) in card
    assert 'href="' not in record.to_html()


def test_the_same_audit_gives_the_same_seal(made, tmp_path):
    record, folder = made
    again = make(tmp_path / "elsewhere" / "record")
    assert again.seal == record.seal
    assert again == record
    for name, path in list_files(folder):
        assert (tmp_path / "elsewhere" / "record" / name).read_bytes() == path.read_bytes(), name
    assert make(tmp_path / "workers", workers=2).seal == record.seal
    assert make(tmp_path / "other", title="Another").seal != record.seal
    everything = b"".join(path.read_bytes() for _, path in list_files(folder))
    assert str(tmp_path).encode() not in everything
    assert str(folder).encode() not in everything


def test_a_record_of_searches_that_ended_with_their_work_has_one_seal_and_is_verified(
    tmp_path, monkeypatch
):
    """With many features no search is complete, and its work is counted, not timed."""
    monkeypatch.setattr(plan, "DEFAULT_WORK", 5e7)
    monkeypatch.setattr(solver, "DEFAULT_WORK", 5e7)
    values = np.random.default_rng(0).normal(size=(60, 26))
    table = pd.DataFrame(values, columns=[f"x{i}" for i in range(26)])

    def grown(rows):
        return (rows["x0"] + rows["x1"] * rows["x2"] > 0).to_numpy().astype(int)

    def asked(step):
        fake_time(monkeypatch, step=step)
        return Explainer(grown, table, n_references=20)

    analyses = {"reliance": {"protected": ["x3"]}, "roles": {}}
    rows = table[grown(table) == 0].iloc[:2]
    seals = set()
    for step in (1e-4, 0.3):
        folder = tmp_path / f"{step}"
        seals.add(
            audit.record(asked(step), rows, folder, analyses=analyses, date="2026-10-01").seal
        )
    (seal,) = seals
    stored = suffice.load(folder / "explanations")
    assert all(e.stopped is not None and e.stopped.kind == "work" for e in stored)
    found = audit.verify(folder, asked(20.0), rows, rows=2, seal=seal)
    assert found.ok and all(c.verdict == "agrees" for c in found.checks)


def test_a_record_that_is_true_is_verified(made):
    record, folder = made
    found = check(folder, seal=record.seal)
    assert found.ok and found.whole
    assert {c.what for c in found.checks} == {
        "model, data and question",
        "4 explanations",
        *ANALYSES,
        "tables and page",
    }
    assert all(c.verdict == "agrees" for c in found.checks)
    assert found.versions == ()
    assert found.sheet.lead[1:] == (
        "The record agrees with a recomputation of 4 of 12 explanations, 6 findings and all its "
        "files.",
    )
    assert "No seal was given" in str(check(folder))
    assert found.files == sum(1 for _ in list_files(folder))
    bare = audit.verify(folder)
    assert bare.ok
    skipped = {c.what: c.why for c in bare.checks if c.verdict == "not checked"}
    assert skipped == dict.fromkeys(["explanations", "global_recourse"], "no model was given")
    assert bare.sheet.lead[1:] == (
        "The record agrees with a recomputation of 5 findings and all its files.",
        "Whether its explanations are the model's was not checked.",
        "Not checked: global_recourse.",
    )
    none = audit.verify(folder, explainer(), decisions(), rows=0)
    skipped = {c.what: c.why for c in none.checks if c.verdict == "not checked"}
    assert none.ok and skipped == {"explanations": "rows = 0"}
    assert none.sheet.lead[2] == "Whether its explanations are the model's was not checked."


@pytest.mark.parametrize("rows", [0, 4])
def test_a_table_that_lacks_rows_of_the_record_is_said(made, rows):
    _, folder = made
    found = audit.verify(folder, explainer(), decisions().iloc[:5], rows=rows)
    assert not found.ok
    assert {c.what: c.why for c in found.checks if c.what in ("X", "global_recourse")} == {
        "X": "5 rows, and 12 were recorded",
        "global_recourse": "X lacks rows that were recorded",
    }
    assert "differs from a recomputation: " in found.sheet.lead[1] and "X" in found.sheet.lead[1]
    assert found.sheet.lead[2] == "Could not be recomputed: global_recourse."


@given(st.data())
def test_no_byte_can_be_changed(made, data):
    _, folder = made
    names = [RECORD_MANIFEST, SUMS_FILE, *(name for name, _ in list_files(folder))]
    path = folder / data.draw(st.sampled_from(names))
    content = path.read_bytes()
    at = data.draw(st.integers(0, len(content) - 1))
    other = data.draw(st.integers(0, 255).filter(lambda byte: byte != content[at]))
    try:
        path.write_bytes(content[:at] + bytes([other]) + content[at + 1 :])
        found = audit.verify(folder)
    finally:
        path.write_bytes(content)
    assert not found.ok and not found.whole
    assert [fault.name for fault in found.faults] == [path.relative_to(folder).as_posix()]
    assert found.checks == ()
    assert "Refused" in str(found)


@given(st.data())
def test_no_byte_of_the_manifest_can_be_changed_added_or_left_out(made, data):
    _, folder = made
    path = folder / RECORD_MANIFEST
    content = path.read_bytes()
    at = data.draw(st.integers(0, len(content) - 1))
    kind = data.draw(st.sampled_from(["left out", "added", "cut"]))
    try:
        if kind == "left out":
            path.write_bytes(content[:at] + content[at + 1 :])
        elif kind == "added":
            more = data.draw(st.binary(min_size=1, max_size=3))
            path.write_bytes(content[:at] + more + content[at:])
        else:
            path.write_bytes(content[:at])
        found = audit.verify(folder)
    finally:
        path.write_bytes(content)
    assert [fault.name for fault in found.faults] == [RECORD_MANIFEST]


def test_no_file_can_be_added_removed_renamed_or_linked(copied):
    _, folder = copied
    page = folder / "index.html"
    (folder / "tables" / "more.csv").write_text("a,b\n")
    found = audit.verify(folder)
    assert [(f.name, f.kind) for f in found.faults] == [("tables/more.csv", "extra")]
    assert "does not belong to the record" in str(found.faults[0])
    (folder / "tables" / "more.csv").unlink()
    page.rename(folder / "page.html")
    kinds = {f.name: f.kind for f in audit.verify(folder).faults}
    assert kinds == {"index.html": "missing", "page.html": "extra"}
    page.symlink_to(folder / "page.html")
    assert {f.name: f.kind for f in audit.verify(folder).faults}["index.html"] == "changed"
    page.unlink()
    (folder / "page.html").rename(page)
    assert audit.verify(folder).ok
    (folder / "empty").mkdir()  # git and zip do not keep empty folders: they say nothing
    assert audit.verify(folder).ok


def rewritten(folder, change):
    """Change a folder as someone does who can write to it and knows how it is sealed."""
    change(folder)
    old = msgspec.json.decode((folder / RECORD_MANIFEST).read_bytes(), type=RecordManifest)
    files = [seal_file(name, path) for name, path in list_files(folder)]
    manifest = seal_manifest(old.facts, files, old.previous)
    (folder / RECORD_MANIFEST).write_bytes(manifest.encode())
    (folder / SUMS_FILE).write_bytes(manifest.sums())


def nicer_reliance(folder):
    path = folder / "tables" / "reliance.csv"
    path.write_text(path.read_text().replace("True", "False"))


def test_a_record_that_was_rewritten_as_a_whole_is_found_by_the_seal_kept_elsewhere(copied):
    record, folder = copied
    rewritten(folder, nicer_reliance)
    found = check(folder, seal=record.seal)
    assert not found.ok and found.faults == () and found.checks == ()
    assert "its seal is not the one you kept" in str(found)


def test_a_lie_in_a_rewritten_record_is_found_by_working_it_out_again(copied):
    _, folder = copied
    rewritten(folder, nicer_reliance)
    found = check(folder)
    assert found.whole and not found.ok
    assert [(c.what, c.why) for c in found.differs] == [("tables and page", "tables/reliance.csv")]
    assert "The record differs from a recomputation: tables and page." in str(found)


def test_a_result_that_does_not_follow_from_the_explanations_is_found(copied):
    _, folder = copied

    def lie(folder):
        path = folder / "results" / "global_factors.json"
        told = json.loads(path.read_text())
        told["content"]["covered"] -= 1
        path.write_bytes(msgspec.json.encode(told) + b"\n")

    rewritten(folder, lie)
    assert "global_factors" in [c.what for c in check(folder).differs]


def test_sha256sum_reads_the_sums(copied):
    _, folder = copied
    call = ["sha256sum", "--check", "--strict", "--quiet", SUMS_FILE]
    assert subprocess.run(call, cwd=folder, capture_output=True).returncode == 0
    listed = {line.split("  ")[1] for line in (folder / SUMS_FILE).read_text().splitlines()}
    assert listed == {RECORD_MANIFEST, *(name for name, _ in list_files(folder))}
    nicer_reliance(folder)
    assert subprocess.run(call, cwd=folder, capture_output=True).returncode == 1


def test_explanations_that_were_taken_out_are_found(copied, tmp_path):
    _, folder = copied
    few = tmp_path / "few"
    audit.record(explainer(), decisions().iloc[:3], few, analyses={"roles": {}}, id="case", tau=0.8)

    def take_out(folder):
        shutil.rmtree(folder / "explanations")
        shutil.copytree(few / "explanations", folder / "explanations")

    rewritten(folder, take_out)
    alone = audit.verify(folder)
    assert alone.whole and not alone.ok
    assert {"reliance", "tables and page"} <= {c.what for c in alone.differs}
    assert "asked.json" in next(c.why for c in alone.differs if c.about == "files")
    why = {c.what: c.why for c in check(folder).differs}
    assert why["X"] == "12 rows, and 3 were recorded"


@pytest.mark.parametrize(
    "name",
    [
        "tables/letters.csv",
        "explanations/notes.txt",
        "explanations/more/part-0.parquet",
        "audit.d/audit.toml",
        "before/a.txt",
    ],
)
def test_a_file_that_no_analysis_makes_is_found(tmp_path, name):
    made = make(tmp_path / "r", analyses={"roles": {}})

    def invent(folder):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("decision,letter\n")

    if name.startswith("before"):
        with pytest.raises(InputError, match="folder: got"):
            rewritten(tmp_path / "r", invent)
            check(tmp_path / "r")
        return
    rewritten(tmp_path / "r", invent)
    found = check(tmp_path / "r")
    assert found.seal != made.seal
    assert [(c.what, c.why) for c in found.differs] == [("tables and page", name)]


def test_a_record_has_one_declaration(copied):
    _, folder = copied

    def declare_twice(folder):
        for name in ("audit.toml", "audit.yaml"):
            (folder / name).write_text("[audit]")

    rewritten(folder, declare_twice)
    assert [c.why for c in audit.verify(folder).differs] == ["audit.toml, audit.yaml"]


def test_hashes_of_another_model_are_found(copied):
    _, folder = copied
    path = folder / RECORD_MANIFEST
    old = msgspec.json.decode(path.read_bytes(), type=RecordManifest)
    facts = [
        msgspec.structs.replace(f, value="0" * 64) if f.kind == "model" else f for f in old.facts
    ]
    other = seal_manifest(facts, old.files, old.previous)
    path.write_bytes(other.encode())
    (folder / SUMS_FILE).write_bytes(other.sums())
    found = audit.verify(folder)
    assert found.whole and not found.ok
    assert RECORD_MANIFEST in found.differs[0].why


def test_an_analysis_that_fails_now_could_not_be_recomputed(made, monkeypatch):
    def fails(*_, **__):
        raise InputError("X", "rows that cannot be read", "others")

    monkeypatch.setattr(import_module("suffice.audit.record_analyses"), "cohort", fails)
    found = audit.verify(made[1])
    assert found.whole and found.differs == () and not found.ok
    (failed,) = found.having("could not be recomputed")
    assert failed.what == "cohort" and "rows that cannot be read" in failed.why
    assert "Could not be recomputed: cohort." in found.sheet.lead
    assert "agrees with a recomputation" not in str(found)


def test_analyses_have_the_defaults_of_their_functions():
    for name, analysis in ANALYSES_OF_RECORDS.items():
        usual = inspect.signature(getattr(audit, name)).parameters
        own = analysis.parameters
        for parameter in own.keys() & usual.keys() - {"rows"}:
            default = usual[parameter].default
            if name in ("grade", "stability") and parameter in ("tau", "random_state"):
                assert own[parameter].default is None  # that of the record
            else:
                assert own[parameter].default == default, (name, parameter)
        left = usual.keys() - own.keys() - set(analysis.unrecorded)
        assert left <= {
            *("explanations", "explainer", "X", "x", "a", "b", "ids", "progress", "time_limit"),
            *("model", "outcome", "references", "n_references", "groups", "context"),
            *(("recourse", "desired") if name == "compare" else ()),
        }, name


def test_another_model_or_other_data_are_found(made):
    _, folder = made

    def milder(rows):
        return np.where(rows["priors"] >= 7, "detained", rule(rows))

    other = audit.verify(folder, Explainer(milder, TABLE, n_references=12), decisions(), rows=1)
    changed = {c.what: c.why for c in other.differs}
    assert "the model changed" in changed["model, data and question"]
    fewer = Explainer(rule, TABLE.iloc[:100], n_references=12)
    changed = {c.what: c.why for c in audit.verify(folder, fewer, decisions(), rows=1).differs}
    assert "the data changed" in changed["model, data and question"]
    rows = decisions().assign(age=lambda f: f["age"] + 1)
    changed = {c.what: c.why for c in audit.verify(folder, explainer(), rows, rows=2).differs}
    assert "the input changed" in changed["model, data and question"]
    assert "2 explanations" in changed
    seeded = audit.verify(folder, explainer(random_state=1), decisions(), rows=1)
    assert any("random_state: 0 → 1" in c.why for c in seeded.differs)


def test_other_versions_are_reported_and_are_no_failure(made, monkeypatch):
    module = import_module("suffice.audit.verify")
    now = module.current_versions()
    monkeypatch.setattr(module, "current_versions", lambda: now | {"numpy": "99.0"})
    found = audit.verify(made[1])
    assert found.ok
    assert found.versions[0].startswith("numpy ") and found.versions[0].endswith("→ 99.0")
    assert "Library versions that changed: numpy" in str(found)


def test_records_of_successive_dates_hold_the_seal_of_the_one_before(tmp_path, copied):
    first, folder = copied
    asked = {"analyses": {"roles": {}}, "date": "2026-04-01"}
    second = make(tmp_path / "second", previous=folder, **asked)
    assert first.manifest.previous is None
    assert second.manifest.previous == first.seal
    assert first.seal in (tmp_path / "second" / "index.html").read_text()
    assert check(tmp_path / "second", seal=second.seal).ok
    (folder / "index.html").write_text("another")
    with pytest.raises(InputError, match=r"previous: got .*index.html was changed"):
        make(tmp_path / "third", previous=folder)
    with pytest.raises(InputError, match=r"previous: got .*which has no manifest.json"):
        make(tmp_path / "third", previous=tmp_path)


def one_that_fails(place):
    """Decisions of which one cannot be explained, and an explainer that cannot."""

    def fails(rows):
        if (rows["age"] == 99).any():
            raise ValueError("too old")
        return rule(rows)

    rows = decisions().assign(age=lambda f: np.where(f.index == f.index[place], 99, f["age"]))
    return Explainer(fails, TABLE, n_references=12), rows


def test_rows_that_cannot_be_explained_are_counted_and_verified(tmp_path):
    with_it, rows = one_that_fails(5)
    record = audit.record(with_it, rows, tmp_path / "r", analyses=ANALYSES, id="case")
    assert ("Not explained", "1 row, each with its reason in the record") in record.about
    assert record["reliance"].groups[0].decisions == 11
    assert len(record.labels["region"]) == 11
    assert audit.verify(tmp_path / "r", with_it, rows, rows=12).ok
    assert not audit.verify(tmp_path / "r", explainer(), rows, rows=12).ok


def test_an_interrupted_run_continues(made, tmp_path, monkeypatch):
    module = import_module("suffice.audit.record_writer")

    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(module, "describe_audit", stop)
        patched.setattr(module, "_dry_run", lambda *_: None)
        with pytest.raises(KeyboardInterrupt):
            make(tmp_path / "r")
    with pytest.raises(InputError, match=r"folder: got .*no manifest.json.*resume=True"):
        check(tmp_path / "r")
    with pytest.raises(InputError, match=r"out: got .*where a record was begun.*resume=True"):
        make(tmp_path / "r")
    assert make(tmp_path / "r", resume=True).seal == made[0].seal
    with pytest.raises(InputError, match=r"out: got .*where a record is already.*never written"):
        make(tmp_path / "r", resume=True)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"analyses": {}}, "analyses: got none; allowed: at least one of reliance, reasons"),
        ({"analyses": "roles"}, "analyses: got 'roles'; allowed: {name: arguments}"),
        ({"analyses": {"rolls": {}}}, "analyses: got 'rolls'; .* Did you mean 'roles'"),
        ({"analyses": {"roles": 3}}, "roles: got 3; allowed: its arguments by name"),
        ({"analyses": {"roles": {"taus": 1}}}, "roles: got 'taus'; allowed: tau. Did you mean"),
        ({"analyses": {"reliance": {}}}, "reliance: got no protected; allowed: protected"),
        ({"analyses": {"reliance": {"protected": "sexe"}}}, "reliance: protected: got 'sexe'.*sex"),
        (
            {"analyses": {"cohort": {"by": "regon"}}},
            "cohort: by: got 'regon'.*Did you mean 'region'",
        ),
        (
            {"analyses": {"cohort": {"by": ["a", "b", "c"]}}},
            "cohort: by: got 3 labels; allowed: a column, or a label for each of the 12 rows of X",
        ),
        ({"analyses": {"cohort": {"by": len}}}, "cohort: by: got .*cannot be functions"),
        ({"analyses": {"roles": {"tau": 7}}}, "roles: tau: got 7"),
        ({"analyses": {"reasons": REFUSING | {"catalogue": {"sex": ("S", "")}}}}, "without text"),
        ({"analyses": {"reasons": REFUSING | {"catalogue": {"sex": ("S", "s")}}}}, "has no entry"),
        (
            {"analyses": {"reasons": ANALYSES["reasons"] | {"template": "$nonsense"}}},
            "template: got 'nonsense'",
        ),
        ({"tau": 0}, "tau: got 0"),
        ({"time_limit": 3}, "time_limit: got 3; allowed: None in a record. .* bound it by budget"),
        (
            {"analyses": {"global_recourse": {"time_limit": 3}}},
            "global_recourse: time_limit: got 3; allowed: None in a record",
        ),
        ({"title": 3}, "title: got 3"),
        ({"date": 3}, "date: got 3; allowed: None, a text or a date"),
        ({"config": "/no/such/file.toml"}, "config: got .*No such file"),
        ({"id": "cases"}, "id: got .*cases"),
        ({"resume": "yes"}, "resume: got 'yes'"),
        ({"workers": 0}, "workers: got 0"),
    ],
)
def test_mistakes_are_reported_before_anything_long(tmp_path, asked, message, monkeypatch):
    with pytest.raises(InputError, match=message):
        make(tmp_path / "r", **asked)
    left = [path for path in (tmp_path / "r").rglob("*") if path.is_file()]
    assert left == [] and not (tmp_path / "r" / RECORD_MANIFEST).exists()


@pytest.mark.slow
def test_every_figure_is_drawn_for_light_and_dark_and_the_same_every_time(tmp_path, monkeypatch):
    """The dry run draws none; `verify` compares the page with one that it makes itself."""
    calls = []

    def counted(result, kind, paper):
        calls.append((kind, paper))
        return _figure_uri(result, kind, paper)

    report = import_module("suffice.report.render_result")
    monkeypatch.setattr(report, "_figures", _figures)
    monkeypatch.setattr(report, "_figure_uri", counted)
    record = make(tmp_path / "r")
    kinds = [f.result.plots[0] for f in record.findings]
    papers = list(dict.fromkeys(paper for _, paper in calls))
    assert len(papers) == 2
    assert calls == [(kind, paper) for kind in kinds for paper in papers]
    page = (tmp_path / "r" / "index.html").read_text(encoding="utf-8")
    assert page.count('<img src="data:image/svg+xml;base64,') == len(kinds)
    assert page.count('srcset="data:image/svg+xml;base64,') == len(kinds)
    assert audit.verify(tmp_path / "r", seal=record.seal).ok
    assert len(calls) == 4 * len(kinds)


def test_the_page_is_tried_before_anything_long(tmp_path, monkeypatch):
    def broken(record, **options):
        raise InputError("page", "a picture that cannot be drawn", "another")

    monkeypatch.setattr(import_module("suffice.report.render_result"), "record_page", broken)
    with pytest.raises(InputError, match="page: got a picture"):
        make(tmp_path / "r", analyses={"roles": {}})
    assert not list((tmp_path / "r").iterdir())


def test_decisions_with_several_outcomes_say_which_is_adverse(tmp_path):
    some = pd.concat([TABLE[rule(TABLE) != "detained"].iloc[:5], DETAINED.iloc[:2]])
    asked = {"catalogue": CATALOGUE, "problems": "hold"}
    with pytest.raises(InputError, match=r"reasons: adverse: got None, .*adverse='detained'"):
        audit.record(explainer(), some, tmp_path / "a", analyses={"reasons": asked})
    assert not list((tmp_path / "a").iterdir())
    asked["adverse"] = "detained"
    found = audit.record(explainer(), some, tmp_path / "b", analyses={"reasons": asked})
    assert [d.name for d in found["reasons"]] == ["5", "6"] and found["reasons"].others == 5
    assert len(pd.read_csv(tmp_path / "b" / "tables" / "letters.csv")) == 2
    assert audit.verify(tmp_path / "b", explainer(), some, rows=4).ok


def test_an_entry_without_text_is_held(tmp_path):
    said = {
        name: {"any": (code, "")}
        for name, ((code, _),) in ((name, tuple(of.values())) for name, of in CATALOGUE.items())
    }
    asked = {"reasons": {"catalogue": said, "problems": "hold"}}
    found = make(tmp_path / "r", analyses=asked)["reasons"]
    assert len(found.held) == len(found) == 12


def test_groups_may_be_a_label_for_each_row(tmp_path):
    """Also where a row cannot be explained: its label is left out with it."""
    with_it, rows = one_that_fails(1)
    regions = ["north", "south", "west", "north"] * 3
    asked = {"reliance": {"protected": "sex"}, "cohort": {}, "global_recourse": {"max_size": 1}}
    analyses = {name: more | {"by": regions} for name, more in asked.items()}
    record = audit.record(with_it, rows, tmp_path / "r", analyses=analyses)
    groups = {g.group: g.decisions for g in record["reliance"].groups[1:]}
    assert groups == {"north": 6, "south": 2, "west": 3}
    assert record.analyses["cohort"]["by"] == [regions[0], *regions[2:]]
    assert audit.verify(tmp_path / "r", with_it, rows, seal=record.seal).ok


def test_reliance_through_random_effects_calls_the_recorded_model_again(tmp_path):
    scm = CausalModel(
        [("sex", "job")],
        data := pd.DataFrame({"sex": ["f", "m"] * 4, "job": [0, 0, 1, 1] * 2}),
        mechanisms={"job": noisy(lambda noise, sex: noise, noise={0: 0.5, 1: 0.5})},
    )
    explainer = Explainer(
        lambda rows: rows["job"] > 0, data, context=CausalContext(scm), random_state=3
    )
    asked = {"reliance": {"protected": "sex"}}
    record = audit.record(explainer, data, tmp_path / "r", analyses=asked)
    assert record["reliance"].noise == "compared"
    assert record["reliance"].groups[0].flipped.hits == 0
    assert audit.verify(tmp_path / "r", explainer, data, seal=record.seal).ok
    left = [c for c in audit.verify(tmp_path / "r").checks if c.what == "reliance"]
    assert [c.verdict for c in left] == ["not checked"]


def test_progress_of_a_record_is_shown_or_silenced_in_every_part(tmp_path, monkeypatch):
    shown = []

    class Bar(tqdm):
        def __init__(self, *given, **options):
            shown.append(options["desc"])
            super().__init__(*given, **options | {"file": io.StringIO()})

    monkeypatch.setattr("tqdm.auto.tqdm", Bar)
    asked = {"roles": {}, "reliance": {"protected": "sex"}, "compare": {"with": explainer()}}
    audit.record(explainer(), DETAINED, tmp_path / "quiet", analyses=asked, progress=False)
    audit.verify(tmp_path / "quiet", explainer(), DETAINED, rows=2, progress=False)
    assert shown == []
    audit.record(explainer(), DETAINED, tmp_path / "loud", analyses=asked, progress=True)
    assert shown.count("decisions") == 3
    assert {"explanations", "analyses", "figures"} <= set(shown)
    shown.clear()
    audit.verify(tmp_path / "loud", explainer(), DETAINED, rows=2, progress=True)
    assert {"explanations", "analyses", "figures", "decisions"} <= set(shown)


def test_a_model_is_no_explainer(tmp_path):
    for model in (rule, 3):
        with pytest.raises(InputError, match=r"explainer: got .*Pass Explainer\(model, data\)"):
            audit.record(model, decisions(), tmp_path / "r", analyses={"roles": {}})
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("out", [None, 3, ""])
def test_a_folder_must_be_one(out):
    with pytest.raises(InputError, match="out: got"):
        make(out)


def test_what_is_already_there_is_not_written_over(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match=r"out: got .*which holds mine.txt"):
        make(tmp_path)
    with pytest.raises(InputError, match=r"out: got .*which is a file"):
        make(tmp_path / "mine.txt")


def test_words_of_the_data_are_no_markup(tmp_path):
    odd = "<script>alert(1)</script> *b* [x](y) =1+1"
    table = TABLE.rename(columns={"charge": odd})

    def renamed(rows):
        return rule(rows.rename(columns={odd: "charge"}))

    record = audit.record(
        Explainer(renamed, table, n_references=12),
        table.iloc[:8].assign(group="=cmd()"),
        tmp_path / "r",
        analyses={"roles": {}, "reliance": {"protected": [odd], "by": "group"}},
        title=odd,
    )
    page = (tmp_path / "r" / "index.html").read_text(encoding="utf-8")
    assert "<script" not in page and "&lt;script&gt;" in page
    card = record.model_card
    assert "<script" not in card.replace("\\<script", "") and "\\[x\\]" in card
    assert "'=cmd()" in (tmp_path / "r" / "tables" / "reliance.csv").read_text()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"folder": 3}, "folder: got 3"),
        ({"folder": "/no/such/folder"}, "folder: got /no/such/folder"),
        ({"seal": 3}, "seal: got 3"),
        ({"rows": -1}, "rows: got -1"),
        ({"random_state": -1}, "random_state: got -1"),
        ({"explainer": None}, "explainer, X: got one of the two"),
        ({"explainer": 3}, "explainer: got 3"),
        ({"given": {"stabilty": {}}}, "given: got 'stabilty'; .* Did you mean 'stability'"),
        (
            {"given": {"stability": {"fits": 1}}},
            "given: stability: got 'fits'; allowed: fit, y. Di",
        ),
        ({"given": {"roles": {"fit": 1}}}, "given: roles: got 'fit'; allowed: {}"),
        ({"given": {"stability": 3}}, "given: stability: got 3; allowed: arguments by name"),
        ({"given": "stability"}, "given: got stability; allowed: {analysis: {name: thing}}"),
    ],
)
def test_verify_checks_its_arguments(made, asked, message):
    usual = {"folder": made[1], "explainer": explainer(), "X": decisions()}
    with pytest.raises(InputError, match=message):
        audit.verify(**usual | asked)


def test_a_folder_that_is_no_record_of_this_version_is_refused(copied):
    _, folder = copied
    text = (folder / RECORD_MANIFEST).read_text()
    (folder / RECORD_MANIFEST).write_text(text.replace('"version": 2', '"version": 1', 1))
    assert "version 1" in str(audit.verify(folder).faults[0])
    (folder / RECORD_MANIFEST).write_text("[" * 100_000)
    assert audit.verify(folder).faults[0].kind == "broken"


def test_a_record_is_made_of_arrays_too(tmp_path):
    rows = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)], dtype=float)
    of_sums = Explainer(lambda r: np.asarray(r).sum(axis=1) > 1, rows)
    record = audit.record(of_sums, rows, tmp_path / "r", analyses=["roles"])
    assert audit.verify(tmp_path / "r", of_sums, rows, seal=record.seal.upper()).ok
    again = Record.from_json(record.to_json())
    assert dict(record_files(again)) == dict(record_files(record))


def test_what_a_record_rests_on_is_sealed_by_its_kind(tmp_path):
    rows = np.array([[a, b] for a in (0, 1) for b in (0, 1)], dtype=float)
    of_sums = Explainer(lambda r: np.asarray(r).sum(axis=1) > 1, rows)
    known = {"data file": "a" * 64, "notes": "b" * 64}
    record = audit.record(of_sums, rows, tmp_path / "r", analyses=["roles"], hashes=known)
    kinds = {fact.name: fact.kind for fact in record.rests_on}
    assert kinds["data file"] == kinds["notes"] == kinds["decisions"] == "data"
    assert {name for name, kind in kinds.items() if kind == "question"} == {
        *("context", "cost", "outcome", "references"),
    }


def test_comparing_retraining_and_grading_are_recorded_and_verified(tmp_path):
    from sklearn.tree import DecisionTreeClassifier

    X, y = datasets.loans(120)
    X = X[["age", "income", "debt"]]
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    of_tree = Explainer(tree.fit(X, y), X, n_references=10)
    rows = X.iloc[:5]
    things = {"stability": {"fit": tree, "y": y}, "grade": {"other": {"by hand": ["age", "debt"]}}}
    plain = {"stability": {"k": 2, "rows": 2}, "grade": {"rows": 2}}
    stumps = Explainer(DecisionTreeClassifier(max_depth=1).fit(X, y), X, n_references=10)
    asked = {name: plain[name] | things[name] for name in plain} | {"compare": {"with": stumps}}
    record = audit.record(of_tree, rows, tmp_path / "r", analyses=asked)
    before, after = stumps.explain_many(rows), of_tree.explain_many(rows)
    assert record["compare"].decisions == audit.compare(before, after).decisions
    assert record["stability"].k == 2
    assert record["grade"].tools[0].tool == "by hand"
    assert audit.verify(tmp_path / "r", of_tree, rows, given=things).ok
    found = audit.verify(tmp_path / "r", of_tree, rows)
    skipped = {c.what: c.why for c in found.checks if c.verdict == "not checked"}
    assert found.ok
    assert skipped == {
        "stability": "it needs fit, which records do not store",
        "grade": "it needs other, which records do not store",
    }
    assert found.sheet.lead[1:] == (
        "The record agrees with a recomputation of 5 of 5 explanations, 1 finding and all its "
        "files.",
        "Not checked: stability and grade.",
    )
    again = audit.record(
        of_tree, rows, tmp_path / "s", analyses={"compare": {"with": tmp_path / "r"}}
    )
    assert again["compare"].nothing  # the record that it is compared with is of the same model
    with pytest.raises(InputError, match=r"compare: with: got .*which has no _manifest"):
        audit.record(of_tree, rows, tmp_path / "t", analyses={"compare": {"with": tmp_path}})
    with pytest.raises(InputError, match=r"stability: got no fit; allowed: fit, which it needs"):
        audit.record(of_tree, rows, tmp_path / "t", analyses={"stability": {"y": y}})
