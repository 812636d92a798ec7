"""From what was declared to a model with its data, the decisions to audit, and their hashes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from suffice.cli.declared import Declared
from suffice.cli.inputs import (
    asked_outcome,
    hint_at_identifiers,
    model_hash,
    open_model,
    read_table,
)
from suffice.errors import InputError, did_you_mean
from suffice.wording import count

if TYPE_CHECKING:
    from suffice.explainer import Explainer

__all__ = ["Audited", "Files", "audited", "find_files"]

_REFERENCES = 100
"""As in `suffice batch`: there are many rows."""
_QUESTION = ("tau", "alpha", "adjust", "search", "max_size", "budget")


@dataclass(frozen=True)
class Audited:
    """What `audit.record` and `audit.verify` are called with."""

    explainer: Explainer
    rows: Any
    """The decisions, with the columns that the model does not see."""
    labels: Any
    """Of the rows that references come from; None where there are none."""
    id: str
    hashes: dict[str, str]
    question: dict[str, Any]
    explaining: Callable[[Any], Explainer]
    """Another model, with the same data and contrast."""


class Files(NamedTuple):
    """What an audit is made from; None: a model that is trained, references of the data itself."""

    data: Path
    model: Path | None
    background: Path | None


def find_files(declared: Declared, bases: Sequence[Path]) -> Files:
    """Where the data, the model and the background are: in the first of some folders that has them.

    A file that is nowhere is an error that says where it was looked for.
    """

    def find(key: str, name: str) -> Path:
        places = [base / name for base in bases]
        there = next((place for place in places if place.is_file()), None)
        if there is None:
            looked = " or ".join(dict.fromkeys(str(place) for place in places))
            raise InputError(key, f"{looked}, which is not there", "a file")
        return there

    model, background = declared.model.get("file"), declared.data.get("background")
    return Files(
        model=None if model is None else find("[model] file", model),
        data=find("[data] file", declared.data["file"]),
        background=None if background is None else find("[data] background", background),
    )


def audited(
    declared: Declared, files: Files, trust_pickle: bool, trust_types: Sequence[str]
) -> Audited:
    """Open the model and the tables, and choose the decisions."""
    data, question = declared.data, declared.question
    target = data.get("target")
    frame, labels = _table(files.data, target, "[data] file")
    rows = frame.reset_index(drop=True)
    id_column = _id_column(rows, data)
    unseen = _unseen(rows, data, id_column)
    seen = rows.drop(columns=unseen)
    behind, behind_labels = seen, labels
    if files.background is not None:
        other, behind_labels = _table(files.background, target, "[data] background")
        behind = other.drop(columns=[name for name in unseen if name in other.columns])
    hint_at_identifiers(behind)
    options = _options(declared, files, trust_pickle, trust_types)

    def explaining(model: Any) -> Explainer:
        return _explainer(options, model, behind, question)

    explainer = explaining(open_model(options, behind, behind_labels))
    if "id" not in data:
        rows[id_column] = range(len(rows))
    chosen = _chosen(explainer, rows, data, question.get("seed", 0))
    asked = {name: question[name] for name in _QUESTION if name in question}
    hashes = _hashes(declared, files)
    return Audited(explainer, chosen, behind_labels, id_column, hashes, asked, explaining)


def _table(path: Path, target: str | None, what: str) -> tuple[Any, Any]:
    try:
        return read_table(path, target)
    except InputError as error:
        if error.argument == "--data":
            raise InputError(what, str(error.got), "a readable .csv, .parquet or .json") from error
        raise


def _id_column(rows: Any, data: Mapping[str, Any]) -> str:
    if "id" in data:
        _known(rows, [data["id"]], "[data] id")
        return str(data["id"])
    name = "row"
    while name in rows.columns:
        name += "_"
    return name


def _unseen(rows: Any, data: Mapping[str, Any], id_column: str) -> list[str]:
    """Columns that are kept from the model."""
    left_out = _known(rows, data.get("leave_out", ()), "[data] leave_out")
    named = [id_column] if "id" in data else []
    return list(dict.fromkeys([*named, *left_out]))


def _known(rows: Any, names: Sequence[str], what: str) -> list[str]:
    for name in names:
        if name not in rows.columns:
            hint = did_you_mean(name, rows.columns)
            raise InputError(what, f"unknown column {name!r}", "columns of the table", hint)
    return list(names)


def _options(
    declared: Declared, files: Files, trust_pickle: bool, trust_types: Sequence[str]
) -> dict[str, Any]:
    """As the other commands have them."""
    question = declared.question
    return {
        "model": files.model,
        "classes": declared.model.get("classes"),
        "train": declared.model.get("train"),
        "trust_pickle": trust_pickle,
        "trust_types": tuple(trust_types),
        "seed": question.get("seed", 0),
        **{name: question.get(name) for name in ("outcome", "at_least", "at_most")},
    }


def _explainer(
    options: dict[str, Any], model: Any, data: Any, question: Mapping[str, Any]
) -> Explainer:
    from suffice.explainer import Explainer

    return Explainer(
        model,
        data,
        outcome=asked_outcome(options, model, data),
        references=question.get("references", "opposite"),
        n_references=question.get("n_references", _REFERENCES),
        groups=question.get("groups"),
        random_state=options["seed"],
        engine=question.get("engine", "auto"),
    )


def _chosen(explainer: Explainer, rows: Any, data: Mapping[str, Any], seed: int) -> Any:
    """The decisions to audit: some rows, of these the ones decided so, of these a sample."""
    from suffice.many.selection import read_selection
    from suffice.randomness import Stream, generator
    from suffice.tables import as_table

    if "rows" in data:
        chosen = read_selection(data["rows"])
        if chosen.column:
            _known(rows, [chosen.column], "[data] rows")
            rows = rows[rows[chosen.column].astype(str) == chosen.value]
        else:
            parts = [range(len(rows))[first:last] for first, last in chosen.ranges]
            rows = rows.iloc[[at for part in parts for at in part]]
        if not len(rows):
            raise InputError("[data] rows", repr(data["rows"]), "at least one row of the table")
    if "decided" in data:
        seen = rows[list(explainer.data.names)]
        said = [str(answer) for answer in explainer.decider.model.predict(as_table(seen)).tolist()]
        kept = [answer == data["decided"] for answer in said]
        if not any(kept):
            hint = did_you_mean(data["decided"], sorted(set(said))[:20])
            none = f"which the model decides for none of {count(len(rows), 'row')}"
            got = f"{data['decided']!r}, {none}"
            raise InputError("[data] decided", got, "an outcome of the model", hint)
        rows = rows[kept]
    if data.get("sample", len(rows)) < len(rows):
        drawn = generator(seed, Stream.AUDITED).permutation(len(rows))[: data["sample"]]
        rows = rows.iloc[sorted(drawn.tolist())]
    return rows.reset_index(drop=True)


def _hashes(declared: Declared, files: Files) -> dict[str, str]:
    """Of the files: what is read from one need not be the same, bit by bit, in every process."""
    from suffice.many.fingerprint import hash_of_file

    learnt = hash_of_file(files.data)
    found = {"data file": learnt}
    if files.background is not None:
        learnt = found["data background"] = hash_of_file(files.background)
    if files.model is not None:
        return found | {"model": model_hash(files.model, declared.model.get("classes"))}
    how = f"{declared.model['train']}:{declared.data.get('target')}"
    return found | {"model": f"trained:{how}:{learnt}"}
