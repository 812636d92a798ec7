"""Texts: which words suffice to keep a decision, and which to flip it."""

from suffice.text.explainer import TextExplainer
from suffice.text.masks import Corpus

__all__ = ["Corpus", "TextExplainer"]
