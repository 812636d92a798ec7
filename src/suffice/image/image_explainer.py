"""`ImageExplainer`: the regions of an image that suffice to keep or to flip a prediction.

An image with d regions is a row of d cells, all 0; its r-th reference is a row of d cells, all r. A
hybrid then has, for each region, the number of the image that its pixels come from, and images are
composed just before the model predicts them. So `Explainer` searches images as it does tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Unpack

import msgspec
import numpy as np

from suffice.context import Context, SwapContext
from suffice.context.hybrids import PooledHybrids
from suffice.context.players import Players
from suffice.errors import InputError, short_repr
from suffice.explainer import Explainer, ExplainOptions
from suffice.explanation import Explanation, Player, ReferencesRecord
from suffice.explanation.explanation import features_to_refine
from suffice.explanation.schema import ImageSubject
from suffice.formatting import join_words, plural
from suffice.image.image_model import ImageModel, check_image_model, find_references
from suffice.image.overlays import image_subject
from suffice.image.pixels import (
    Channels,
    ImageArray,
    as_image_array,
    read_png,
    require_pillow,
    write_png,
)
from suffice.image.regions import Regions, find_regions, part_marks, part_names, split_regions
from suffice.models.outputs import RowCounter
from suffice.search.limits import EXHAUSTIVE_PLAYERS
from suffice.search.strategies import STRATEGIES
from suffice.tables.backends import ArrayTable, HiddenColumnTable
from suffice.tables.cells import (
    is_plausible_label,
    label_index,
    lookalike_labels,
    unknown_class_error,
    unwrap_label,
)
from suffice.tables.table import Table
from suffice.target import Event, Model, Outcome, class_event, event_for, needs_input
from suffice.typing import HeldSets
from suffice.validation import check_choice, check_integer


class ImageExplainer:
    """Explains single decisions on images by the regions that suffice to keep or to flip them.

    Parameters
    ----------
    model
        A callable from a batch of images to labels, values or class scores, an object with
        `predict`, or a torch module (called on its own device). The batch has the image's own
        dtype, range and order of axes.
    regions
        "slic" or "felzenszwalb" (both of scikit-image), "grid", a map of labels (H, W), or a
        callable image -> map. Regions of a map are numbered in the order of their labels.
    n_regions
        The most regions that a method makes, here and in `refine`. All 2^n sets of them are
        predicted unless `explain` gets another `search`.
    references
        What regions are replaced by: "blur", "mean" (the picture's mean colour), "inpaint" (each
        region filled in from around it), a number, a tuple of a number per channel, an image or an
        array of images of the same shape, or a list of these.
    outcome
        As in `Explainer`: by default the class predicted for the image.
    batch_size
        The most pictures that are composed and predicted at a time.
    channels
        "last" or "first"; None: as the shape suggests.
    random_state
        Seed of estimates in bounded searches.
    names
        Names of the regions.
    device
        For torch modules: where to compute, which must be where the model is. None: there.

    Examples
    --------
    >>> import numpy as np
    >>> def bright_corner(images):
    ...     return images[:, 0, 0] > 0.5
    >>> image = np.ones((4, 4))
    >>> e = ImageExplainer(bright_corner, regions="grid", n_regions=4, references=0)(image)
    >>> [f.features for f in e.keep.factors], [f.features for f in e.flip.factors]
    ([('row 1 column 1',)], [('row 1 column 1',)])
    """

    def __init__(
        self,
        model: Any,
        *,
        regions: Any = "slic",
        n_regions: int = 12,
        references: Any = "blur",
        outcome: Any = None,
        batch_size: int = 64,
        channels: Channels | None = None,
        random_state: int = 0,
        names: Sequence[str] | None = None,
        device: Any = None,
    ) -> None:
        if channels is not None:
            check_choice("channels", channels, ("last", "first"), also="None")
        check_image_model(model, device)
        require_pillow()  # fails before the work, not after it
        self._model = model
        self._regions = regions
        self._n_regions = check_integer("n_regions", n_regions)
        self._references = references
        self._outcome = outcome
        self._batch_size = check_integer("batch_size", batch_size)
        self._channels = channels
        self._seed = check_integer("random_state", random_state, least=0)
        self._names = names
        self._device = device

    def explain(self, image: Any, **question: Unpack[ExplainOptions]) -> Explanation:
        """Find the minimal sets of regions that keep the outcome, and those that flip it.

        Takes the keyword arguments of `Explainer.explain`, and has the same answer.
        """
        started = perf_counter()
        picture = as_image_array(image, self._channels)
        regions = find_regions(self._regions, picture, self._n_regions, self._names)
        return self._explain(picture, regions, started, (), question)

    __call__ = explain

    def refine(
        self,
        explanation: Explanation,
        *,
        image: Any,
        features: Sequence[str] | str | None = None,
        **question: Unpack[ExplainOptions],
    ) -> Explanation:
        """Split some regions into parts, and find the sets of parts that suffice.

        They are split into up to `n_regions` parts. All other regions are replaced in the keep view
        and held in the flip view, as they are for any set that names none of them. So each factor
        found is sufficient, and minimal, in the picture as a whole; sets with parts of other
        regions are not searched, and the provenance says so.

        Parameters
        ----------
        explanation
            The result of `explain` or `refine` for the image.
        image
            The image itself, as the model takes it.
        features
            Names of regions. None: those of the best factor in each view, which is the one with
            the fewest members, and the surest of these.
        **question
            As in `explain`; τ is the explanation's own unless it is given.
        """
        started = perf_counter()
        picture = as_image_array(image, self._channels)
        subject = image_subject(explanation)
        members = features_to_refine(explanation, features)
        # Regions are stored as pixels of that picture: in another they would cut something else.
        if not np.array_equal(read_png(subject.picture), picture.shown):
            raise InputError("image", "another picture", "the one that was explained")
        labels, owners = split_regions(subject.labels, members, self._n_regions)
        # No region was split, so the answer would be the one that is known.
        if len(owners) == len(members):
            got = f"{plural(len(members), 'region')} that cannot be split"
            allowed = f"fewer regions than n_regions={self._n_regions}"
            hint = "Regions of one pixel are as fine as it gets; else raise n_regions."
            raise InputError("features", got, allowed, hint)
        players = [player.name for player in explanation.keep.players]
        names = part_names([players[owner] for owner in owners])
        regions = Regions(labels, names, part_marks(owners, subject.marks))
        asked: ExplainOptions = {"tau": explanation.tau}
        split = tuple(players[member] for member in members)
        return self._explain(picture, regions, started, split, asked | question)

    def __repr__(self) -> str:
        model = getattr(self._model, "__name__", type(self._model).__name__)
        regions = self._regions if isinstance(self._regions, str) else "own regions"
        by = f"{regions} of at most {self._n_regions}"
        return f"<ImageExplainer: {model}, {by}, references={short_repr(self._references, 40)}>"

    def _explain(
        self,
        picture: ImageArray,
        regions: Regions,
        started: float,
        split: tuple[str, ...],
        question: ExplainOptions,
    ) -> Explanation:
        _check_size(len(regions.names), question)
        references = find_references(self._references, picture, regions.labels)
        model = ImageModel(
            self._model,
            picture,
            references.pictures,
            regions.labels,
            self._batch_size,
            self._device,
        )
        d, n = len(regions.names), len(references.pictures)
        # The rest of an image of which only some regions are split is one more cell, hidden.
        names = (*regions.names, "the rest") if split else regions.names
        # A cell is the number of the picture that a region is taken from; 0 is the image.
        cells = np.repeat(np.arange(n + 1)[:, None], len(names), axis=1)
        image, others = (
            HiddenColumnTable(rows, names, range(d)) if split else ArrayTable(rows, names)
            for rows in (cells[:1], cells[1:])
        )
        context: Context = PartsContext(split, references.elsewhere) if split else RegionContext()
        rows = RowCounter()
        with rows.counting():
            model(image.native)  # so that errors of the model speak of images, not of rows
            explainer = Explainer(
                model,
                others,
                outcome=Outcome(
                    "outcome",
                    _outcome_beyond_seen_labels(self._outcome, model),
                    needs_input(self._outcome),
                ),
                references="all",
                random_state=self._seed,
                # No reader knows models of images.
                engine="blackbox",
                context=context,
            )
        asking = explainer.asking(**question)
        e = explainer.answer(explainer.decide(image), asking, started=started, spent=rows.take())
        players = tuple(Player(name, {}) for name in regions.names)
        provenance = msgspec.structs.replace(
            e.provenance,
            data=None,
            references=ReferencesRecord("pictures", references.text),
            seconds=perf_counter() - started,
        )
        return replace(
            e,
            players=players,
            # Pixels have no costs, so no change is the cheapest.
            changes={},
            cheapest=None,
            cheapest_ties=(),
            provenance=provenance,
            subject=ImageSubject.of(write_png(picture.shown), regions.labels, regions.marks),
        )


def _check_size(d: int, question: ExplainOptions) -> None:
    """Raise if the regions have too many sets for the chosen search."""
    limits = question.get("max_size"), question.get("budget"), question.get("time_limit")
    bounded = any(limit is not None for limit in limits)
    search = check_choice("search", question.get("search", "auto"), STRATEGIES)
    if d > EXHAUSTIVE_PLAYERS and not bounded and search in ("exhaustive", "pruned"):
        raise InputError(
            "regions",
            f"{d} regions, so 2^{d} sets",
            f"at most {EXHAUSTIVE_PLAYERS} for an exhaustive search",
            "Use search='auto', lower n_regions and then refine, or pass max_size, budget or "
            "time_limit.",
        )


class RegionContext(SwapContext):
    """Swap context of regions, which are not columns that a reader of the data could join."""

    is_swap = False


def _outcome_beyond_seen_labels(outcome: Any, model: ImageModel) -> Any:
    """Return an outcome for a model whose classes are known from a few predictions only.

    So if the model only returns labels, any label is allowed, and the other outcome is "not" that
    label, even if only one other label was seen.
    """

    def bind(wrapped: Model, prediction: Any) -> Event:
        if isinstance(outcome, Outcome) or wrapped.classes is None or model.classes_known:
            return event_for(outcome, wrapped, prediction)
        label = unwrap_label(prediction if outcome is None else outcome)
        seen = (*wrapped.classes, unwrap_label(prediction))
        number = label_index(seen, label)
        if number is not None:
            return class_event(seen[number])
        # A misspelt label would be "never predicted" and the answer about nothing.
        if lookalike_labels(label, seen) or not is_plausible_label(label, seen):
            raise unknown_class_error("outcome", label, seen)
        return class_event(label)

    return bind


@dataclass(frozen=True)
class PartsContext(Context):
    """Context of parts of some regions: all other pixels are replaced (keep) or held (flip).

    All else is replaced in the keep view and held in the flip view, as it is for any set that names
    nothing of it. The rest is a hidden cell: 0 where it is held, else the number of the reference
    that replaced parts come from.
    """

    kind = "parts"

    regions: tuple[str, ...]
    elsewhere: str
    """What the picture looks like where it is replaced."""

    def bind(self, pool: Table, players: Players, seed: int) -> tuple[PartHybrids, PartHybrids]:
        """Return the hybrids (keep, flip), which differ in the rest of the image."""
        assert isinstance(pool, HiddenColumnTable)
        return PartHybrids(pool, players), PartHybrids(pool.with_hidden_of(0), players)

    def describe(self) -> str:
        """Describe which regions are split, and what happens to the rest."""
        return (
            f"parts of {join_words(self.regions)}; all else {self.elsewhere} (keep) or held (flip)"
        )


class PartHybrids(PooledHybrids):
    """Hybrids of parts, without keys: equal parts may lie in images with another rest."""

    def donors(self, held: HeldSets) -> None:
        """Return None: regions have no values, so changes have no cost."""
