"""Rules and anchors (Sect. 4, Prop. 2): with c_A(z) = 1 iff A(x) = 1, prec(A) = PS(c_A, y)."""

from suffice.rules.anchors import AnchorOptions, ScoreOptions, anchor, score_rule
from suffice.rules.rule import AnchorRules, Rule

__all__ = ["AnchorOptions", "AnchorRules", "Rule", "ScoreOptions", "anchor", "score_rule"]
