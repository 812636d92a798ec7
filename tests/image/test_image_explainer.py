"""Pictures: which regions suffice, against brute force, models of every kind, and batches."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from suffice import Explanation, InputError, ModelError, at_least, versus
from suffice.image import ImageExplainer
from suffice.image.image_model import NumpyComposer, TorchComposer, find_references
from suffice.image.pixels import as_image_array
from tests.effort import examples
from tests.image.pixel_models import factor_sets, grid_cells


def test_and_or_are_found_exactly_in_both_views():
    """The model wants two corners, or the centre: 3 × 3 cells of 4 × 4 pixels."""
    image = np.ones((12, 12))

    def model(images):
        lit = images > 0.5
        return (lit[:, 0, 0] & lit[:, 11, 11]) | lit[:, 5, 6]

    e = ImageExplainer(model, regions="grid", n_regions=9, references=0)(image)
    assert factor_sets(e.keep) == {grid_cells((2, 2)), grid_cells((1, 1), (3, 3))}
    assert factor_sets(e.flip) == {grid_cells((2, 2), (1, 1)), grid_cells((2, 2), (3, 3))}
    assert e.complete
    assert e.prediction is True
    assert (e.keep.outcome, e.flip.outcome) == ("True", "not True")
    assert e.keep.players[0].values == {}
    assert all(factor.change is None for factor in e.flip.factors)


@pytest.mark.parametrize("layout", ["grey", "last", "first", "one channel"])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64, bool, np.int16])
def test_the_model_gets_what_it_was_made_for(layout, dtype):
    rng = np.random.default_rng(0)
    shape = {"grey": (6, 5), "last": (6, 5, 3), "first": (3, 6, 5), "one channel": (6, 5, 1)}
    high = 1 if np.dtype(dtype).kind in "bf" else 200
    image = np.rint(high * rng.random(shape[layout])).astype(dtype)
    seen = []

    def model(images):
        seen.append((images.dtype, images.shape[1:]))
        return images.reshape(len(images), -1).mean(axis=1)

    e = ImageExplainer(
        model, regions="grid", n_regions=4, outcome=at_least(-1e9), references=["blur", "mean"]
    )
    assert e(image).complete
    assert set(seen) == {(image.dtype, image.shape)}


@st.composite
def worlds(draw):
    """A map of labels with gaps, a few references, and any Boolean function of what is held."""
    height, width = draw(st.integers(1, 4)), draw(st.integers(2, 4))
    cells = st.sampled_from([0, 2, 7, 300, 301])
    labels = np.array(draw(st.lists(cells, min_size=height * width, max_size=height * width)))
    labels = labels.reshape(height, width)
    d, n = len(np.unique(labels)), draw(st.integers(1, 3))
    truth = np.array(draw(st.lists(st.booleans(), min_size=n << d, max_size=n << d)))
    tau = draw(st.sampled_from([0.3, 0.5, 0.7, 1.0]))
    return labels, truth.reshape(n, 1 << d), tau


@given(worlds())
@settings(max_examples=examples(40))
def test_any_map_and_any_model_against_brute_force(world):
    labels, truth, tau = world
    truth = truth.copy()
    n, subsets = truth.shape
    d = subsets.bit_length() - 1
    truth[:, -1] = truth[0, -1]  # the image itself has one outcome
    firsts = [np.flatnonzero(labels.ravel() == label)[0] for label in np.unique(labels)]

    def model(images):
        """Pixels are 0 in the image and r in reference r: read off what is held, and from whom."""
        pixels = images.reshape(len(images), -1)[:, firsts]
        held = ((pixels == 0) << np.arange(d)).sum(axis=1)
        return truth[np.maximum(pixels.max(axis=1) - 1, 0), held]

    references = list(range(1, n + 1))
    e = ImageExplainer(model, regions=labels, references=references)(
        np.zeros(labels.shape, int), tau=tau
    )
    names = [player.name for player in e.keep.players]
    assert names == [f"region {i + 1}" for i in range(d)]
    y = truth[0, -1]
    share = {
        "keep": (truth == y).mean(axis=0),
        "flip": (truth != y).mean(axis=0)[::-1],  # replacing T is holding the others
    }
    for view in (e.keep, e.flip):
        enough = [mask for mask in range(subsets) if share[view.name][mask] >= tau]
        minimal = [m for m in enough if not any(o & m == o and o != m for o in enough)]
        expected = {frozenset(names[j] for j in range(d) if m >> j & 1) for m in minimal}
        assert factor_sets(view) == expected
        for mask in range(subsets):
            chosen = [names[j] for j in range(d) if mask >> j & 1]
            assert view.sufficiency(chosen) == share[view.name][mask]
    assert Explanation.from_json(e.to_json()) == e


@given(st.integers(0, 10**6), st.sampled_from(["grey", "last", "first"]))
@settings(max_examples=examples(30))
def test_numpy_and_torch_compose_the_same_bits(seed, layout):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(seed)
    height, width = rng.integers(5, 9, size=2)
    shape = {"grey": (height, width), "last": (height, width, 3), "first": (3, height, width)}
    dtype = rng.choice([np.uint8, np.float32, np.float64])
    n, d = int(rng.integers(1, 4)), int(rng.integers(1, 6))
    stack = (255 * rng.random((n + 1, *shape[layout]))).astype(dtype)
    labels = rng.integers(d, size=(height, width))
    cells = np.where(rng.random((7, d)) < 0.5, 0, rng.integers(1, n + 1, size=(7, 1)))
    picture = as_image_array(stack[0], None)

    ours = NumpyComposer(picture, stack[1:], labels)(cells)
    theirs = TorchComposer(torch, picture, stack[1:], labels, torch.device("cpu"))(cells)
    for i, row in enumerate(cells):
        for y, x in np.ndindex(height, width):
            pixel = (slice(None), y, x) if layout == "first" else (y, x)
            assert (ours[i][pixel] == stack[row[labels[y, x]]][pixel]).all()
    assert theirs.numpy().dtype == ours.dtype == dtype
    assert theirs.numpy().tobytes() == ours.tobytes()


@pytest.mark.parametrize("limits", [{}, {"budget": 60}, {"time_limit": 0.01}])
@pytest.mark.parametrize("scored", [True, False])
def test_every_image_that_is_predicted_counts(limits, scored):
    asked = 0

    def model(images):
        nonlocal asked
        asked += len(images)
        bright = images.mean(axis=(1, 2))
        return np.stack([1 - bright, bright], axis=1) if scored else (bright > 0.5).astype(int)

    explainer = ImageExplainer(model, regions="grid", n_regions=9, references=[0.0, 0.1])
    e = explainer(np.linspace(0, 1.2, 36).reshape(6, 6).clip(0, 1), **limits)
    assert asked == e.provenance.rows_predicted <= limits.get("budget", np.inf)
    assert e.keep.factors and e.flip.factors


@pytest.mark.parametrize("batch_size", [1, 7, 64])
def test_batches_never_exceed_their_size(batch_size):
    sizes = []

    def model(images):
        sizes.append(len(images))
        images[:] = 0.0  # what a model does to its batch stays there
        return np.zeros(len(images), dtype=int)

    explainer = ImageExplainer(
        model, regions="grid", n_regions=6, batch_size=batch_size, references=[0, 1]
    )
    image = np.random.default_rng(0).random((6, 6))
    before = image.copy()
    assert explainer(image).provenance.hybrids == 2 << 6
    assert max(sizes) == batch_size
    assert (image == before).all()


@pytest.fixture(scope="module")
def network():
    """A small convolutional network on 8 × 8 digits, and the digits it was not trained on."""
    torch = pytest.importorskip("torch")
    from sklearn.datasets import load_digits

    torch.manual_seed(0)
    digits = load_digits()
    images = torch.tensor(digits.images[:, None] / 16, dtype=torch.float32)
    labels = torch.tensor(digits.target)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(1, 16, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.Conv2d(16, 32, 3, padding=1, stride=2),
        torch.nn.BatchNorm2d(32),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Dropout(0.2),
        torch.nn.Linear(512, 10),
    )
    optimiser = torch.optim.Adam(net.parameters(), lr=3e-3)
    net.train()
    for epoch in range(5):
        order = torch.randperm(1400, generator=torch.Generator().manual_seed(epoch))
        for part in order.split(64):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(net(images[part]), labels[part]).backward()
            optimiser.step()
    net.eval()
    with torch.no_grad():
        accuracy = float((net(images[1400:]).argmax(dim=1) == labels[1400:]).float().mean())
    assert accuracy >= 0.95
    return net, images[1400:].numpy()


def test_a_network_is_explained_and_left_as_it_was(network):
    torch = pytest.importorskip("torch")
    net, images = network
    sizes, gradients = [], []

    def note(module, put, out):
        sizes.append(len(put[0]))
        gradients.append(out.requires_grad)

    hook = net.register_forward_hook(note)
    image = images[3]
    net.train()
    net[3].eval()  # a layer that its user has frozen
    before, modes = dict(vars(net)), [module.training for module in net.modules()]
    try:
        e = ImageExplainer(
            net, regions="grid", n_regions=9, references=[0, "blur"], batch_size=50, device="cpu"
        )(image, search="exhaustive")
    finally:
        hook.remove()
        after, modes_after = dict(vars(net)), [module.training for module in net.modules()]
        net.eval()
    assert modes_after == modes
    assert after == before
    assert max(sizes) == 50
    assert not any(gradients)
    assert e.complete
    assert len(e.keep.players) == 9
    assert e.provenance.model == "Sequential"

    # Each factor's hybrids, composed here by hand, really keep or flip the label.
    subject, names = e.subject.labels, [player.name for player in e.keep.players]
    blurred = find_references("blur", as_image_array(image, None), subject).pictures[0]
    for view in (e.keep, e.flip, e.keep.at(0.5), e.flip.at(0.5)):
        assert view.factors or view.tau > 0.5
        for factor in view.factors:
            marked = np.isin(subject, [names.index(name) for name in factor.features])
            own = marked if view.name == "keep" else ~marked
            hybrids = np.stack([np.where(own, image, r) for r in (np.zeros_like(image), blurred)])
            with torch.no_grad():
                answers = net(torch.from_numpy(hybrids)).argmax(dim=1).numpy()
            came_about = (answers == e.prediction) == (view.name == "keep")
            assert came_about.mean() == factor.sufficiency


def test_torch_and_numpy_ways_agree_on_the_network(network):
    torch = pytest.importorskip("torch")
    net, images = network

    def scores(batch):
        with torch.no_grad():
            return net(torch.from_numpy(batch)).numpy()

    one = ImageExplainer(net, regions="grid", n_regions=9, references=0)(images[0])
    two = ImageExplainer(scores, regions="grid", n_regions=9, references=0)(
        torch.from_numpy(images[0])
    )
    assert factor_sets(one.keep) == factor_sets(two.keep)
    assert factor_sets(one.flip) == factor_sets(two.flip)
    other = (one.prediction + 1) % 10
    rather = ImageExplainer(
        net, regions="grid", n_regions=9, references=0, outcome=versus(one.prediction, other)
    )
    assert rather(images[0]).keep.outcome == f"{one.prediction} rather than {other}"


def test_devices_must_be_where_the_model_is(network):
    torch = pytest.importorskip("torch")
    net, images = network
    with pytest.raises(InputError, match=r"device: got 'meta'; allowed: .* 'cpu'\. Move it first"):
        ImageExplainer(net, device="meta")
    with pytest.raises(InputError, match="device: got 'nowhere'; allowed: None or a torch device"):
        ImageExplainer(net, device="nowhere")
    only_torch = "device: got 'cpu'; allowed: None: a device can only be chosen for torch modules"
    with pytest.raises(InputError, match=only_torch):
        ImageExplainer(lambda images: images, device="cpu")
    apart = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2, device="meta"))
    with pytest.raises(InputError, match="model: got parameters on cpu and meta"):
        ImageExplainer(apart)
    with pytest.raises(ModelError, match=r"Sequential raised RuntimeError on 1 image \(.*float64"):
        ImageExplainer(net, regions="grid")(images[0].astype(float))
