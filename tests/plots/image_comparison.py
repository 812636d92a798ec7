"""Pictures compared by pixels: drawn small, blurred a little, and laid over those that are kept.

Versions of matplotlib differ by shades at the edges of letters, so both pictures are blurred over
five pixels before they are compared. On a scale of 0 to 255 the mean difference may then be 3, and no
point may differ by more than 130: letters fitted to pixels in another way differ by up to 118, one
dot that has moved by 187. To keep new
ones after looking at them: `SUFFICE_KEEP_BASELINES=1 pytest tests/plots`.
"""

import os
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image
from scipy.ndimage import uniform_filter

FOLDER = Path(__file__).parent / "baselines"
DPI = 40
MAX_MEAN_DIFFERENCE, MAX_DIFFERENCE = 3.0, 130.0
SIZE_TOLERANCE = 6
"""By so many pixels two pictures may differ in size, where a font is a little larger."""


def pixels(ax, dpi=DPI):
    """A picture's greys and colours, (height, width, 3)."""
    held = BytesIO()
    ax.figure.savefig(held, dpi=dpi, format="png")
    return np.asarray(Image.open(held).convert("RGB")).astype(float)


def image_difference(one, other):
    """The mean and the largest difference of two pictures, blurred."""
    sides = [abs(a - b) for a, b in zip(one.shape, other.shape, strict=True)]
    if max(sides) > SIZE_TOLERANCE:
        return 255.0, 255.0
    shape = tuple(max(a, b) for a, b in zip(one.shape, other.shape, strict=True))
    blurred = []
    for picture in (one, other):
        sheet = np.full(shape, 255.0)
        sheet[: picture.shape[0], : picture.shape[1]] = picture
        blurred.append(uniform_filter(sheet, (5, 5, 0)))
    difference = np.abs(blurred[0] - blurred[1])
    return float(difference.mean()), float(difference.max())


def assert_matches_baseline(ax, name):
    """The picture is the one that is kept under this name."""
    path = FOLDER / f"{name}.png"
    drawn = pixels(ax)
    if os.environ.get("SUFFICE_KEEP_BASELINES"):
        Image.fromarray(drawn.astype(np.uint8)).quantize(48).save(path, optimize=True)
    assert path.exists(), f"no picture is kept as {path.name}: see tests/plots/image_comparison.py"
    kept = np.asarray(Image.open(path).convert("RGB")).astype(float)
    mean, most = image_difference(drawn, kept)
    assert mean <= MAX_MEAN_DIFFERENCE and most <= MAX_DIFFERENCE, (
        f"{name}: mean {mean:.2f}, most {most:.0f}"
    )


def texts_in(ax):
    """Every word that is written in a picture."""
    from matplotlib.text import Text

    return [text.get_text() for text in ax.figure.findobj(Text) if text.get_text()]


def texts_outside(ax):
    """What is written beyond the figure's edges, once everything has its place."""
    from matplotlib.text import Text

    figure = ax.figure
    figure.draw_without_rendering()  # pixels take half of the time, and are not looked at
    edges = figure.bbox
    out = []
    for text in figure.findobj(Text):
        if text.get_text().strip() and text.get_visible():
            box = text.get_window_extent()
            beyond = (edges.x0 - box.x0, edges.y0 - box.y0, box.x1 - edges.x1, box.y1 - edges.y1)
            out += [text.get_text()] if max(beyond) > 1 else []
    return out
