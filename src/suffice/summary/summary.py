"""The whole of an explanation in words: the question, the answer in one sentence, how complete."""

from __future__ import annotations

from dataclasses import dataclass

from suffice.explanation import Explanation, Player, View
from suffice.explanation.subject import ImageSubject, TextSubject
from suffice.summary.digest import DOZEN
from suffice.summary.glossary import glossary_for
from suffice.summary.more import calls_for_more, copies
from suffice.summary.of_view import ViewSummary, summarise_view
from suffice.summary.searched import completeness, left_out
from suffice.summary.terms import terms_for
from suffice.summary.ways import PYTHON, Ways
from suffice.wording import columns, count, harmless, named, percent, show

__all__ = ["Summary", "summarise"]

_CHOSEN = {"opposite": " {}", "all": " ({})", "given": "", "texts": "", "pictures": " ({})"}
"""What is said of the references after their number."""


@dataclass(frozen=True)
class Summary:
    """An explanation, or one view of it, ready to be shown."""

    question: str
    predicted: str
    """The prediction's own score, to stand beside the question; "" where there is none."""
    answer: str
    """The whole answer in one sentence."""
    subject: str
    values: tuple[tuple[str, str], ...]
    views: tuple[ViewSummary, ...]
    complete: bool
    status: str
    """Complete or not, and for what; `completeness` says why."""
    completeness: str
    provenance: str
    more: tuple[tuple[str, str], ...] = ()
    """Calls that would give more than a search that is not complete, and what each gives."""
    left_out: str = ""
    """Which features cannot matter and were left out of the search, and why."""
    notes: tuple[str, ...] = ()
    """What is not shown in full, and where it is."""
    text: str = ""
    """The text that was explained, in place of values."""
    picture: ImageSubject | None = None
    """Where the features are its regions, the picture to draw factors in."""
    glossary: tuple[tuple[str, str], ...] = ()
    """The words that a newcomer may not know, each with its meaning here."""
    shown: str = ""
    """What the picture shows, for those who cannot see it."""
    ways: Ways = PYTHON
    """How its reader asks for more."""
    feature: str = "feature"
    """What a feature is called: a word of a text, a region of a picture."""
    among: str = ""
    """" of these words", where a set could also be made of others."""

    @property
    def more_told(self) -> str:
        """The calls that would give more, in a sentence; "" where there are none."""
        calls = "; ".join(f"{call}: {gives}" for call, gives in self.more)
        return f"For more: {calls}." if calls else ""

    @property
    def keep(self) -> ViewSummary:
        """The view of what keeps the outcome."""
        return next(view for view in self.views if view.name == "keep")

    @property
    def flip(self) -> ViewSummary:
        """The view of what flips it."""
        return next(view for view in self.views if view.name == "flip")


def summarise(result: Explanation | View, ways: Ways = PYTHON, most: int = DOZEN) -> Summary:
    """Put an explanation, or one view of it, into words and numbers for display.

    Of each view `most` factors, and how many more there are: there may be a hundred thousand.
    """
    e = result if isinstance(result, Explanation) else result.explanation
    chosen = (e.keep, e.flip) if isinstance(result, Explanation) else (result,)
    terms = terms_for(e, ways)
    views = tuple(summarise_view(view, terms, ways, most) for view in chosen)
    picture = e.subject if isinstance(e.subject, ImageSubject) else None
    size = f"{picture.width} × {picture.height} pixels, " if picture else ""
    size += count(len(e.players), terms.feature)
    status, why = completeness(e, terms, ways)
    return Summary(
        question=_question(result),
        predicted=_predicted(e, result.outcome),
        answer=_sentence("; ".join(view.answer for view in views)),
        subject=_subject(e),
        values=_values(e, (("picture", size),) if picture else ()),
        views=views,
        complete=e.complete,
        status=status,
        completeness=harmless(f"{why} {terms.beyond}".rstrip()),
        provenance=_provenance(e),
        more=calls_for_more(e, terms, ways),
        left_out=left_out(e, terms, ways),
        notes=tuple(filter(None, (_mask(e), copies(e), _long_names(e, ways)))),
        text=_lines(e.subject.text) if isinstance(e.subject, TextSubject) else "",
        picture=picture,
        glossary=glossary_for(e, terms),
        shown=f"The picture, {size}" if picture else "",
        ways=ways,
        feature=terms.feature,
        among=terms.among,
    )


def _sentence(clauses: str) -> str:
    return f"{clauses[0].upper()}{clauses[1:]}."  # a name would stand in quotation marks


def _lines(text: str) -> str:
    return "\n".join(map(harmless, text.splitlines()))


def _question(result: Explanation | View) -> str:
    outcome = named(result.outcome)
    if isinstance(result, Explanation):
        return f"Why “{outcome}”?"
    return f"What keeps “{outcome}”?" if result.name == "keep" else f"What flips it to “{outcome}”?"


def _predicted(e: Explanation, asked_about: str) -> str:
    if e.score is None:
        return ""
    if e.score.kind == "value":
        return f"Predicted: {show(e.score.value)}."
    label = show(e.prediction)
    what = "Predicted" if label == named(asked_about) else f"Predicted “{label}”"
    if e.score.kind == "probability":
        return f"{what} with a probability of {percent(e.score.value)}."
    return f"{what} with a score of {show(e.score.value)}."


def _subject(e: Explanation) -> str:
    p = e.provenance
    chosen = _CHOSEN[p.references.kind].format(p.references.words)
    mixed = "" if p.context.kind == "swap" else f": {p.context.words}"
    return harmless(f"{p.model}, against {count(p.n_references, 'reference')}{chosen}{mixed}")


def _values(e: Explanation, instead: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """The input's values; a text or a picture is shown itself."""
    if e.subject is not None:
        return instead
    players = (*e.players, *(left.player for left in e.left_out))
    return tuple((named(player.name), _value(player)) for player in players)


def _value(player: Player) -> str:
    if len(player.values) == 1:
        return show(next(iter(player.values.values())))
    if player.name == " + ".join(player.values):  # joined for going together, and so named
        return " + ".join(map(show, player.values.values()))
    return f"({columns(player.values)})"


def _provenance(e: Explanation) -> str:
    p = e.provenance
    data = "" if p.data is None else f"Data of {p.data[0]:,} rows × {p.data[1]:,} columns; "
    made = f"seed {p.random_state}; suffice {p.versions.get('suffice', '?')}"
    if not p.evaluator:  # one of many that were stored, where nothing that has to do with time is
        return harmless(f"{data}{p.hybrids:,} hybrids; {made}")
    return harmless(
        f"{data}{p.hybrids:,} hybrids from {p.rows_predicted:,} model rows in {p.seconds:.2f} s "
        f"({p.evaluator}); {made}, {p.created:%Y-%m-%d}"
    )


def _mask(e: Explanation) -> str:
    mask = e.provenance.references.mask
    if mask is None:
        return ""
    from suffice.summary.mask import mask_note

    return mask_note(mask)


def _long_names(e: Explanation, ways: Ways) -> str:
    players = (*e.players, *(left.player for left in e.left_out))
    names = [name for player in players for name in (player.name, *player.values)]
    if all(named(name) == harmless(name) for name in names):
        return ""
    return f"Long names are cut: {ways.names}."
