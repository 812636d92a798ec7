"""Audit file (`audit.toml`): reads it, checks every name in it, and opens what it names.

The model, the tables and the peer tools are opened only after the whole file was checked. Paths in
the file are relative to it. `suffice audit --example` prints one.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from suffice.cli.options import (
    CHANGE_NAMES,
    CONTRAST_NAMES,
    QUESTION_NAMES,
    TRAINABLE_MODELS,
    check_columns,
    hash_of_model,
    make_explainer,
    open_model,
    read_table,
    warn_about_identifiers,
)
from suffice.cli.peer_tools import PEER_TOOLS, make_peer_tools
from suffice.errors import InputError, did_you_mean, one_line, short_repr
from suffice.formatting import plural
from suffice.question_fields import ExplainerFields, QuestionFields, describe_fields
from suffice.validation import (
    check_choice,
    check_integer,
    check_name_list,
    check_string,
    read_text_file,
    read_yaml_file,
)

if TYPE_CHECKING:
    from suffice.explainer import Explainer


@dataclass(frozen=True)
class AuditConfig:
    """The sections of an audit file, checked, and the path of the file."""

    path: Path
    audit: dict[str, Any]
    model: dict[str, Any]
    data: dict[str, Any]
    question: dict[str, Any]
    analyses: dict[str, dict[str, Any]]


def example_config() -> str:
    """Return the text of an audit file that describes every key."""
    return (resources.files("suffice.cli") / "audit_example.toml").read_text(encoding="utf-8")


KeyReader = Callable[[str, Any], Any]


def _read_text(_: str, given: Any) -> str:
    return str(given)


def _read_date(argument: str, given: Any) -> Any:
    return (
        given
        if isinstance(given, datetime.date)
        else check_string(argument, given, "a date or a text")
    )


def _read_groups_key(argument: str, given: Any) -> Any:
    allowed = '"auto", or {name = [columns]}'
    if isinstance(given, Mapping):
        return {
            str(name): check_name_list(argument, columns, allowed)
            for name, columns in given.items()
        }
    return check_choice(argument, given, ("auto",), "{name = [columns]}")


_SECTIONS: dict[str, dict[str, KeyReader]] = {
    "audit": {
        "title": check_string,
        "date": _read_date,
        "out": check_string,
        "previous": check_string,
    },
    "model": {
        "file": check_string,
        "classes": check_name_list,
        "train": lambda argument, given: check_choice(argument, given, TRAINABLE_MODELS),
    },
    "data": {
        "file": check_string,
        "target": check_string,
        "id": check_string,
        "leave_out": check_name_list,
        "background": check_string,
        "rows": check_string,
        "decided": _read_text,
        "sample": check_integer,
    },
    "question": {
        "groups": _read_groups_key,
        **dict.fromkeys(CHANGE_NAMES, check_name_list),
        **{
            field.name: field.check
            for struct in (QuestionFields, ExplainerFields)
            for field in describe_fields(struct)
        },
    },
}

_TRUST_KEYS = ("trust_pickle", "trust_types")


def read_audit_config(path: Path, *, recorded: bool = False) -> AuditConfig:
    """Return the sections of a file; an InputError names the section and the key that is wrong.

    A file may come from whoever made the model, so it cannot say that the model is to be trusted:
    such a key is an error. In a record, which cannot be changed any more, it is ignored.
    """
    from suffice.audit.record_analyses import ANALYSES

    raw = _parse_file(path)
    known = [*_SECTIONS, *ANALYSES]
    for name, section in raw.items():
        if name not in known:
            hint = did_you_mean(name, known, or_list=False)
            got = f"a section [{one_line(name, 40)}]"
            raise InputError("--config", got, ", ".join(f"[{k}]" for k in known), hint)
        if not isinstance(section, Mapping) and not (name in ANALYSES and section in (None, True)):
            raise InputError(f"[{name}]", short_repr(section), "a section of keys and values")
    if "data" not in raw:
        raise InputError("--config", "no section [data]", "one with the file of decisions")
    if "model" not in raw:
        raise InputError("--config", "no section [model]", "one with a file, or train")
    if recorded:
        raw["model"] = {k: v for k, v in (raw["model"] or {}).items() if k not in _TRUST_KEYS}
    sections = {name: _read_section(name, raw.get(name) or {}) for name in _SECTIONS}
    if "file" not in sections["data"]:
        raise InputError("[data]", "no file", "the file of decisions")
    # Both or neither: the audit would not know which model it is about.
    if ("file" in sections["model"]) == ("train" in sections["model"]):
        raise InputError("[model]", "both file and train, or neither", "exactly one of the two")
    analyses = {name: dict(raw[name] or {}) for name in raw if name in ANALYSES}
    if not analyses:
        allowed = f"at least one section of {', '.join(f'[{k}]' for k in ANALYSES)}"
        raise InputError("--config", "no analysis", allowed)
    return AuditConfig(path, **sections, analyses=analyses)


def _read_section(name: str, given: Mapping[Any, Any]) -> dict[str, Any]:
    readers = _SECTIONS[name]
    for key in given:
        if name == "model" and key in _TRUST_KEYS:
            hint = (
                "Trust is given on the command line (--trust-pickle, --trust-type), never by a "
                "file that may have come with the model."
            )
            raise InputError(f"[model] {key}", given[key], "no such key in a file", hint)
        if key not in readers:
            hint = did_you_mean(key, readers, or_list=False)
            raise InputError(f"[{name}]", f"a key {short_repr(key)}", ", ".join(readers), hint)
    return {key: readers[key](f"[{name}] {key}", value) for key, value in given.items()}


def _parse_file(path: Path) -> dict[str, Any]:
    if path.suffix.lower() in (".yaml", ".yml"):
        found = read_yaml_file("--config", path, ".toml")
    else:
        import tomllib

        try:
            found = tomllib.loads(read_text_file("--config", path))
        except tomllib.TOMLDecodeError as error:
            raise InputError("--config", f"{path.name}: {error}", "valid TOML") from error
    if not isinstance(found, dict):
        raise InputError("--config", path.name, "sections of keys and values")
    return found


# -- opening the model and the tables, and selecting the decisions -------------------------


@dataclass(frozen=True)
class AuditInputs:
    """The arguments of `audit.record` and `audit.verify`."""

    explainer: Explainer
    rows: Any
    """The decisions, with the columns that the model does not get."""
    labels: Any
    """Labels of the rows that references are drawn from; None without a target."""
    id: str
    hashes: dict[str, str]
    question: dict[str, Any]
    explainer_for: Callable[[Any], Explainer]
    """Returns the explainer of another model, with the same data and contrast."""


class AuditFiles(NamedTuple):
    """The files of an audit.

    `model` is None for a model that is trained, `background` if references come from the data.
    """

    data: Path
    model: Path | None
    background: Path | None


def find_files(declared: AuditConfig, bases: Sequence[Path]) -> AuditFiles:
    """Return the paths of data, model and background, each from the first folder that has it.

    A file that no folder has is an InputError that lists where it was looked for.
    """

    def find(key: str, name: str) -> Path:
        places = [base / name for base in bases]
        # A record may have been moved without its data, or with them: several folders are tried.
        there = next((place for place in places if place.is_file()), None)
        if there is None:
            looked = " or ".join(dict.fromkeys(str(place) for place in places))
            raise InputError(key, f"{looked}, which is not there", "a file")
        return there

    model, background = declared.model.get("file"), declared.data.get("background")
    return AuditFiles(
        model=None if model is None else find("[model] file", model),
        data=find("[data] file", declared.data["file"]),
        background=None if background is None else find("[data] background", background),
    )


def open_audit(
    declared: AuditConfig, files: AuditFiles, trust_pickle: bool, trust_types: Sequence[str]
) -> AuditInputs:
    """Open the model and the tables, and select the decisions."""
    data, question = declared.data, declared.question
    target = data.get("target")
    frame, labels = _read_audit_table(files.data, target, "[data] file")
    # Row numbers are ids where no column is named, so they must count from 0.
    rows = frame.reset_index(drop=True)
    id_column = _id_column(rows, data)
    hidden = _hidden_columns(rows, data, id_column)
    background = rows.drop(columns=hidden)
    background_labels = labels
    if files.background is not None:
        other, background_labels = _read_audit_table(files.background, target, "[data] background")
        background = other.drop(columns=[name for name in hidden if name in other.columns])
    warn_about_identifiers(background, "[data] leave_out")
    options = _command_options(declared, files, trust_pickle, trust_types)

    def explainer_for(model: Any) -> Explainer:
        return make_explainer(options, model, background, question.get("groups"))

    explainer = explainer_for(open_model(options, background, background_labels))
    if "id" not in data:
        rows[id_column] = range(len(rows))
    return AuditInputs(
        explainer,
        _select_decisions(explainer, rows, data, options["seed"]),
        background_labels,
        id_column,
        _hash_files(options, files),
        {name: question[name] for name in QUESTION_NAMES if name in question},
        explainer_for,
    )


def _read_audit_table(path: Path, target: str | None, argument: str) -> tuple[Any, Any]:
    try:
        return read_table(path, target)
    except InputError as error:
        if error.argument == "--data":
            raise InputError(
                argument, str(error.got), "a readable .csv, .parquet or .json"
            ) from error
        raise


def _id_column(rows: Any, data: Mapping[str, Any]) -> str:
    """Return the name of the id column: that of the file, or a free one for row numbers."""
    from suffice.batch.row_sources import unused_column_name

    if "id" in data:
        check_columns(rows, [data["id"]], "[data] id")
        return str(data["id"])
    return unused_column_name(rows.columns)


def _hidden_columns(rows: Any, data: Mapping[str, Any], id_column: str) -> list[str]:
    """Return the columns that the model does not get."""
    left_out = check_columns(rows, data.get("leave_out", ()), "[data] leave_out")
    named = [id_column] if "id" in data else []
    return list(dict.fromkeys([*named, *left_out]))


def _command_options(
    declared: AuditConfig, files: AuditFiles, trust_pickle: bool, trust_types: Sequence[str]
) -> dict[str, Any]:
    """Return the options that the other commands would have for this file."""
    question = declared.question
    return {
        "model": files.model,
        "target": declared.data.get("target"),
        "classes": declared.model.get("classes"),
        "train": declared.model.get("train"),
        "trust_pickle": trust_pickle,
        "trust_types": tuple(trust_types),
        "seed": question.get("seed", 0),
        "engine": question.get("engine", "auto"),
        **{name: question.get(name) for name in (*CONTRAST_NAMES, *CHANGE_NAMES)},
    }


def _select_decisions(explainer: Explainer, rows: Any, data: Mapping[str, Any], seed: int) -> Any:
    """Return the decisions to audit: of the selected rows with the outcome `decided`, a sample."""
    from suffice.batch.row_sources import parse_selection
    from suffice.randomness import Stream, generator
    from suffice.tables import as_table

    if "rows" in data:
        selection = parse_selection(data["rows"], "[data] rows")
        rows = rows.iloc[selection.numbers(as_table(rows))]
        if not len(rows):
            raise InputError("[data] rows", repr(data["rows"]), "at least one row of the table")
    if "decided" in data:
        # The table also has columns that the model does not get.
        seen = rows[list(explainer.data.names)]
        said = [str(answer) for answer in explainer.decider.model.predict(as_table(seen)).tolist()]
        kept = [answer == data["decided"] for answer in said]
        if not any(kept):
            hint = did_you_mean(data["decided"], sorted(set(said))[:20])
            none = f"which the model decides for none of {plural(len(rows), 'row')}"
            got = f"{data['decided']!r}, {none}"
            raise InputError("[data] decided", got, "an outcome of the model", hint)
        rows = rows[kept]
    if data.get("sample", len(rows)) < len(rows):
        # A seeded sample, in the order of the table: the same audit has the same seal.
        drawn = generator(seed, Stream.AUDITED).permutation(len(rows))[: data["sample"]]
        rows = rows.iloc[sorted(drawn.tolist())]
    return rows.reset_index(drop=True)


def _hash_files(options: Mapping[str, Any], files: AuditFiles) -> dict[str, str]:
    """Return the hashes of the data, the background and the model."""
    from suffice.batch.hashing import hash_file

    found = {"data file": hash_file(files.data)}
    if files.background is not None:
        found["data background"] = hash_file(files.background)
    # A model that is trained is known by what it is trained on.
    trained_on = found.get("data background", found["data file"])
    return found | {"model": hash_of_model(options, lambda: trained_on)}


# -- arguments of analyses that no file holds: another model, how to train it, peer tools ----


def read_analyses(declared: AuditConfig, base: Path) -> dict[str, dict[str, Any]]:
    """Return the arguments of each analysis that need no model, table or tool."""
    found = {name: dict(arguments) for name, arguments in declared.analyses.items()}
    for arguments in found.values():
        if isinstance(arguments.get("catalogue"), str):
            arguments["catalogue"] = base / arguments["catalogue"]
    if "compare" in found:
        check_string(
            "compare: with", found["compare"].pop("with", None), "a model's file, or a folder"
        )
    if "grade" in found:
        _check_tools(found["grade"].pop("tools", ["shap"]))
    return found


def _check_tools(given: Any) -> list[str]:
    wanted = check_name_list("grade: tools", given)
    for name in wanted:
        if name not in PEER_TOOLS:
            raise InputError("grade: tools", repr(name), ", ".join(PEER_TOOLS))
    return wanted


def make_analysis_inputs(
    declared: AuditConfig,
    made: AuditInputs,
    base: Path,
    trust: tuple[bool, Sequence[str]],
    *,
    all: bool,
) -> dict[str, dict[str, Any]]:
    """Return the remaining arguments of each analysis.

    Without `all`, other models are neither opened nor trained.
    """
    found: dict[str, dict[str, Any]] = {}
    asked = declared.analyses
    if "compare" in asked and all:
        classes = declared.model.get("classes")
        other = _open_other_model(base / asked["compare"]["with"], made, (*trust, classes))
        found["compare"] = {"with": other}
    if "stability" in asked and all:
        if made.labels is None:
            hint = "[stability] trains models again, so it needs labels: add target to [data]."
            raise InputError("[data] target", "nothing", "the column of labels", hint)
        found["stability"] = {"fit": _training_function(declared, made), "y": made.labels}
    if "grade" in asked:
        tools = _check_tools(asked["grade"].get("tools", ["shap"]))
        found["grade"] = {"other": make_peer_tools(tools, made.explainer, made.labels)}
    return found


def _open_other_model(path: Path, made: AuditInputs, how: tuple[bool, Sequence[str], Any]) -> Any:
    """Return the explainer of another model, or the path of a folder with its explanations."""
    if path.is_dir():
        return path
    if not path.is_file():
        raise InputError("compare: with", f"{path}, which is not there", "a file or a folder")
    from suffice.cli.models import load_model

    return made.explainer_for(load_model(path, *how))


def _training_function(declared: AuditConfig, made: AuditInputs) -> Callable[..., Any] | Any:
    """Return how to train the model again: as `--train` does, or by its own `fit`."""
    kind = declared.model.get("train")
    if kind is not None:
        from suffice.cli.models import train

        numbers = any(name in declared.question for name in ("at_least", "at_most")) or None
        return lambda X, y, seed: train(kind, X, y, seed, numbers=numbers).model
    model = made.explainer.decider.model.original
    if not hasattr(model, "fit"):
        got = "a model that cannot be fitted"
        raise InputError("[stability]", got, "a scikit-learn model, or train in [model]")
    return model
