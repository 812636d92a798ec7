"""Summary of an explanation as text: question, values, marked words, glossary, provenance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from suffice.explanation import Explanation, View, all_players, as_views
from suffice.explanation.schema import ImageSubject, MaskRecord, TextSubject
from suffice.formatting import format_name, format_value, join_words, percent, plural, printable
from suffice.summary.signature import SignatureLimits
from suffice.summary.terminology import (
    PYTHON_HINTS,
    ReaderHints,
    Terms,
    completeness_text,
    duplicate_features_note,
    feature_value,
    left_out_text,
    suggested_calls,
    terms_for,
)
from suffice.summary.view_summary import (
    LISTED_SETS,
    Pieces,
    ViewSummary,
    printable_pieces,
    summarise_view,
)

_REFERENCES_SUFFIX = {
    "opposite": " {}",
    "all": " ({})",
    "given": "",
    "texts": "",
    "pictures": " ({})",
}
"""By kind of references: the words that follow their number."""


@dataclass(frozen=True)
class Summary:
    """An explanation, or one view of it, ready to be shown."""

    question: str
    prediction_text: str
    """The predicted probability, score or value, shown beside the question; "" if there is none."""
    answer: str
    """The whole answer in one sentence."""
    subject: str
    values: tuple[tuple[str, str], ...]
    views: tuple[ViewSummary, ...]
    complete: bool
    status: str
    """Whether the search was complete, and for what; `completeness_text` has the reason."""
    completeness: str
    provenance: str
    suggested_calls: tuple[tuple[str, str], ...] = ()
    """Calls that would find more than an incomplete search did, each with its effect."""
    left_out: str = ""
    """Sentence on features that cannot matter and were left out of the search."""
    notes: tuple[str, ...] = ()
    """What is not shown in full, and where it is."""
    source_text: str = ""
    """The explained text, shown in place of values."""
    text_pieces: Pieces = ()
    """The explained text in pieces, each with whether a listed set has it."""
    image: ImageSubject | None = None
    """The explained image, in which factors are drawn as regions."""
    glossary: tuple[tuple[str, str], ...] = ()
    """Technical terms, each with its meaning in this explanation."""
    image_description: str = ""
    """Alternative text of the image."""
    hints: ReaderHints = PYTHON_HINTS
    """Attributes or options that show more, named as the reader would write them."""
    feature: str = "feature"
    """The noun for a feature: "word" in a text, "region" in an image."""
    scope_phrase: str = ""
    """" of these words", where sets of other words were not searched."""

    @property
    def suggestions(self) -> str:
        """The suggested calls as one sentence; "" where there are none."""
        calls = "; ".join(f"{call}: {gives}" for call, gives in self.suggested_calls)
        return f"For more: {calls}." if calls else ""

    @property
    def keep(self) -> ViewSummary:
        """The view of the sets that keep the outcome."""
        return next(view for view in self.views if view.name == "keep")

    @property
    def flip(self) -> ViewSummary:
        """The view of the sets that flip the outcome."""
        return next(view for view in self.views if view.name == "flip")


def summarise(
    result: Explanation | View,
    hints: ReaderHints = PYTHON_HINTS,
    most: int = LISTED_SETS,
    signature: SignatureLimits | None = None,
) -> Summary:
    """Summarise an explanation, or one view of it, as text and numbers.

    Each view lists at most `most` factors and counts the others. The data of the signature picture
    takes longer than all words, so it is made only where its limits are given.
    """
    # A view is summarised with the completeness and provenance of its explanation.
    chosen = as_views(result)
    e = chosen[0].explanation
    terms = terms_for(e, hints)
    views = tuple(summarise_view(view, terms, hints, most, signature) for view in chosen)
    image = e.subject if isinstance(e.subject, ImageSubject) else None
    size = f"{image.width} × {image.height} pixels, " if image else ""
    size += plural(len(e.players), terms.feature)
    status, why = completeness_text(chosen, terms, hints)
    return Summary(
        question=_question(result),
        prediction_text=_prediction_text(e, result.outcome),
        answer=_sentence("; ".join(view.answer for view in views)),
        subject=_subject(e),
        values=_values(e, (("picture", size),) if image else ()),
        views=views,
        complete=all(view.complete for view in chosen),
        status=status,
        completeness=printable(f"{why} {terms.scope_note}".rstrip()),
        provenance=_provenance(e),
        suggested_calls=suggested_calls(e, terms, hints),
        left_out=left_out_text(e, terms, hints),
        notes=tuple(
            filter(
                None,
                (
                    _mask_text(e),
                    _unseen_labels_note(e),
                    duplicate_features_note(e),
                    _cut_names_note(e, hints),
                ),
            )
        ),
        source_text=_printable_lines(e.subject.text) if isinstance(e.subject, TextSubject) else "",
        text_pieces=_text_pieces(e, chosen, most),
        image=image,
        glossary=glossary_for(e, terms),
        image_description=f"The picture, {size}" if image else "",
        hints=hints,
        feature=terms.feature,
        scope_phrase=terms.scope_phrase,
    )


def _sentence(clauses: str) -> str:
    # A clause begins with a word of ours or a quotation mark, so no name is capitalised.
    return f"{clauses[0].upper()}{clauses[1:]}."


def _text_pieces(e: Explanation, views: Sequence[View], most: int) -> Pieces:
    """Return the explained text with the words of the listed sets marked; () for other data."""
    if not isinstance(e.subject, TextSubject):
        return ()
    numbers = {player.name: i for i, player in enumerate(e.players)}
    listed = {numbers[name] for view in views for f in view[:most] for name in f.features}
    return printable_pieces(e.subject.pieces(frozenset(listed)))


def _printable_lines(text: str) -> str:
    return "\n".join(map(printable, text.splitlines()))


def _question(result: Explanation | View) -> str:
    outcome = format_name(result.outcome)
    if isinstance(result, Explanation):
        return f"Why “{outcome}”?"
    return f"What keeps “{outcome}”?" if result.name == "keep" else f"What flips it to “{outcome}”?"


def _prediction_text(e: Explanation, explained: str) -> str:
    if e.score is None:
        return ""
    if e.score.kind == "value":
        return f"Predicted: {format_value(e.score.value)}."
    label = format_value(e.prediction)
    what = "Predicted" if label == format_name(explained) else f"Predicted “{label}”"
    if e.score.kind == "probability":
        return f"{what} with a probability of {percent(e.score.value)}."
    return f"{what} with a score of {format_value(e.score.value)}."


def _subject(e: Explanation) -> str:
    p = e.provenance
    chosen = _REFERENCES_SUFFIX[p.references.kind].format(p.references.words)
    mixed = "" if p.context.kind == "swap" else f": {p.context.words}"
    return printable(f"{p.model}, against {plural(p.n_references, 'reference')}{chosen}{mixed}")


def _values(e: Explanation, instead: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Return the input's values; `instead` for a text or an image, which are shown themselves."""
    if e.subject is not None:
        return instead
    texts = ((format_name(player.name), *feature_value(player)) for player in all_players(e))
    return tuple((name, f"({value})" if group else value) for name, value, group in texts)


def _provenance(e: Explanation) -> str:
    p = e.provenance
    data = "" if p.data is None else f"Data of {p.data[0]:,} rows × {p.data[1]:,} columns; "
    made = f"seed {p.random_state}; suffice {p.versions.get('suffice', '?')}"
    # A stored batch keeps no evaluator and no times, so that equal runs write equal files.
    if not p.evaluator:
        return printable(f"{data}{p.hybrids:,} hybrids; {made}")
    return printable(
        f"{data}{p.hybrids:,} hybrids from {plural(p.rows_predicted, 'model row')} in "
        f"{p.seconds:.2f} s "
        f"({p.evaluator}); {made}, {p.created:%Y-%m-%d}"
    )


def _mask_text(e: Explanation) -> str:
    mask = e.provenance.references.mask
    return "" if mask is None else mask_note(mask)


def _unseen_labels_note(e: Explanation) -> str:
    labels = e.provenance.unseen_labels
    if not labels:
        return ""
    named = join_words([f"“{printable(label)}”" for label in labels])
    return f"The model also predicted {named}, which no row of the data has."


def _cut_names_note(e: Explanation, hints: ReaderHints) -> str:
    names = [name for player in all_players(e) for name in (player.name, *player.values)]
    # Only names that were really cut deserve a note.
    if all(format_name(name) == printable(name) for name in names):
        return ""
    return f"Long names are cut: {hints.names}."


# Glossary: technical terms with their meaning in one explanation.


def glossary_for(e: Explanation, terms: Terms) -> tuple[tuple[str, str], ...]:
    """Return technical terms with their meaning, in the order in which a page uses them."""
    outcome, other = f"“{format_name(e.outcome)}”", f"“{format_name(e.other_outcome)}”"
    held, rest = f"these {terms.feature}s", f"all other {terms.feature}s"
    words = [
        ("reference", _reference_meaning(e)),
        ("keeps", f"With {held} as they are and {rest} as in a reference, it is still {outcome}."),
        ("flips", f"With {held} as in a reference and {rest} as they are, it becomes {other}."),
        (
            "share",
            "Of how many references that is so. Its marks are a 95% interval, if the references "
            "are taken as a sample of more.",
        ),
        (
            "threshold τ",
            f"The share that a set must reach, here {percent(e.tau)}. A set is minimal if no "
            "smaller set inside it reaches τ.",
        ),
        (
            "cumulative necessity",
            "Of all mixtures of the input and a reference that have the outcome, the share in "
            "which one of the sets at τ was held (or replaced). By chance: of all mixtures, "
            "whatever their outcome. Lift: the one divided by the other; at 1, the sets are as "
            "frequent among the mixtures with the outcome as among all.",
        ),
        (
            "set necessity",
            f"The same of a single set, which need not suffice. By chance it is 50% for one "
            f"{terms.feature} and 25% for two, if every mixture is equally likely.",
        ),
    ]
    if e.cheapest is not None and not isinstance(e.subject, TextSubject):
        words.append(("cost", _COST_MEANINGS[e.provenance.cost]))
    return tuple(words)


def _reference_meaning(e: Explanation) -> str:
    references = e.provenance.references
    if references.kind == "texts":
        return f"What takes the place of what is replaced: {references.words}."
    if references.kind == "pictures":
        return f"The picture that replaced regions are taken from: {references.words}."
    if references.kind == "opposite":
        return "A row of the data that the model predicts otherwise: the input is held against it."
    return "A row that the input is held against."


_COST_MEANINGS = {
    "deviations": "How far a change goes: a number by its distance in typical deviations of its "
    "column (median absolute deviations), any other value 1. Only values that a reference has.",
    "weighted": "How far a change goes: distances in typical deviations of each column, times the "
    "weights given. Only values that a reference has.",
    "own": "What a change costs by the function given. Only values that a reference has.",
}


# Masks of texts: what replaces words, why it was chosen, and how it may mislead.


def mask_note(mask: MaskRecord) -> str:
    """Return sentences on the token that replaces words, and on what the model makes of it.

    >>> print(mask_note(MaskRecord("the", "bad", ("UNK",), known=True)))
    Each word left out is replaced by “the”: a text of nothing else comes out as “bad”, while one
    of “UNK” comes out as this text does. The model knows “the” and counts it wherever it stands, so
    that it may take many words to outweigh it: see whether another mask says the same.
    """
    token, outcome = _quoted_token(mask.token), format_name(mask.outcome)
    if mask.token:
        said = f"Each word left out is replaced by {token}: a text of nothing else comes out as "
    else:
        said = "Each word left out is deleted: an empty text comes out as "
    others = join_words(map(_quoted_token, mask.passed_over), "or")
    passed = f", while one of {others} comes out as this text does" * bool(mask.passed_over)
    return f"{said}“{outcome}”{passed}. {_MASK_ADVICE[mask.known].format(token)}"


def _quoted_token(token: str) -> str:
    return f"“{printable(token)}”" if token else "nothing"


_MASK_ADVICE = {
    True: "The model knows {0} and counts it wherever it stands, so that it may take many words to "
    "outweigh it: see whether another mask says the same.",
    False: "The model does not know {0}, so such a text reads as if the words were not there. It "
    "may have learnt little from texts so short: see whether another mask says the same.",
    None: "The model may never have met texts with {0} in so many places, and what it says of them "
    "is then a guess: see whether another mask, or Corpus(texts) with texts like yours, says the "
    "same.",
}
"""Advice by whether the model knows the token."""
