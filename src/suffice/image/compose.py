"""Hybrid pictures: for each region, which picture its pixels come from.

A row of cells says it: 0 is the image itself, r its r-th reference. No row names two references,
so a batch is the references' pixels written over by the image's where a region is held. The numpy
way and the torch way, which stays on the model's own device, give the same bits.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from suffice.image.picture import Picture
from suffice.image.regions import Labels
from suffice.typing import Counts, Values

__all__ = ["Composer", "NumpyComposer", "TorchComposer"]


class Composer(Protocol):
    """Makes a batch of pictures from rows of cells, in the kind of array that the model takes."""

    def __call__(self, cells: Counts) -> Any:
        """(rows, regions) -> (rows, …): a picture each."""
        ...


class NumpyComposer:
    """For models that take numpy arrays."""

    def __init__(self, picture: Picture, references: Values, labels: Labels) -> None:
        self._shape = picture.pixels.shape
        self._stack = _flat(picture, references)
        self._labels = picture.by_number(labels)

    def __call__(self, cells: Counts) -> Values:
        """Whole references are copied, then written over: two passes, both along the memory."""
        out: Values = self._stack[cells.max(axis=1)]
        # Not by indexing, which would lay the result out across the memory.
        held = np.take(cells == 0, self._labels, axis=1)
        np.copyto(out, self._stack[0], where=held)
        return out.reshape(-1, *self._shape)


class TorchComposer:
    """For torch modules: the pictures are sent to the device once, and mixed there."""

    def __init__(
        self, torch: Any, picture: Picture, references: Values, labels: Labels, device: Any
    ) -> None:
        self._torch = torch
        self._device = device
        self._shape = picture.pixels.shape
        self._stack = torch.from_numpy(_flat(picture, references)).to(device)
        self._labels = torch.from_numpy(picture.by_number(labels)).to(device)

    def __call__(self, cells: Counts) -> Any:
        """The same two passes, where the model is."""
        there = self._torch.from_numpy(np.ascontiguousarray(cells)).to(self._device)
        out = self._stack[there.amax(dim=1)]
        held = (there == 0).gather(1, self._labels.expand(len(cells), -1))
        self._torch.where(held, self._stack[0], out, out=out)
        return out.reshape(-1, *self._shape)


def _flat(picture: Picture, references: Values) -> Values:
    """(1 + n, numbers): the image and its references, each as one run of numbers."""
    return np.concatenate([picture.pixels[None], references]).reshape(1 + len(references), -1)
