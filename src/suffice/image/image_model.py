"""`ImageModel`: composes images from rows of cells in batches, and predicts them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, Protocol

import numpy as np

from suffice.errors import InputError, ModelError
from suffice.image.pixels import ImageArray
from suffice.image.regions import RegionLabels
from suffice.models import adapt_if_known, require_model
from suffice.models.neural_networks import inference_mode, requested_device, tensor_to_array
from suffice.models.outputs import call_user_model
from suffice.typing import Counts, Values


class ImageModel:
    """Model of rows of cells; at most `batch_size` images exist at any time."""

    def __init__(
        self,
        model: Any,
        picture: ImageArray,
        references: Values,
        labels: RegionLabels,
        batch_size: int,
        device: Any = None,
    ) -> None:
        self.__name__ = str(getattr(model, "__name__", type(model).__name__))
        self.classes_ = getattr(model, "classes_", None)
        self.classes_known = self.classes_ is not None
        """Does the model list its classes, or score each? Else there may be more than were seen."""
        self._model = self.of_images = model
        self._batch_size = batch_size
        self._columns = int(labels.max()) + 1
        torch = torch_for_module(model)
        self._torch = torch
        known = adapt_if_known(model)
        self._function: Callable[[Any], Any] = (
            model if torch is not None else getattr(known, "predict", known)
        )
        self._compose: Composer
        self._device: Any = None
        if torch is None:
            self._compose = NumpyComposer(picture, references, labels)
        else:
            self._device = module_device(model, device)
            self._compose = TorchComposer(torch, picture, references, labels, self._device)

    def __call__(self, cells: Values) -> Values:
        """Predict each row; pixels outside all regions are the image's unless a cell names them."""
        rows: Counts = np.asarray(cells, dtype=np.int64)
        if rows.shape[1] < self._columns:
            rows = np.pad(rows, ((0, 0), (0, self._columns - rows.shape[1])))
        step = self._batch_size
        at_rest = (
            nullcontext() if self._torch is None else inference_mode(self._model, self._device)
        )
        with at_rest:
            parts = [self._ask(rows[i : i + step]) for i in range(0, len(rows), step)]
        return np.concatenate(parts)

    def _ask(self, cells: Counts) -> Values:
        batch = self._compose(cells)
        count = f"{len(cells)} image" + "s" * (len(cells) != 1)
        about = f"{count} ({batch.dtype}, shape {tuple(batch.shape)})"
        hint = self._of_other_dtype(batch)
        out: Values = call_user_model(self.__name__, self._answers, batch, about, hint)
        if out.ndim not in (1, 2) or len(out) != len(cells):
            raise ModelError(
                f"{self.__name__} returned shape {out.shape} for {count}: it must return one "
                "label, one value, or one score per class, for each image"
            )
        self.classes_known |= out.ndim == 2
        return out

    def _answers(self, batch: Any) -> Values:
        answers = self._function(batch)
        answers = getattr(answers, "logits", answers)  # as the transformers library packs them
        return tensor_to_array(answers) if hasattr(answers, "detach") else np.asarray(answers)

    def _of_other_dtype(self, batch: Any) -> str:
        """Return a hint if a module's weights have another dtype than the image, else ""."""
        if self._torch is None:
            return ""
        weights = next((w for w in self._model.parameters() if w.is_floating_point()), None)
        if weights is None or weights.dtype == batch.dtype:
            return ""
        return (
            f". Its weights are {weights.dtype}, and it gets images of the dtype they were "
            "given in: convert the image first"
        )


def check_image_model(model: Any, device: Any) -> None:
    """Raise unless the model can predict images, and is on the device if one is given."""
    if torch_for_module(model) is not None:
        module_device(model, device)
        return
    allowed = "a callable from a batch of images to labels, values or scores, or a torch module"
    require_model(model, allowed)
    if device is not None:
        allowed = "None: only torch modules are told where to compute"
        raise InputError("device", repr(device) if isinstance(device, str) else device, allowed)


def torch_for_module(model: Any) -> Any:
    """Return the torch library if the model is a torch module, without importing it."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(model, torch.nn.Module):
        return None
    # With that backend a keras model is a torch module too, and has an adapter of its own.
    of_keras = any(cls.__module__.startswith("keras.") for cls in type(model).__mro__)
    return None if of_keras else torch


def module_device(model: Any, asked: Any) -> Any:
    """Return the device of a module's parameters; raise if the user asks for another."""
    torch = torch_for_module(model)
    parts = [*model.parameters(), *model.buffers()]
    places = sorted({str(part.device) for part in parts}) or ["cpu"]
    if len(places) > 1:
        allowed = "a model on one device"
        raise InputError("model", f"parameters on {' and '.join(places)}", allowed)
    return torch.device(places[0]) if asked is None else requested_device(model, asked)


# Hybrid pictures: for each region, which picture its pixels come from.


class Composer(Protocol):
    """Protocol: composes a batch of images from rows of cells, as the model's kind of array."""

    def __call__(self, cells: Counts) -> Any:
        """Return an image (rows, …) for each row of cells (rows, regions)."""
        ...


class NumpyComposer:
    """Composer for models that take NumPy arrays."""

    def __init__(self, picture: ImageArray, references: Values, labels: RegionLabels) -> None:
        self._shape = picture.pixels.shape
        self._stack = _flat(picture, references)
        self._labels = picture.by_number(labels)

    def __call__(self, cells: Counts) -> Values:
        """Return an image for each row of cells."""
        out: Values = self._stack[cells.max(axis=1)]
        # Not by indexing, which would lay the result out across the memory.
        held = np.take(cells == 0, self._labels, axis=1)
        np.copyto(out, self._stack[0], where=held)
        return out.reshape(-1, *self._shape)


class TorchComposer:
    """Composer for torch modules: images are copied to the device once and mixed there."""

    def __init__(
        self, torch: Any, picture: ImageArray, references: Values, labels: RegionLabels, device: Any
    ) -> None:
        self._torch = torch
        self._device = device
        self._shape = picture.pixels.shape
        self._stack = torch.from_numpy(_flat(picture, references)).to(device)
        self._labels = torch.from_numpy(picture.by_number(labels)).to(device)

    def __call__(self, cells: Counts) -> Any:
        """Return an image for each row of cells, on the device of the model."""
        there = self._torch.from_numpy(np.ascontiguousarray(cells)).to(self._device)
        out = self._stack[there.amax(dim=1)]
        held = (there == 0).gather(1, self._labels.expand(len(cells), -1))
        self._torch.where(held, self._stack[0], out, out=out)
        return out.reshape(-1, *self._shape)


def _flat(picture: ImageArray, references: Values) -> Values:
    """Return (1 + n, numbers): the image and its references, each flattened."""
    return np.concatenate([picture.pixels[None], references]).reshape(1 + len(references), -1)
