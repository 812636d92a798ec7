"""The page's script: rebuilt from its source, and its arithmetic held to Python's answers."""

import json
import shutil
import subprocess
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from suffice import Explainer, clopper_pearson
from suffice.explanation.view import QueriedSet, measures_of
from suffice.factors.lattice import by_level
from suffice.inference import lower_bound, p_value
from suffice.report.html import draw_signature, script_bundle
from suffice.report.page_data import page_scripts
from suffice.report.render_explanation import page
from suffice.search.exhaustive import Tally
from suffice.search.profile import Profile
from suffice.summary import SignatureLimits, summarise

ROOT = Path(__file__).parents[2]
FRONT_END = ROOT / "frontend"
BUNDLE = ROOT / "src" / "suffice" / "report" / "bundle.js"
NODE = shutil.which("node")

pytestmark = pytest.mark.skipif(
    NODE is None, reason="node is not here: the page's script is not tested"
)

needs_packages = pytest.mark.skipif(
    not (FRONT_END / "node_modules" / "esbuild").exists(),
    reason="the front end's packages are not here: cd frontend && npm ci",
)


def node(script, cases, tmp_path):
    """Run a script on the committed bundle, as `suffice`, with the cases; what it prints is JSON."""
    given = tmp_path / "cases.json"
    given.write_text(json.dumps(cases), encoding="utf-8")
    whole = f"""
        const fs = require("node:fs");
        require("node:vm").runInThisContext(fs.readFileSync({json.dumps(str(BUNDLE))}, "utf8"));
        const cases = JSON.parse(fs.readFileSync({json.dumps(str(given))}, "utf8"));
        const one = {script};
        process.stdout.write(JSON.stringify(cases.map(one)));
    """
    run = subprocess.run([NODE, "-e", whole], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@needs_packages
def test_the_committed_bundle_is_what_its_source_makes(tmp_path):
    made = tmp_path / "bundle.js"
    subprocess.run([NODE, "build.mjs", "--out", made], cwd=FRONT_END, check=True)
    assert made.read_bytes() == BUNDLE.read_bytes(), "run: cd frontend && npm run build"


@needs_packages
def test_the_source_is_strictly_typed_and_passes_its_own_tests():
    tsc = FRONT_END / "node_modules" / "typescript" / "bin" / "tsc"
    for command in ([NODE, tsc, "--noEmit"], [NODE, "test.mjs"]):
        run = subprocess.run(command, cwd=FRONT_END, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stdout + run.stderr


def test_the_bundle_is_small_and_can_stand_in_a_page():
    text = script_bundle()
    assert len(text.encode()) <= 80_000
    assert text.isascii()
    assert "</script" not in text.lower() and "<!--" not in text
    # The one request in it is the explorer's, of the server that the explorer came from.
    own = text.replace("fetch(`/api/", "")
    for word in ("http://", "https://", "fetch(", "XMLHttpRequest", "WebSocket", "eval("):
        assert word not in own.replace("http://www.w3.org/", "")


ADJUSTMENTS = ("none", "bonferroni", "holm", "bh")


def counts(rng):
    """Counts as they come: rising with the set held, with ties, and not always monotone."""
    d, n = int(rng.integers(1, 9)), int(rng.choice([1, 2, 7, 30, 700, 20_000]))
    sizes = np.bitwise_count(np.arange(1 << d, dtype=np.uint32))
    share = np.clip(sizes / d + rng.normal(0, rng.choice([0.05, 0.4]), 1 << d), 0, 1)
    return d, n, np.rint(share * n).astype(np.int64)


def case(seed):
    rng = np.random.default_rng(seed)
    d, n, dense = counts(rng)
    alpha = None if rng.random() < 0.4 else float(rng.choice([0.1, 0.05, 0.001]))
    adjust = "none" if alpha is None else str(rng.choice(ADJUSTMENTS))
    weights = tuple((rng.random(d + 1) * 3 + 0.01).tolist()) if rng.random() < 0.4 else None
    largest = int(rng.integers(0, d + 1)) if rng.random() < 0.3 else None
    profile = Profile(Tally(d, n, by_level(dense)), alpha, adjust, largest, weights)
    taus = [float(t) for t in (*rng.random(5), 0.9, 1.0, rng.choice(dense) / n) if t > 0]
    asked = [int(m) for m in rng.integers(0, 1 << d, 3)]
    question = {
        "d": d, "n": n, "levels": [level.tolist() for level in profile.tally.levels],
        "alpha": alpha, "adjust": adjust, "weights": weights, "max_size": largest,
        "taus": taus, "asked": asked,
    }  # fmt: skip
    return question, profile


SCRIPT = """(q) => {
    const counts = {
        d: q.d, n: q.n, hits: suffice.dense(q.levels, q.d),
        largest: Math.min(q.max_size ?? q.d, q.d), weights: suffice.weightsOf(q.d, q.weights),
    };
    const ladder = suffice.climb(counts), bars = suffice.barsOf(counts, ladder);
    const level = suffice.levelOf(q.n, q.alpha, q.adjust, suffice.familyOf(counts));
    const mass = suffice.massOf(counts, ladder), chance = suffice.chanceOf(counts, ladder);
    const flip = suffice.mirrored(counts);
    return {
        below: [...ladder.below], reach: [...ladder.reach], flip: [...flip.hits],
        minimal: q.taus.map((tau) => suffice.minimalAt(bars, level, tau).map((b) => [b.members, b.hits])),
        covered: q.taus.map((tau) => suffice.necessityAt(mass, level, tau)),
        chance: q.taus.map((tau) => suffice.necessityAt(chance, level, tau)),
        curve: suffice.curveOf(mass, level),
        asked: q.asked.map((mask) => suffice.measure(counts, mask)),
    };
}"""


def test_minimal_sets_reaches_and_necessity_are_pythons(tmp_path):
    questions, profiles = zip(*(case(seed) for seed in range(120)), strict=True)
    for q, profile, got in zip(questions, profiles, node(SCRIPT, questions, tmp_path), strict=True):
        untested = Profile(profile.tally, None, "none", profile.max_size, profile.size_weights)
        n = q["n"]
        for name in ("below", "reach"):  # bit for bit, in hits
            levels = [
                np.maximum(np.rint(v * n), 0).astype(int) for v in getattr(untested.ladder, name)
            ]
            assert [x.tolist() for x in by_level(np.array(got[name]))] == [
                v.tolist() for v in levels
            ]
        assert got["flip"] == profile.tally.other_view().dense.tolist()
        for tau, minimal, covered in zip(q["taus"], got["minimal"], got["covered"], strict=True):
            expected = [[list(m.members), m.hits] for m in profile.minimal_at(tau)]
            assert minimal == expected, (q, tau)
            at = q["taus"].index(tau)
            assert got["chance"][at] == pytest.approx(profile.closure_share(tau), abs=1e-9)
            inside, outcome = profile.covered(tau)
            assert (
                covered == pytest.approx(inside / outcome, abs=1e-9) if outcome else covered is None
            )
        for mask, found in zip(q["asked"], got["asked"], strict=True):
            members = [j for j in range(q["d"]) if mask >> j & 1]
            hits = profile.tally.hits(members)
            assert found["hits"] == hits
            assert found["sufficiency"] == hits / n
            low, high = clopper_pearson(hits, n)
            measures = measures_of(profile, QueriedSet(tuple(members), 0, 0), closed=True)
            necessity = measures.necessity
            assert found["baseline"] == pytest.approx(measures.baseline, abs=1e-9)
            assert found["necessity"] == (necessity and pytest.approx(necessity, abs=1e-9))
            assert found["interval"] == pytest.approx([float(low), float(high)], abs=1e-9)


def test_tests_and_intervals_are_pythons(tmp_path):
    rng = np.random.default_rng(0)
    cases = []
    for n in (1, 2, 3, 10, 50, 700, 5_000, 100_000, 1_000_000):
        for hits in {0, 1, n, max(n - 1, 0), n // 2, *rng.integers(0, n + 1, 6).tolist()}:
            alpha = float(rng.choice([0.1, 0.05, 0.01, 1e-3, 1e-6, 1e-12]))
            cases.append([int(hits), n, alpha, float(rng.random())])
    script = """([hits, n, alpha, tau]) => [
        suffice.lowerBound(hits, n, alpha), ...suffice.clopperPearson(hits, n), suffice.pValue(hits, n, tau)]"""
    for (hits, n, alpha, tau), got in zip(cases, node(script, cases, tmp_path), strict=True):
        low, high = clopper_pearson(hits, n)
        expected = [lower_bound(hits, n, alpha), low, high, p_value(hits, n, tau)]
        assert got == pytest.approx([float(x) for x in expected], abs=1e-9), (hits, n, alpha)


def sums(d, n=40, wide=0, **question):
    rng = np.random.default_rng(d)
    data = rng.random((n, d + wide))
    weights = np.r_[rng.random(d) + 0.2, np.full(wide, 1e-3)]
    explainer = Explainer(lambda r: (np.asarray(r) @ weights > weights.sum() / 2).astype(int), data)
    return explainer.explain(data[0], **question)


DRAWN = """(q) => {
    const explained = suffice.read(JSON.parse(q.words), q.stored ? JSON.parse(q.stored) : null);
    const asked = suffice.firstAsked(explained);
    return explained.views.map((view) => {
        const { picture } = suffice.pictureOf(explained, suffice.answer(explained, view, asked), asked);
        const answer = suffice.answer(explained, view, asked);
        const necessity = suffice.necessitySentence(explained, answer);
        return { picture, drawing: suffice.draw(picture), necessity };
    });
}"""

PICTURED = {
    "few sets": lambda: sums(5),
    "tested": lambda: sums(6, tau=0.6, alpha=0.05, adjust="holm"),
    "many sets": lambda: sums(9, tau=0.75),
    "sets up to a size": lambda: sums(12, max_size=3, tau=0.7, search="exhaustive"),
    "near one": lambda: sums(4, tau=0.99),
    "sets at one threshold": lambda: sums(9, tau=0.75, search="pruned"),
    "more features than columns": lambda: sums(30, max_size=2, tau=0.6, search="exhaustive"),
}


@pytest.mark.parametrize("name", PICTURED)
def test_the_script_draws_what_python_draws(name, tmp_path):
    e = PICTURED[name]()
    summary = summarise(e, signature=SignatureLimits())
    texts = page_scripts(e, summary)
    (views,) = node(DRAWN, [{"words": texts.words, "stored": texts.stored}], tmp_path)
    for said, got in zip(summary.views, views, strict=True):
        assert got["necessity"] == said.necessity_text
        expected = json.loads(json.dumps(asdict(said.signature)))
        assert same(got["picture"], expected)
        drawn = json.loads(json.dumps(asdict(draw_signature(said.signature))))
        assert [
            got["drawing"][k] for k in ("width", "height", "split", "half_top")
        ] == pytest.approx([drawn[k] for k in ("width", "height", "split", "half_top")], abs=0.11)
        for mark, ours in zip(got["drawing"]["marks"], drawn["marks"], strict=True):
            assert mark.pop("at") == pytest.approx(ours.pop("at"), abs=0.21), (mark, ours)
            assert mark == ours
    assert page(e).count("data-words>") == 1


def same(a, b):
    if isinstance(a, dict):
        return all(same(a[k], b[k]) for k in b if k != "group")
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float | int) and not isinstance(a, bool):
        return a == pytest.approx(b, abs=1e-9)
    return a == b
