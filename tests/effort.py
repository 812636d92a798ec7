"""How many examples a property test draws, by the Hypothesis profile in use."""

from __future__ import annotations

from hypothesis import settings

_FACTORS = {"check": 0.25, "test": 1.0, "soak": 10.0}


def examples(count: int) -> int:
    """Return the number of examples for a test that draws `count` of them under `make test`.

    An explicit `max_examples` would override the profile; a test whose examples are expensive
    gives its own count through this function, and still scales with the profile.
    """
    return max(3, round(count * _FACTORS.get(settings.get_current_profile_name(), 1.0)))
