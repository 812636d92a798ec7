"""Session of the explorer: models with predictions and scores, a table, cached explainers; no HTTP.

Every answer consists of values that JSON has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np

from suffice.context.causal import CausalContext, CausalModel
from suffice.context.change_rules import DeclaredChanges, Names
from suffice.context.hybrids import Context
from suffice.errors import InputError, did_you_mean
from suffice.explainer import Explainer
from suffice.explanation import Explanation
from suffice.models import require_model, wrap_model
from suffice.question_fields import DEFAULT_N_REFERENCES, QuestionFields
from suffice.search.limits import EXHAUSTIVE_PLAYERS
from suffice.tables import Table, as_scalar, as_table
from suffice.text import Corpus, TextExplainer
from suffice.text.text_model import READS_TEXTS, TextTable
from suffice.typing import Counts
from suffice.web.paged_table import PagedTable, RowPage, to_json_value
from suffice.web.requests import (
    ChangeRules,
    ContrastRequest,
    ExplainRequest,
    Input,
    PredictRequest,
    RecourseOptionsRequest,
    RowsRequest,
    RulesRequest,
    ShapleyRequest,
)

_MAX_CACHED_EXPLAINERS = 16

_MAX_LISTED_CLASSES = 60
"""With more classes, only the first are offered by the page."""

_NO_RULES = ChangeRules()

MAX_SECONDS = 60.0
"""The largest `time_limit`; without one, the seconds after which the server ends a question."""


class Session:
    """Models and a table, and the answers to the explorer's requests.

    `models` by name; `graph` a causal model of the columns; `text` the column that holds texts, of
    models that read texts; `opening` the lines of code that open a model and the data; `immutable`,
    `actionable`, `increasing` and `decreasing` what may change, as in `Explainer`.
    """

    def __init__(
        self,
        models: Mapping[str, Any],
        data: Any,
        *,
        outcome: Any = None,
        n_references: int | None = DEFAULT_N_REFERENCES,
        random_state: int = 0,
        graph: CausalModel | None = None,
        text: str | None = None,
        immutable: Names = (),
        actionable: Names | None = None,
        increasing: Names = (),
        decreasing: Names = (),
        opening: Callable[[str], Sequence[str]] = lambda name: (
            "model = ...  # your model",
            "data = ...  # your table",
        ),
    ) -> None:
        self._models = dict(models)
        self._opening = opening
        self._data = data
        self.seed = random_state
        self.n_references = n_references
        self._outcome = outcome
        self._graph = graph
        self.text_column = text
        self._declared = DeclaredChanges.read(immutable, actionable, increasing, decreasing, None)
        if text is not None and self._declared.text:
            raise InputError("text", text, "None where rules on changes are given: texts have none")
        # The caches are filled by several threads at once; lru_cache is safe for that, and at worst
        # makes an explainer twice.
        self._cached_explainer = lru_cache(_MAX_CACHED_EXPLAINERS)(self._make_explainer)
        self._labels = lru_cache(self._read_labels)
        self._table = as_table(data)
        self._explainers = {} if text else {n: self._default_explainer(n) for n in self._models}
        if text is None:
            self._predictions = {n: e.answers for n, e in self._explainers.items()}
            self._wrapped = {n: e.decider.model for n, e in self._explainers.items()}
        else:
            texts = TextTable(self._texts())
            wrapped = {
                name: wrap_model(require_model(model, READS_TEXTS), texts, predict_again=False)
                for name, model in self._models.items()
            }
            self._predictions = {name: predictions for name, (_, predictions) in wrapped.items()}
            self._wrapped = {name: model for name, (model, _) in wrapped.items()}
        self._rows = PagedTable(self._table, self._predictions)

    def describe(self) -> dict[str, Any]:
        """Return the models, the columns, the possible outcomes, and what may change."""
        return {
            "models": [self._describe_model(name) for name in self._models],
            "rows": len(self._table),
            "columns": msgspec.to_builtins(self._rows.columns()),
            "n_references": self.n_references,
            "graph": self._graph_facts(),
            "text": self.text_column,
        }

    def rows(self, request: RowsRequest) -> RowPage:
        """Return a page of the table."""
        name = self._model_name(request.model)
        page = self._rows.page(request, name)
        return replace(page, scores=self._page_scores(name, page.numbers))

    def predict(self, request: PredictRequest) -> dict[str, Any]:
        """Return the model's prediction for one input."""
        name = self._model_name(request.model)
        if self.text_column is not None:
            texts, model = TextTable([self.read_text(request.input)]), self._wrapped[name]
            prediction = model.predict(texts)[0]
            score = model.prediction_scores(texts, [prediction])[0]
        else:
            decision = self._explainers[name].decide(self._input(request.model, request.input))
            prediction, score = decision.prediction, decision.own_score
        return {"prediction": to_json_value(prediction), "score": msgspec.to_builtins(score)}

    def explain(self, request: ExplainRequest) -> Explanation:
        """Return the explanation of one input."""
        explainer, x = self.prepare(request)
        question: dict[str, Any] = {
            name: getattr(request, name)
            for name in (*QuestionFields.__struct_fields__, "time_limit")
        }
        try:
            return explainer.explain(x, **question)
        except InputError as error:
            by_token = self.text_column is not None and request.contrast.mask != "corpus"
            if error.argument != "mask" or not by_token:
                raise
            hint = 'Replace words by "words of the other texts" (mask: "corpus").'
            raise InputError("mask", error.got, "a mask that makes a contrast", hint) from error

    def prepare(self, request: ExplainRequest) -> tuple[Explainer | TextExplainer, Any]:
        """Return the explainer and the input of a request; raise for fields that it would ignore.

        Exported code is checked in the same way, so that no field is dropped from it.
        """
        _check_time_limit(request.time_limit)
        if self.text_column is not None:
            return self._text_explainer(request), self.read_text(request.input)
        explainer = self.explainer(request.model, request.contrast, request.changes)
        return explainer, self._input(request.model, request.input)

    def recourse(self, request: RecourseOptionsRequest) -> Any:
        """Return the cheapest recourse options."""
        self._require_table("recourse")
        explainer = self.explainer(request.model, request.contrast, request.changes)
        return explainer.recourse(
            self._input(request.model, request.input),
            tau=request.tau,
            ranges=request.ranges or None,
            max_cost=request.max_cost,
            max_size=request.max_size,
            max_options=request.max_options,
            values=request.values,
            time_limit=_check_time_limit(request.time_limit),
        )

    def shapley(self, request: ShapleyRequest) -> Any:
        """Return the Shapley values of sufficiency; the server keeps the time limit."""
        self._require_table("Shapley values")
        _check_time_limit(request.time_limit)
        explainer = self.explainer(request.model, request.contrast)
        n = len(explainer.decider.players)
        if n > EXHAUSTIVE_PLAYERS:
            # Refused at once: the search would only find out when its time is over.
            allowed = f"at most {EXHAUSTIVE_PLAYERS}: Shapley values count every set of features"
            raise InputError("features", n, allowed, "Join columns that go together.")
        return explainer.shapley(self._input(request.model, request.input))

    def rules(self, request: RulesRequest) -> Any:
        """Return the best rules; the server keeps the time limit."""
        self._require_table("rules")
        _check_time_limit(request.time_limit)
        explainer = self.explainer(request.model, request.contrast)
        x = self._input(request.model, request.input)
        try:
            return explainer.anchor(
                x, tau=request.tau, alpha=request.alpha, max_size=request.max_size
            )
        except InputError as error:
            if error.argument != "max_size" or request.max_size is not None:
                raise
            # Its hint names arguments of Python that the explorer does not have.
            raise InputError("max_size", error.got, "a number, such as 3") from error

    def explainer(
        self, model: str | None, contrast: ContrastRequest, changes: ChangeRules = _NO_RULES
    ) -> Explainer:
        """Return the explainer for a contrast and rules on changes, cached for later questions."""
        # Structs that hold lists cannot be keys; their JSON can.
        key = msgspec.json.encode(contrast), msgspec.json.encode(changes)
        return self._cached_explainer(self._model_name(model), *key)

    def opening_code(self, model: str | None) -> Sequence[str]:
        """Return the lines of code that open a model and the data."""
        return self._opening(self._model_name(model))

    def declared_changes(self, request: ChangeRules) -> dict[str, Any]:
        """Return the arguments of `Explainer` for the server's rules and a request's together."""
        # The request may forbid more than the server declares, never less.
        own = self._declared
        actionable = request.actionable if own.actionable is None else [*own.actionable]
        if own.actionable is not None and request.actionable is not None:
            actionable = [name for name in own.actionable if name in request.actionable]
        rules = {
            "immutable": list(dict.fromkeys((*own.immutable, *request.immutable))),
            "actionable": actionable,
            "increasing": list(dict.fromkeys((*own.increasing, *request.increasing))),
            "decreasing": list(dict.fromkeys((*own.decreasing, *request.decreasing))),
        }
        # An empty list is no rule, but for `actionable`, where it would let nothing change.
        return {
            name: names
            for name, names in rules.items()
            if names or (name == "actionable" and names is not None)
        }

    def outcome(self, model: str | None, contrast: ContrastRequest) -> Any:
        """Return the outcome to explain: that of a contrast, else the server's own."""
        event = contrast.event()
        if event is None:
            return self._outcome
        return self.class_label(event, model) if isinstance(event, str) else event

    def class_label(self, outcome: str, model: str | None = None) -> Any:
        """Return a class of the model from its text."""
        labels = self._labels(self._model_name(model))
        if outcome not in labels:
            hint = did_you_mean(outcome, labels)
            raise InputError("outcome", repr(outcome), "a class of the model", hint)
        return labels[outcome]

    def row_values(self, number: int) -> dict[str, Any]:
        """Return the values of one row by column."""
        self.check_row(number)
        table = self._table
        return {name: to_json_value(table.cell(number, j)) for j, name in enumerate(table.names)}

    def check_row(self, number: int) -> None:
        """Raise unless the table has a row of this number."""
        if not 0 <= number < len(self._table):
            raise InputError("row", number, f"0 to {len(self._table) - 1}")

    def read_text(self, given: Input) -> str:
        """Return the text of an input."""
        if given.values:
            raise InputError("values", "given", "text, since the model reads texts")
        if (given.text is None) == (given.row is None):
            got = "neither row nor text" if given.text is None else "both row and text"
            raise InputError("input", got, "one of the two")
        if given.text is not None:
            return given.text
        assert given.row is not None
        return str(self.row_values(given.row)[self._require_text_column()])

    # -- models and labels --------------------------------------------------------------

    def _model_name(self, model: str | None) -> str:
        if model is None:
            return next(iter(self._models))
        if model not in self._models:
            hint = did_you_mean(model, self._models)
            raise InputError("model", repr(model), "a model that is served", hint)
        return model

    def _gives_numbers(self, name: str) -> bool:
        return self._predictions[name].dtype.kind == "f"

    def _describe_model(self, name: str) -> dict[str, Any]:
        numbers = self._gives_numbers(name)
        facts: dict[str, Any] = {
            "name": name,
            "numbers": numbers,
            "predictions": [] if numbers else sorted(self._labels(name))[:_MAX_LISTED_CLASSES],
            "features": [],
            "fixed": {},
            "increasing": [*self._declared.increasing],
            "decreasing": [*self._declared.decreasing],
        }
        if self.text_column is None:
            explainer = self._explainers[name]
            players = explainer.decider.players
            fixed = self._declared.fixed(explainer.data, players)
            facts["features"] = list(explainer.data.names)
            facts["fixed"] = {players.names[i]: reason for i, reason in fixed.items()}
        return facts

    def _read_labels(self, name: str) -> dict[str, Any]:
        """Return the model's classes by their texts, also those that it predicts for no row."""
        if self._gives_numbers(name):
            return {}
        classes = self._wrapped[name].classes or ()
        known = dict.fromkeys([*self._predictions[name].tolist(), *classes])
        return {str(to_json_value(v)): as_scalar(v) for v in known}

    def _page_scores(self, name: str, numbers: list[int]) -> list[float | None] | None:
        """Return the score of each prediction of a page; None where they say no more than it."""
        chosen = np.asarray(numbers, dtype=int)
        # Scores are predicted for one page of rows, not for a million.
        predictions = self._predictions[name][chosen]
        if not numbers or self._gives_numbers(name):
            return None
        rows: Table = (
            TextTable(self._texts(chosen))
            if self.text_column
            else (self._explainers[name].data.take(chosen))
        )
        scores = self._wrapped[name].prediction_scores(rows, predictions.tolist())
        return None if not any(scores) else [None if s is None else s.value for s in scores]

    # -- explainers ---------------------------------------------------------------------

    def _default_explainer(self, name: str) -> Explainer:
        return Explainer(
            self._models[name],
            self._data,
            outcome=self._outcome,
            n_references=self.n_references,
            random_state=self.seed,
            **asdict(self._declared),
        )

    def _make_explainer(self, name: str, contrast_json: bytes, changes_json: bytes) -> Explainer:
        contrast = msgspec.json.decode(contrast_json, type=ContrastRequest)
        references: Any = contrast.references
        if isinstance(references, list):
            references = self._rows.mask(references)
        arguments: dict[str, Any] = {
            "references": references,
            "outcome": self.outcome(name, contrast),
            "groups": contrast.groups or None,
            "context": self._context(contrast),
        }
        if contrast.mask != "auto":
            raise InputError("mask", contrast.mask, '"auto" for a table: only texts have a mask')
        if contrast.n_references is not None:
            arguments["n_references"] = contrast.n_references
        changes = self.declared_changes(msgspec.json.decode(changes_json, type=ChangeRules))
        return self._explainers[name].but(**arguments, **changes)

    def _context(self, contrast: ContrastRequest) -> Context | None:
        if not contrast.causal:
            return None
        if self._graph is None:
            raise InputError("causal", True, "false: no graph was given", "Serve with --graph.")
        return CausalContext(self._graph)

    def _graph_facts(self) -> dict[str, list[str]] | None:
        if self._graph is None:
            return None
        return {node: list(self._graph.parents(node)) for node in self._graph.nodes}

    # -- inputs -------------------------------------------------------------------------

    def _input(self, model: str | None, given: Input) -> Any:
        """Return the input for an explainer: a row of the table with the changed values."""
        if given.text is not None:
            raise InputError("text", "a text", "row and values, since the models read a table")
        if given.row is None:
            return dict(given.values)
        self.check_row(given.row)
        if not given.values:
            # The explainer's own table has the row in the dtypes that the model reads.
            return self._explainers[self._model_name(model)].data.take(np.array([given.row]))
        base = self._table
        known = base.names
        for column in given.values:
            if column not in known:
                hint = did_you_mean(column, known)
                raise InputError("values", f"column {column!r}", "columns of the table", hint)
        cells = {column: base.cell(given.row, j) for j, column in enumerate(known)}
        return cells | dict(given.values)

    def _require_table(self, what: str) -> None:
        if self.text_column is not None:
            raise InputError("input", "a text", f"a row of a table: {what} are of tables")

    # -- texts --------------------------------------------------------------------------

    def _text_explainer(self, request: ExplainRequest) -> TextExplainer:
        model, contrast = self._model_name(request.model), request.contrast
        only_texts = contrast.references != "opposite" or contrast.groups or contrast.causal
        if only_texts or request.changes != _NO_RULES:
            raise InputError("contrast", "of a table", "outcome and n_references, for a text")
        return TextExplainer(
            self._models[model],
            mask=Corpus(self._texts()) if contrast.mask == "corpus" else "auto",
            outcome=self.outcome(model, contrast),
            n_references=contrast.n_references,
            random_state=self.seed,
        )

    def _require_text_column(self) -> str:
        assert self.text_column is not None
        return self.text_column

    def _texts(self, chosen: Counts | slice = slice(None)) -> list[str]:
        column = self._table.column(self._table.position(self._require_text_column(), "text"))
        return [str(text) for text in column[chosen]]


def _check_time_limit(given: float | None) -> float | None:
    """Return the time limit of a search; None where only the server's own limit holds."""
    if given is None:
        return None
    if not 0 < given <= MAX_SECONDS:
        raise InputError("time_limit", given, f"seconds, up to {MAX_SECONDS:g}")
    return given
