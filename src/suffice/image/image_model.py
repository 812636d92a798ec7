"""`ImageModel`: predicts images of regions and references (blur, inpainting); finds torch modules.

An explanation is a contrast with them. No single choice is neutral: a blurred patch, a grey one and
a patch of another photograph lead to three different questions.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from suffice.errors import InputError, ModelError, did_you_mean, short_repr
from suffice.formatting import join_words
from suffice.image.pixels import ImageArray, as_pixels
from suffice.image.regions import RegionLabels
from suffice.models import adapt_if_known, require_model
from suffice.models.neural_networks import inference_mode, requested_device, tensor_to_array
from suffice.models.outputs import call_user_model
from suffice.typing import Counts, Reals, Values

_ALLOWED = (
    '"blur", "mean", "inpaint", a number, a tuple of one number per channel, '
    "an image of the same shape, an array of such images, or a list of these"
)

_DESCRIPTIONS = {
    "blur": ("the picture blurred", "blurred"),
    "mean": ("its mean colour", "in the mean colour"),
    "inpaint": ("each region filled in from around it", "filled in"),
    "colour": ("one colour", "in one colour"),
    "images": ("other pictures", "from other pictures"),
}


@dataclass(frozen=True, eq=False)
class ReferenceImages:
    """Reference images (n, …) in the image's layout and dtype, with their descriptions."""

    pictures: Values
    kinds: tuple[str, ...]
    """What each is: a key of the words above."""

    @property
    def text(self) -> str:
        """Description of all references, as in "against 2 references (…)"."""
        counts = {kind: self.kinds.count(kind) for kind in dict.fromkeys(self.kinds)}
        plural = {"images": "{} other pictures", "colour": "{} colours"}
        one = _DESCRIPTIONS | {"images": ("another picture", "")}
        return join_words(
            [
                one[kind][0] if count == 1 else plural.get(kind, one[kind][0]).format(count)
                for kind, count in counts.items()
            ]
        )

    @property
    def elsewhere(self) -> str:
        """Description of the replaced rest of an image, as in "all else …"."""
        kinds = set(self.kinds)
        return _DESCRIPTIONS[kinds.pop()][1] if len(kinds) == 1 else "replaced"


def find_references(spec: Any, picture: ImageArray, labels: RegionLabels) -> ReferenceImages:
    """Return the reference images that the argument `references` means."""
    pictures, kinds = [], []
    for kind, found in _reference_images(spec, picture, labels):
        pictures.append(found)
        kinds.append(kind)
    if not pictures:
        raise InputError("references", "none", _ALLOWED)
    return ReferenceImages(np.stack(pictures), tuple(kinds))


def _reference_images(
    spec: Any, picture: ImageArray, labels: RegionLabels
) -> Iterator[tuple[str, Values]]:
    if isinstance(spec, list):
        for part in spec:
            if isinstance(part, list):
                hint = "Turn an image in nested lists into an array first: np.asarray(…)."
                raise InputError("references", "a list within a list", _ALLOWED, hint)
            yield from _reference_images(part, picture, labels)
    elif isinstance(spec, str):
        yield spec, picture.like(_named_reference(spec, picture, labels))
    else:
        yield from _given_references(spec, picture)


def _named_reference(name: str, picture: ImageArray, labels: RegionLabels) -> Reals:
    planes = picture.planes
    if name == "blur":
        from scipy.ndimage import gaussian_filter

        # Wide enough to make a region's content unrecognisable, but keep its colours.
        sigma = max(picture.size) / 8
        return np.asarray(gaussian_filter(planes, (sigma, sigma, 0), mode="nearest"))
    if name == "mean":
        return np.broadcast_to(planes.mean(axis=(0, 1)), planes.shape)
    if name == "inpaint":
        return _inpainted(planes, labels)
    raise InputError(
        "references", repr(name), _ALLOWED, did_you_mean(name, list(_DESCRIPTIONS)[:3])
    )


def _inpainted(planes: Reals, labels: RegionLabels) -> Reals:
    """Fill each region with the smoothest surface that meets the pixels around it.

    Every pixel is the mean of its neighbours, of which those in other regions are given: one
    system of linear equations, which falls apart into one for each region.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.linalg import splu

    if labels.max() == 0:
        hint = 'Use "blur", "mean" or a colour.'
        raise InputError("references", "'inpaint' with one region", "at least two regions", hint)
    count, flat = labels.size, labels.ravel()
    number = np.arange(count).reshape(labels.shape)
    pairs = [(number[:, :-1], number[:, 1:]), (number[:-1], number[1:])]
    here, there = (np.concatenate([p[side].ravel() for p in pairs]) for side in (0, 1))
    here, there = np.concatenate([here, there]), np.concatenate([there, here])
    inside = flat[here] == flat[there]
    neighbours = np.bincount(here, minlength=count).astype(float)
    rows = np.concatenate([np.arange(count), here[inside]])
    columns = np.concatenate([np.arange(count), there[inside]])
    values = np.concatenate([neighbours, np.full(int(inside.sum()), -1.0)])
    system = splu(coo_matrix((values, (rows, columns)), shape=(count, count)).tocsc())
    colours = planes.reshape(count, -1)
    known = np.zeros_like(colours)
    np.add.at(known, here[~inside], colours[there[~inside]])
    filled = system.solve(known).reshape(planes.shape)
    return np.asarray(np.clip(filled, planes.min(), planes.max()))


def _given_references(spec: Any, picture: ImageArray) -> Iterator[tuple[str, Values]]:
    shape = picture.pixels.shape
    try:
        values = as_pixels(spec, "references")
    except InputError as error:
        raise InputError("references", short_repr(spec), _ALLOWED) from error
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise InputError("references", "NaN or infinite values", "finite numbers")
    channels = picture.planes.shape[2]
    if values.ndim == 0 or values.shape == (channels,):
        yield "colour", _colour_image(values, picture)
    elif values.shape == shape or values.shape[1:] == shape:
        for one in values.reshape(-1, *shape):
            yield "images", _cast_image(one, picture)
    else:
        got = f"an array of shape {values.shape}"
        if values.ndim == 1:
            got = f"a colour of {len(values)} numbers"
            allowed = f"a number, or one for each of the image's {channels} channels"
            hint = "The last one is opacity: 255, or 1.0, is opaque." if channels == 4 else ""
            raise InputError("references", got, allowed, hint)
        raise InputError("references", got, f"images of the image's own shape, {shape}")


def _colour_image(values: Values, picture: ImageArray) -> Values:
    """Return an image of one colour; raise if the dtype cannot hold it: bytes have no 0.5."""
    dtype = picture.pixels.dtype
    with np.errstate(invalid="ignore"):
        held = values.astype(dtype) == values
    if dtype.kind in "biu" and not held.all():
        allowed = f"numbers that the image's dtype holds, {dtype}"
        raise InputError("references", short_repr(values.tolist()), allowed)
    return picture.like(np.broadcast_to(values.astype(float), picture.planes.shape))


def _cast_image(one: Values, picture: ImageArray) -> Values:
    dtype = picture.pixels.dtype
    if not np.can_cast(one.dtype, dtype, "same_kind"):
        allowed = f"the image's own dtype, {dtype}"
        raise InputError("references", f"images of dtype {one.dtype}", allowed)
    return one.astype(dtype)


# `ImageModel`: composes images from rows of cells in batches, and predicts them.


# Hybrids of regions as images, composed in batches and predicted.


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
        """Whether the model lists its classes or scores each; else there may be unseen ones."""
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
        allowed = "None: a device can only be chosen for torch modules"
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
