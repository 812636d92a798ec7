"""Additive scores of hybrids: margins of the outcome, rounding bounds, and sums over subsets.

A model is additive where score_k(z) = base_k + Σ_j a_kj(z_j), one term per player j. A hybrid takes
each player's values from the input x or from a reference r, so

    score_k(h(S, r)) = base_k + Σ_j a_kj(r_j) + Σ_{j in S} (a_kj(x_j) - a_kj(r_j)),

a start that depends on r alone and a subset sum of d deltas: the model's terms on the 1 + n rows of
the pool are all that is needed.

Every event that can be read from such scores is a conjunction of margins > 0 (`AdditiveMargins`):
one for the sign of a decision function or a threshold, two for a band, K - 1 for one of K classes.
Margins near 0 are not decided here, since rounding may put the model's own sum on either side;
`slack` is the width of that neighbourhood.

The bound. Floating-point summation of m terms, in any order, with or without fused
multiply-adds, is off by at most γ_m Σ|terms|, γ_m = m ε / (1 - m ε) (Higham, Accuracy and Stability
of Numerical Algorithms, 2nd ed., Sect. 3.1 and 4.2). The model sums p products and an intercept;
we sum the same products by player, subtract, and add up again. With at most `roundings` + 4d + 32
operations along any path and Σ|terms| of the model's sum and ours together below
mass(x) + 2 mass(r) (the base is part of either), γ times that is a slack which both errors, added
up, cannot exceed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from suffice.engines.select_engine import Unreadable
from suffice.tables.cells import label_index
from suffice.target import Event
from suffice.typing import BitWords, BoolVector, Counts, HeldSets, Outcomes, Reals, Values

DecisionRule = Literal["sign", "argmax", "value"]


@dataclass(frozen=True, eq=False)
class AdditiveScores:
    """Terms of K scores on the pool's rows (the input first), by player."""

    terms: Reals
    """(K, 1 + n, d)"""
    mass: Reals
    """(K, 1 + n): the sum of the absolute values of all terms that the model adds up, with the
    base."""
    base: Reals
    """(K,)"""
    decision: DecisionRule
    """`predict` gives: the second class where the one score is > 0; the class whose score is the
    largest; or the one score itself."""
    roundings: int
    """Most operations of the model's own sum."""
    eps: float
    """The coarsest machine epsilon among the numbers involved."""


@dataclass(frozen=True, eq=False)
class AdditiveMargins:
    """The event holds for h(S, r) if all M margins start + Σ_{j in S} delta are > slack.

    It does not hold if one of them is < -slack. Otherwise it is in doubt: only the model decides.
    """

    starts: Reals
    """(M, n)"""
    deltas: Reals
    """(M, n, d)"""
    slack: Reals
    """(M, n)"""

    def __len__(self) -> int:
        return len(self.starts)

    def decide(self, sums: Reals) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return where the event holds and where it is in doubt, from sums of deltas (M, n, …)."""
        shape = (*self.starts.shape, *[1] * (sums.ndim - 2))
        totals = sums + self.starts.reshape(shape)
        slack = self.slack.reshape(shape)
        holds = np.logical_and.reduce(totals > slack, axis=0)
        return holds, np.logical_and.reduce(totals >= -slack, axis=0) & ~holds


ScoreCombination = tuple[dict[int, float], float, float]
"""Signs of the scores in a margin, a constant, and the size of other numbers that were rounded."""


def read_additive_margins(
    event: Event, scores: AdditiveScores, classes: tuple[object, ...], score_method: str | None
) -> AdditiveMargins:
    """Return the margins of an event on additive scores; `Unreadable` if they do not decide it.

    `score_method` is the name of the method whose scores a comparison of two classes compares.
    """
    return _combine_scores(
        scores, score_combinations(event, scores.decision, classes, score_method)
    )


def score_combinations(
    event: Event, decision: DecisionRule, classes: tuple[object, ...], score_method: str | None
) -> list[ScoreCombination]:
    """Return the margins whose conjunction is an event; `Unreadable` if scores do not decide it."""
    kind, parameters = event.kind, event.parameters
    label = label_index(classes, parameters[0]) if kind == "class" else None
    if label is not None and decision != "value":
        if decision == "sign":
            return [_sign_combination(label == 1)]
        others = [k for k in range(len(classes)) if k != label]
        return [({label: 1.0, k: -1.0}, 0.0, 0.0) for k in others]
    if kind == "versus" and decision != "value":
        label, foil = parameters
        # Probabilities of three classes and more may underflow or saturate to equal numbers
        # where the scores behind them differ.
        if score_method != "decision_function" and len(classes) > 2:
            raise Unreadable(f"versus compares {score_method}, which rounds different scores alike")
        # expit and softmax keep the order of two scores unless they differ by less than this.
        blur = 0.0 if score_method == "decision_function" else 64.0
        if decision == "sign":
            positive, _, _ = _sign_combination(label == 1)
            return [(positive, 0.0, blur)]
        return [({label: 1.0, foil: -1.0}, 0.0, blur)]
    if decision == "value" and kind in ("at_least", "at_most"):
        (threshold,) = map(float, parameters)
        sign = 1.0 if kind == "at_least" else -1.0
        return [({0: sign}, -sign * threshold, 0.0)]
    if decision == "value" and kind == "within":
        at, delta = map(float, parameters)
        blur = abs(at) + abs(delta)
        return [({0: 1.0}, delta - at, blur), ({0: -1.0}, delta + at, blur)]
    raise Unreadable(f"the outcome {event.text!r} cannot be read from the model's scores")


def rounding_factor(roundings: int, eps: float) -> float:
    """Return the largest rounding error of a sum of so many operations, relative to its terms'
    sizes."""
    steps = roundings * eps
    return 1.01 * steps / (1 - steps) if steps < 0.5 else np.inf


def _sign_combination(positive: bool) -> ScoreCombination:
    return {0: 1.0 if positive else -1.0}, 0.0, 0.0


def _combine_scores(scores: AdditiveScores, margins: list[ScoreCombination]) -> AdditiveMargins:
    _, rows, d = scores.terms.shape
    starts = np.empty((len(margins), rows - 1))
    deltas = np.empty((len(margins), rows - 1, d))
    slack = np.empty_like(starts)
    part = rounding_factor(scores.roundings + 4 * d + 32, scores.eps)
    for m, (signs, constant, blur) in enumerate(margins):
        terms = sum(sign * scores.terms[k] for k, sign in signs.items())
        assert isinstance(terms, np.ndarray)
        base = sum(sign * scores.base[k] for k, sign in signs.items()) + constant
        mass: Values = sum(scores.mass[k] for k in signs)
        size = abs(constant) + blur
        starts[m] = base + terms[1:].sum(axis=1)
        deltas[m] = terms[0] - terms[1:]
        slack[m] = part * (size + mass[0] + 2 * mass[1:]) + np.finfo(float).tiny
    if not (np.isfinite(slack).all() and np.isfinite(starts).all() and np.isfinite(deltas).all()):
        raise Unreadable("the model's terms are not all finite on these rows")
    return AdditiveMargins(starts, deltas, slack)


# Bounds on additive margins over a cube of the lattice: exact, reference by reference.


def bound_margins_over_cubes(
    margins: AdditiveMargins, held: HeldSets, freed: HeldSets
) -> tuple[Outcomes, Outcomes]:
    """Return (cubes, references): whether the event surely holds, and whether it may."""
    chosen, undecided = held.astype(np.float64), (~(held | freed)).astype(np.float64)
    surely = np.ones((len(held), margins.starts.shape[1]), dtype=bool)
    may = np.ones_like(surely)
    for start, delta, slack in zip(margins.starts, margins.deltas, margins.slack, strict=True):
        fixed = chosen @ delta.T + start
        surely &= fixed + undecided @ np.minimum(delta, 0.0).T > slack
        may &= fixed + undecided @ np.maximum(delta, 0.0).T >= -slack
    return surely, may


def margin_leverage(margins: AdditiveMargins) -> Reals:
    """Return (references, players): how far each player moves the margins, summed over them."""
    return np.asarray(np.abs(margins.deltas).sum(axis=0))


# Meeting in the middle: 2^d outcomes per reference from 2^(d - 8) binary searches.


WORD_DTYPE = np.dtype("<u8")
"""Little-endian words, the native ones of nearly all machines: their bytes become packed bits."""

AskModel = Callable[[Counts, Counts], BoolVector]
"""(masks, references) -> whether the event holds, as the model predicts."""

LOW_PLAYERS = 8
"""Players in the low half: at ten the table of suffixes costs more than the searches it saves."""

_WORDS_PER_BLOCK = 1 << 22
"""Words of a block's outcomes: 32 MB. Smaller blocks sort and build tables more often."""

_DOUBTS_PER_CALL = 1 << 18
"""Hybrids in doubt that are collected before the model predicts them in one call."""


def meet_in_the_middle(
    margins: AdditiveMargins, d: int, ask: AskModel
) -> Iterator[tuple[int, BitWords]]:
    """Yield the outcomes of all masks in order, in blocks of bounded size; for d >= `LOW_PLAYERS`.

    A block is its first mask and a bit for each mask and reference for which the event holds, 64
    references to a word: mask 64 q + m of the block is at [:, m, q], an order that follows from
    transposing squares of bits in place. `ask` predicts the hybrids in doubt.
    """
    n = margins.starts.shape[1]
    words = (n + 63) // 64
    # A block is a run of consecutive high halves: all subsets of the first `near` high players.
    near = min(d - LOW_PLAYERS, max(4, int(np.log2(_WORDS_PER_BLOCK / words)) - LOW_PLAYERS))
    masks = 1 << (LOW_PLAYERS + near)
    for block in range(1 << (d - LOW_PLAYERS - near)):
        held = [LOW_PLAYERS + near + j for j in range(d - LOW_PLAYERS - near) if block >> j & 1]
        out = np.zeros((words, 64, masks // 64), dtype=WORD_DTYPE)
        for word, rows in enumerate(out):
            some = slice(64 * word, 64 * word + 64)
            part = AdditiveMargins(
                margins.starts[:, some], margins.deltas[:, some], margins.slack[:, some]
            )
            for mask, reference in _batch_doubts(_fill_rows(part, near, held, rows)):
                holds = ask(block * masks + mask, 64 * word + reference)
                _set_bits(rows, mask[holds], reference[holds])
            transpose_bits(rows)
        yield block * masks, out


def _batch_doubts(doubts: Iterator[tuple[int, Counts]]) -> Iterator[tuple[Counts, Counts]]:
    """Join the doubtful hybrids of several references into few large calls of the model.

    The calls are bounded, since where all hybrids are ties all of them are in doubt.
    """
    waiting: list[tuple[Counts, Counts]] = []
    for reference, masks in doubts:
        waiting.append((masks, np.full(len(masks), reference)))
        if sum(len(m) for m, _ in waiting) >= _DOUBTS_PER_CALL:
            yield _concatenate_doubts(waiting)
            waiting = []
    if waiting:
        yield _concatenate_doubts(waiting)


def _concatenate_doubts(parts: list[tuple[Counts, Counts]]) -> tuple[Counts, Counts]:
    masks, references = zip(*parts, strict=True)
    return np.concatenate(masks), np.concatenate(references)


def _set_bits(rows: BitWords, masks: Counts, references: Counts) -> None:
    """Set the bits of hybrids that were in doubt; several may be in one word."""
    bit = np.uint64(1) << (masks & 63).astype(WORD_DTYPE)
    np.bitwise_or.at(rows, (reference_bit(references), masks >> 6), bit)


def _fill_rows(
    margins: AdditiveMargins, near: int, held: list[int], rows: BitWords
) -> Iterator[tuple[int, Counts]]:
    """Fill in the rows of up to 64 references; yield the masks in doubt of each that has any."""
    deltas, slack = margins.deltas, margins.slack[..., None]
    low = subset_sums(deltas[..., :LOW_PLAYERS])
    order = np.argsort(low, axis=-1, kind="stable")
    low = np.take_along_axis(low, order, axis=-1)
    high = subset_sums(deltas[..., LOW_PLAYERS : LOW_PLAYERS + near])
    high += (margins.starts + deltas[..., held].sum(axis=-1))[..., None]
    sets = suffix_sets(order)
    certain = _searchsorted_last_axis(low, slack - high, "right")
    # Low halves are sorted, so doubt exists only if the largest one that is not certain is
    # possible.
    below = np.concatenate([np.full_like(low[..., :1], -np.inf), low], axis=-1)
    unsure = np.take_along_axis(below, certain, axis=-1) >= -slack - high
    for i, place in enumerate(reference_bit(np.arange(low.shape[1]))):
        row = _intersect_suffixes(sets[:, i], certain[:, i])
        rows[place] = row.ravel()
        where = np.flatnonzero(np.logical_or.reduce(unsure[:, i], axis=0))
        if len(where):
            possible = _searchsorted_last_axis(low[:, i], -slack[:, i] - high[:, i, where], "left")
            doubt = _intersect_suffixes(sets[:, i], possible) & ~row[where]
            at, bit = np.unpackbits(doubt.view(np.uint8), axis=1, bitorder="little").nonzero()
            yield i, (where[at] << LOW_PLAYERS) + bit


def _searchsorted_last_axis(low: Reals, bounds: Reals, side: Literal["left", "right"]) -> Counts:
    """Return `numpy.searchsorted` along the last axis."""
    out = np.empty(bounds.shape, dtype=np.int64)
    for at in np.ndindex(bounds.shape[:-1]):
        out[at] = low[at].searchsorted(bounds[at], side=side)
    return out


def _intersect_suffixes(sets: BitWords, rows: Counts) -> BitWords:
    """Return (high halves, words): the low halves in the given suffix of every margin's order."""
    out: BitWords = sets[0].take(rows[0], axis=0)
    for m in range(1, len(sets)):
        out &= sets[m].take(rows[m], axis=0)
    return out


# Sets of subsets as bits, and their transposition from bits by mask to bits by reference.


def subset_sums(deltas: Reals, out: Reals | None = None) -> Reals:
    """Return the sum over every subset, (…, d) -> (…, 2^d), by doubling: S ∪ {j} is S plus delta_j.

    >>> subset_sums(np.array([1.0, 10.0])).tolist()
    [0.0, 1.0, 10.0, 11.0]
    """
    d = deltas.shape[-1]
    sums = np.zeros((*deltas.shape[:-1], 1 << d)) if out is None else out
    for j in range(d):
        half = 1 << j
        np.add(sums[..., :half], deltas[..., j, None], out=sums[..., half : 2 * half])
    return sums


def suffix_sets(order: Counts) -> BitWords:
    """Return the sets order[k:] for all k, (…, m) -> (…, m + 1, m / 64), element i as bit i.

    Bits are counted from the least significant of the first word. For m a multiple of 64.

    >>> [hex(row[0]) for row in suffix_sets(np.arange(64))[62:]]
    ['0xc000000000000000', '0x8000000000000000', '0x0']
    """
    *shape, m = order.shape
    rows = np.zeros((*shape, m + 1, m // 64), dtype=WORD_DTYPE)
    single = np.uint64(1) << (order & 63).astype(np.uint64)
    np.put_along_axis(rows[..., :m, :], (order >> 6)[..., None], single[..., None], axis=-1)
    backwards = rows[..., ::-1, :]
    np.bitwise_or.accumulate(backwards, axis=-2, out=backwards)
    return rows


def transpose_bits(square: BitWords) -> None:
    """Transpose b squares of bits (64, b) in place: bit j of word i is exchanged with bit i of j.

    Six rounds of swapped halves (Warren, Hacker's Delight, 2nd ed., Sect. 7-3), each of them a few
    operations on whole rows for all b squares at once.
    """
    scratch = np.empty(square.size // 2, dtype=WORD_DTYPE)
    half, mask = 32, 0xFFFFFFFF
    while half:
        pairs = square.reshape(32 // half, 2, half, -1)
        upper, lower = pairs[:, 0], pairs[:, 1]
        t = np.right_shift(upper, np.uint64(half), out=scratch.reshape(upper.shape))
        t ^= lower
        t &= np.uint64(mask)
        lower ^= t
        t <<= np.uint64(half)
        upper ^= t
        half >>= 1
        mask ^= (mask << half) & 0xFFFFFFFFFFFFFFFF


def reference_bit(references: Counts) -> Counts:
    """Return the position of a reference's bit in its little-endian word, so that the bytes of the
    words are what `numpy.packbits` writes.

    >>> reference_bit(np.array([0, 7, 8, 64])).tolist()
    [7, 0, 15, 7]
    """
    return (references & 63) ^ 7
