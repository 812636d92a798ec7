"""Does an option of recourse that one model offered also work for another? This asks the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from suffice.context.pool import Rows
from suffice.encodings.recourse import Recourse
from suffice.errors import InputError, SufficeError
from suffice.explainer import Explainer
from suffice.tables import plain, read_row
from suffice.tables.table import Table, same
from suffice.target import Event, Target, event_for
from suffice.typing import Scalar
from suffice.wording import show

__all__ = ["Offered", "checked_explainer", "still_work"]


@dataclass(frozen=True)
class Offered:
    """Options that were offered for one row."""

    name: str
    """What the decision is called."""
    row: Mapping[str, Scalar]
    """The input's values by column."""
    prediction: Scalar
    """What the model that they were found for says of it."""
    recourse: Recourse


def checked_explainer(given: object) -> Explainer:
    """An explainer whose model can be asked about a row as it is given."""
    allowed = "an Explainer of the model that options are tried on"
    if not isinstance(given, Explainer):
        raise InputError("explainer", given, allowed)
    if given.decider.context.is_causal:
        got = "an Explainer with a causal context, where changes have consequences"
        raise InputError("explainer", got, "one whose values are swapped")
    return given


def still_work(
    explainer: Explainer, offered: Iterable[Offered], desired: Any = None
) -> list[tuple[bool, ...]]:
    """By row and option: does the explainer's model give the changed row the outcome wanted?

    `desired` is what the options were asked for, as in `Explainer.recourse`. The model is asked
    about all of them at once.
    """
    asked = list(offered)
    rows = [row for one in asked for row in _changed(explainer, one)]
    if not rows:
        return [() for _ in asked]
    table = Rows.together(rows).table
    events = [_event(explainer, one, desired) if one.recourse.options else None for one in asked]
    model = explainer.decider.model
    needs = {event[0].needs_scores for event in events if event is not None}
    answers = {scores: model.scores(table) if scores else model.predict(table) for scores in needs}
    found: list[tuple[bool, ...]] = []
    start = 0
    for one, event in zip(asked, events, strict=True):
        stop = start + len(one.recourse.options)
        if event is None:
            found.append(())
            continue
        which, wanted = event
        truth = Target(model, which).read(answers[which.needs_scores][start:stop])
        found.append(tuple(bool(works) for works in truth == wanted))
        start = stop
    return found


def _changed(explainer: Explainer, one: Offered) -> Sequence[Table]:
    """The row under each option, as the explainer's data has its columns."""
    names, rows = explainer.data.names, []
    for option in one.recourse.options:
        for column, old in option.old.items():
            if column in one.row and not same(one.row[column], old):
                got = (
                    f"ways for a row with {column} = {show(old)}, where decision {one.name} has "
                    f"{show(one.row[column])}"
                )
                raise InputError("recourse", got, "one Recourse for each decision, in their order")
        values = {**one.row, **option.values}
        known = {name: value for name, value in values.items() if name in names}
        try:
            rows.append(read_row(known, explainer.data, "recourse"))
        except SufficeError as error:
            raise error.at(f"decision {one.name}") from error
    return rows


def _event(explainer: Explainer, one: Offered, desired: Any) -> tuple[Event, bool]:
    """What is looked for in the model's answer, and whether it should be so."""
    model, recourse = explainer.decider.model, one.recourse
    label: Any = one.prediction
    for known in model.classes or ():
        if plain(known) == one.prediction and type(plain(known)) is type(one.prediction):
            label = known
    argument = "outcome" if desired is None else "desired"
    event = event_for(explainer.outcome if desired is None else desired, model, label, argument)
    if recourse.desired == event.says:
        return event, True
    if recourse.outcome == event.says:
        return event, False
    got = f"ways from {recourse.outcome!r} to {recourse.desired!r} (decision {one.name})"
    hint = "Give desired= as it was given to Explainer.recourse."
    raise InputError("recourse", got, f"ways to or from {event.says!r}", hint)
