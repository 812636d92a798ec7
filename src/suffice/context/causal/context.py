"""The causal context: an intervention changes its effects too (Sect. 5, "Causal recourse").

A hybrid of the input and a reference is an intervention, read in one of two ways. Keeping S: the
reference's S is set to the input's values, and what S causes follows. Flipping T: the input's T is
set to the reference's values, and what T causes follows. Both begin with the same swapped row; they
differ in which part of it was intervened on, so here each view has hybrids of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from suffice.context.causal.model import CausalModel, NoiseSource, check_noise_source
from suffice.context.hybrids import Context, PooledHybrids
from suffice.context.players import Players
from suffice.errors import InputError, did_you_mean
from suffice.randomness import Stream, generator
from suffice.tables.table import Table
from suffice.typing import Counts, HeldSets, Values


@dataclass(frozen=True, eq=False)
class CausalContext(Context):
    """Context of interventions, whose effects on other columns follow a causal model.

    With noise "sampled", as in the paper's experiment, every effect of an intervention gets fresh
    noise, one draw per reference and node. With "kept", it gets the noise found from the row that
    is changed: a true counterfactual.

    >>> from suffice.context import make_players
    >>> from suffice.tables import as_table
    >>> scm = CausalModel([("a", "b")], mechanisms={"a": 0.5, "b": lambda a: 1 - 1 * a})
    >>> pool = as_table([[0, 1], [1, 0]], names=["a", "b"])  # the input, and one reference
    >>> keep, flip = CausalContext(scm).bind(pool, make_players(pool), seed=0)
    >>> hold_b, first = np.array([[False, True]]), np.array([0])
    >>> keep.rows(hold_b, first).native  # the reference, with b set to the input's
    array([[1, 1]])
    >>> flip.rows(hold_b, first).native  # the input, with a set to the reference's: b follows
    array([[1, 0]])
    """

    kind = "causal"
    is_causal = True

    scm: CausalModel
    noise: NoiseSource = field(default="sampled", kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.scm, CausalModel):
            raise InputError("scm", self.scm, "a CausalModel")
        check_noise_source(self.noise)

    def describe(self) -> str:
        """Describe which effects follow a change, and the noise that they are computed with."""
        noise = "fresh noise" if self.noise == "sampled" else "each row's own noise"
        return f"effects follow a causal model of {len(self.scm.nodes)} nodes, {noise}"

    @property
    def draws_effects(self) -> bool:
        """True if fresh noise alone may change the effects of an intervention."""
        return self.noise == "sampled" and self.scm.has_random_effects

    def bind(self, pool: Table, players: Players, seed: int) -> tuple[CausalHybrids, CausalHybrids]:
        """Return the hybrids (keep, flip) of one input, row 0 of the pool, and its references."""
        for node in self.scm.nodes:
            if node not in pool.names:
                raise InputError(
                    "context",
                    f"node {node!r} of the DAG, which is no column of the data",
                    "a DAG over columns of the data",
                    did_you_mean(node, pool.names),
                )
        values = self.scm.read(pool, "context")
        n, kept = len(pool) - 1, self.noise == "kept"
        rng = generator(seed, Stream.NOISE)
        if kept:
            effects = [node for node in self.scm.nodes if self.scm.parents(node)]
            references = {node: column[1:] for node, column in values.items()}
            inputs = {node: np.repeat(column[:1], n) for node, column in values.items()}
            of_references = self.scm.abduct(references, rng, effects)
            of_input = self.scm.abduct(inputs, rng, effects)
        else:
            of_references = of_input = self.scm.draw(n, rng)
        return (
            CausalHybrids(pool, players, self.scm, values, of_references, True, kept),
            CausalHybrids(pool, players, self.scm, values, of_input, False, kept),
        )


@dataclass(frozen=True, eq=False)
class CausalHybrids(PooledHybrids):
    """Hybrids in which the effects of the columns intervened on follow the causal model."""

    scm: CausalModel
    values: Mapping[str, Values]
    """Every node's column of the pool."""
    noise: Mapping[str, Values]
    """One noise per reference, which does not depend on earlier calls."""
    keeps: bool
    """Whether the held players are the intervention (keep), or the others (flip)."""
    kept: bool
    """Whether the noise is that of the row which is changed."""

    def rows(self, held: HeldSets, references: Counts) -> Table:
        """Return hybrids: row i is made of held[i] and references[i], then effects are computed."""
        by_column = held[:, self.players.of_column]
        return self._respond(by_column, by_column, references)

    def rows_by_noise_alone(self, held: HeldSets, references: Counts) -> Table:
        """Return the flip view's rows with the input's own values in place of the references'.

        The same columns are intervened on, and their effects have the same noise as in `rows`.
        Where the outcomes of the two differ, the references' values made the difference; where both
        differ from the input's outcome, the noise did.
        """
        assert not self.keeps
        by_column = held[:, self.players.of_column]
        return self._respond(np.ones_like(by_column), by_column, references)

    def _respond(self, from_input: HeldSets, by_column: HeldSets, references: Counts) -> Table:
        """Return rows with the effects of an intervention.

        `from_input` marks the cells that have the input's value before effects are computed,
        `by_column` the columns that are held.
        """
        swapped = self.pool.splice(from_input, references + 1)
        if not self._effects:
            return swapped
        values, fixed, before = {}, {}, {}
        for node, position in self._positions.items():
            column = self.values[node]
            values[node] = column[np.where(from_input[:, position], 0, references + 1)]
            held = by_column[:, position]
            fixed[node] = held if self.keeps else ~held
            before[node] = column[references + 1 if self.keeps else np.zeros_like(references)]
        noise = {node: self.noise[node][references] for node in self._effects}
        after = self.scm.respond(values, fixed, noise, before if self.kept else None)
        return swapped.with_columns(
            {
                self._positions[node]: after[node]
                for node in self._effects
                if after[node] is not values[node]
            },
            "context",
        )

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {node: self.pool.names.index(node) for node in self.scm.nodes}

    @cached_property
    def _effects(self) -> list[str]:
        return [node for node in self.scm.nodes if self.scm.parents(node)]
