"""Helpers of the tests of pictures: models that look at single pixels."""

import numpy as np

from suffice.image import ImageExplainer
from tests.html_checks import Tags


def factor_sets(view):
    return {frozenset(factor.features) for factor in view.factors}


def grid_cells(*cells):
    return frozenset(f"row {r} column {c}" for r, c in cells)


def lit_pixel(*places):
    def model(images):
        return np.logical_and.reduce([images[:, y, x] > 0.5 for y, x in places])

    return model


CORNERS = ImageExplainer(lit_pixel((0, 0), (5, 5)), regions="grid", n_regions=4, references=0)


IMAGE = np.linspace(0.6, 1, 36).reshape(6, 6)


EXPLANATION = CORNERS(IMAGE)


class PictureTags(Tags):
    """As for tables, and pictures bring their bytes along."""

    void = frozenset({"meta", "img"})

    def __init__(self):
        super().__init__()
        self.pictures = []

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        source = found.pop("src", None) or found.pop("href", None)
        if source is not None:
            assert source.startswith("data:image/png;base64,")
            self.pictures.append((tag, found.get("alt")))
        super().handle_starttag(tag, list(found.items()))


def model_of_grey(images):
    return images.mean(axis=(1, 2)) > 0.5
