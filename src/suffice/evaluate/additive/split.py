"""Meeting in the middle: 2^d outcomes per reference from 2^(d - 8) binary searches.

Split the players into the first eight and the rest. A margin is then low + high, with low one of
256 subset sums. Once these are sorted, the low halves that carry a given high half over the
boundary are a *suffix* of that order (Horowitz and Sahni, "Computing Partitions with Applications
to the Knapsack Problem", JACM 21, 1974): one binary search finds it, and its 256 bits are read from
a table of all 257 suffixes. No hybrid's margin is ever computed, and none is tested for doubt: the
hybrids within slack of the boundary are those by which two such suffixes differ.

That is why there is no compiled kernel here. The work left per hybrid is moving its bit, 64 to a
word; numpy does that at about 0.6 ns, less than one addition and one comparison would take.

The subtraction slack - high rounds where the sum low + high would; the slack allows for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np

from suffice.evaluate.additive.scores import Margins
from suffice.typing import BoolVector, Counts, Reals, Words

__all__ = [
    "LOW",
    "WORD",
    "Ask",
    "bit_of",
    "split_blocks",
    "subset_sums",
    "suffix_sets",
    "transpose_bits",
]

WORD = np.dtype("<u8")
"""Little-endian words, on nearly all machines the plain ones: their bytes are handed on."""

Ask = Callable[[Counts, Counts], BoolVector]
"""(masks, references) -> does the event hold, says the model."""

LOW = 8
"""Players in the low half: at ten the table of suffixes costs more than the searches it saves."""

_WORDS = 1 << 22
"""Of a block's outcomes: 32 MB. Smaller blocks mean sorting and making tables more often."""

_ASK = 1 << 18
"""Hybrids in doubt that are worth a call of the model."""


def split_blocks(margins: Margins, d: int, ask: Ask) -> Iterator[tuple[int, Words]]:
    """Every mask in order, in blocks of bounded size; for d >= `LOW`.

    A block is its first mask and the bits of where the event holds, 64 references to a word: mask
    64 q + m of the block is at [:, m, q], as transposing squares of bits in place leaves them.
    `ask` is put the hybrids in doubt.
    """
    n = margins.starts.shape[1]
    words = (n + 63) // 64
    # A block is a run of consecutive high halves: all subsets of the first `near` high players.
    near = min(d - LOW, max(4, int(np.log2(_WORDS / words)) - LOW))
    masks = 1 << (LOW + near)
    for block in range(1 << (d - LOW - near)):
        held = [LOW + near + j for j in range(d - LOW - near) if block >> j & 1]
        out = np.zeros((words, 64, masks // 64), dtype=WORD)
        for word, rows in enumerate(out):
            some = slice(64 * word, 64 * word + 64)
            part = Margins(margins.starts[:, some], margins.deltas[:, some], margins.slack[:, some])
            for mask, reference in _batches(_fill(part, near, held, rows)):
                holds = ask(block * masks + mask, 64 * word + reference)
                _write(rows, mask[holds], reference[holds])
            transpose_bits(rows)
        yield block * masks, out


def _batches(doubts: Iterator[tuple[int, Counts]]) -> Iterator[tuple[Counts, Counts]]:
    """Join the doubts of several references, so that the model is asked seldom; but not too many,
    since where all hybrids are ties all of them are in doubt.
    """
    waiting: list[tuple[Counts, Counts]] = []
    for reference, masks in doubts:
        waiting.append((masks, np.full(len(masks), reference)))
        if sum(len(m) for m, _ in waiting) >= _ASK:
            yield _joined(waiting)
            waiting = []
    if waiting:
        yield _joined(waiting)


def _joined(parts: list[tuple[Counts, Counts]]) -> tuple[Counts, Counts]:
    masks, references = zip(*parts, strict=True)
    return np.concatenate(masks), np.concatenate(references)


def _write(rows: Words, masks: Counts, references: Counts) -> None:
    """Set the bits of hybrids that were in doubt; several may be in one word."""
    bit = np.uint64(1) << (masks & 63).astype(WORD)
    np.bitwise_or.at(rows, (bit_of(references), masks >> 6), bit)


def _fill(
    margins: Margins, near: int, held: list[int], rows: Words
) -> Iterator[tuple[int, Counts]]:
    """Fill in the rows of up to 64 references; give the masks in doubt of those that have any."""
    deltas, slack = margins.deltas, margins.slack[..., None]
    low = subset_sums(deltas[..., :LOW])
    order = np.argsort(low, axis=-1, kind="stable")
    low = np.take_along_axis(low, order, axis=-1)
    high = subset_sums(deltas[..., LOW : LOW + near])
    high += (margins.starts + deltas[..., held].sum(axis=-1))[..., None]
    sets = suffix_sets(order)
    certain = _search(low, slack - high, "right")
    # The largest low half that is not certain (or none): is it possible?
    below = np.concatenate([np.full_like(low[..., :1], -np.inf), low], axis=-1)
    unsure = np.take_along_axis(below, certain, axis=-1) >= -slack - high
    for i, place in enumerate(bit_of(np.arange(low.shape[1]))):
        row = _meet(sets[:, i], certain[:, i])
        rows[place] = row.ravel()
        where = np.flatnonzero(np.logical_or.reduce(unsure[:, i], axis=0))
        if len(where):
            possible = _search(low[:, i], -slack[:, i] - high[:, i, where], "left")
            doubt = _meet(sets[:, i], possible) & ~row[where]
            at, bit = np.unpackbits(doubt.view(np.uint8), axis=1, bitorder="little").nonzero()
            yield i, (where[at] << LOW) + bit


def _search(low: Reals, bounds: Reals, side: Literal["left", "right"]) -> Counts:
    """`numpy.searchsorted` along the last axis."""
    out = np.empty(bounds.shape, dtype=np.int64)
    for at in np.ndindex(bounds.shape[:-1]):
        out[at] = low[at].searchsorted(bounds[at], side=side)
    return out


def _meet(sets: Words, rows: Counts) -> Words:
    """(high halves, words): the low halves in one suffix of each margin's order."""
    out: Words = sets[0].take(rows[0], axis=0)
    for m in range(1, len(sets)):
        out &= sets[m].take(rows[m], axis=0)
    return out


# Sets of subsets as bits, and the turn from bits along masks to bits along references.


def subset_sums(deltas: Reals, out: Reals | None = None) -> Reals:
    """(…, d) -> (…, 2^d): the sum over every subset, by doubling: S ∪ {j} is S plus delta_j.

    >>> subset_sums(np.array([1.0, 10.0])).tolist()
    [0.0, 1.0, 10.0, 11.0]
    """
    d = deltas.shape[-1]
    sums = np.zeros((*deltas.shape[:-1], 1 << d)) if out is None else out
    for j in range(d):
        half = 1 << j
        np.add(sums[..., :half], deltas[..., j, None], out=sums[..., half : 2 * half])
    return sums


def suffix_sets(order: Counts) -> Words:
    """(…, m) -> (…, m + 1, m / 64): row k holds the set order[k:], element i as bit i.

    Bits are counted from the least significant of the first word. For m a multiple of 64.

    >>> [hex(row[0]) for row in suffix_sets(np.arange(64))[62:]]
    ['0xc000000000000000', '0x8000000000000000', '0x0']
    """
    *shape, m = order.shape
    rows = np.zeros((*shape, m + 1, m // 64), dtype=WORD)
    single = np.uint64(1) << (order & 63).astype(np.uint64)
    np.put_along_axis(rows[..., :m, :], (order >> 6)[..., None], single[..., None], axis=-1)
    backwards = rows[..., ::-1, :]
    np.bitwise_or.accumulate(backwards, axis=-2, out=backwards)
    return rows


def transpose_bits(square: Words) -> None:
    """(64, b) in place: bit j of word i of each column trades places with bit i of word j.

    Six rounds of swapped halves (Warren, Hacker's Delight, 2nd ed., Sect. 7-3), each of them a few
    operations on whole rows for all b squares at once.
    """
    scratch = np.empty(square.size // 2, dtype=WORD)
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


def bit_of(references: Counts) -> Counts:
    """Where a reference's bit is in its little-endian word, so that the bytes of the words are what
    `numpy.packbits` makes: bytes in order, the first reference in the most significant bit.

    >>> bit_of(np.array([0, 7, 8, 64])).tolist()
    [7, 0, 15, 7]
    """
    return (references & 63) ^ 7
