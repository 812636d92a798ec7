"""Explanations of images: the regions that suffice to keep or to flip a prediction."""

from suffice.image.image_explainer import ImageExplainer
from suffice.image.overlays import Overlay, overlay

__all__ = ["ImageExplainer", "Overlay", "overlay"]
