"""Explain a picture: which regions suffice to keep a model's answer, and which to flip it.

A picture with d regions is a row of d cells, all 0; its r-th reference is a row of d cells, all r.
A hybrid then says for each region which picture its pixels come from, and the model composes them
just before it is asked. So pictures need no search of their own: `Explainer` does it all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, Literal

import msgspec
import numpy as np

from suffice.context import Context
from suffice.errors import InputError
from suffice.explainer import Explainer
from suffice.explanation import Explanation, Player
from suffice.explanation.subject import ImageSubject
from suffice.image.asking import PictureModel, check_model
from suffice.image.coarse_to_fine import Surroundings, part_marks, part_names, split_regions
from suffice.image.overlay import members_of
from suffice.image.picture import Channels, Picture, as_picture
from suffice.image.png import read_png, write_png
from suffice.image.references import find_references
from suffice.image.regions import Regions, find_regions
from suffice.search.limits import EXHAUSTIVE_PLAYERS
from suffice.tables.arrays import ArrayTable
from suffice.tables.labels import lookalike, not_a_class, own
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
        regions: Any = "slic",
        n_regions: int = 12,
        references: Any = "blur",
        outcome: Any = None,
        batch_size: int = 64,
        channels: Channels | None = None,
        random_state: int = 0,
        names: Sequence[str] | None = None,
        *,
        device: Any = None,
    ) -> None:
        for argument, value in (("n_regions", n_regions), ("batch_size", batch_size)):
            if not isinstance(value, int | np.integer) or value < 1:
                raise InputError(argument, value, "a whole number >= 1")
        if channels not in (None, "last", "first"):
            raise InputError("channels", repr(channels), 'None, "last" or "first"')
        check_model(model, device)
        self._model = model
        self._regions = regions
        self._n_regions = int(n_regions)
        self._references = references
        self._outcome = outcome
        self._batch_size = int(batch_size)
        self._channels = channels
        self._seed = random_state
        self._names = names
        self._device = device

    def explain(self, image: Any, tau: float = 0.9, **question: Any) -> Explanation:
        """Every minimal set of regions that keeps the outcome, and every one that flips it.

        Takes the keyword arguments of `Explainer.explain`, and has the same answer.
        """
        started = perf_counter()
        picture = as_picture(image, self._channels)
        regions = find_regions(self._regions, picture, self._n_regions, self._names)
        return self._explain(picture, regions, started, None, tau=tau, **question)

    __call__ = explain

    def refine(
        self,
        image: Any,
        explanation: Explanation,
        view: Literal["keep", "flip"] = "keep",
        factor: int | Sequence[str] = 0,
        tau: float | None = None,
        **question: Any,
    ) -> Explanation:
        """Look closer at one factor: which parts of its regions suffice?

        Its regions are split into up to `n_regions` parts. All other regions stay replaced ("keep")
        or held ("flip"), as in the factor itself; the answer is complete for that context alone,
        and its provenance says so.

        Parameters
        ----------
        image
            The image that was explained.
        explanation
            What `explain`, or `refine`, said of it.
        view, factor
            Which factor: its number in that view, or the names of any regions.
        tau
            None: that of the explanation.
        """
        started = perf_counter()
        picture = as_picture(image, self._channels)
        members = members_of(explanation, view, factor)
        subject = explanation.subject
        assert isinstance(subject, ImageSubject)
        if not np.array_equal(read_png(subject.picture), picture.shown):
            raise InputError("image", "another picture", "the one that was explained")
        if not members:
            hint = "It comes about anyway: there is nothing to look closer at."
            raise InputError("factor", "a factor without regions", "one that names some", hint)
        Surroundings.check(explanation.provenance.context, view)
        labels, owners = split_regions(subject.labels, members, self._n_regions)
        if len(owners) == len(members):
            got = f"{len(members)} region(s) that cannot be split"
            hint = "Regions of one pixel are as fine as it gets; else raise n_regions."
            raise InputError("factor", got, f"fewer regions than n_regions={self._n_regions}", hint)
        players = [player.name for player in explanation.keep.players]
        names = part_names([players[owner] for owner in owners])
        regions = Regions(labels, names, part_marks(owners, subject.marks))
        context = Surroundings(view == "flip", tuple(players[m] for m in members))
        chosen = explanation.tau if tau is None else tau
        return self._explain(picture, regions, started, context, tau=chosen, **question)

    def _explain(
        self,
        picture: Picture,
        regions: Regions,
        started: float,
        surroundings: Surroundings | None,
        **question: Any,
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
        context: Context | None = surroundings and surroundings.with_rest(references.elsewhere)
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
        of_context = e.provenance.context
        if surroundings is not None:
            refines: Literal["keep", "flip"] = "flip" if surroundings.held else "keep"
            of_context = msgspec.structs.replace(of_context, refines=refines)
        provenance = msgspec.structs.replace(
            e.provenance,
            data=None,
            references=references.says,
            seconds=perf_counter() - started,
            context=of_context,
        )
        return replace(
            e,
            players=players,
            changes={},
            cheapest=None,
            provenance=provenance,
            subject=ImageSubject.of(write_png(picture.shown), regions.labels, regions.marks),
        )


def _check_size(d: int, question: dict[str, Any]) -> None:
    """Too many sets are told of regions, which is what a user can have fewer of."""
    bounded = any(question.get(name) for name in ("max_size", "budget", "time_limit"))
    if d > EXHAUSTIVE_PLAYERS and not bounded and question.get("search") != "greedy":
        raise InputError(
            "regions",
            f"{d} regions, so 2^{d} sets",
            f"at most {EXHAUSTIVE_PLAYERS} for an exhaustive search",
            "Lower n_regions and then refine, use search='greedy', or pass max_size, budget or "
            "time_limit.",
        )


def _open_ended(outcome: Any, model: PictureModel) -> Any:
    """Labels seen on one picture and its references are not all there are.

    So where the model only gives labels, any label may be asked about, and the other outcome is
    "not" that label, even if no more than one other was seen.
    """

    def bind(wrapped: Model, prediction: Any) -> Event:
        if isinstance(outcome, Outcome) or wrapped.classes is None or model.classes_known:
            return event_for(outcome, wrapped, prediction)
        seen = (*wrapped.classes, own(prediction))
        if lookalike(outcome, seen):
            raise not_a_class("outcome", outcome, seen)
        return class_event(own(prediction) if outcome is None else outcome)

    return bind
