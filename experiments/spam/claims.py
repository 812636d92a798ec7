"""What the paper says of its spam mails, and what came out."""

from collections import Counter
from typing import Any

import numpy as np

from experiments.runner.result import Claim
from experiments.spam.relabel import ANY, PAIRS, SURELY, TAU
from experiments.spam.tables import smallest

__all__ = ["claims"]

FEW = 2
"""Every option in the paper's Table 4 changes two segments."""
_REWRITES = ("Subject", "First Sentence")


def claims(
    scores: dict[str, float],
    answers: np.ndarray,
    names: list[str],
    found: list[Any],
    held_out: list[Any],
    three: list[Any],
    pasted: list[Any],
) -> tuple[Claim, ...]:
    """In the paper's setting first, then in a stricter one."""
    others = f"stricter: {len(held_out)} other held-out mails"
    return (
        _accuracy(scores["accuracy"], scores["held out"], "the paper's"),
        _accuracy(
            scores["accuracy without equals"],
            scores["without equals"],
            "stricter: no mail that has an equal in training",
        ),
        Claim(
            "the three mails are recognised as spam",
            "correctly identified",
            f"{int((answers == 1).sum())} of {len(answers)}, none of them trained on",
            bool((answers == 1).all()),
        ),
        _pairs(three, "the paper's: R2I, put into the three mails"),
        _pairs(pasted, "stricter: put into all spam that is recognised"),
        _few(found, names, ANY, f"the paper's mails, {ANY} that works"),
        _few(found, names, SURELY, f"the paper's mails, {SURELY} over harmless mails"),
        _few(held_out, None, ANY, f"{others}, {ANY} that works"),
        _few(held_out, None, SURELY, f"{others}, {SURELY} over harmless mails"),
        _which(found, f"the paper's mails, {SURELY}"),
        _which([{SURELY: smallest(by[SURELY])} for by in held_out], f"{others}, smallest sets"),
    )


def _accuracy(share: float, n: int, setting: str) -> Claim:
    return Claim(
        "the MLP's accuracy", "98.3%", f"{share:.1%} of {n} held-out mails", share >= 0.98, setting
    )


def _pairs(answers: list[Any], setting: str) -> Claim:
    """The paper's three options: both pairs of the first mail, the second pair of the second."""
    first, second = answers
    options = [*first["pairs"], second["pairs"][PAIRS.index(("From", "First Sentence"))]]
    told = [
        f"{', '.join(f['segments'])}: {round(f['PS'] * f['references'])} of {f['references']}"
        f"{', minimal' * any(f in answer['minimal'] for answer in answers)}"
        for f in options
    ]
    least = [len(smallest(a["minimal"])[0]["segments"]) if a["minimal"] else None for a in answers]
    return Claim(
        "Table 4's three options have spam let through",
        "with high probability",
        "; ".join(told),
        all(f["PS"] >= TAU for f in options),
        setting,
        note="Options 1 and 2 take their text from one mail, option 3 from another; the smallest "
        f"sets of their segments that suffice ({SURELY}) have {_listed(least)} segments.",
    )


def _few(found: list[Any], names: list[str] | None, setting: str, told: str) -> Claim:
    best = [smallest(by[setting]) for by in found]
    sizes = [len(sets[0]["segments"]) for sets in best]
    if names is None:
        counts = sorted(Counter(sizes).items())
        ours = ", ".join(f"{size} segment{'s' * (size > 1)}: {n} mails" for size, n in counts)
    else:
        tops = [max(sets, key=lambda f: f["PS"]) for sets in best]
        ours = "; ".join(
            f"{name}: {', '.join(top['segments'])} (PS {top['PS']:.3f})"
            for name, top in zip(names, tops, strict=True)
        )
    return Claim(
        f"rewriting at most {FEW} segments has each mail let through",
        "two segments in every option",
        ours,
        max(sizes) <= FEW,
        told,
        note="Of a mail's smallest sets the one with the highest PS is named."
        if names is not None and setting == ANY
        else "",
    )


def _which(found: list[Any], setting: str) -> Claim:
    sender = _mails_with(found, ("From",))
    words = _mails_with(found, _REWRITES)
    return Claim(
        "the sender, and the subject or first sentence, are among what to change (in most mails)",
        "options include them",
        f"From in {sender} of {len(found)} mails; {' or '.join(_REWRITES)} in {words}; "
        f"To in {_mails_with(found, ('To',))}",
        min(sender, words) > len(found) / 2,
        setting,
    )


def _mails_with(found: list[Any], segments: tuple[str, ...]) -> int:
    return sum(any(set(segments) & set(f["segments"]) for f in by[SURELY]) for by in found)


def _listed(values: list[Any]) -> str:
    return " and ".join("no set of" if value is None else str(value) for value in values)
