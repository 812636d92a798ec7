"""One typed summary of an explanation; every picture, page and screen reads only this.

All wording lives here and in `suffice.wording`, so that the terminal, a notebook and a report say
the same thing.
"""

from suffice.summary.digest import DOZEN, DigestSummary
from suffice.summary.lines import FactorLine
from suffice.summary.of_view import ViewSummary
from suffice.summary.picture import Picture, PictureColumn, PictureRow
from suffice.summary.summary import Summary, summarise
from suffice.summary.ways import Ways

__all__ = [
    "DOZEN",
    "DigestSummary",
    "FactorLine",
    "Picture",
    "PictureColumn",
    "PictureRow",
    "Summary",
    "ViewSummary",
    "Ways",
    "summarise",
]
