"""Words for features of tables, texts, images; how complete a search is; calls that give more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from suffice.engines import IdleReason
from suffice.explanation import Explanation, Player, View
from suffice.explanation.schema import ImageSubject, TextRefinement, TextSubject
from suffice.formatting import (
    duration,
    duration_phrase,
    format_columns,
    format_integer,
    format_name,
    format_value,
    join_first,
    join_words,
    percent,
    plural,
)
from suffice.search.limits import StopKind
from suffice.search.plan import Suggestion


@dataclass(frozen=True)
class Terms:
    """Words that depend on the kind of data: rows of a table, texts, images."""

    feature: str = "feature"
    keep: str = "Hold these values, let all others vary"
    flip: str = "Replace these values, hold all others"
    holding: str = "holding"
    advice: str = "choose other references"
    scope_phrase: str = ""
    """" of these words", where sets of other words were not searched."""
    scope_note: str = ""
    """Sentences on what no set can name, so that nothing unsearched is claimed."""
    why_all_held: str = "with every feature held it is the input itself"
    """Why all features together keep the outcome by construction; "" where they need not."""
    why_all_replaced: str = "with every feature replaced it is the reference itself"


def terms_for(explanation: Explanation, hints: ReaderHints) -> Terms:
    """Return the terminology for an explanation."""
    subject, context = explanation.subject, explanation.provenance.context
    if isinstance(subject, TextSubject):
        return _text_terms(subject, hints)
    if isinstance(subject, ImageSubject):
        return _image_part_terms(context.words) if context.kind == "parts" else _IMAGE_TERMS
    return _CAUSAL_TERMS if context.kind == "causal" else Terms()


_CAUSAL_TERMS = Terms(
    keep="Give the references these values, let their effects follow",
    flip="Replace these values, let their effects follow, hold the rest",
    holding="giving the references",
    why_all_held="with every feature given it is the input itself",
)

_IMAGE_TERMS = Terms(
    feature="region",
    keep="Hold these regions, replace all other regions",
    flip="Replace these regions, hold all other regions",
    why_all_held="with every region held it is the picture itself",
    why_all_replaced="with every region replaced nothing of the picture is left",
)


def _image_part_terms(context: str) -> Terms:
    """Return the terminology for parts of regions, with a note on the rest of the image."""
    return Terms(
        feature="part",
        keep="Hold these parts, replace all other parts",
        flip="Replace these parts, hold all other parts",
        scope_phrase=" of these parts",
        scope_note=f"Beyond its context it says nothing: {context}.",
        why_all_held="",
        why_all_replaced="",
    )


def _coarse_to_fine_note(closer: TextRefinement) -> str:
    """Return how a long text was searched: its passages first, then words within some of them."""
    every = "every set of them" if closer.complete else "as far as its limits allowed"
    first = f"The text has {closer.words:,} words, so its {closer.passages} passages were searched "
    first += f"first ({every})"
    if not closer.within:
        return f"{first}, and no set of them names a passage that could be looked into."
    into = f"{first}; then the words of {plural(closer.within, 'passage')}, those of each view's "
    if closer.found:
        return f"{into}best set."
    return f"{into}best set, in which no set of words was found within the limits."


def _text_terms(subject: TextSubject, hints: ReaderHints) -> Terms:
    what = subject.unit
    marked = subject.pieces(frozenset(range(len(subject.spans))))
    rest = any(c.isalnum() for piece, inside in marked if not inside for c in piece)
    notes = [_coarse_to_fine_note(subject.closer)] if subject.closer is not None else []
    notes += ["Sets with words of the rest of the text were not looked at."] * rest
    if what == "span":
        notes.append("Parts of a span were not distinguished.")
    elif what != "word":
        notes.append(f"Single words within a {what} were not distinguished: {hints.refine}.")
    return Terms(
        feature=what,
        keep=f"Keep these {what}s, replace all others",
        flip=f"Replace these {what}s, keep all others",
        advice="choose another mask",
        scope_phrase=f" of these {what}s" if notes else "",
        scope_note=" ".join(notes),
        why_all_held="" if rest else f"with every {what} kept it is the text itself",
        why_all_replaced="" if rest else f"with every {what} replaced nothing of the text is left",
    )


def feature_value(player: Player) -> tuple[str, bool]:
    """Return the input's value of a feature, and whether it is a list of columns with values.

    >>> feature_value(Player("age", {"age": 41}))
    ('41', False)
    >>> feature_value(Player("money", {"income": 3, "debt": 2}))
    ('income = 3, debt = 2', True)
    """
    if len(player.values) == 1:
        return format_value(next(iter(player.values.values()))), False
    if player.name == " + ".join(player.values):  # columns that were joined for going together
        return " + ".join(map(format_value, player.values.values())), False
    return format_columns(player.values), True


# Hints for readers in Python and for users of the command.


@dataclass(frozen=True)
class ReaderHints:
    """Names of attributes, calls and arguments that give more: of Python, or of the command."""

    lower: str = ".at({tau}) needs no new model call"
    factors: str = ".{view}.factors"
    values: str = ".players"
    full: str = "print(….full())"
    names: str = ".players has them in full"
    left_out: str = ".left_out"
    refine: str = "see refine"
    # A command may run for hours; a page waits for seconds.
    most_seconds: float = inf
    """Calls that would take longer are not suggested."""
    arguments: Mapping[str, str] = field(default_factory=dict)
    """Option of the command by argument in Python; empty in Python."""

    def argument(self, name: str) -> str:
        """Return the name of an argument as the reader would write it.

        >>> ReaderHints(arguments={"max_size": "--max-size"}).argument("max_size")
        '--max-size'
        """
        return self.arguments.get(name, name)


PYTHON_HINTS = ReaderHints()
"""Hints for readers in Python."""


# Completeness of a search: what was searched, what was not, and calls that would find more.


def completeness_text(views: Sequence[View], terms: Terms, hints: ReaderHints) -> tuple[str, str]:
    """Return the status ("Complete", "Not complete") and sentences on what was searched.

    `views` are those that are shown: one of them may be complete where the other is not.
    """
    e = views[0].explanation
    status, searched = _searched_text(e, views, terms, hints)
    if _ended_by_time(e) and not all(view.complete for view in views):
        searched += " What a time limit leaves out depends on the machine: it may differ next time."
    return status, searched


def _ended_by_time(e: Explanation) -> bool:
    """Return whether a time limit was given, or ended the search."""
    plan = e.provenance.plan
    timed = plan is not None and plan.limits.time_limit is not None
    return timed or (e.stopped is not None and e.stopped.kind in ("time_limit", "patience"))


def _searched_text(
    e: Explanation, views: Sequence[View], terms: Terms, hints: ReaderHints
) -> tuple[str, str]:
    tally, findings = views[0].profile.tally, views[0].profile.findings
    if all(view.complete for view in views):
        status = f"Complete for sets{terms.scope_phrase}" if terms.scope_phrase else "Complete"
        no_other = f"no other minimal set{terms.scope_phrase} exists for these references."
        every = plural(1 << tally.d, "subset")
        if findings is None:
            return (
                status,
                f"all {every} of {searched_features(e, terms)} were evaluated, so {no_other}",
            )
        every += f" of {searched_features(e, terms)}" if e.left_out else ""
        if tally.n == 1 and views[0].profile.alpha is None:  # a share of 0 or 1: every τ is alike
            return status, f"each of {every} was decided, so {no_other}"
        return f"{status} at τ = {e.tau:g}", (
            f"each of {every} was decided, so {no_other} Another τ needs a new search."
        )
    size = min(map(searched_size, views))
    sizes = f"up to {plural(size, terms.feature)}"
    if findings is not None and (e.stopped is None or e.tau != findings.tau):
        where = "another τ" if e.tau == findings.tau else f"τ = {findings.tau:g}, not at this τ"
        known = f"the search {'decided every set' if e.stopped is None else 'ran'} at {where}"
        counted = f"; sets of {sizes} were counted, which holds at every τ" if size > 0 else ""
        return (
            f"Not complete at τ = {e.tau:g}",
            f"{known}{counted}. Listed are the sets known that suffice here; others may exist. "
            "Search again at this τ for all of them.",
        )
    stopped = _stop_reason(e, hints)
    if findings is not None and not findings.only_at_tau:
        # With not even the single features counted, it may have ended at the first start.
        small = f"sets of {sizes} were searched exhaustively; larger ones from many starts"
        searched = small if size > 0 else "sets were looked for"
        until = _stop_phrase(e, stopped)
        others = f"Others may exist{_share_decided(e)}"
        return "Not complete", f"{searched}, until {until}. {others}."
    if e.stopped is not None and e.stopped.kind == "many":
        every = f"each of {plural(1 << tally.d, 'subset')} was decided, and necessity counts them"
        return "Not listed in full", f"{every} all; but there are {stopped}: all of {sizes}."
    if findings is not None:
        decided = f"Every set of {sizes} was decided; larger ones were not all"
        if size < 0:
            decided = "Not even the smallest set was decided"
        return "Not complete", f"stopped by {stopped}. {decided}{_share_decided(e)}."
    searched = f"Every set of {sizes} was tried; larger ones were not all"
    if size < 0:
        searched = "Not even the smallest set was evaluated"
    never = (
        f"{format_integer(e.unvisited)} of {format_integer(1 << tally.d)} subsets were never "
        "evaluated"
    )
    return "Not complete", f"stopped by {stopped}. {searched}: {never}."


def searched_features(e: Explanation, terms: Terms) -> str:
    """Return the searched features: "11 features", or "the 8 features that can matter"."""
    features = plural(len(e.players), terms.feature)
    return f"the {features} that can matter" if e.left_out else features


def left_out_text(e: Explanation, terms: Terms, hints: ReaderHints) -> str:
    """Return which features were left out of the search and why; "" where none was."""
    if not e.left_out:
        return ""
    names: dict[IdleReason, list[str]] = {reason: [] for reason in _IDLE_REASONS}
    for left in e.left_out:
        names[left.reason].append(format_name(left.player.name))
    told = [
        f"{join_first(n, _FEATURES_PER_REASON)} ({_IDLE_REASONS[why]})"
        for why, n in names.items()
        if n
    ]
    n, all_of_them = len(e.left_out), len(e.left_out) + len(e.players)
    cut = any(len(some) > _FEATURES_PER_REASON for some in names.values())
    more = f" All of them: {hints.left_out}." if cut else ""
    were = "cannot matter here and was" if n == 1 else "cannot matter here and were"
    which = f"{n:,} of the {plural(all_of_them, terms.feature)}"
    return f"{which} {were} left out, which changes no number: {'; '.join(told)}.{more}"


_FEATURES_PER_REASON = 12
"""Most left-out features named for each reason; the rest are counted."""

_IDLE_REASONS: dict[IdleReason, str] = {
    "same": "the same in every reference",
    "unread": "never read by the model",
    "alike": "treated alike by the model for the input and every reference",
}
"""Why features cannot matter, by reason."""


def _share_decided(e: Explanation) -> str:
    """Return the share of sets decided in both views, if the search counted it; else ""."""
    shares = [profile.decided_share(e.tau) for profile in (e.keep_profile, e.flip_profile)]
    # The smaller share of the two views: a claim about both must hold for each.
    least = min((share for share in shares if share is not None), default=0.0)
    return f"; {percent(least)} of all sets are decided" if least else ""


def _stop_phrase(e: Explanation, stopped: str) -> str:
    """Return what ended a search from many starts: a limit, or no new set."""
    ends = {
        "time_limit": " was over",
        "patience": " were over",
        "work": " was reached",
        "budget": " were spent",
        "hybrids": " were spent",
        "starts": " were made",
    }
    return "they ended" if e.stopped is None else stopped + ends.get(e.stopped.kind, "")


def _stop_reason(e: Explanation, hints: ReaderHints) -> str:
    """Return the limit that ended the search, named as the reader would write it."""
    if e.stopped is None:
        return ""
    if e.stopped.kind == "patience":
        return f"the {e.stopped.limit:g} s that it takes without a {hints.argument('time_limit')}"
    if e.stopped.kind == "work":
        return f"the bound on its work without a {hints.argument('time_limit')}"
    return e.stopped.text(hints.arguments)


def no_set_phrase(view: View, terms: Terms) -> str:
    """Return the subject of a sentence on missing sets: "no set of up to 2 features"."""
    sets = f"no set of {terms.feature}s"
    if view.complete:
        return sets
    size = searched_size(view)
    if _looked_beyond(view, size):
        fewer = f"no set of fewer {terms.feature}s" if reached_by_all(view) else sets
        return f"{fewer} that was tried"
    return f"no single {terms.feature}" if size == 1 else f"no set of up to {size} {terms.feature}s"


def _looked_beyond(view: View, size: int) -> bool:
    """Return whether the search tried some sets that are larger than those it tried all of."""
    findings = view.profile.findings
    at_own_tau = findings is not None and findings.only_at_tau and view.tau == findings.tau
    return size < 1 or (findings is not None and not at_own_tau)


def reached_by_all(view: View) -> bool:
    """Return whether all features together suffice at τ, where no set that was tried is listed.

    A search that decided sets at another τ does not list them all: they may need few of them.
    """
    if len(view) or view.alpha is not None or not _looked_beyond(view, searched_size(view)):
        return False
    every = view.everything
    return every is not None and every.sufficiency >= view.tau


def searched_size(view: View) -> int:
    """Return the size up to which every set was evaluated; -1 if not even the empty set was."""
    return view.profile.decided_size(view.tau)


def unsearched_text(view: View, terms: Terms, hints: ReaderHints) -> str:
    """Return what was not searched and which limit to raise; "" for a complete view."""
    if view.complete:
        return ""
    # Which limit to raise depends on the one that stopped the search.
    stop, size = view.explanation.stopped, searched_size(view)
    findings = view.profile.findings
    if findings is not None and view.tau != findings.tau:
        return f"The search decided sets at τ = {findings.tau:g}: search again at this τ."
    known = f"Sets of more than {plural(size, terms.feature)}" if size > 0 else "Most sets"
    more = None if stop is None else _LIMIT_TO_RAISE.get(stop.kind)
    give = f": give a {more[0]} {hints.argument(more[1])}" if more else ""
    return f"{known} were not all tried{give}."


_LIMIT_TO_RAISE: dict[StopKind, tuple[str, str]] = {
    "max_size": ("larger", "max_size"),
    "patience": ("longer", "time_limit"),
    "work": ("longer", "time_limit"),
    "time_limit": ("longer", "time_limit"),
    "budget": ("larger", "budget"),
    "hybrids": ("larger", "budget"),
}
"""By limit that ended a search: how to change it, and the argument that sets it."""


def minimality_text(view: View, terms: Terms) -> str:
    """Return how far minimality was checked, where not against every subset; else ""."""
    n, proofs = view.digest.n, dict(view.digest.proofs)
    partly, size = proofs.get("one smaller"), searched_size(view)
    if set(proofs) == {"none"} and 1 <= size < view[0].size:
        each = f"single {terms.feature}" if size == 1 else f"set of up to {size} {terms.feature}s"
        return f"No {each} reaches τ = {view.tau:g}: each was decided."
    if not partly:
        return ""
    less = "it no longer suffices" if n == 1 else "none of these sets suffices any more"
    of_some = f", of {partly:,} of them" if partly < n else ""
    return (
        f"Take any one {terms.feature} away, and {less}; taking several away at once was not "
        f"always tried{of_some}."
    )


# Suggested calls, which would find more than an incomplete search did.


_DUPLICATES_NAMED = 4


def suggested_calls(
    e: Explanation, terms: Terms, hints: ReaderHints
) -> tuple[tuple[str, str], ...]:
    """Return calls that would find more, each with its effect and estimated time."""
    plan = e.provenance.plan
    # With max_size, larger sets stay untried however long the search.
    small = e.stopped is not None and e.stopped.kind == "max_size"
    if plan is None or e.complete or small:
        return ()
    # The explorer ends a question after a minute: a longer call would be no help there.
    possible = (more for more in plan.more if more.seconds <= hints.most_seconds)
    return tuple((more.text(hints.arguments), _call_effect(more, terms)) for more in possible)


def duplicate_features_note(e: Explanation) -> str:
    """Return a note on features that are copies of each other in the data, or ""."""
    plan = e.provenance.plan
    if plan is None or not plan.copies:
        return ""
    told = "; ".join(
        join_words(map(format_name, names)) for names in plan.copies[:_DUPLICATES_NAMED]
    )
    more = len(plan.copies) - _DUPLICATES_NAMED
    rest = f"; and {more:,} more" if more > 0 else ""
    return f"Copies of each other in the data: {told}{rest}."


def _call_effect(more: Suggestion, terms: Terms) -> str:
    if not more.complete:
        takes = f", {duration(more.seconds)} in all" if "time_limit" in more.arguments else ""
        return f"searches on{takes}"
    every = f"every set, {duration_phrase(more.seconds)}"
    if "groups" in more.arguments:
        return f"{terms.feature}s that go together count as one; {every}"
    references = more.arguments.get("n_references")
    if isinstance(references, int):
        return f"against {plural(references, 'reference')}: {every}"
    return every
