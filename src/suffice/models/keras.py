"""A keras model, called directly: its own `predict` would compile a function and keep it."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from suffice.errors import InputError, ModelError
from suffice.models.adapter import Adapter
from suffice.models.outputs import Options
from suffice.models.rows import as_numbers
from suffice.typing import Values

__all__ = ["KerasModel"]


class KerasModel(Adapter):
    """A built keras 3 model on any backend, asked with `training=False`."""

    rows_per_call = 1024

    def __init__(self, model: Any, options: Options) -> None:
        if not model.built:
            hint = "Train it, load its weights, or call it once."
            raise InputError("model", "a keras model that is not built", "a built one", hint)
        kind = type(model)
        own = not kind.__module__.startswith("keras.")
        super().__init__(model, kind.__name__ if own else f"keras {kind.__name__}", options)
        shape = getattr(model, "input_shape", None) if hasattr(model, "inputs") else None
        if isinstance(shape, tuple) and len(shape) == 2:
            self._fitted_on(width=shape[1])

    def _take(self, rows: Any) -> Values:
        return as_numbers(rows, np.float32)

    def _raw(self, batch: Any) -> Values:
        with _no_gradients(self.original):
            out = self.original(batch, training=False)
        if isinstance(out, dict | list | tuple):
            raise ModelError(
                f"{self.__name__} returned {type(out).__name__} of {len(out)} outputs; expected "
                "one: pass a callable that returns the one you mean"
            )
        return np.asarray(out.detach().cpu().numpy() if hasattr(out, "detach") else out)


def _no_gradients(model: Any) -> AbstractContextManager[Any]:
    """On the torch backend a call would keep what gradients need."""
    roots = {cls.__module__.partition(".")[0] for cls in type(model).__mro__}
    if "torch" not in roots:
        return nullcontext()
    from importlib import import_module

    context: AbstractContextManager[Any] = import_module("torch").no_grad()
    return context
