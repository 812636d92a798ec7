"""`TextExplainer`, and the search of a long text: passages first, then words of some passages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any, Unpack

import msgspec
import numpy as np

from suffice.explainer import Explainer, ExplainOptions
from suffice.explanation import Explanation, ReferencesRecord
from suffice.explanation.explanation import features_to_refine
from suffice.explanation.schema import TextRefinement, TextSubject
from suffice.models.outputs import RowCounter
from suffice.search.limits import Limits, Stop
from suffice.search.plan import Plan, Suggestion
from suffice.text.masks import (
    MASK_CANDIDATES,
    Corpus,
    TextContrast,
    choose_contrast,
    describe_mask,
    read_mask,
    string_array,
)
from suffice.text.segmentation import (
    TextParts,
    UnitSpec,
    check_text,
    check_unit,
    split_text,
    words_of_features,
)
from suffice.text.text_model import CellJoiner, CellTable, TextContext, TextModel
from suffice.typing import Values
from suffice.validation import check_integer

_FEW_PARTS = 10
"""Up to this many parts every set is counted, however slow the model."""


@dataclass(frozen=True)
class PreparedText:
    """References of a text, and the texts that were predicted to choose them."""

    contrast: TextContrast
    rows: RowCounter
    """Rows that no search has reported yet."""


class TextExplainer:
    """Explains single decisions on texts by the words that suffice to keep or to flip them.

    Parameters
    ----------
    model
        A callable from a list of strings to labels, values or class scores, or any object whose
        `predict` takes a list of strings: a scikit-learn text pipeline, for example.
    unit
        What is held or replaced. "auto": words; of a text of more than 60, at most 12 passages
        first and then the words of those that matter most. "word", "sentence" or "passage" alone;
        or a callable from a text to [(start, stop), …].
    mask
        What replaces a word: a token, a list of tokens (each is a reference), "delete", or
        `Corpus(texts)` for words of texts that are predicted otherwise. "auto": one of
        `candidates`, namely the mildest for which a text of nothing else is predicted otherwise
        than the input. The mildest is the one that, put for some words, keeps the outcome most
        often. Words in the model's vocabulary, where that can be read, are chosen only if no other
        candidate makes a contrast.
    candidates
        The tokens that mask="auto" chooses from; "" deletes. Of equally mild tokens the first is
        chosen.
    n_references
        The most references to use; for a corpus, how many texts to draw (None: 50).
    outcome
        What counts as the outcome, as for `Explainer`: by default the class predicted.
    random_state
        Seed of whatever is drawn.

    Examples
    --------
    >>> def model(texts):
    ...     return ["good" if "fine" in t and "not" not in t else "bad" for t in texts]
    >>> e = TextExplainer(model)("a fine film")
    >>> [f.features for f in e.keep.factors], [f.features for f in e.flip.factors]
    ([('fine',)], [('fine',)])
    """

    def __init__(
        self,
        model: Any,
        *,
        unit: UnitSpec = "auto",
        mask: str | Sequence[str] | Corpus = "auto",
        candidates: Sequence[str] = MASK_CANDIDATES,
        n_references: int | None = None,
        outcome: Any = None,
        random_state: int = 0,
    ) -> None:
        self._model = model
        self._unit = check_unit(unit)
        self._mask = read_mask(mask, candidates)
        self._n_references = (
            None
            if n_references is None
            else check_integer("n_references", n_references, also="None")
        )
        self._outcome = outcome
        self._seed = check_integer("random_state", random_state, least=0)

    def explain(
        self,
        text: str,
        *,
        spans: Iterable[Sequence[int]] | None = None,
        **question: Unpack[ExplainOptions],
    ) -> Explanation:
        """Find what suffices to keep the text's outcome, and to flip it.

        Parameters
        ----------
        text
            The text. It reaches the model as it is, save for what is replaced.
        spans
            [(start, stop), …]: what is held or replaced in this text, in place of `unit`.
        **question
            tau, alpha, max_size, budget, time_limit, search, adjust, progress: as in
            `Explainer.explain`. `budget` bounds all texts predicted, also those that choose the
            mask: up to eight for each candidate.
        """
        started = perf_counter()
        parts = split_text(check_text(text), self._unit, spans)
        # The mask is chosen once, also for the words of passages: choosing asks the model.
        prepared = self._prepare(parts)
        if spans is None and self._unit == "auto" and parts.unit == "passage":
            answer = partial(self._explain_parts, prepared)
            return passages_then_words(answer, parts, question, started)
        return self._explain_parts(prepared, parts, question, started)

    __call__ = explain

    def refine(
        self,
        explanation: Explanation,
        *,
        features: Sequence[str] | str | None = None,
        **question: Unpack[ExplainOptions],
    ) -> Explanation:
        """Search the single words of some passages of an explanation.

        All other words are replaced in the keep view and held in the flip view, as they are for
        any set that names none of them. So each factor found is sufficient, and minimal, in the
        text as a whole; sets with words of other passages are not searched.

        Parameters
        ----------
        explanation
            An explanation of passages, sentences or spans of a text.
        features
            Names of passages. None: those of the best factor in each view, which is the one with
            the fewest members, and the surest of these.
        **question
            As in `explain`; τ is that of the explanation unless it is given.
        """
        started = perf_counter()
        parts = words_of_features(explanation, features)
        options: ExplainOptions = {"tau": explanation.tau}
        return self._explain_parts(self._prepare(parts), parts, options | question, started)

    def __repr__(self) -> str:
        model = getattr(self._model, "__name__", type(self._model).__name__)
        unit = self._unit if isinstance(self._unit, str) else "own spans"
        return f"<TextExplainer: {model}, by {unit}, mask: {describe_mask(self._mask)}>"

    def _prepare(self, parts: TextParts) -> PreparedText:
        """Choose the references by predictions of the model.

        The choice depends on the text and its atoms alone, so it also holds for a search of other
        features of the same text.
        """
        rows = RowCounter()
        with rows.counting():
            contrast = choose_contrast(
                self._mask,
                self._model,
                parts,
                CellJoiner(parts.text, parts.atoms),
                self._outcome,
                self._n_references,
                self._seed,
            )
        return PreparedText(contrast, rows)

    def _explain_parts(
        self,
        prepared: PreparedText,
        parts: TextParts,
        question: ExplainOptions,
        started: float | None = None,
    ) -> Explanation:
        """Explain the text by these parts; `started` is when the work on it began (None: now)."""
        started = perf_counter() if started is None else started
        contrast, join = prepared.contrast, CellJoiner(parts.text, parts.atoms)
        # Only a time limit may depend on the model's pace, which takes rows of a budget to measure;
        # all sets of few parts are counted.
        timed = question.get("time_limit") is not None and question.get("budget") is None
        hidden = len(parts.atoms) - len(parts.visible)
        names = parts.atom_names
        with prepared.rows.counting():
            many = len(parts.spans) > _FEW_PARTS
            pace = contrast.decision.seconds_per_text if timed and many else None
            explainer = Explainer(
                TextModel(contrast.decision.model, join, parts.visible, pace),
                CellTable(contrast.cells, names, parts.visible),
                outcome=contrast.decision.outcome,
                references="all",
                n_references=self._n_references,
                groups=parts.groups,
                random_state=self._seed,
                cost=_words_replaced,
                context=TextContext(contrast.description, hidden > 0),
            )
        # The text as it is, cut at the atoms: joined again it is the same.
        cells = string_array([[parts.text[a:b] for a, b in parts.atoms]])
        asking = explainer.asking(**question)
        decision = explainer.decide(CellTable(cells, names, parts.visible))
        e = explainer.answer(decision, asking, started=started, spent=prepared.rows.take())
        seconds = perf_counter() - started
        return replace(
            e,
            provenance=msgspec.structs.replace(
                e.provenance,
                data=None,
                references=ReferencesRecord("texts", contrast.description, contrast.mask),
                seconds=seconds,
            ),
            subject=TextSubject(parts.text, tuple(parts.spans), parts.unit),
        )


def _words_replaced(word: str, old: object, new: Values) -> Values:
    """Return the cost of a change: the number of words that it replaces."""
    return np.asarray(new != old, dtype=float)


# A long text: its passages are searched first, then the words of the best sets of passages.


ExplainParts = Callable[[TextParts, ExplainOptions], Explanation]
"""Function that explains a text by some parts."""

_PASSAGE_SHARE = 0.4
"""Share of the time or the budget that the search of passages may use."""
_LEAST_WORD_SHARE = 0.3
"""Share of the time that the search of words gets, however long the passages took."""
_LEAST_ROWS = 1000
"""A smaller budget is not split: passages need all of it."""


def passages_then_words(
    answer: ExplainParts, parts: TextParts, question: ExplainOptions, started: float
) -> Explanation:
    """Explain a long text by words of its best passages; by passages if no words are found.

    The time limit counts from `started`, so it includes the choice of the mask.
    """
    time, budget = question.get("time_limit"), question.get("budget")
    limits = Limits(question.get("max_size"), budget, time).validated()
    seconds, rows = limits.time_limit, limits.budget
    first = None if seconds is None else _PASSAGE_SHARE * seconds
    some = None if rows is None else min(rows, max(int(_PASSAGE_SHARE * rows), _LEAST_ROWS))
    coarse = answer(parts, question | _share_of_limits(first, some))
    members = _passages_to_refine(coarse)
    left = None if rows is None else rows - coarse.provenance.rows_predicted
    if not members or (left is not None and left < _LEAST_ROWS):
        return _merged_effort(coarse, parts, coarse, len(members), limits, started)
    names = [coarse.players[number].name for number in members]
    remaining = None
    if seconds is not None:
        # The search of words gets some time even if passages took too long.
        remaining = max(seconds - (perf_counter() - started), _LEAST_WORD_SHARE * seconds)
    fine = answer(words_of_features(coarse, names), question | _share_of_limits(remaining, left))
    # Words are reported only if no view loses its sets to a limit.
    worse = any(
        before.factors and not after.factors
        for before, after in ((coarse.keep, fine.keep), (coarse.flip, fine.flip))
    )
    # An answer in passages is better than none in words.
    e = coarse if worse else fine
    return _merged_effort(e, parts, coarse, len(members), limits, started, fine)


def _share_of_limits(seconds: float | None, rows: int | None) -> ExplainOptions:
    return {"time_limit": seconds, "budget": rows}


def _passages_to_refine(coarse: Explanation) -> tuple[int, ...]:
    """Return the passages of the best set of each view; () if these sets are empty."""
    best = [min((f.size for f in view.factors), default=0) for view in (coarse.keep, coarse.flip)]
    return features_to_refine(coarse, None) if any(best) else ()


def _merged_effort(
    e: Explanation,
    parts: TextParts,
    coarse: Explanation,
    within: int,
    limits: Limits,
    started: float,
    fine: Explanation | None = None,
) -> Explanation:
    """Return an explanation with the effort of both searches and the limits given by the user."""
    searches = [search.provenance for search in (coarse, fine) if search is not None]
    subject = e.subject
    assert isinstance(subject, TextSubject)
    closer = TextRefinement(
        len(parts.atoms), len(parts.spans), coarse.complete, within, found=e is fine
    )
    plan = e.provenance.plan
    return replace(
        e,
        stopped=None if e.stopped is None else _stop_as_given(e.stopped, limits),
        subject=msgspec.structs.replace(subject, closer=closer),
        provenance=msgspec.structs.replace(
            e.provenance,
            plan=None if plan is None else _plan_as_given(plan, limits),
            hybrids=sum(search.hybrids for search in searches),
            rows_predicted=sum(search.rows_predicted for search in searches),
            seconds=perf_counter() - started,
            model_seconds=sum(search.model_seconds for search in searches),
        ),
    )


def _stop_as_given(stop: Stop, limits: Limits) -> Stop:
    """Return a stop that names the limit given by the user, not the share of one search."""
    whole = {
        "time_limit": limits.time_limit,
        "budget": limits.budget,
        "hybrids": limits.budget,
    }.get(stop.kind)
    return stop if whole is None else Stop(stop.kind, whole)


def _plan_as_given(plan: Plan, limits: Limits) -> Plan:
    """Return a plan whose suggestions are multiples of the limits given by the user."""
    given = {"time_limit": limits.time_limit, "budget": limits.budget}
    shares = {"time_limit": plan.limits.time_limit, "budget": plan.limits.budget}

    def scaled(more: Suggestion) -> Suggestion:
        for name, share in shares.items():
            suggested, whole = more.arguments.get(name), given[name]
            if isinstance(suggested, int | float) and share and whole:
                # The suggestion was made for a share of the limit that the user gave.
                times = round(suggested / share)
                return replace(more, arguments={name: times * whole}, seconds=times * whole)
        return more

    whole = replace(plan, limits=replace(limits, work=plan.limits.work), more=(), copies=())
    return whole.with_suggestions(lambda: (tuple(map(scaled, plan.more)), plan.copies))
