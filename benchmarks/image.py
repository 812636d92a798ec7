"""A convolutional network on digits, twelve regions: what composing and searching add to asking."""

from collections.abc import Iterator
from importlib.util import find_spec
from statistics import median
from time import perf_counter

from sklearn.datasets import load_digits

from benchmarks.timing import Row, at_most
from suffice.image import ImageExplainer

REGIONS, REFERENCES, RUNS = 12, 10, 5


def rows() -> Iterator[Row]:
    what = f"CNN on digits, {REGIONS} regions, {REFERENCES} references: time / time in the model"
    if not find_spec("torch"):
        yield Row(what, "-", "≤ 1.5 ×", None, "torch is not installed")
        return
    pairs = _measure()
    ratio = median(whole / inside for whole, inside in pairs)
    whole = median(whole for whole, _ in pairs)
    detail = f"{REFERENCES << REGIONS:,} hybrids in {whole:.2f} s"
    yield at_most(what, ratio, 1.5, detail)


def _measure() -> list[tuple[float, float]]:
    """(seconds in all, seconds inside the network's forward) of some runs."""
    import torch

    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(1, 16, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.Conv2d(16, 32, 3, padding=1, stride=2),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(512, 10),
    )
    inside: list[float] = []
    started = 0.0

    def before(*_: object) -> None:
        nonlocal started
        started = perf_counter()

    def after(*_: object) -> None:
        inside.append(perf_counter() - started)

    net.register_forward_pre_hook(before)
    net.register_forward_hook(after)
    images = load_digits().images[:, None].astype("float32") / 16
    references = images[1 : 1 + REFERENCES]
    explainer = ImageExplainer(
        net, regions="grid", n_regions=REGIONS, references=references, batch_size=256
    )
    pairs = []
    for _ in range(RUNS + 1):
        inside.clear()
        begun = perf_counter()
        e = explainer(images[0], progress=False)
        pairs.append((perf_counter() - begun, sum(inside)))
        assert e.complete
    return pairs[1:]  # the first warms up


if __name__ == "__main__":
    print(*rows(), sep="\n")
