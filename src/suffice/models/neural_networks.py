"""Adapters of torch modules, keras models and transformers pipelines; torch devices and state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from itertools import chain
from threading import RLock
from typing import Any

import numpy as np

from suffice.errors import InputError, ModelError, short_repr
from suffice.forks import hold_across_forks
from suffice.models.adapter import Adapter, AdapterOptions, NumericAdapter
from suffice.models.input_columns import as_numbers
from suffice.models.outputs import OutputReader, best_labels, is_label_scores, score_table
from suffice.tables.conversion import as_table
from suffice.typing import Values


class TorchModel(NumericAdapter):
    """Adapter of a `torch.nn.Module` that returns a tensor, or an output with `.logits`.

    Training flags, gradients and random state are the same after a call.
    """

    default_batch_size = 1024
    accepts_device = True

    def __init__(self, model: Any, options: AdapterOptions) -> None:
        kind = type(model)
        own = not kind.__module__.startswith("torch.")
        super().__init__(model, kind.__name__ if own else f"torch {kind.__name__}", options)
        if options.device is not None:
            requested_device(model, options.device)

    def _to_input(self, rows: Any) -> Values:
        return as_numbers(rows)

    def _call(self, batch: Any) -> Values:
        torch = import_module("torch")
        device, dtype = self._place()
        with inference_mode(self.original, device):
            given = _to_device(torch, batch, device, dtype)
            if isinstance(given, Mapping):
                out = self.original(**given)
            elif isinstance(given, tuple):
                out = self.original(*given)
            else:
                out = self.original(given)
            out = getattr(out, "logits", out)
            if not isinstance(out, torch.Tensor):
                raise ModelError(
                    f"{self.__name__} returned {type(out).__name__}; expected a tensor, or an "
                    "output with .logits: pass a callable that returns the one you mean"
                )
            return tensor_to_array(out)

    def _place(self) -> tuple[Any, Any]:
        """Return the device and float dtype of inputs: those of the module's first weights."""
        torch = import_module("torch")
        weights = list(chain(self.original.parameters(), self.original.buffers()))
        floats = [w for w in weights if w.is_floating_point()]
        dtype = floats[0].dtype if floats else torch.get_default_dtype()
        if self._options.device is not None:
            return torch.device(self._options.device), dtype
        return weights[0].device if weights else torch.device("cpu"), dtype


def requested_device(module: Any, device: Any) -> Any:
    """Return the torch device that a user named; an error unless the module is on it."""
    torch = import_module("torch")
    try:
        wanted = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise InputError("device", repr(device), "None or a torch device", str(error)) from error
    weights = chain(module.parameters(), module.buffers())
    found = {str(w.device): w.device for w in weights}
    # "cuda" without a number means whichever of them the module is on.
    same = [d for d in found.values() if d.type == wanted.type and wanted.index in (None, d.index)]
    if found and not same:
        allowed = f"the device that the model is on, {' and '.join(map(repr, sorted(found)))}"
        hint = f"Move it first: model.to({str(wanted)!r})."
        raise InputError("device", repr(str(wanted)), allowed, hint)
    return same[0] if same else wanted


_CALL_LOCK = RLock()
"""Held during every call of a torch module. Modules may share submodules, whose training flags are
changed, and all share torch's random state: restoring either is only right with one caller."""

# In a process forked during a call, flags and the random state would not be restored.
hold_across_forks(_CALL_LOCK)


@contextmanager
def inference_mode(module: Any, device: Any) -> Iterator[None]:
    """Run a torch module in evaluation mode, without gradients, one thread at a time.

    Training flags and the random state are restored: a module may draw random numbers even in
    evaluation mode. Flags are set one by one, since a user's `eval()` may do more than that.
    """
    torch = import_module("torch")
    with _CALL_LOCK:
        flags = [(part, part.training) for part in module.modules()]
        forked = [device] if device.type == "cuda" else []
        try:
            for part, _ in flags:
                part.training = False
            with torch.random.fork_rng(devices=forked), torch.inference_mode():
                yield
        finally:
            for part, flag in flags:
                part.training = flag


def _to_device(torch: Any, value: Any, device: Any, dtype: Any) -> Any:
    """Return arrays and tensors, also in mappings and tuples, on a device; floats as `dtype`."""
    if isinstance(value, Mapping):
        return {key: _to_device(torch, part, device, dtype) for key, part in value.items()}
    if isinstance(value, tuple):
        return tuple(_to_device(torch, part, device, dtype) for part in value)
    if isinstance(value, np.ndarray):
        value = torch.from_numpy(np.ascontiguousarray(value))
    if isinstance(value, torch.Tensor):
        return value.to(device, dtype if value.is_floating_point() else None)
    return value


def tensor_to_array(out: Any) -> Values:
    """Return a torch tensor as a NumPy array; half-precision numbers as float32."""
    out = out.detach().cpu()
    if str(out.dtype) in ("torch.bfloat16", "torch.float16"):
        out = out.float()  # NumPy has no bfloat16, and every half is exact as float32
    return np.asarray(out.numpy())


class KerasModel(NumericAdapter):
    """Adapter of a built keras 3 model on any backend.

    The model is called with `training=False`: its `predict` would compile and keep a function.
    """

    default_batch_size = 1024

    def __init__(self, model: Any, options: AdapterOptions) -> None:
        if not model.built:
            hint = "Train it, load its weights, or call it once."
            raise InputError("model", "a keras model that is not built", "a built one", hint)
        kind = type(model)
        own = not kind.__module__.startswith("keras.")
        super().__init__(model, kind.__name__ if own else f"keras {kind.__name__}", options)
        shape = getattr(model, "input_shape", None) if hasattr(model, "inputs") else None
        if isinstance(shape, tuple) and len(shape) == 2:
            self._set_fitted_columns(width=shape[1])

    def _to_input(self, rows: Any) -> Values:
        return as_numbers(rows, np.float32)

    def _call(self, batch: Any) -> Values:
        with _no_gradients(self.original):
            out = self.original(batch, training=False)
        if isinstance(out, dict | list | tuple):
            raise ModelError(
                f"{self.__name__} returned {type(out).__name__} of {len(out)} outputs; expected "
                "one: pass a callable that returns the one you mean"
            )
        return tensor_to_array(out) if hasattr(out, "detach") else np.asarray(out)


def _no_gradients(model: Any) -> AbstractContextManager[Any]:
    """Return a context without gradients where the backend is torch, which would keep them."""
    roots = {cls.__module__.partition(".")[0] for cls in type(model).__mro__}
    if "torch" not in roots:
        return nullcontext()
    context: AbstractContextManager[Any] = import_module("torch").no_grad()
    return context


class TransformersModel(Adapter):
    """Adapter of a classification pipeline of transformers.

    Rows are a list of texts or a table of one column; `preprocess` makes texts of other rows.
    """

    def __init__(self, model: Any, options: AdapterOptions) -> None:
        names = getattr(model.model.config, "id2label", None) or {}
        known = tuple(names[i] for i in sorted(names))
        name, given = type(model).__name__, options.classes
        if given is not None and set(given) != set(known):
            listed = ", ".join(map(repr, known))
            raise InputError("classes", given, f"the pipeline's own labels in any order: {listed}")
        if options.threshold is not None:
            allowed = f"None for {name}, which gives labels"
            raise InputError("threshold", options.threshold, allowed)
        super().__init__(model, name, options, OutputReader(name, given or known or None))

    def _to_input(self, rows: Any) -> list[Any]:
        if isinstance(rows, list | tuple):
            return list(rows)
        if isinstance(rows, np.ndarray) and rows.ndim == 1:
            return list(rows.tolist())
        table = as_table(rows)
        if len(table.names) == 1:
            return list(table.column(0).tolist())
        raise InputError(
            "data",
            f"{len(table.names)} columns",
            f"one column of texts for {self.__name__}",
            "Pass suffice.adapt(model, preprocess=…), a function from rows to a list of texts.",
        )

    def _label_scores(self, texts: Any, **arguments: Any) -> Any:
        if self._options.batch_size is not None:
            arguments["batch_size"] = self._options.batch_size
        answers = self.original(list(texts), **arguments)
        if not is_label_scores(answers):
            raise ModelError(
                f"{self.__name__} returned {short_repr(answers)}; expected a list of "
                '{"label": …, "score": …} for each text'
            )
        return answers

    def _labels(self, batch: Any, rows: int) -> Values:
        return best_labels(self._label_scores(batch), self._outputs.classes, self.__name__)

    def _scores(self, batch: Any, rows: int) -> Values:
        answers = self._label_scores(batch, top_k=None)
        return score_table(answers, self._outputs.classes, self.__name__)
