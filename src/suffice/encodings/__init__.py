"""Existing measures in terms of sufficiency and necessity (Sect. 4): a file per proposition."""
