"""Are two explanations the same answer, whatever way it came about?"""

from __future__ import annotations

import json
from typing import Any

from suffice import Explanation

HOW_IT_CAME_ABOUT = ("seconds", "model_seconds", "created", "rows_predicted", "hybrids", "plan")
"""Facts of the provenance that may differ between a row explained alone and among others: the time
it took and was made at, the rows that the model was asked about for it (and the hybrids, where
those are the same), the time it was thought to take. Nothing else may, unless "auto" chooses
another evaluator by its pace."""


def told(answer: Explanation | Exception) -> Any:
    """All that an answer says, in plain values; of an error its type and its words."""
    if isinstance(answer, Exception):
        return type(answer).__name__, str(answer)
    record = json.loads(answer.to_json())["content"]
    for fact in HOW_IT_CAME_ABOUT:
        record["provenance"].pop(fact, None)
    changes = [f.change for f in answer.flip.factors]
    return record, [(c.cost, c.values) if c else None for c in changes], answer.cheapest
