"""What to look closer at: the features named, or else those of each view's best factor."""

from __future__ import annotations

from collections.abc import Sequence

from suffice.context.players import Players
from suffice.errors import InputError
from suffice.explanation.explanation import Explanation
from suffice.explanation.view import View

__all__ = ["features_to_refine"]


def features_to_refine(
    explanation: Explanation, named: Sequence[str] | str | None
) -> tuple[int, ...]:
    """The numbers of the features that an explanation is to be refined in."""
    players = Players(tuple(player.name for player in explanation.keep.players), ())
    if named is not None:
        return players.numbers(named)
    if not (explanation.keep.factors or explanation.flip.factors):
        raise InputError(
            "explanation",
            f"one without a factor to look into at τ = {explanation.tau:g}",
            "one that has factors, or names of features",
            "Lower its threshold with .at(tau), or name features.",
        )
    best = (*_best(explanation.keep), *_best(explanation.flip))
    if not best:
        hint = "It comes about anyway: there is nothing to look closer at."
        raise InputError("explanation", "one whose best factor names no feature", "another", hint)
    return players.numbers(best)


def _best(view: View) -> tuple[str, ...]:
    """The features of the smallest factor, and the surest of these."""
    factors = sorted(view.factors, key=lambda f: (f.size, -f.sufficiency))
    return factors[0].features if factors else ()
