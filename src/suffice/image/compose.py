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
        self._picture = picture
        self._stack = np.concatenate([picture.pixels[None], references])
        self._labels = labels

    def __call__(self, cells: Counts) -> Values:
        """Whole references are copied, then written over: two passes, both along the memory."""
        out: Values = self._stack[cells.max(axis=1)]
        held = (cells == 0)[:, self._labels]
        np.copyto(out, self._stack[0], where=self._picture.on_pixels(held))
        return out


class TorchComposer:
    """For torch modules: the pictures are sent to the device once, and mixed there."""

    def __init__(
        self, torch: Any, picture: Picture, references: Values, labels: Labels, device: Any
    ) -> None:
        self._torch = torch
        self._picture = picture
        self._device = device
        stack = np.concatenate([picture.pixels[None], references])
        self._stack = torch.from_numpy(stack).to(device)
        self._labels = torch.from_numpy(labels).to(device)

    def __call__(self, cells: Counts) -> Any:
        """One choice per pixel between the image and the row's reference."""
        there = self._torch.from_numpy(np.ascontiguousarray(cells)).to(self._device)
        held = self._picture.on_pixels((there == 0)[:, self._labels])
        return self._torch.where(held, self._stack[0], self._stack[there.amax(dim=1)])
