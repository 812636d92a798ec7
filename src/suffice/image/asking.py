"""The user's model as a model of cells: it composes a batch of pictures, asks, and forgets them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from suffice.errors import InputError, ModelError, one_line
from suffice.image.compose import Composer, NumpyComposer, TorchComposer
from suffice.image.picture import Picture
from suffice.image.regions import Labels
from suffice.models import adapted, not_a_model
from suffice.typing import Counts, Values

__all__ = ["PictureModel", "check_model"]


class PictureModel:
    """Answers for rows of cells; at most `batch_size` pictures exist at any time."""

    def __init__(
        self,
        model: Any,
        picture: Picture,
        references: Values,
        labels: Labels,
        batch_size: int,
        device: Any = None,
    ) -> None:
        self.__name__ = str(getattr(model, "__name__", type(model).__name__))
        self.classes_ = getattr(model, "classes_", None)
        self.classes_known = self.classes_ is not None
        """Does the model list its classes, or score each? Else there may be more than were seen."""
        self._model = model
        self._batch_size = batch_size
        self._columns = int(labels.max()) + 1
        torch = torch_of(model)
        self._torch = torch
        known = adapted(model)
        self._function: Callable[[Any], Any] = (
            model if torch is not None else getattr(known, "predict", known)
        )
        self._compose: Composer
        if torch is None:
            self._compose = NumpyComposer(picture, references, labels)
        else:
            where = device_of(model, device)
            self._compose = TorchComposer(torch, picture, references, labels, where)

    def __call__(self, cells: Values) -> Values:
        """One answer per row; pixels outside all regions are the image's where no cell says."""
        rows: Counts = np.asarray(cells, dtype=np.int64)
        if rows.shape[1] < self._columns:
            rows = np.pad(rows, ((0, 0), (0, self._columns - rows.shape[1])))
        step = self._batch_size
        with self._at_rest():
            parts = [self._ask(rows[i : i + step]) for i in range(0, len(rows), step)]
        return np.concatenate(parts)

    def _ask(self, cells: Counts) -> Values:
        batch = self._compose(cells)
        count = f"{len(cells)} image" + "s" * (len(cells) != 1)
        try:
            out = _as_array(self._function(batch))
        except (Exception, SystemExit) as error:  # told in the words of the user's own model
            kind, why = f"{batch.dtype}, shape {tuple(batch.shape)}", one_line(error)
            raise ModelError(
                f"{self.__name__} raised {type(error).__name__} on {count} ({kind}): {why}"
                + self._of_other_dtype(batch)
            ) from error
        if out.ndim not in (1, 2) or len(out) != len(cells):
            raise ModelError(
                f"{self.__name__} returned shape {out.shape} for {count}: it must return one "
                "label, one value, or one score per class, for each image"
            )
        self.classes_known |= out.ndim == 2
        return out

    def _of_other_dtype(self, batch: Any) -> str:
        """A hint where a module's weights are of another kind of number than the image."""
        if self._torch is None:
            return ""
        weights = next((w for w in self._model.parameters() if w.is_floating_point()), None)
        if weights is None or weights.dtype == batch.dtype:
            return ""
        return (
            f". Its weights are {weights.dtype}, and it gets images of the dtype they were "
            "given in: convert the image first"
        )

    @contextmanager
    def _at_rest(self) -> Iterator[None]:
        """A torch module without gradients and in eval mode, and afterwards as it was."""
        if self._torch is None:
            yield
            return
        from suffice.models.torch import at_rest

        with at_rest(self._model), self._torch.inference_mode():
            yield


def check_model(model: Any, device: Any) -> None:
    """Raise for what cannot be asked, and for a device where the model is not."""
    if torch_of(model) is not None:
        device_of(model, device)
        return
    known = adapted(model)
    if not callable(getattr(known, "predict", known)):
        allowed = "a callable from a batch of images to labels, values or scores, or a torch module"
        raise not_a_model(model, allowed)
    if device is not None:
        allowed = "None: only torch modules are told where to compute"
        raise InputError("device", repr(device) if isinstance(device, str) else device, allowed)


def torch_of(model: Any) -> Any:
    """The torch library if the model is one of its modules; never imported for the question."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(model, torch.nn.Module):
        return None
    # With that backend a keras model is a torch module too, and has an adapter of its own.
    of_keras = any(cls.__module__.startswith("keras.") for cls in type(model).__mro__)
    return None if of_keras else torch


def device_of(model: Any, asked: Any) -> Any:
    """Where a module's parameters are, which must be where the user wants to compute."""
    torch = torch_of(model)
    parts = [*model.parameters(), *model.buffers()]
    places = sorted({str(part.device) for part in parts}) or ["cpu"]
    if len(places) > 1:
        allowed = "a model on one device"
        raise InputError("model", f"parameters on {' and '.join(places)}", allowed)
    place = torch.device(places[0])
    if asked is not None:
        try:
            wanted = torch.device(asked)
        except (RuntimeError, TypeError) as error:
            raise InputError("device", repr(asked), "None or a torch device", str(error)) from error
        # "cuda" means whichever of them the model is on.
        if wanted.type != place.type or wanted.index not in (None, place.index):
            hint = f"Move it first: model.to({str(wanted)!r})."
            allowed = f"the device that the model is on, {str(place)!r}"
            raise InputError("device", repr(str(wanted)), allowed, hint)
    return place


def _as_array(answers: Any) -> Values:
    answers = getattr(answers, "logits", answers)  # as the transformers library packs them
    if hasattr(answers, "detach"):
        answers = answers.detach().cpu()
        if str(answers.dtype) == "torch.bfloat16":  # which numpy does not know
            answers = answers.float()
    return np.asarray(answers)
