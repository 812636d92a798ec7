"""Every public call with arguments that work, and which odd values each of them takes as well.

Here are the explainers and their results; `framework_call_cases.py` has the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import suffice as sf
from tests.example_results import (
    CATALOGUE,
    EXPLAINER,
    FACTORS,
    IMAGE,
    IMAGE_EXPLAINER,
    ROW,
    TEXT,
    TEXT_EXPLAINER,
    X,
    explanation,
    image_model,
    model,
    of_image,
    of_text,
    recourse,
    rules,
    text_model,
    tree_explainer,
)

NUMBER, POSITIVE = "minus zero half huge long", "half huge long"
NAMES, TEXTUAL = "empty nothing", "blank word essay"
SCALAR = f"none true minus zero half huge nan inf {TEXTUAL}"
PROGRESS = "none true"


@dataclass(frozen=True)
class CallCase:
    """A public call: its name, arguments that work, and what odd values it takes for each."""

    name: str
    call: Callable[..., Any]
    valid: Mapping[str, Any]
    takes: Mapping[str, str] = field(default_factory=dict)
    """By parameter, the names of odd values that have a meaning; all others are refused."""
    says: Mapping[str, str] = field(default_factory=dict)
    """By parameter, what else an error may call it."""

    def __str__(self) -> str:
        return self.name


NEW_FOLDER = "new"
"""Stands for a folder that is new in every call, below the working directory."""
STORED = "stored"
"""A folder with explanations, below the working directory."""


def explain_to_a_new_folder(*, out: Any, **given: Any) -> Any:
    """Explain into another folder in every call, so that the call may be repeated."""
    return EXPLAINER.explain_to(out=mkdtemp(dir=".") if out is NEW_FOLDER else out, **given)


def load(folder: Any) -> Any:
    """Load a folder; `STORED` is written when it is first loaded."""
    if folder is STORED and not Path(STORED).exists():
        EXPLAINER.explain_to(X, STORED)
    return sf.load(folder)


QUESTION = {
    "tau": 0.9,
    "alpha": None,
    "max_size": 1,
    "budget": None,
    "time_limit": None,
    "search": "exhaustive",
    "adjust": "none",
    "progress": None,
}
QUESTION_ACCEPTS = {
    "alpha": "none",
    "max_size": "none",
    "budget": "none",
    "time_limit": f"none {POSITIVE}",
    "progress": PROGRESS,
}
RECOURSE_ARGUMENTS = {
    "x": ROW,
    "tau": None,
    "desired": None,
    "immutable": (),
    "actionable": None,
    "ranges": None,
    "increasing": (),
    "decreasing": (),
    "steps": None,
    "forbidden": (),
    "cost": None,
    "missing_cost": None,
    "max_cost": None,
    "max_size": None,
    "max_options": None,
    "values": "observed",
    "budget": None,
    "time_limit": None,
    "progress": None,
}
RECOURSE_ACCEPTS = {
    "tau": "none",
    "desired": "none",
    "immutable": NAMES,
    "actionable": "none",
    "ranges": "none nothing",
    "increasing": NAMES,
    "decreasing": NAMES,
    "steps": "none nothing",
    "forbidden": NAMES,
    "cost": "none nothing",
    "missing_cost": f"none nothing zero {POSITIVE}",
    "max_cost": f"none {POSITIVE}",
    "max_size": "none",
    "max_options": "none",
    "budget": "none",
    "time_limit": f"none {POSITIVE}",
    "progress": PROGRESS,
}
RESTRICTIONS = ["immutable", "ranges", "increasing", "decreasing", "forbidden"]
"""What restricts the domain of a proof."""
GLOBAL_RECOURSE_NAMES = [
    "desired",
    "immutable",
    "actionable",
    "ranges",
    "increasing",
    "decreasing",
    "forbidden",
    "cost",
    "missing_cost",
    "max_cost",
    "max_size",
    "budget",
    "time_limit",
    "progress",
]
"""What recourse and global recourse are both asked."""
RULE_ARGUMENTS = {
    "x": ROW,
    "tau": 0.9,
    "alpha": None,
    "bins": 2,
    "cuts": None,
    "categorical": (),
    "bounds": "cell",
    "distribution": "perturbed",
    "n_rows": None,
    "max_size": None,
    "features": None,
    "progress": None,
}
RULE_ACCEPTS = {
    "alpha": "none",
    "cuts": "none nothing",
    "categorical": NAMES,
    "n_rows": "none",
    "max_size": "none",
    "features": "none",
    "progress": PROGRESS,
}
SCORE_RULE_ARGUMENTS = {
    "x": ROW,
    "rule": FACTORS[0],
    "sample": None,
    "distribution": None,
    "tau": 0.9,
}
SCORE_RULE_ACCEPTS = {"rule": "none", "sample": "none", "distribution": "none"}


GRADE_ARGUMENTS = {
    "tau": 0.9,
    "view": None,
    "k": None,
    "absolute": None,
    "labels": None,
    "ids": None,
    "time_limit": None,
    "progress": None,
}
GRADE_ACCEPTS = {
    "view": "none",
    "k": "none",
    "absolute": "none",
    "labels": "none nothing",
    "ids": "none",
    "time_limit": f"none {POSITIVE}",
    "progress": PROGRESS,
}


def explain(**given: Any) -> Any:
    return sf.Explainer(**given).explain(ROW, tau=0.5)


@cache
def make_cases() -> list[CallCase]:
    e = explanation()
    return [
        CallCase(
            "Explainer",
            explain,
            {
                "model": model,
                "data": X,
                "outcome": None,
                "references": "opposite",
                "n_references": None,
                "groups": None,
                "random_state": 0,
                "cost": None,
                "size_weights": None,
                "engine": "auto",
                "context": None,
                "immutable": (),
                "actionable": None,
                "increasing": (),
                "decreasing": (),
                "missing_cost": None,
            },
            {
                "outcome": "none",
                "n_references": "none",
                "groups": "none nothing",
                "random_state": "zero",
                "cost": "none nothing",
                "size_weights": "none",
                "context": "none",
                "immutable": NAMES,
                "actionable": "none",
                "increasing": NAMES,
                "decreasing": NAMES,
                "missing_cost": f"none nothing zero {POSITIVE}",
            },
        ),
        CallCase(
            "Explainer.with_references",
            EXPLAINER.with_references,
            {"X": [ROW]},
            {},
            {"X": "row 0: x"},
        ),
        CallCase(
            "Explainer.but",
            lambda **changes: EXPLAINER.but(**changes).explain(ROW, tau=0.5),
            {
                "outcome": None,
                "references": "opposite",
                "n_references": None,
                "groups": None,
                "context": None,
                "immutable": (),
                "actionable": None,
                "increasing": (),
                "decreasing": (),
            },
            {
                "outcome": "none",
                "n_references": "none",
                "groups": "none nothing",
                "context": "none",
                "immutable": NAMES,
                "actionable": "none",
                "increasing": NAMES,
                "decreasing": NAMES,
            },
        ),
        CallCase("Explainer.explain", EXPLAINER.explain, {"x": ROW, **QUESTION}, QUESTION_ACCEPTS),
        CallCase("Explainer.plan", EXPLAINER.plan, {"x": ROW, **QUESTION}, QUESTION_ACCEPTS),
        CallCase(
            "Explainer.__call__", EXPLAINER.__call__, {"x": ROW, **QUESTION}, QUESTION_ACCEPTS
        ),
        CallCase(
            "Explainer.explain_many",
            EXPLAINER.explain_many,
            {"X": [ROW], "n_jobs": 1, **QUESTION},
            QUESTION_ACCEPTS | {"n_jobs": "minus"},
            {"X": "row 0: x"},
        ),
        CallCase(
            "Explainer.explain_to",
            explain_to_a_new_folder,
            {
                "X": X,
                "out": NEW_FOLDER,
                "id": None,
                "rows": None,
                "resume": False,
                "workers": None,
                "client": None,
                "row_time_limit": None,
                "max_errors": None,
                "stop_after": None,
                "counts": None,
                "rows_per_part": None,
                **QUESTION,
            },
            QUESTION_ACCEPTS
            | {"out": "word", "id": "none", "resume": "true", "counts": "none true"}
            | {"rows_per_part": "none", "rows": "none", "workers": "none", "client": "none"}
            | {
                "row_time_limit": "none",
                "max_errors": "none zero",
                "stop_after": f"none {POSITIVE}",
            },
        ),
        CallCase("load", load, {"folder": STORED}),
        CallCase("Explainer.plausibility", EXPLAINER.plausibility, {"x": ROW, "n_hybrids": 5}),
        CallCase(
            "Explainer.decide",
            EXPLAINER.decide,
            {"x": ROW, "outcome": None},
            {"outcome": "none"},
            {"outcome": "desired"},
        ),
        CallCase("Explainer.recourse", EXPLAINER.recourse, RECOURSE_ARGUMENTS, RECOURSE_ACCEPTS),
        CallCase(
            "Explainer.recourse",
            EXPLAINER.recourse,
            RECOURSE_ARGUMENTS | {"values": "grid"},
            RECOURSE_ACCEPTS,
        ),
        CallCase(
            "audit.global_recourse",
            sf.audit.global_recourse,
            {
                "explainer": EXPLAINER,
                "X": X[3:5],
                "cover": 0.5,
                "by": None,
                "ids": None,
                "n_changes": None,
                "max_candidates": None,
                "max_searched": None,
                **{
                    name: value
                    for name, value in RECOURSE_ARGUMENTS.items()
                    if name in GLOBAL_RECOURSE_NAMES
                },
                "desired": "yes",
            },
            {
                name: taken
                for name, taken in RECOURSE_ACCEPTS.items()
                if name in GLOBAL_RECOURSE_NAMES and name != "desired"
            }
            | {"by": "none array", "ids": "none array", "n_changes": "none"}
            | {"max_candidates": "none", "max_searched": "none"},
        ),
        CallCase(
            "audit.compare",
            sf.audit.compare,
            {"a": [e] * 3, "b": [e] * 3, "tau": None, "ids": None, "catalogue": None, "k": None}
            | {"recourse": [recourse()] * 3, "explainer": EXPLAINER, "desired": None}
            | {"progress": False},
            {
                "tau": "none",
                "progress": PROGRESS,
                "ids": "none generator",
                "catalogue": "none",
                "k": "none",
                "desired": "none",
            },
            {"desired": "recourse"},
        ),
        CallCase(
            "audit.compare",
            sf.audit.compare,
            {"a": [e], "b": [e], "catalogue": CATALOGUE, "k": 2},
            {"k": "none"},
        ),
        CallCase(
            "audit.barcode_distance", sf.audit.barcode_distance, {"one": e.keep, "other": e.flip}
        ),
        CallCase(
            "audit.stability",
            sf.audit.stability,
            {
                "fit": lambda X, y: model,
                "X": X,
                "y": list("nnyynn"),
                "k": 1,
                "rows": 1,
                "model": model,
            }
            | {"tau": 0.5, "resample": "bootstrap", "recourse": None, "outcome": None}
            | {"references": "opposite", "n_references": None, "groups": None, "context": None}
            | {
                "max_size": None,
                "time_limit": None,
                "ids": None,
                "random_state": 0,
                "progress": None,
            },
            {"model": "none", "recourse": "none true nothing", "outcome": "none"}
            | {
                "n_references": "none",
                "groups": "none nothing",
                "context": "none",
                "max_size": "none",
            }
            | {"time_limit": f"none {POSITIVE}", "ids": "none list matrix", "rows": "none"}
            | {"random_state": "zero", "progress": PROGRESS},
        ),
        CallCase(
            "Explainer.prove",
            tree_explainer().prove,
            {"x": [40, 81], "features": ["age"], "domain": "values"}
            | {"max_sets": 10, "rules": False, "max_boxes": 100, "time_limit": None}
            | {name: RECOURSE_ARGUMENTS[name] for name in RESTRICTIONS},
            {"features": "none empty nothing", "rules": "true", "time_limit": f"none {POSITIVE}"}
            | {name: RECOURSE_ACCEPTS[name] for name in RESTRICTIONS},
        ),
        CallCase("Explainer.anchor", EXPLAINER.anchor, RULE_ARGUMENTS, RULE_ACCEPTS),
        CallCase("anchor", sf.anchor, {"explainer": EXPLAINER, **RULE_ARGUMENTS}, RULE_ACCEPTS),
        CallCase(
            "Explainer.score_rule", EXPLAINER.score_rule, SCORE_RULE_ARGUMENTS, SCORE_RULE_ACCEPTS
        ),
        CallCase(
            "score_rule",
            sf.score_rule,
            {"explainer": EXPLAINER, **SCORE_RULE_ARGUMENTS},
            SCORE_RULE_ACCEPTS,
        ),
        CallCase(
            "Explainer.shapley",
            EXPLAINER.shapley,
            {"x": ROW, "view": "keep", "progress": None},
            {"progress": PROGRESS},
        ),
        CallCase(
            "shapley",
            sf.shapley,
            {"explainer": EXPLAINER, "x": ROW, "view": "keep", "progress": None},
            {"progress": PROGRESS},
        ),
        CallCase(
            "TextExplainer",
            lambda **given: sf.TextExplainer(**given).explain(TEXT),
            {
                "model": text_model,
                "unit": "auto",
                "mask": "auto",
                "candidates": ("UNK",),
                "n_references": None,
                "outcome": None,
                "random_state": 0,
            },
            {
                "candidates": "list",
                "n_references": "none",
                "outcome": "none",
                "random_state": "zero",
            },
        ),
        CallCase(
            "TextExplainer.explain",
            TEXT_EXPLAINER.explain,
            {"text": TEXT, "spans": None, **QUESTION},
            QUESTION_ACCEPTS | {"spans": "none"},
        ),
        CallCase(
            "TextExplainer.refine",
            TEXT_EXPLAINER.refine,
            {"explanation": of_text(), "features": None, **QUESTION},
            QUESTION_ACCEPTS | {"features": "none"},
        ),
        CallCase(
            "Corpus",
            lambda **given: sf.TextExplainer(text_model, mask=sf.Corpus(**given)).explain(TEXT),
            {"texts": ["not it", "nor that"], "labels": ["bad", "bad"]},
            {"texts": "array", "labels": "none array"},
            {"texts": "Corpus", "labels": "Corpus"},
        ),
        CallCase(
            "ImageExplainer",
            lambda **given: sf.ImageExplainer(**given).explain(IMAGE),
            {
                "model": image_model,
                "regions": "grid",
                "n_regions": 4,
                "references": 0,
                "outcome": None,
                "batch_size": 64,
                "channels": None,
                "random_state": 0,
                "names": None,
                "device": None,
            },
            {
                "references": "true minus zero half huge",
                "outcome": "none true zero",
                "channels": "none",
                "random_state": "zero",
                "names": "none",
                "device": "none",
            },
        ),
        CallCase(
            "ImageExplainer.explain",
            IMAGE_EXPLAINER.explain,
            {"image": IMAGE, **QUESTION},
            QUESTION_ACCEPTS | {"image": "matrix"},
        ),
        CallCase(
            "ImageExplainer.refine",
            IMAGE_EXPLAINER.refine,
            {"explanation": of_image(), "image": IMAGE, "features": None, **QUESTION},
            QUESTION_ACCEPTS | {"features": "none"},
        ),
        CallCase(
            "overlay",
            sf.overlay,
            {"explanation": of_image(), "view": "keep", "factor": 0, "size": None},
            {"factor": f"zero {NAMES}", "size": "none"},
        ),
        CallCase(
            "Overlay.save", sf.overlay(of_image()).save, {"path": "drawn.png"}, {"path": "word"}
        ),
        *[
            CallCase(
                name,
                at,
                {"tau": 0.5, "alpha": "same", "adjust": None},
                {"tau": "none", "alpha": "none", "adjust": "none"},
            )
            for name, at in (("Explanation.at", e.at), ("View.at", e.keep.at))
        ],
        *[
            CallCase(
                f"View.{name}", getattr(e.keep, name), {"features": ["age"]}, {"features": NAMES}
            )
            for name in ("factor", "sufficiency")
        ],
        *[
            CallCase(
                f"View.{name}",
                getattr(e.keep, name),
                {"features": ["age"], "upward_closure": False},
                {"features": NAMES, "upward_closure": "true"},
            )
            for name in ("measures", "necessity_of", "necessity_baseline_of")
        ],
        CallCase(
            "AnchorRules.at",
            rules().at,
            {"tau": 0.5, "alpha": "same"},
            {"tau": "none", "alpha": "none"},
        ),
        CallCase("AnchorRules.rule", lambda features: rules().rule(features), {"features": "age"}),
        CallCase("Explanation.to_json", e.to_json, {"volatile": False}, {"volatile": "true"}),
        CallCase("View.to_json", e.keep.to_json, {"volatile": False}, {"volatile": "true"}),
        CallCase("Rendered.to_html", e.to_html, {"path": None}, {"path": "none word"}),
        CallCase(
            "report",
            sf.report,
            {"explanations": [e], "path": None, "title": None, "names": None},
            {
                "path": "none word",
                "title": f"none {TEXTUAL}",
                "names": f"none {TEXTUAL} list mapping",
            },
        ),
        CallCase("Result.from_json", sf.Explanation.from_json, {"text": e.to_json()}),
        CallCase(
            "audit.grade",
            sf.audit.grade,
            {"explainer": EXPLAINER, "x": ROW, "other": ["job", "age"], **GRADE_ARGUMENTS},
            {"other": "mapping", **GRADE_ACCEPTS},
        ),
        CallCase(
            "audit.grade",
            sf.audit.grade,
            {
                "explainer": EXPLAINER,
                "x": [ROW, ROW],
                "other": {"a": {"age": 2.0, "job": 1}},
                **GRADE_ARGUMENTS,
            }
            | {"absolute": True, "ids": ["a", "b"]},
            {
                **GRADE_ACCEPTS,
                "other": "mapping raises",
                "absolute": "none true",
                "ids": "none array",
            },
            {"x": "ids"},
        ),
    ]
