"""A torch module, asked without a trace: flags, gradients and random state stay as they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from itertools import chain
from threading import RLock
from typing import Any

import numpy as np

from suffice.errors import InputError, ModelError
from suffice.models.adapter import Adapter
from suffice.models.outputs import Options
from suffice.models.rows import as_numbers
from suffice.typing import Values

__all__ = ["TorchModel", "at_rest"]


class TorchModel(Adapter):
    """A `torch.nn.Module` that returns a tensor, or an output with `.logits`."""

    rows_per_call = 1024
    devices = True

    def __init__(self, model: Any, options: Options) -> None:
        kind = type(model)
        own = not kind.__module__.startswith("torch.")
        super().__init__(model, kind.__name__ if own else f"torch {kind.__name__}", options)
        if options.device is not None:
            self._check_device()

    def _take(self, rows: Any) -> Values:
        return as_numbers(rows)

    def _raw(self, batch: Any) -> Values:
        torch = import_module("torch")
        device, dtype = self._place()
        # Inference mode keeps nothing for gradients.
        with at_rest(self.original), _random_state(torch, device), torch.inference_mode():
            given = _sent(torch, batch, device, dtype)
            if isinstance(given, Mapping):
                out = self.original(**given)
            elif isinstance(given, tuple):
                out = self.original(*given)
            else:
                out = self.original(given)
            return _as_array(torch, getattr(out, "logits", out), self.__name__)

    def _place(self) -> tuple[Any, Any]:
        """Where inputs go, and as which kind of float: as the module's first weights have it."""
        torch = import_module("torch")
        weights = list(chain(self.original.parameters(), self.original.buffers()))
        floats = [w for w in weights if w.is_floating_point()]
        dtype = floats[0].dtype if floats else torch.get_default_dtype()
        if self._options.device is not None:
            return torch.device(self._options.device), dtype
        return weights[0].device if weights else torch.device("cpu"), dtype

    def _check_device(self) -> None:
        torch = import_module("torch")
        try:
            wanted = torch.device(self._options.device)
        except (RuntimeError, TypeError) as error:
            raise InputError("device", self._options.device, "a torch device") from error
        weights = chain(self.original.parameters(), self.original.buffers())
        found = {str(w.device): w.device for w in weights}
        same = [
            d for d in found.values() if d.type == wanted.type and wanted.index in (None, d.index)
        ]
        if found and not same:
            raise InputError(
                "device",
                f"{str(wanted)!r}, with a model on another device, {' and '.join(sorted(found))}",
                "the device that the model is on",
                f"Move it yourself (model.to({str(wanted)!r})), or leave device out.",
            )


_ASKING = RLock()
"""Held while any module is asked. Its flags are its own, but modules share parts, and all of them
share the random state: whoever puts it back must be the only one to have moved it."""


@contextmanager
def at_rest(module: Any) -> Iterator[None]:
    """In evaluation mode, asked by one thread at a time; then every flag is as it was.

    The flags are set one by one: `eval()` may be overridden, and then does more than that.
    """
    with _ASKING:
        flags = [(part, part.training) for part in module.modules()]
        try:
            for part, _ in flags:
                part.training = False
            yield
        finally:
            for part, flag in flags:
                part.training = flag


@contextmanager
def _random_state(torch: Any, device: Any) -> Iterator[None]:
    """A module that draws at random even in evaluation mode moves nobody else's random state."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        yield


def _sent(torch: Any, value: Any, device: Any, dtype: Any) -> Any:
    """Arrays and tensors, alone or in a mapping or tuple; floats as the module has them."""
    if isinstance(value, Mapping):
        return {key: _sent(torch, part, device, dtype) for key, part in value.items()}
    if isinstance(value, tuple):
        return tuple(_sent(torch, part, device, dtype) for part in value)
    if isinstance(value, np.ndarray):
        value = torch.from_numpy(np.ascontiguousarray(value))
    if isinstance(value, torch.Tensor):
        return value.to(device, dtype if value.is_floating_point() else None)
    return value


def _as_array(torch: Any, out: Any, name: str) -> Values:
    if not isinstance(out, torch.Tensor):
        raise ModelError(
            f"{name} returned {type(out).__name__}; expected a tensor, or an output with .logits: "
            "pass a callable that returns the one you mean"
        )
    if out.dtype in (torch.bfloat16, torch.float16):
        out = out.float()  # numpy has no bfloat16, and all halves are floats exactly
    return np.asarray(out.detach().cpu().numpy())
