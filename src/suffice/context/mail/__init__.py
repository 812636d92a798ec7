"""E-mails as players: nine segments, cleaned, and given a mean word vector each (App. C)."""

from suffice.context.mail.cleaning import clean
from suffice.context.mail.segments import SEGMENTS, mail_segments
from suffice.context.mail.vectors import mean_vectors, vector_columns, vector_groups

__all__ = [
    "SEGMENTS",
    "clean",
    "mail_segments",
    "mean_vectors",
    "vector_columns",
    "vector_groups",
]
