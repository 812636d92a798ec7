"""Session of the explorer: models, a table, and cached explainers, without any HTTP.

Every answer consists of values that JSON has.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any

import msgspec
import numpy as np

from suffice.context.causal import CausalContext, CausalModel
from suffice.context.hybrids import Context
from suffice.errors import InputError, did_you_mean
from suffice.explainer import Explainer
from suffice.explanation import Explanation
from suffice.question_fields import DEFAULT_N_REFERENCES, QuestionFields
from suffice.tables import as_scalar, as_table
from suffice.text import TextExplainer
from suffice.web.paged_table import PagedTable, RowPage, to_json_value
from suffice.web.requests import (
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

MAX_SECONDS = 60.0
"""Most seconds that a question may take, and the largest `time_limit`."""


class Session:
    """Models and a table, and the answers to the explorer's requests.

    `models` by name; `graph` a causal model of the columns; `text` the column that holds texts, of
    models that read texts; `opening` the lines of code that open a model and the data.
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
        opening: Callable[[str], Sequence[str]] = lambda name: ("model = …", "data = …"),
    ) -> None:
        self._models = dict(models)
        self._opening = opening
        self._data = data
        self.seed = random_state
        self.n_references = n_references
        self._outcome = outcome
        self._graph = graph
        self.text = text
        self._lock = Lock()
        self._explainers: OrderedDict[tuple[str, bytes], Explainer] = OrderedDict()
        self._rows = PagedTable(as_table(data))
        self._own = {} if text else {name: self._plain(name) for name in self._models}
        self._answers = {
            name: self._own[name].answers if text is None else self._read_texts(name)
            for name in self._models
        }

    def about(self) -> dict[str, Any]:
        """Return the models, the columns, and the possible outcomes."""
        first = next(iter(self._models))
        answers = self._answers[first]
        labels = sorted({str(to_json_value(v)) for v in np.unique(answers.astype(str))[:60]})
        numbers = answers.dtype.kind == "f"
        return {
            "models": list(self._models),
            "rows": len(self._rows),
            "columns": msgspec.to_builtins(self._rows.columns()),
            "features": [] if self.text else list(self._own[first].data.names),
            "predictions": [] if numbers else labels,
            "numbers": numbers,
            "n_references": self.n_references,
            "graph": self._graph_facts(),
            "text": self.text,
        }

    def rows(self, asked: RowsRequest) -> RowPage:
        """Return a page of the table."""
        name = self._name(asked.model)
        return self._rows.page(asked, self._answers[name], name)

    def predict(self, asked: PredictRequest) -> dict[str, Any]:
        """Return the model's prediction for one input."""
        if self.text:
            model = self._models[self._name(asked.model)]
            answer = np.asarray(_predict_function(model)([self.text_of(asked.input)]))[0]
            return {"prediction": to_json_value(answer), "score": None}
        decision = self._own[self._name(asked.model)].decide(self._input(asked.input))
        return {
            "prediction": to_json_value(decision.prediction),
            "score": msgspec.to_builtins(decision.own_score),
        }

    def explain(self, asked: ExplainRequest) -> Explanation:
        """Return the explanation of one input."""
        question: dict[str, Any] = {
            name: getattr(asked, name) for name in QuestionFields.__struct_fields__
        }
        question["time_limit"] = _check_time_limit(asked.time_limit)
        if self.text:
            return self._texts(asked).explain(self.text_of(asked.input), **question)
        explainer = self.explainer(asked.model, asked.contrast)
        return explainer.explain(self._input(asked.input), **question)

    def recourse(self, asked: RecourseOptionsRequest) -> Any:
        """Return the cheapest recourse options."""
        self._only_tables("recourse")
        explainer = self.explainer(asked.model, asked.contrast)
        return explainer.recourse(
            self._input(asked.input),
            tau=asked.tau,
            immutable=asked.immutable,
            increasing=asked.increasing,
            decreasing=asked.decreasing,
            ranges=asked.ranges or None,
            max_cost=asked.max_cost,
            max_size=asked.max_size,
            max_options=asked.max_options,
            values=asked.values,
            time_limit=_check_time_limit(asked.time_limit),
        )

    def shapley(self, asked: ShapleyRequest) -> Any:
        """Return the Shapley values of sufficiency; the server keeps the time limit."""
        self._only_tables("Shapley values")
        return self.explainer(asked.model, asked.contrast).shapley(self._input(asked.input))

    def rules(self, asked: RulesRequest) -> Any:
        """Return the best rules; the server keeps the time limit."""
        self._only_tables("rules")
        explainer = self.explainer(asked.model, asked.contrast)
        return explainer.anchor(
            self._input(asked.input), tau=asked.tau, alpha=asked.alpha, max_size=asked.max_size
        )

    def explainer(self, model: str | None, contrast: ContrastRequest) -> Explainer:
        """Return the explainer for a contrast, cached for the next question."""
        key = self._name(model), msgspec.json.encode(contrast)
        with self._lock:
            found = self._explainers.get(key)
            if found is not None:
                self._explainers.move_to_end(key)
                return found
        made = self._contrasted(key[0], contrast)
        with self._lock:
            self._explainers[key] = made
            while len(self._explainers) > _MAX_CACHED_EXPLAINERS:
                self._explainers.popitem(last=False)
        return made

    def opening(self, model: str | None) -> Sequence[str]:
        """Return the lines of code that open a model and the data."""
        return self._opening(self._name(model))

    def label(self, outcome: str, model: str | None = None) -> Any:
        """Return a class of the model from its text."""
        name = self._name(model)
        known = [*self._answers[name].tolist(), *self._classes_of(name)]
        labels = {str(to_json_value(v)): as_scalar(v) for v in dict.fromkeys(known)}
        if outcome not in labels:
            hint = did_you_mean(outcome, labels)
            raise InputError("outcome", repr(outcome), "a class of the model", hint)
        return labels[outcome]

    def _classes_of(self, name: str) -> Sequence[Any]:
        """Return all classes of a model, also those that it predicts for no row of the table."""
        if self.text:
            return list(getattr(self._models[name], "classes_", ()))
        return self._own[name].decider.model.classes or ()

    def row_values(self, number: int) -> dict[str, Any]:
        """Return the values of one row by column."""
        if not 0 <= number < len(self._rows):
            raise InputError("row", number, f"0 to {len(self._rows) - 1}")
        table = as_table(self._data)
        return {name: to_json_value(table.cell(number, j)) for j, name in enumerate(table.names)}

    # -- the parts ----------------------------------------------------------------------

    def _name(self, model: str | None) -> str:
        if model is None:
            return next(iter(self._models))
        if model not in self._models:
            hint = did_you_mean(model, self._models)
            raise InputError("model", repr(model), "a model that is served", hint)
        return model

    def _plain(self, name: str) -> Explainer:
        return Explainer(
            self._models[name],
            self._data,
            outcome=self._outcome,
            n_references=self.n_references,
            random_state=self.seed,
        )

    def _contrasted(self, name: str, contrast: ContrastRequest) -> Explainer:
        references: Any = contrast.references
        if isinstance(references, list):
            references = self._rows.mask(references)
        changes: dict[str, Any] = {
            "references": references,
            "outcome": self._event(name, contrast),
            "groups": contrast.groups or None,
            "context": self._context(contrast),
        }
        if contrast.n_references is not None:
            changes["n_references"] = contrast.n_references
        return self._own[name].but(**changes)

    def _event(self, name: str, contrast: ContrastRequest) -> Any:
        event = contrast.event()
        if event is None:
            return self._outcome
        return self.label(event, name) if isinstance(event, str) else event

    def _context(self, contrast: ContrastRequest) -> Context | None:
        if not contrast.causal:
            return None
        if self._graph is None:
            raise InputError("causal", True, "false: no graph was given", "Serve with --graph.")
        return CausalContext(self._graph)

    def _input(self, given: Input) -> Any:
        """Return the input for an explainer: a row of the table with the changed values."""
        if given.row is None:
            return dict(given.values)
        base = as_table(self._data)
        if not 0 <= given.row < len(base):
            raise InputError("row", given.row, f"0 to {len(base) - 1}")
        if not given.values:
            return base.take(np.array([given.row])).native
        known = base.names
        for name in given.values:
            if name not in known:
                hint = did_you_mean(name, known)
                raise InputError("values", f"column {name!r}", "columns of the table", hint)
        cells = {name: base.cell(given.row, j) for j, name in enumerate(known)}
        return cells | dict(given.values)

    def _graph_facts(self) -> dict[str, list[str]] | None:
        if self._graph is None:
            return None
        return {node: list(self._graph.parents(node)) for node in self._graph.nodes}

    def _only_tables(self, what: str) -> None:
        if self.text:
            raise InputError("input", "a text", f"a row of a table: {what} are of tables")

    # -- texts --------------------------------------------------------------------------

    def _texts(self, asked: ExplainRequest) -> TextExplainer:
        model, contrast = self._name(asked.model), asked.contrast
        if isinstance(contrast.references, list) or contrast.groups or contrast.causal:
            raise InputError("contrast", "of a table", "outcome and n_references, for a text")
        return TextExplainer(
            self._models[model],
            outcome=self._event(model, contrast),
            n_references=contrast.n_references,
            random_state=self.seed,
        )

    def text_of(self, given: Input) -> str:
        """Return the text of an input."""
        if given.text is not None:
            return given.text
        if given.row is None:
            raise InputError("input", "neither row nor text", "one of the two")
        return str(self.row_values(given.row)[self._column()])

    def _column(self) -> str:
        assert self.text is not None
        return self.text

    def _read_texts(self, name: str) -> Any:
        table = as_table(self._data)
        texts = [str(v) for v in table.column(table.position(self._column(), "text"))]
        return np.asarray(_predict_function(self._models[name])(texts))


def _check_time_limit(given: float | None) -> float | None:
    """Return the time limit of a search; None where only the server's own limit holds."""
    if given is None:
        return None
    if not 0 < given <= MAX_SECONDS:
        raise InputError("time_limit", given, f"seconds, up to {MAX_SECONDS:g}")
    return given


def _predict_function(model: Any) -> Callable[[list[str]], Any]:
    found: Callable[[list[str]], Any] = model.predict if hasattr(model, "predict") else model
    return found
