"""A text's decision explained: which words suffice to keep it, and which to flip it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, Unpack

import msgspec
import numpy as np

from suffice.checks import whole
from suffice.explainer import Asked, Explainer
from suffice.explanation import Explanation, ReferencesRecord
from suffice.explanation.subject import TextSubject
from suffice.text.asking import JoinedModel
from suffice.text.cells import Cells, InText
from suffice.text.coarse_to_fine import passages_then_words
from suffice.text.contrast import contrast_with, describe_mask, read_mask
from suffice.text.join import Join
from suffice.text.masks import CANDIDATES, Corpus, as_cells
from suffice.text.parts import Parts, check_unit, cut, look_into
from suffice.text.spans import Unit, check_text
from suffice.typing import Values

__all__ = ["TextExplainer"]

_FEW = 10
"""Parts whose sets are all counted, whatever the model."""


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
        `Corpus(texts)` for words of texts that are predicted otherwise. "auto": the first of
        `candidates` for which a text of nothing else is predicted otherwise than the input.
    candidates
        The tokens that mask="auto" tries, in this order; "" deletes.
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
        unit: Unit = "auto",
        mask: str | Sequence[str] | Corpus = "auto",
        candidates: Sequence[str] = CANDIDATES,
        n_references: int | None = None,
        outcome: Any = None,
        random_state: int = 0,
    ) -> None:
        self._model = model
        self._unit = check_unit(unit)
        self._mask = read_mask(mask, candidates)
        self._n_references = (
            None if n_references is None else whole("n_references", n_references, also="None")
        )
        self._outcome = outcome
        self._seed = whole("random_state", random_state, least=0)

    def explain(
        self,
        text: str,
        *,
        spans: Iterable[Sequence[int]] | None = None,
        **question: Unpack[Asked],
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
            `Explainer.explain`.
        """
        parts = cut(check_text(text), self._unit, spans)
        if spans is None and self._unit == "auto" and parts.noun == "passage":
            return passages_then_words(self._answer, parts, question)
        return self._answer(parts, question)

    __call__ = explain

    def refine(
        self,
        explanation: Explanation,
        *,
        features: Sequence[str] | str | None = None,
        **question: Unpack[Asked],
    ) -> Explanation:
        """Look at the single words of some passages of an explanation.

        All other words are replaced in the keep view and held in the flip view, as they are for
        any set that names none of them. So each factor found is sufficient, and minimal, in the
        text as a whole; sets that reach into other passages are not looked at.

        Parameters
        ----------
        explanation
            Of passages, sentences or spans of a text.
        features
            Names of passages. None: those of the best factor in each view, which is the one with
            the fewest members, and the surest of these.
        **question
            As in `explain`; τ is the explanation's own unless it is given.
        """
        parts = look_into(explanation, features)
        asked: Asked = {"tau": explanation.tau}
        return self._answer(parts, asked | question)

    def __repr__(self) -> str:
        model = getattr(self._model, "__name__", type(self._model).__name__)
        unit = self._unit if isinstance(self._unit, str) else "own spans"
        return f"<TextExplainer: {model}, by {unit}, mask: {describe_mask(self._mask)}>"

    def _answer(self, parts: Parts, question: Asked) -> Explanation:
        started = perf_counter()
        join = Join(parts.text, parts.atoms)
        contrast = contrast_with(
            self._mask, self._model, parts, join, self._outcome, self._n_references, self._seed
        )
        # With few parts it does not matter how long a text takes.
        pace = contrast.decision.pace(parts.text) if len(parts.spans) > _FEW else None
        hidden = len(parts.atoms) - len(parts.seen)
        names = parts.atom_names
        explainer = Explainer(
            JoinedModel(contrast.decision.model, join, parts.seen, pace),
            Cells(contrast.cells, names, parts.seen),
            outcome=contrast.decision.outcome,
            references="all",
            n_references=self._n_references,
            groups=parts.groups,
            random_state=self._seed,
            cost=_each_word,
            context=InText(contrast.says, hidden > 0),
        )
        cells = as_cells([[parts.text[a:b] for a, b in parts.atoms]])
        e = explainer.explain(Cells(cells, names, parts.seen), **question)
        seconds = perf_counter() - started
        return replace(
            e,
            provenance=msgspec.structs.replace(
                e.provenance,
                data=None,
                references=ReferencesRecord("texts", contrast.says, contrast.mask),
                seconds=seconds,
            ),
            subject=TextSubject(parts.text, tuple(parts.spans), parts.noun),
        )


def _each_word(word: str, old: object, new: Values) -> Values:
    """A change costs as much as it replaces words."""
    return np.asarray(new != old, dtype=float)
