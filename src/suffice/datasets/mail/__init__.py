"""E-mails as players: nine segments, cleaned, and given a mean word vector each (App. C)."""

from suffice.datasets.mail.cleaning import clean
from suffice.datasets.mail.segments import SEGMENTS, mail_segments
from suffice.datasets.mail.vectors import mean_vectors, vector_columns, vector_groups

__all__ = [
    "SEGMENTS",
    "clean",
    "mail_segments",
    "mean_vectors",
    "vector_columns",
    "vector_groups",
]
