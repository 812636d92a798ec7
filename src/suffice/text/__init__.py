"""Texts: which words suffice to keep a decision, and which to flip it."""

from suffice.text.masks import Corpus
from suffice.text.text_explainer import TextExplainer

__all__ = ["Corpus", "TextExplainer"]
