"""Pictures: which regions suffice to keep a model's answer, and which to flip it."""

from suffice.image.explainer import ImageExplainer
from suffice.image.overlay import Overlay, overlay

__all__ = ["ImageExplainer", "Overlay", "overlay"]
