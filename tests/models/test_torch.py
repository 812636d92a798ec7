"""Torch modules: the answer is a plain callable's, and the module is left as it was."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from time import sleep
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from suffice import Explainer, ImageExplainer, at_least, versus
from suffice.errors import InputError, ModelError
from suffice.models import adapt, wrap_model
from tests.models.loan_models import (
    SCALED,
    SCALED_FRAME,
    assert_same_explanation,
    factors_and_necessity,
    torch_callable,
    torch_network,
)


def test_torch_modules() -> None:
    module = torch_network()
    plain = torch_callable(module)
    e = assert_same_explanation(module, plain)
    assert e.provenance.model == "torch Sequential"
    assert e.prediction in (0, 1)
    assert_same_explanation(module, plain, outcome=versus(1, 0))
    assert_same_explanation(torch_network(3), torch_callable(torch_network(3)))
    assert_same_explanation(
        torch_network(1), torch_callable(torch_network(1)), outcome=at_least(0.0)
    )
    named = Explainer(adapt(module, classes=("refused", "granted")), SCALED_FRAME).explain(
        SCALED_FRAME.iloc[3]
    )
    assert named.prediction == ("refused", "granted")[e.prediction]
    with pytest.raises(InputError, match=r"at_least\(t\)"):
        Explainer(torch_network(1), SCALED_FRAME).explain(SCALED_FRAME.iloc[3])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_forked_during_a_call_can_predict() -> None:
    torch = pytest.importorskip("torch")
    called = Event()

    class Slow(torch.nn.Module):  # type: ignore[misc]
        def forward(self, rows: Any) -> Any:
            called.set()
            sleep(0.5)
            return torch.stack([rows[:, 0], -rows[:, 0]], dim=1)

    module = Slow().train()
    model = adapt(module)

    def answer() -> None:
        assert module.training  # as it was before the call of the other thread
        model.predict(SCALED[:4])

    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(model.predict, SCALED[:4])
        assert called.wait(60)
        child = multiprocessing.get_context("fork").Process(target=answer)
        child.start()
        running.result()
    child.join(60)
    try:
        assert child.exitcode == 0
    finally:
        child.kill()


def test_torch_modules_are_left_as_they_were() -> None:
    torch = pytest.importorskip("torch")

    module = torch_network()
    expected = torch_callable(module)(SCALED)
    module.train()
    module[0].eval()  # frozen, in a module that is being trained
    module[2].weight.grad = None
    flags = [part.training for part in module.modules()]
    assert flags == [True, False, True, True]
    held = [set(vars(part)) for part in module.modules()]
    weights = {name: value.clone() for name, value in module.state_dict().items()}
    state = torch.random.get_rng_state().clone()
    adapted = adapt(module)
    assert np.array_equal(adapted.predict_proba(SCALED), expected)
    assert np.array_equal(adapted.predict(SCALED_FRAME), expected.argmax(axis=1))
    Explainer(module, SCALED_FRAME).explain(SCALED_FRAME.iloc[3])
    assert [part.training for part in module.modules()] == flags
    assert [set(vars(part)) for part in module.modules()] == held
    assert all(torch.equal(value, weights[name]) for name, value in module.state_dict().items())
    assert all(p.grad is None and p.requires_grad for p in module.parameters())
    assert torch.equal(torch.random.get_rng_state(), state)
    with pytest.raises(RuntimeError):
        adapted.predict(SCALED[:, :3])
    assert [part.training for part in module.modules()] == flags


def test_a_torch_module_that_draws_at_random_moves_no_random_state() -> None:
    torch = pytest.importorskip("torch")

    class Noisy(torch.nn.Module):
        def forward(self, rows: Any) -> Any:
            return rows[:, :2] + torch.rand(1)

    state = torch.random.get_rng_state().clone()
    adapt(Noisy()).predict(SCALED)
    assert torch.equal(torch.random.get_rng_state(), state)


@pytest.mark.parametrize("size", [1, 7, 150, 1000])
def test_batches(size: int) -> None:
    module = torch_network()
    seen: list[int] = []
    hook = module.register_forward_hook(lambda _m, given, _out: seen.append(len(given[0])))
    found = adapt(module, batch_size=size).predict(SCALED_FRAME)
    assert max(seen) <= size
    assert sum(seen) == len(SCALED_FRAME)
    assert len(seen) == -(-len(SCALED_FRAME) // size)
    seen.clear()
    assert np.array_equal(adapt(module).predict(pd.concat([SCALED_FRAME] * 8)), np.tile(found, 8))
    assert seen == [1024, 176]
    hook.remove()
    few = SCALED_FRAME.iloc[:12]
    small, whole = (Explainer(adapt(module, batch_size=b), few) for b in (size, None))
    assert factors_and_necessity(small.explain(SCALED_FRAME.iloc[3])) == factors_and_necessity(
        whole.explain(SCALED_FRAME.iloc[3])
    )


def test_torch_kinds_of_numbers_and_devices() -> None:
    torch = pytest.importorskip("torch")

    double = torch_network().double()
    assert np.array_equal(
        adapt(double).predict(SCALED_FRAME), adapt(torch_network()).predict(SCALED_FRAME)
    )
    half = torch_network().to(torch.bfloat16)
    assert adapt(half).predict_proba(SCALED_FRAME).dtype == np.float32
    assert np.array_equal(
        adapt(torch_network(), device="cpu").predict(SCALED_FRAME),
        adapt(torch_network()).predict(SCALED_FRAME),
    )
    with pytest.raises(InputError, match="'meta'; allowed: the device that the model is on, 'cpu'"):
        adapt(torch_network(), device="meta")
    with pytest.raises(InputError, match="None or a torch device"):
        adapt(torch_network(), device="nowhere")
    identity = adapt(torch.nn.Identity(), device="cpu")  # is nowhere itself
    assert identity.predict(SCALED).max() == 3
    for kind in (
        pl.from_pandas(SCALED_FRAME),
        pa.Table.from_pandas(SCALED_FRAME),
        SCALED_FRAME.astype("Float64"),
        SCALED_FRAME.astype(object),
    ):
        assert np.array_equal(
            adapt(torch_network(), batch_size=60).predict(kind),
            adapt(torch_network()).predict(SCALED_FRAME),
        )


def test_what_a_torch_module_returns() -> None:
    torch = pytest.importorskip("torch")

    class Output:
        def __init__(self, logits: Any) -> None:
            self.logits = logits

    class Returns(torch.nn.Module):
        def __init__(self, change: Any) -> None:
            super().__init__()
            self.inner, self.change = torch_network(), change

        def forward(self, rows: Any) -> Any:
            return self.change(self.inner(rows))

    labels = adapt(torch_network()).predict(SCALED_FRAME)
    assert np.array_equal(adapt(Returns(Output)).predict(SCALED_FRAME), labels)
    numbers = Returns(lambda out: out.argmax(dim=1))
    assert np.array_equal(
        adapt(numbers, classes=("no", "yes")).predict(SCALED_FRAME) == "yes", labels == 1
    )
    assert assert_same_explanation(numbers, torch_callable(torch_network())).prediction in (0, 1)
    for change, message in (
        (lambda out: (out, out), "Returns returned tuple; expected a tensor"),
        (lambda out: {"logits": out}, "Returns returned dict; expected a tensor"),
        (lambda out: out[:-1], r"returned shape \(149, 2\) for 150 row"),
        (lambda out: out[:, :, None], r"returned shape \(150, 2, 1\) for 150 row"),
        (lambda out: out / 0 * 0, "returned NaN for 150 of 150 rows"),
        (lambda out: out @ out, "Returns raised RuntimeError on 150 row"),
    ):
        with pytest.raises(ModelError, match=message):
            Explainer(Returns(change), SCALED_FRAME)
    with pytest.raises(ModelError, match=r"shape \(150, 2\) for .*; expected \(150, 3\), a score"):
        Explainer(adapt(torch_network(), classes=("a", "b", "c")), SCALED_FRAME)
    with pytest.raises(ModelError, match=r"shape \(150, 3\) for .*or \(150, 2\), a score"):
        Explainer(adapt(torch_network(3), classes=("a", "b")), SCALED_FRAME)
    with pytest.raises(ModelError, match="class number -1, but there are 2"):
        Explainer(
            adapt(Returns(lambda out: out.argmax(1) * 2 - 1), classes=("a", "b")), SCALED_FRAME
        )


def test_a_module_with_a_predict_of_its_own_is_called_through_it() -> None:
    torch = pytest.importorskip("torch")

    class Own(torch.nn.Module):
        def predict(self, rows: Any) -> Any:
            return np.where(np.asarray(rows)[:, 0] > 0, "up", "down")

    assert wrap_model(Own(), Explainer(Own(), SCALED_FRAME)._data)[0].classes == ("down", "up")


def test_one_output_and_two_classes() -> None:
    logit = torch_network(1)
    with pytest.raises(InputError, match=r"0\.0 if it is a logit, 0\.5 if it is a probability"):
        Explainer(adapt(logit, classes=("no", "yes")), SCALED_FRAME)
    named = adapt(logit, classes=("no", "yes"), threshold=0.0)
    plain = torch_callable(logit)
    e = assert_same_explanation(named, lambda rows: np.where(plain(rows)[:, 0] > 0, "yes", "no"))
    assert e.prediction in ("no", "yes")
    for outcome in (versus("yes", "no"), versus("no", "yes")):
        Explainer(named, SCALED_FRAME, outcome=outcome).explain(SCALED_FRAME.iloc[3])
    assert list(named.classes_) == ["no", "yes"]
    assert np.array_equal(
        named.predict_proba(SCALED_FRAME).argmax(1) == 1, named.predict(SCALED_FRAME) == "yes"
    )
    with pytest.raises(InputError, match="two classes"):
        adapt(logit, threshold=0.5)
    with pytest.raises(InputError, match="gives 2 scores per row"):
        adapt(torch_network(), classes=("no", "yes"), threshold=0.5).predict(SCALED_FRAME)
    number = adapt(logit)
    with pytest.raises(InputError, match="no score per class"):
        number.predict_proba(SCALED_FRAME)
    assert not hasattr(number, "classes_")
    assert number.predict(SCALED_FRAME).dtype.kind == "f"


def test_one_logit_is_pointed_to_its_threshold() -> None:
    module = torch_network(outputs=1)
    logits = torch_callable(module)(SCALED_FRAME)[:, 0]
    beyond = int(np.flatnonzero((logits < 0) | (logits > 1))[0])
    with pytest.raises(InputError, match=r"suffice\.at_least\(0\) if it is a logit\.$"):
        Explainer(module, SCALED_FRAME).explain(SCALED_FRAME.iloc[beyond])
    within = int(np.flatnonzero((logits >= 0) & (logits <= 1))[0])
    with pytest.raises(InputError, match=r"a logit, at_least\(0\.5\) if it is a probability\.$"):
        Explainer(module, SCALED_FRAME).explain(SCALED_FRAME.iloc[within])
    e = Explainer(module, SCALED_FRAME, outcome=at_least(0)).explain(SCALED_FRAME.iloc[beyond])
    assert e.keep.factors


def test_text_through_a_tokenizer_of_the_users() -> None:
    torch = pytest.importorskip("torch")
    words = {word: i for i, word in enumerate(["good", "bad", "film", "long"])}

    class Bag(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = torch.nn.Embedding(4, 2)
            with torch.no_grad():
                self.embedding.weight.copy_(
                    torch.tensor([[0.0, 2.0], [2.0, 0.0], [0.1, 0.0], [0.3, 0.0]])
                )

        def forward(self, ids: Any, mask: Any) -> Any:
            return (self.embedding(ids) * mask[:, :, None]).sum(1)

    def tokens(rows: Any) -> Any:
        ids = [[words.get(word, -1) for word in row] for row in np.asarray(rows).tolist()]
        table = torch.tensor(ids)
        return {"ids": table.clamp(min=0), "mask": (table >= 0).float()}

    pair = adapt(Bag(), preprocess=lambda rows: tuple(tokens(rows).values()))
    model = adapt(Bag(), classes=("bad", "good"), preprocess=tokens, batch_size=3)
    texts = np.array([["good", "film"], ["bad", "film"], ["", "long"], ["good", "long"]], object)
    assert model.predict(texts).tolist() == ["good", "bad", "bad", "good"]
    assert pair.predict(texts).tolist() == [1, 0, 0, 1]
    e = Explainer(model, texts).explain(texts[0])
    assert [f.features for f in e.keep.factors] == [("x0",)]


def test_a_tensor_that_cannot_be_read_is_reported_in_torchs_words() -> None:
    torch = pytest.importorskip("torch")
    weights = torch.ones(4, 2, requires_grad=True)

    def forgets_to_detach(rows: Any) -> Any:
        return torch.tensor(np.asarray(rows), dtype=torch.float32) @ weights

    with pytest.raises(ModelError, match=r"returned Tensor that cannot be read: .*detach\(\)"):
        Explainer(forgets_to_detach, SCALED_FRAME)


def yielding(*layers: Any) -> Any:
    """The layers, in a module that gives other threads every chance to come between."""
    torch = pytest.importorskip("torch")

    class Yielding(torch.nn.Sequential):
        def forward(self, rows: Any) -> Any:
            sleep(0.001)
            return super().forward(rows)

    return Yielding(*layers)


def test_threads_get_the_answers_of_one_and_leave_the_module_as_it_was() -> None:
    torch = pytest.importorskip("torch")
    threads = 8
    together = Barrier(threads)
    module = yielding(torch_network())
    expected = adapt(module).predict(SCALED_FRAME)
    module.train()
    state = torch.random.get_rng_state().clone()

    def ask(_: int) -> list[Any]:
        together.wait()
        return [adapt(module).predict(SCALED_FRAME) for _ in range(18)]

    with ThreadPoolExecutor(threads) as pool:
        found = [answer for answers in pool.map(ask, range(threads)) for answer in answers]
    assert len(found) == 144
    assert all(np.array_equal(answer, expected) for answer in found)
    assert all(part.training for part in module.modules())
    assert torch.equal(torch.random.get_rng_state(), state)


def test_threads_that_show_pictures_leave_the_module_as_it_was() -> None:
    torch = pytest.importorskip("torch")
    linear = torch.nn.Linear(16, 2)
    with torch.no_grad():
        linear.weight.copy_(torch.tensor([[-1.0] * 16, [1.0] * 16]))
        linear.bias.zero_()
    module = yielding(torch.nn.Flatten(), torch.nn.Dropout(0.5), linear)
    image = np.ones((4, 4), dtype=np.float32)
    explainer = ImageExplainer(module, regions="grid", n_regions=4, references=-1.0)
    expected = factors_and_necessity(explainer(image))
    threads = 8
    together = Barrier(threads)

    def ask(_: int) -> list[Any]:
        together.wait()
        return [factors_and_necessity(explainer(image)) for _ in range(6)]

    with ThreadPoolExecutor(threads) as pool:
        found = [answer for several in pool.map(ask, range(threads)) for answer in several]
    assert len(found) == 48
    assert all(answer == expected for answer in found)
    assert all(part.training for part in module.modules())
