"""Rules and anchors (Sect. 4, Prop. 2): with c_A(z) = 1 iff A(x) = 1, prec(A) = PS(c_A, y)."""

from suffice.encodings.anchors.rule import Rule
from suffice.encodings.anchors.rules import AnchorRules
from suffice.encodings.anchors.score import ScoreOptions, score_rule
from suffice.encodings.anchors.search import AnchorOptions, anchor

__all__ = ["AnchorOptions", "AnchorRules", "Rule", "ScoreOptions", "anchor", "score_rule"]
