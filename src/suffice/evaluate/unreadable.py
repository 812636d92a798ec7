"""The reason why an engine does not serve."""

__all__ = ["Unreadable"]


class Unreadable(Exception):  # noqa: N818 - not an error: a reason, caught where it is asked for
    """Why a model's shape is not known; its text goes into the provenance."""
