"""Explain a picture: which regions suffice to keep a model's answer, and which to flip it.

A picture with d regions is a row of d cells, all 0; its r-th reference is a row of d cells, all r.
A hybrid then says for each region which picture its pixels come from, and the model composes them
just before it is asked. So pictures need no search of their own: `Explainer` does it all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, Unpack

import msgspec
import numpy as np

from suffice.checks import choice, whole
from suffice.context import Context, SwapContext
from suffice.errors import InputError, shorten
from suffice.explainer import Asked, Explainer
from suffice.explanation import Explanation, Player, ReferencesRecord
from suffice.explanation.closer import features_to_refine
from suffice.explanation.subject import ImageSubject
from suffice.image.asking import PictureModel, check_model
from suffice.image.coarse_to_fine import Surroundings, part_marks, part_names, split_regions
from suffice.image.overlay import subject_of
from suffice.image.picture import Channels, Picture, as_picture
from suffice.image.png import pillow, read_png, write_png
from suffice.image.references import find_references
from suffice.image.regions import Regions, find_regions
from suffice.search.limits import EXHAUSTIVE_PLAYERS
from suffice.search.strategy import STRATEGIES
from suffice.tables.arrays import ArrayTable
from suffice.tables.labels import find, lookalike, not_a_class, of_a_kind, own
from suffice.target import Event, Model, Outcome, class_event, event_for, needs_input

__all__ = ["ImageExplainer"]


class ImageExplainer:
    """Explains what a model sees in single pictures, by the regions that suffice.

    Parameters
    ----------
    model
        A callable from a batch of images to labels, values or class scores, an object with
        `predict`, or a torch module (asked on its own device). The batch has the image's own
        dtype, range and order of axes.
    regions
        "slic" or "felzenszwalb" (both of scikit-image), "grid", a map of labels (H, W), or a
        callable image -> map. Regions of a map are numbered in the order of their labels.
    n_regions
        The most regions that a method makes, here and in `refine`. All 2^n sets of them are
        asked about unless `explain` is told to search otherwise.
    references
        What regions are replaced by: "blur", "mean" (the picture's mean colour), "inpaint" (each
        region filled in from around it), a number, a tuple of a number per channel, an image or an
        array of images of the same shape, or a list of these.
    outcome
        As in `Explainer`: by default the class predicted for the image.
    batch_size
        The most pictures that are composed, and asked about, at a time.
    channels
        "last" or "first"; None: as the shape tells.
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
            choice("channels", channels, ("last", "first"), also="None")
        check_model(model, device)
        pillow()  # told before the work, not after it
        self._model = model
        self._regions = regions
        self._n_regions = whole("n_regions", n_regions)
        self._references = references
        self._outcome = outcome
        self._batch_size = whole("batch_size", batch_size)
        self._channels = channels
        self._seed = whole("random_state", random_state, least=0)
        self._names = names
        self._device = device

    def explain(self, image: Any, **question: Unpack[Asked]) -> Explanation:
        """Every minimal set of regions that keeps the outcome, and every one that flips it.

        Takes the keyword arguments of `Explainer.explain`, and has the same answer.
        """
        started = perf_counter()
        picture = as_picture(image, self._channels)
        regions = find_regions(self._regions, picture, self._n_regions, self._names)
        return self._explain(picture, regions, started, (), question)

    __call__ = explain

    def refine(
        self,
        explanation: Explanation,
        *,
        image: Any,
        features: Sequence[str] | str | None = None,
        **question: Unpack[Asked],
    ) -> Explanation:
        """Look closer at some regions: which of their parts suffice?

        They are split into up to `n_regions` parts. All other regions are replaced in the keep view
        and held in the flip view, as they are for any set that names none of them. So each factor
        found is sufficient, and minimal, in the picture as a whole; sets that reach into other
        regions are not looked at, and the provenance says so.

        Parameters
        ----------
        explanation
            What `explain`, or `refine`, said of the image.
        image
            The image itself, as the model takes it.
        features
            Names of regions. None: those of the best factor in each view, which is the one with
            the fewest members, and the surest of these.
        **question
            As in `explain`; τ is the explanation's own unless it is given.
        """
        started = perf_counter()
        picture = as_picture(image, self._channels)
        subject = subject_of(explanation)
        members = features_to_refine(explanation, features)
        if not np.array_equal(read_png(subject.picture), picture.shown):
            raise InputError("image", "another picture", "the one that was explained")
        labels, owners = split_regions(subject.labels, members, self._n_regions)
        if len(owners) == len(members):
            got = f"{len(members)} region(s) that cannot be split"
            allowed = f"fewer regions than n_regions={self._n_regions}"
            hint = "Regions of one pixel are as fine as it gets; else raise n_regions."
            raise InputError("features", got, allowed, hint)
        players = [player.name for player in explanation.keep.players]
        names = part_names([players[owner] for owner in owners])
        regions = Regions(labels, names, part_marks(owners, subject.marks))
        asked: Asked = {"tau": explanation.tau}
        split = tuple(players[member] for member in members)
        return self._explain(picture, regions, started, split, asked | question)

    def __repr__(self) -> str:
        model = getattr(self._model, "__name__", type(self._model).__name__)
        regions = self._regions if isinstance(self._regions, str) else "own regions"
        by = f"{regions} of at most {self._n_regions}"
        return f"<ImageExplainer: {model}, {by}, references={shorten(self._references, 40)}>"

    def _explain(
        self,
        picture: Picture,
        regions: Regions,
        started: float,
        split: tuple[str, ...],
        question: Asked,
    ) -> Explanation:
        _check_size(len(regions.names), question)
        references = find_references(self._references, picture, regions.labels)
        model = PictureModel(
            self._model,
            picture,
            references.pictures,
            regions.labels,
            self._batch_size,
            self._device,
        )
        d, n = len(regions.names), len(references.pictures)
        image = ArrayTable(np.zeros((1, d), dtype=np.int64), regions.names)
        model(image.native)  # what is wrong with the model is told of pictures, not of rows
        cells = np.repeat(np.arange(1, n + 1)[:, None], d, axis=1)
        context: Context = Surroundings(split, references.elsewhere) if split else InPicture()
        explainer = Explainer(
            model,
            ArrayTable(cells, regions.names),
            outcome=Outcome(
                "outcome", _open_ended(self._outcome, model), needs_input(self._outcome)
            ),
            references="all",
            random_state=self._seed,
            engine="blackbox",
            context=context,
        )
        e = explainer.explain(image, **question)
        players = tuple(Player(name, {}) for name in regions.names)
        provenance = msgspec.structs.replace(
            e.provenance,
            data=None,
            references=ReferencesRecord("pictures", references.says),
            seconds=perf_counter() - started,
        )
        return replace(
            e,
            players=players,
            changes={},
            cheapest=None,
            provenance=provenance,
            subject=ImageSubject.of(write_png(picture.shown), regions.labels, regions.marks),
        )


def _check_size(d: int, question: Asked) -> None:
    """Too many sets are told of regions, which is what a user can have fewer of."""
    limits = question.get("max_size"), question.get("budget"), question.get("time_limit")
    bounded = any(limit is not None for limit in limits)
    search = choice("search", question.get("search", "auto"), STRATEGIES)
    if d > EXHAUSTIVE_PLAYERS and not bounded and search in ("exhaustive", "pruned"):
        raise InputError(
            "regions",
            f"{d} regions, so 2^{d} sets",
            f"at most {EXHAUSTIVE_PLAYERS} for an exhaustive search",
            "Use search='auto', lower n_regions and then refine, or pass max_size, budget or "
            "time_limit.",
        )


class InPicture(SwapContext):
    """Regions are swapped as values are; but they are no columns that could be joined or left."""

    is_swap = False


def _open_ended(outcome: Any, model: PictureModel) -> Any:
    """Labels seen on one picture and its references are not all there are.

    So where the model only gives labels, any label may be asked about, and the other outcome is
    "not" that label, even if no more than one other was seen.
    """

    def bind(wrapped: Model, prediction: Any) -> Event:
        if isinstance(outcome, Outcome) or wrapped.classes is None or model.classes_known:
            return event_for(outcome, wrapped, prediction)
        label = own(prediction if outcome is None else outcome)
        seen = (*wrapped.classes, own(prediction))
        number = find(seen, label)
        if number is not None:
            return class_event(seen[number])
        if lookalike(label, seen) or not of_a_kind(label, seen):
            raise not_a_class("outcome", label, seen)
        return class_event(label)

    return bind
