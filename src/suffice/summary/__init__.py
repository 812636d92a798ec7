"""Summary of an explanation as text and numbers, read by terminal, page, notebook and figures.

All wording lives here and in `suffice.formatting`, so that the terminal, a notebook and a report
say the same thing.
"""

from suffice.summary.signature import SignatureColumn, SignatureLimits, SignatureRow, ViewSignature
from suffice.summary.summary import Summary, summarise
from suffice.summary.terminology import ReaderHints
from suffice.summary.view_summary import LISTED_SETS, DigestSummary, FactorLine, ViewSummary

__all__ = [
    "LISTED_SETS",
    "DigestSummary",
    "FactorLine",
    "ReaderHints",
    "SignatureColumn",
    "SignatureLimits",
    "SignatureRow",
    "Summary",
    "ViewSignature",
    "ViewSummary",
    "summarise",
]
