"""Manifest of a batch run (`_manifest.json`): question, hashes of the inputs, and run constants.

A run is resumed only if its manifest is the same. Nothing in it depends on the time or the machine.
`check` is a hash of all other fields, and every part of the folder carries it, so an edited
manifest and a part of another run are both detected.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

from suffice.batch.hashing import hash_model, hash_object, hash_table
from suffice.context.change_rules import DeclaredChanges
from suffice.decision import DecisionBuilder
from suffice.errors import InputError, short_repr
from suffice.explanation import Explanation, Player, Provenance
from suffice.explanation.explain import (
    describe_context,
    describe_cost,
    describe_references,
    library_versions,
)
from suffice.explanation.schema import NO_DATE
from suffice.formatting import format_value
from suffice.search import Question
from suffice.search.profile import Profile
from suffice.typing import Adjustment, Scalar

if TYPE_CHECKING:  # `suffice.load` reads manifests without the modules that explain rows
    from suffice.batch.explain_many import BatchExplainer

MANIFEST_FILE = "_manifest.json"
MANIFEST_FORMAT = "suffice explanations"
MANIFEST_VERSION = 1
"""Version of the folder's layout, increased when older folders can no longer be read."""

MAX_ROWS_PER_PART = 10**6


class StorageSettings(msgspec.Struct, frozen=True):
    """Options of storing: the id column, the rows of a part, the counts."""

    id: str | None
    """The column that identifies rows; None: their numbers do."""
    id_type: str
    counts: bool | None
    """Whether counts are stored; None: those of up to 12 features."""
    rows_per_part: Annotated[int, Meta(ge=1, le=MAX_ROWS_PER_PART)]


_Tau = Annotated[float, Meta(gt=0, le=1)]
_Alpha = Annotated[float, Meta(gt=0, lt=1)]
_Positive = Annotated[float, Meta(gt=0)]
_AtLeastOne = Annotated[int, Meta(ge=1)]


class _QuestionBounds(msgspec.Struct):
    """Types and bounds of `Manifest.question`, to validate a file."""

    tau: _Tau
    adjust: Adjustment
    search: str
    alpha: _Alpha | None = None
    max_size: _AtLeastOne | None = None
    budget: _AtLeastOne | None = None
    time_limit: _Positive | None = None


class _ExplainerBounds(msgspec.Struct):
    """Types and bounds of `Manifest.explainer`, to validate a file."""

    random_state: Annotated[int, Meta(ge=0)]
    n_references: _AtLeastOne | None = None
    size_weights: tuple[_Positive, ...] | None = None


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the parts of a folder have in common."""

    format: str = MANIFEST_FORMAT
    version: int = MANIFEST_VERSION
    question: dict[str, Any]
    """The arguments of `explain`, the same for every row."""
    explainer: dict[str, Any]
    """The arguments of `Explainer`, as text where they are objects."""
    storing: StorageSettings
    hashes: dict[str, str | None]
    """Hashes of the model, the data, the input and other arguments; None for an input that can be
    read only once."""
    repeatable: bool
    """Whether the same run gives the same bytes, as it does unless a time limit ends searches."""
    search: str
    """The search of every row, chosen when the run began."""
    shared: RunConstants
    check: str = ""

    def with_hash(self) -> Manifest:
        """Return this manifest with `check`, the hash of all other fields."""
        bare = msgspec.structs.replace(self, check="")
        return msgspec.structs.replace(self, check=sha256(bare.to_json()).hexdigest())

    def to_json(self) -> bytes:
        """Return the JSON text as it is written to the file."""
        return msgspec.json.format(msgspec.json.encode(self, order="sorted"), indent=2) + b"\n"


def describe_run(
    given: DecisionBuilder, asked: str, question: Question, hashes: Mapping[str, str | None]
) -> dict[str, Any]:
    """Return the fields of a manifest about question, explainer and hashes.

    `asked` is the value of `search=`; `hashes` replace those computed here.
    """
    limits = question.limits
    # Everything that a row's answer depends on: one difference, and a run is not resumed.
    found: dict[str, str | None] = {
        "data": hash_table(given.data),
        "references": hash_object(given.references),
        "outcome": hash_object(given.outcome),
        "cost": hash_object(given.cost),
        "context": hash_object(given.context),
    }
    if "model" not in hashes:
        found["model"] = hash_model(given)
    return {
        "question": {
            "tau": question.tau,
            "alpha": question.alpha,
            "adjust": question.adjust,
            "max_size": limits.max_size,
            "budget": limits.budget,
            "time_limit": limits.time_limit,
            "search": asked,
        },
        "explainer": {
            "model": repr(given.model),
            "outcome": None if given.outcome is None else short_repr(given.outcome),
            "references": given.references if isinstance(given.references, str) else "given",
            "n_references": given.n_references,
            "random_state": given.seed,
            "size_weights": question.size_weights,
            "engine": given.engine_selector.engine,
            **_declared_rules(given.changes),
        },
        "hashes": dict(sorted((found | dict(hashes)).items())),
    }


def _declared_rules(changes: DeclaredChanges) -> dict[str, str]:
    """Return the rules on changes that were declared; none, so that older runs can be resumed."""
    given, default = asdict(changes), asdict(DeclaredChanges())
    return {name: short_repr(rule) for name, rule in given.items() if rule != default[name]}


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a folder; an InputError if there is none, or if it was edited."""
    path = folder / MANIFEST_FILE
    allowed = "a folder that explain_to or `suffice batch` wrote"
    try:
        text = path.read_bytes()
    except FileNotFoundError as error:
        got = (
            f"{folder}, which has no {MANIFEST_FILE}"
            if folder.exists()
            else f"{folder} (no such folder)"
        )
        raise InputError("folder", got, allowed) from error
    except OSError as error:
        raise InputError("folder", f"{path} ({error.strerror})", allowed) from error
    broken = "Restore the file, or write to another folder."
    try:
        raw = msgspec.json.decode(text)
        version = raw.get("version") if isinstance(raw, dict) else None
        if (
            isinstance(raw, dict)
            and raw.get("format") == MANIFEST_FORMAT
            and version != MANIFEST_VERSION
        ):
            got = f"{path} of version {short_repr(version)}"
            raise InputError("folder", got, f"version {MANIFEST_VERSION}")
        found = msgspec.convert(raw, Manifest)
        msgspec.convert(found.question, _QuestionBounds)
        msgspec.convert(found.explainer, _ExplainerBounds)
    except (msgspec.MsgspecError, TypeError, UnicodeDecodeError, RecursionError) as error:
        got = f"{path}, which is not a valid manifest ({error})"
        raise InputError("folder", got, allowed, broken) from error
    # Last, since a manifest of another version has another hash.
    if found.check != found.with_hash().check:
        raise InputError("folder", f"{path}, which was edited", allowed, broken)
    return found


def list_differences(old: Manifest, new: Manifest) -> list[str]:
    """Return a text for each setting that differs between two runs.

    `Manifest.search` is no setting: it was chosen by how fast the model was.
    """
    before, after = (dict(_settings(manifest)) for manifest in (old, new))
    out = []
    for name in dict.fromkeys([*after, *before]):
        was, now = before.get(name), after.get(name)
        if was != now:
            kind, _, what = name.partition(".")
            if kind == "hashes":
                out.append(f"the {what} changed: hash {_short_hash(was)} → {_short_hash(now)}")
            else:
                out.append(f"{what or kind}: {_setting_text(was)} → {_setting_text(now)}")
    return out


def _settings(manifest: Manifest) -> Iterator[tuple[str, Any]]:
    built = msgspec.to_builtins(manifest)
    for section in ("question", "explainer", "storing", "hashes"):
        yield from ((f"{section}.{name}", value) for name, value in built[section].items())
    shared = built["shared"]
    yield "players", [name for name, _ in shared["players"]]
    provenance = shared["provenance"]
    yield "context", provenance["context"]["words"]
    for name, version in provenance["versions"].items():
        yield f"version.{name}", version


def _short_hash(given: Any) -> str:
    return "none" if given is None else f"{str(given).rpartition(':')[2][:8]}…"


def _setting_text(given: Any) -> str:
    if isinstance(given, list):
        return ", ".join(map(str, given))
    return "none" if given is None else format_value(given)


class RunConstants(msgspec.Struct, frozen=True):
    """Fields that all explanations of a run share, stored once and not in every row."""

    players: tuple[tuple[str, tuple[str, ...]], ...]
    """The name of each player, and its columns."""
    alpha: _Alpha | None
    adjust: Adjustment
    max_size: _AtLeastOne | None
    size_weights: tuple[_Positive, ...] | None
    provenance: Provenance
    """Provenance with zeros where rows or machines differ."""

    @classmethod
    def from_explainer(cls, explainer: BatchExplainer, question: Mapping[str, Any]) -> RunConstants:
        """Return the constants of a run with these arguments of `explain`."""
        given, asked = explainer.decider, explainer.asking(**question).question
        names, players = given.data.names, given.players
        columns = [tuple(names[j] for j in columns) for columns in players.columns]
        return cls(
            tuple(zip(players.names, columns, strict=True)),
            asked.alpha,
            asked.adjust,
            asked.limits.max_size,
            asked.size_weights,
            Provenance(
                model=repr(given.model),
                data=(len(given.data), len(names)),
                references=describe_references(given.references),
                n_references=1,
                context=describe_context(given.context),
                cost=describe_cost(given.cost),
                change_rules=given.resolved_changes.text,
                random_state=given.seed,
                evaluator="",
                note=None,
                hybrids=0,
                rows_predicted=0,
                created=NO_DATE,
                seconds=0.0,
                model_seconds=0.0,
                versions=dict(library_versions()),
            ),
        )

    @property
    def n_players(self) -> int:
        """The number of players."""
        return len(self.players)

    def matches(self, e: Explanation) -> bool:
        """Return whether an explanation has all these constants."""
        names = [player.name for player in e.players]
        # An explanation of other players, or with features left out, is stored whole in its row.
        same = names == [name for name, _ in self.players] and not e.left_out
        return same and self._same_test(e.keep_profile) and self._same_provenance(e.provenance)

    def _same_test(self, p: Profile) -> bool:
        mine = (self.alpha, self.adjust, self.max_size, self.size_weights)
        return (p.alpha, p.adjust, p.max_size, p.size_weights) == mine

    def _same_provenance(self, p: Provenance) -> bool:
        """Return whether a row's provenance differs only in fields that differ by row."""
        mine = self.provenance
        return (
            (p.model, p.data, p.cost, p.change_rules, p.random_state)
            == (mine.model, mine.data, mine.cost, mine.change_rules, mine.random_state)
            and p.references == mine.references
            and p.context == mine.context
            and p.versions == mine.versions
        )

    def players_of(self, values: Mapping[str, Scalar]) -> tuple[Player, ...]:
        """Return the players of an input with these values by column."""
        return tuple(
            Player(name, {c: values[c] for c in columns}) for name, columns in self.players
        )

    def provenance_of(self, n_references: int, hybrids: int) -> Provenance:
        """Return the provenance of one row."""
        return msgspec.structs.replace(self.provenance, n_references=n_references, hybrids=hybrids)
