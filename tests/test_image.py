"""Pictures: regions that suffice are found, asked about in small batches, and shown in place."""

import json
import subprocess
import sys
from io import BytesIO

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from suffice import Explanation, InputError, ModelError, at_least, result_schema, versus
from suffice.explanation.subject import ImageSubject
from suffice.image import ImageExplainer, overlay
from suffice.image.coarse_to_fine import split_regions
from suffice.image.compose import NumpyComposer, TorchComposer
from suffice.image.overlay import draw_map, draw_marked
from suffice.image.picture import as_picture
from suffice.image.png import read_png, write_png
from suffice.image.references import find_references
from suffice.image.regions import find_regions
from suffice.summary import summarise
from tests.test_report import Tags


def sets(view):
    return {frozenset(factor.features) for factor in view.factors}


def grid(*cells):
    return frozenset(f"row {r} column {c}" for r, c in cells)


# -- planted truth ------------------------------------------------------------------------


def test_and_or_are_found_exactly_in_both_views():
    """The model wants two corners, or the centre: 3 × 3 cells of 4 × 4 pixels."""
    image = np.ones((12, 12))

    def model(images):
        lit = images > 0.5
        return (lit[:, 0, 0] & lit[:, 11, 11]) | lit[:, 5, 6]

    e = ImageExplainer(model, regions="grid", n_regions=9, references=0)(image)
    assert sets(e.keep) == {grid((2, 2)), grid((1, 1), (3, 3))}
    assert sets(e.flip) == {grid((2, 2), (1, 1)), grid((2, 2), (3, 3))}
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
@settings(max_examples=40)
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
        assert sets(view) == expected
        for mask in range(subsets):
            chosen = [names[j] for j in range(d) if mask >> j & 1]
            assert view.sufficiency(chosen) == share[view.name][mask]
    assert Explanation.from_json(e.to_json()) == e


# -- composing ----------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.sampled_from(["grey", "last", "first"]))
@settings(max_examples=30)
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
    picture = as_picture(stack[0], None)

    ours = NumpyComposer(picture, stack[1:], labels)(cells)
    theirs = TorchComposer(torch, picture, stack[1:], labels, torch.device("cpu"))(cells)
    for i, row in enumerate(cells):
        for y, x in np.ndindex(height, width):
            pixel = (slice(None), y, x) if layout == "first" else (y, x)
            assert (ours[i][pixel] == stack[row[labels[y, x]]][pixel]).all()
    assert theirs.numpy().dtype == ours.dtype == dtype
    assert theirs.numpy().tobytes() == ours.tobytes()


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


# -- a network ----------------------------------------------------------------------------


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
    for epoch in range(8):
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
            net, regions="grid", n_regions=12, references=[0, "blur"], batch_size=50, device="cpu"
        )(image)
    finally:
        hook.remove()
        after, modes_after = dict(vars(net)), [module.training for module in net.modules()]
        net.eval()
    assert modes_after == modes
    assert after == before
    assert max(sizes) == 50
    assert not any(gradients)
    assert e.complete
    assert len(e.keep.players) == 12
    assert e.provenance.model == "Sequential"

    # Each factor's hybrids, composed here by hand, really keep or flip the label.
    subject, names = e.subject.labels, [player.name for player in e.keep.players]
    blurred = find_references("blur", as_picture(image, None), subject).pictures[0]
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
    assert sets(one.keep) == sets(two.keep)
    assert sets(one.flip) == sets(two.flip)
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
    with pytest.raises(InputError, match="device: got 'cpu'; allowed: None: only torch modules"):
        ImageExplainer(lambda images: images, device="cpu")
    apart = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2, device="meta"))
    with pytest.raises(InputError, match="model: got parameters on cpu and meta"):
        ImageExplainer(apart)
    with pytest.raises(ModelError, match=r"Sequential raised RuntimeError on 1 image \(.*float64"):
        ImageExplainer(net, regions="grid")(images[0].astype(float))


# -- coarse to fine -----------------------------------------------------------------------


def lit_pixel(*places):
    def model(images):
        return np.logical_and.reduce([images[:, y, x] > 0.5 for y, x in places])

    return model


def test_refining_closes_in_on_the_pixel():
    image = np.ones((16, 16))
    explainer = ImageExplainer(lit_pixel((5, 9)), regions="grid", n_regions=4, references=[0, 0.25])
    e = explainer(image)
    area = 64
    while area > 1:
        e = explainer.refine(e, image=image, tau=1.0)
        assert sets(e.keep) == sets(e.flip)
        (factor,) = e.keep.factors
        marked = np.isin(e.subject.labels, [_number(e, name) for name in factor.features])
        assert marked[5, 9]
        assert marked.sum() <= area / 2
        area = int(marked.sum())
    assert e.provenance.context.words.startswith("parts of row 1 column 2 part ")
    assert e.provenance.context.words.endswith("; all else in one colour (keep) or held (flip)")
    with pytest.raises(InputError, match=r"features: got 1 region\(s\) that cannot be split"):
        explainer.refine(e, image=image)


def _number(e, name):
    return [player.name for player in e.keep.players].index(name)


def test_refining_replaces_all_else_to_keep_and_holds_it_to_flip():
    """Two pixels are needed: with all else replaced one region is not enough, with it held it is."""
    image = np.ones((8, 8))
    explainer = ImageExplainer(
        lit_pixel((0, 0), (7, 7)), regions="grid", n_regions=4, references=[0, 0.2]
    )
    e = explainer(image)
    both = explainer.refine(e, image=image, features=["row 1 column 1", "row 2 column 2"])
    assert both.provenance.context.words == (
        "parts of row 1 column 1 and row 2 column 2; all else in one colour (keep) or held (flip)"
    )
    assert sets(both.keep) == {frozenset({"row 1 column 1 part 1", "row 2 column 2 part 2"})}
    assert sets(both.flip) == {
        frozenset({"row 1 column 1 part 1"}),
        frozenset({"row 2 column 2 part 2"}),
    }
    assert both.complete
    text = " ".join(str(both).split())
    assert "Beyond its context it says nothing: parts of row 1 column 1 and" in text
    assert "Hold these parts, replace all other parts" in text
    one = explainer.refine(e, image=image, features="row 1 column 1")
    assert one.keep.factors == ()
    assert sets(one.flip) == {frozenset({"row 1 column 1 part 1"})}
    deeper = explainer.refine(one, image=image)
    assert deeper.flip.factors[0].features[0].startswith("row 1 column 1 part 1.")
    assert Explanation.from_json(deeper.to_json()) == deeper
    assert explainer.refine(Explanation.from_json(one.to_json()), image=image) == deeper

    with pytest.raises(InputError, match="image: got another picture"):
        explainer.refine(e, image=np.zeros((8, 8)))
    always = ImageExplainer(lambda images: images[:, 0, 0] >= 0, regions="grid", n_regions=4)
    with pytest.raises(InputError, match="best factor names no feature"):
        always.refine(always(image).at(0.5), image=image)


@given(st.integers(0, 10**6), st.integers(1, 12))
@settings(max_examples=30)
def test_split_covers_its_regions_in_parts_of_one_size(seed, n):
    rng = np.random.default_rng(seed)
    labels = rng.integers(4, size=rng.integers(2, 9, size=2))
    regions = [r for r in (0, 2) if (labels == r).any()]
    parts, owners = split_regions(labels, regions, n)
    assert ((parts < len(owners)) == np.isin(labels, regions)).all()
    assert len(owners) <= max(n, len(regions))
    for part, owner in enumerate(owners):
        assert (labels[parts == part] == owner).all()
    for region in regions:
        sizes = [np.sum(parts == part) for part, owner in enumerate(owners) if owner == region]
        assert min(sizes) >= 1
        assert max(sizes) - min(sizes) <= 1 + np.log2(len(sizes))


# -- regions and references ---------------------------------------------------------------


@pytest.fixture(scope="module")
def photo():
    data = pytest.importorskip("skimage.data")
    return data.coffee()[::6, ::6]


@pytest.mark.parametrize("method", ["slic", "felzenszwalb", "grid"])
@pytest.mark.parametrize("grey", [False, True])
def test_methods_cover_the_picture_with_at_most_so_many_regions(photo, method, grey):
    image = photo[..., 0] if grey else photo
    for n in (1, 5, 12, 30):
        regions = find_regions(method, as_picture(image, None), n)
        assert regions.labels.shape == image.shape[:2]
        assert sorted(np.unique(regions.labels)) == list(range(len(regions.names)))
        assert (1 if n < 12 else n / 2) <= len(regions.names) <= n


def test_slic_regions_of_a_photograph(photo):
    def red(images):
        x = images.astype(float)
        share = ((x[..., 0] - x[..., 2] > 90) & (x[..., 1] < 70)).mean(axis=(1, 2))
        return np.where(share > 0.05, "red", "pale")

    e = ImageExplainer(red, n_regions=8, references=["mean", (0, 0, 0)])(photo)
    assert (e.keep.outcome, e.flip.outcome) == ("red", "not red")
    labels, names = e.subject.labels, [player.name for player in e.keep.players]
    for factor in e.keep.factors:
        marked = np.isin(labels, [names.index(name) for name in factor.features])
        kept = [
            red(np.where(marked[..., None], photo, colour)[None])[0] == "red"
            for colour in (np.rint(photo.mean(axis=(0, 1))), np.zeros(3))
        ]
        assert np.mean(kept) == factor.sufficiency
    assert np.array_equal(read_png(e.subject.picture), photo)


def test_grids_are_nearly_square_and_named():
    wide = find_regions("grid", as_picture(np.zeros((10, 30)), None), 12)
    assert wide.names[-1] == "row 2 column 6"
    assert (np.diff(wide.labels, axis=1) >= 0).all()
    assert len(find_regions("grid", as_picture(np.zeros((2, 3)), None), 100).names) == 6
    assert len(find_regions("grid", as_picture(np.zeros((10, 10)), None), 13).names) == 12


def test_own_maps_callables_and_names():
    image = np.arange(6.0).reshape(2, 3)
    own = find_regions(lambda pixels: (pixels > 2).astype(int) * 40, as_picture(image, None), 12)
    assert own.labels.tolist() == [[0, 0, 0], [1, 1, 1]]
    named = find_regions(own.labels, as_picture(image, None), 12, ["sky", "ground"])
    assert named.names == ("sky", "ground")
    assert find_regions(image > 2, as_picture(image, None), 12).names == ("region 1", "region 2")


def test_references_are_what_they_say():
    rng = np.random.default_rng(0)
    image = rng.random((3, 12, 10))
    picture = as_picture(image, None)
    labels = find_regions("grid", picture, 6).labels
    others = rng.random((2, 3, 12, 10))
    found = find_references(["blur", "mean", "inpaint", 0.5, (1, 0, 0.5), others], picture, labels)
    assert found.pictures.shape == (7, 3, 12, 10)
    assert found.says == (
        "the picture blurred, its mean colour, each region filled in from around it, "
        "2 colours and 2 other pictures"
    )
    assert found.elsewhere == "replaced"
    blur, mean, inpaint, half, colour = found.pictures[:5]
    assert blur.std() < image.std() / 3
    assert np.allclose(mean, image.mean(axis=(1, 2), keepdims=True))
    assert (half == 0.5).all()
    assert (colour == np.array([1, 0, 0.5])[:, None, None]).all()
    assert np.array_equal(found.pictures[5:], others)
    # Filled in: every pixel is the mean of its neighbours, the picture's where they lie outside.
    for y, x in ((0, 0), (5, 4), (11, 9), (6, 3)):
        near = [(y + a, x + b) for a, b in ((0, 1), (0, -1), (1, 0), (-1, 0))]
        near = [(j, i) for j, i in near if 0 <= j < 12 and 0 <= i < 10]
        around = [(inpaint if labels[j, i] == labels[y, x] else image)[:, j, i] for j, i in near]
        assert np.allclose(inpaint[:, y, x], np.mean(around, axis=0))
    assert find_references("blur", picture, labels).elsewhere == "blurred"
    assert find_references(others[0], picture, labels).says == "another picture"


def test_a_flat_region_filled_in_is_the_picture():
    image = np.add.outer(np.arange(9.0), 2 * np.arange(9.0))
    picture = as_picture(image, None)
    labels = np.zeros((9, 9), int)
    labels[3:6, 3:6] = 1
    filled = find_references("inpaint", picture, labels).pictures[0]
    assert np.allclose(filled[3:6, 3:6], image[3:6, 3:6])  # a plane is its own smoothest surface


# -- outcomes -----------------------------------------------------------------------------


def test_labels_seen_on_one_picture_are_not_all_there_are():
    image = np.ones((4, 4))

    def model(images):
        lit = images[:, ::2, ::2].sum(axis=(1, 2)).astype(int)
        return np.array(["none", "one", "two", "three", "four"])[lit]

    e = ImageExplainer(model, regions="grid", n_regions=4, references=0)(image)
    assert (e.keep.outcome, e.flip.outcome) == ("four", "not four")
    assert all(factor.size == 1 for factor in e.flip.factors)
    other = ImageExplainer(model, regions="grid", n_regions=4, references=0, outcome="two")(image)
    assert (other.keep.outcome, other.flip.outcome) == ("not two", "two")
    assert {len(s) for s in sets(other.flip)} == {2}
    same = ImageExplainer(
        lambda images: np.array(["a"] * len(images)), regions="grid", n_regions=4
    )(image)
    assert "nothing: it comes about anyway" in str(same)


def test_objects_with_predict_and_their_classes():
    class Model:
        classes_ = np.array(["dark", "light"])

        def predict(self, images):
            return self.classes_[(images.mean(axis=(1, 2)) > 0.6).astype(int)]

    e = ImageExplainer(Model(), regions="grid", n_regions=4, references=0)(np.ones((4, 4)))
    assert (e.keep.outcome, e.flip.outcome) == ("light", "dark")
    assert {len(s) for s in sets(e.keep)} == {3}
    assert e.provenance.model == "Model"
    assert e.provenance.references.words == "one colour"


def test_searches_and_thresholds_are_those_of_any_explainer():
    image = np.ones((6, 6))
    explainer = ImageExplainer(
        lit_pixel((0, 0), (5, 5)), regions="grid", n_regions=30, references=[0, 0.1]
    )
    with pytest.raises(InputError, match="30 regions"):
        explainer(image)
    greedy = explainer(image, search="greedy", tau=1.0)
    assert grid((1, 1), (5, 6)) in sets(greedy.keep)
    assert not greedy.complete
    assert all(factor.sufficiency == 1 for factor in greedy.keep.factors)
    pruned = ImageExplainer(
        lit_pixel((0, 0), (5, 5)), regions="grid", n_regions=9, references=[0, 0.1]
    )(image, search="pruned", tau=1.0)
    assert sets(pruned.keep) == {grid((1, 1), (3, 3))}
    with pytest.raises(TypeError, match="unexpected keyword argument 'speed'"):
        explainer(image, search="greedy", speed=3)


# -- storing and showing ------------------------------------------------------------------

CORNERS = ImageExplainer(lit_pixel((0, 0), (5, 5)), regions="grid", n_regions=4, references=0)
IMAGE = np.linspace(0.6, 1, 36).reshape(6, 6)
E = CORNERS(IMAGE)


def test_stored_with_picture_and_regions():
    text = E.to_json()
    jsonschema.validate(json.loads(text), result_schema(Explanation))
    again = Explanation.from_json(text)
    assert again == E
    assert isinstance(again.subject, ImageSubject)
    assert np.array_equal(again.subject.labels, E.subject.labels)
    assert np.array_equal(read_png(again.subject.picture), np.rint(255 * IMAGE))
    assert overlay(again).png == overlay(E).png


@pytest.mark.parametrize("view", ["keep", "flip"])
def test_marked_regions_stay_as_they_are_and_others_are_dimmed(view):
    drawn = overlay(E, view=view).pixels
    assert drawn.shape == (240, 240, 3)
    marked = np.zeros((6, 6), bool)
    names = [player.name for player in E.keep.players]
    for name in getattr(E, view).factors[0].features:
        marked |= E.subject.labels == names.index(name)
    ones = np.ones((40, 40), dtype=int)
    inside = np.kron(marked, ones).astype(bool)
    original = np.kron(np.rint(255 * IMAGE).astype(int), ones)[..., None]
    assert (drawn[inside] == original.repeat(3, axis=2)[inside]).all()
    line = np.ptp(drawn.astype(int), axis=2) > 0  # the picture is grey, the outline is not
    assert line.any()
    assert not line[inside].any()
    outside = ~inside & ~line
    fogged = np.rint(0.3 * original[..., 0] + 0.7 * 205)
    assert np.abs(drawn[..., 0] - fogged)[outside].max() <= 1
    assert (drawn[..., 0] != original[..., 0])[outside].mean() > 0.9


def test_overlays_of_named_regions_large_pictures_and_opacity():
    rng = np.random.default_rng(0)
    labels = np.arange(700)[:, None] // 350 * np.ones((1, 500), int)
    pixels = (255 * rng.random((700, 500, 4))).astype(np.uint8)
    subject = ImageSubject.of(write_png(pixels), labels, ("top", "bottom"))
    small = draw_marked(subject, [1], "keep", 100).pixels
    assert small.shape == (100, 71, 3)
    assert draw_marked(subject, [1], "flip").pixels.shape == (700, 500, 3)
    plain = draw_marked(subject, [0, 1], "keep").pixels
    opacity = pixels[..., 3:] / 255
    white = np.rint(pixels[..., :3] * opacity + 255 * (1 - opacity))
    assert np.array_equal(plain, white)
    assert draw_map(subject, 50).pixels.shape == (50, 35, 3)
    whole = overlay(E, view="keep", factor=[player.name for player in E.keep.players])
    assert np.array_equal(whole.pixels[::40, ::40, 0], np.rint(255 * IMAGE))
    with pytest.raises(InputError, match=r"factor: got unknown feature 'row 9'"):
        overlay(E, view="keep", factor=["row 9"])
    with pytest.raises(InputError, match="factor: got 7; allowed: one of the 1 factors of keep"):
        overlay(E, factor=7)
    with pytest.raises(InputError, match="view: got 'kept'"):
        overlay(E, view="kept")
    with pytest.raises(InputError, match="size: got 0"):
        overlay(E, size=0)


def test_overlay_of_a_table_is_refused():
    from suffice import Explainer

    e = Explainer(lambda rows: rows[:, 0] > 0, np.array([[0, 0], [1, 1]])).explain([1, 1])
    with pytest.raises(InputError, match="explanation: got one of something else"):
        overlay(e)


@given(st.integers(0, 10**6), st.sampled_from([(), (3,), (4,)]))
@settings(max_examples=20)
def test_png_is_what_others_read_and_write(seed, channels):
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(seed)
    pixels = (256 * rng.random((*rng.integers(1, 9, size=2), *channels))).astype(np.uint8)
    ours = write_png(pixels)
    assert np.array_equal(read_png(ours), pixels)
    assert np.array_equal(np.asarray(image.open(BytesIO(ours))), pixels)
    theirs = BytesIO()
    image.fromarray(pixels).save(theirs, "png")
    assert np.array_equal(
        read_png(theirs.getvalue())[..., : 3 if channels else None],
        pixels[..., : 3 if channels else None],
    )


def test_what_is_no_picture_or_unfolds_into_gigabytes_is_refused(monkeypatch):
    with pytest.raises(InputError, match="4 bytes that are no picture"):
        read_png(b"nono")
    bomb = write_png(np.zeros((9000, 9000), dtype=np.uint8))
    assert len(bomb) < 200_000
    with pytest.raises(InputError, match="9000 × 9000 pixels; allowed: at most 80,000,000"):
        read_png(bomb)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(InputError, match=r"no Pillow.*pip install .suffice\[image\]"):
        ImageExplainer(len)


def test_overlay_saves_and_shows_itself(tmp_path):
    drawn = overlay(E)
    drawn.save(tmp_path / "why.png")
    assert (tmp_path / "why.png").read_bytes() == drawn.png == drawn._repr_png_()


class PictureTags(Tags):
    """As for tables, and pictures bring their bytes along."""

    void = frozenset({"meta", "img"})

    def __init__(self):
        super().__init__()
        self.pictures = []

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        source = found.pop("src", None) or found.pop("href", None)
        if source is not None:
            assert source.startswith("data:image/png;base64,")
            self.pictures.append((tag, found.get("alt")))
        super().handle_starttag(tag, list(found.items()))


@pytest.mark.parametrize("html", [E.to_html(), Explanation.from_json(E.to_json())._repr_html_()])
def test_the_page_shows_each_factor_in_place(html):
    tags = PictureTags()
    tags.feed(html)
    assert tags.open == []
    assert tags.pictures == [
        ("image", None),
        ("img", "The picture with row 1 column 1, row 2 column 2 marked"),
        ("img", "The picture with row 1 column 1 marked"),
        ("img", "The picture with row 2 column 2 marked"),
    ]
    text = "".join(tags.text)
    assert "6 × 6 pixels, 4 regions" in text
    assert "Hold these regions, replace all other regions" in text


def test_text_names_regions_and_references():
    text = str(E)
    assert "lit_pixel" not in text
    assert "model, against 1 reference (one colour)" in text
    assert "100%  row 1 column 1, row 2 column 2" in text
    assert "cheapest" not in text
    named = ImageExplainer(
        lit_pixel((0, 0)), regions="grid", n_regions=2, references=0, names=["left", "right"]
    )(IMAGE)
    assert summarise(named).picture.marks == ("left", "right")
    assert ">left</text>" in named.to_html()


# -- bad input ----------------------------------------------------------------------------


def model_of_grey(images):
    return images.mean(axis=(1, 2)) > 0.5


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (np.zeros(4), r"image: got an array of 1 dimension\(s\); allowed: an image: \(H, W\)"),
        (np.zeros((1, 4, 4, 3)), r"4 dimension\(s\).*Pass one image, without an axis for the b"),
        (np.zeros((0, 4)), r"image: got no pixels, shape \(0, 4\)"),
        (np.zeros((4, 4), object), "image: got dtype object; allowed: an array of whole numbers"),
        (np.zeros((4, 4), complex), "image: got dtype complex128"),
        ("cat.png", "A path has to be opened first"),
        ([[1, 2], [3]], "image: got dtype object"),
        (np.full((4, 4), np.nan), r"image: got 16 pixel value\(s\) NaN or infinite; .*nan_to_num"),
        (np.zeros((5, 5, 2)), r"image: got shape \(5, 5, 2\)"),
        (np.zeros((3, 9, 3)), 'could both be colours.*Say which: channels="last"'),
    ],
)
def test_images_that_are_none(image, message):
    with pytest.raises(InputError, match=message):
        ImageExplainer(model_of_grey, regions="grid", n_regions=4)(image)


def test_channels_can_be_said():
    seen = []

    def model(images):
        seen.append(images.shape)
        return images[:, 0, 0, 0] > 0

    for channels, size in (("last", (3, 9)), ("first", (9, 3))):
        e = ImageExplainer(model, regions="grid", n_regions=4, references=0, channels=channels)(
            np.ones((3, 9, 3))
        )
        assert e.subject.labels.shape == size
    with pytest.raises(InputError, match=r"shape \(5, 5, 3\) with channels='first'"):
        ImageExplainer(model, regions="grid", n_regions=4, channels="first")(np.ones((5, 5, 3)))


@pytest.mark.parametrize(
    ("regions", "message"),
    [
        ("slick", r"regions: got 'slick'; .* Did you mean 'slic'\?"),
        (np.zeros((4, 5), int), r"a map of shape \(4, 5\); allowed: .* height and width, \(4, 4\)"),
        (np.zeros((4, 4)), "regions: got a map of dtype float64; allowed: a map of whole numbers"),
        ([[1, 2], [3]], "regions: got a map of dtype object"),
        (np.full((4, 4), -1), "the label -1 in a map; .*must cover the image.* background a label"),
        (np.ma.masked_equal(np.eye(4, dtype=int), 0), "regions: got a map with masked pixels"),
        (None, 'regions: got None; allowed: "slic", "felzenszwalb", "grid", a map'),
        (lambda image: image, "regions: got a map of dtype float64"),
    ],
)
def test_regions_that_are_none(regions, message):
    with pytest.raises(InputError, match=message):
        ImageExplainer(model_of_grey, regions=regions)(np.zeros((4, 4)))


@pytest.mark.parametrize(
    ("references", "message"),
    [
        ("blurr", r"references: got 'blurr'; .* Did you mean 'blur'\?"),
        ([], "references: got none"),
        (np.zeros((4, 5), np.uint8), r"array of shape \(4, 5\); allowed: .* own shape, \(4, 4\)"),
        (np.zeros((2, 4, 4)), "references: got images of dtype float64; allowed: .* uint8"),
        (300, "references: got 300; allowed: numbers that the image's dtype holds, uint8"),
        (0.5, "references: got 0.5; allowed: numbers that"),
        (float("nan"), "references: got NaN or infinite values"),
        ((1, 2, 3), "references: got a colour of 3 numbers"),
        ([[0, 1], [1, 0]], "references: got a list within a list.*np.asarray"),
        (None, "references: got None"),
    ],
)
def test_references_that_are_none(references, message):
    with pytest.raises(InputError, match=message):
        ImageExplainer(model_of_grey, regions="grid", n_regions=4, references=references)(
            np.zeros((4, 4), np.uint8)
        )


def test_filling_in_needs_something_around():
    with pytest.raises(InputError, match="'inpaint' with one region; allowed: at least two"):
        ImageExplainer(model_of_grey, regions="grid", n_regions=1, references="inpaint")(
            np.zeros((4, 4))
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": 3}, "model: got int; allowed: a callable from a batch of images"),
        ({"n_regions": 0}, "n_regions: got 0; allowed: a whole number >= 1"),
        ({"batch_size": 1.5}, "batch_size: got 1.5"),
        ({"channels": "middle"}, "channels: got 'middle'; allowed: 'last', 'first' or None"),
        ({"names": ["a"]}, "names: got 1 name, 1 of them distinct; allowed: 4 distinct names"),
        ({"names": ["a", "a", "b", "c"]}, "names: got 4 names, 3 of them distinct"),
        ({"names": "abcd"}, "names: got 'abcd'; allowed: a list of strings"),
        ({"random_state": -1}, "random_state: got -1"),
    ],
)
def test_arguments_that_cannot_be_meant(arguments, message):
    given = {"model": model_of_grey, "regions": "grid", "n_regions": 4} | arguments
    with pytest.raises(InputError, match=message):
        ImageExplainer(**given)(np.zeros((4, 4)))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            lambda images: images,
            r"returned shape \(1, 4, 4\) for 1 image: it must return one label",
        ),
        (lambda images: np.zeros(10), r"returned shape \(10,\) for 1 image"),
        (lambda images: 3, r"returned shape \(\) for 1 image"),
        (
            lambda images: 1 / 0,
            r"raised ZeroDivisionError on 1 image \(float64, shape \(1, 4, 4\)\)",
        ),
        (lambda images: np.full(len(images), np.nan), "returned NaN for 1 of 1 rows"),
    ],
)
def test_models_that_answer_something_else(model, message):
    with pytest.raises(ModelError, match=message):
        ImageExplainer(model, regions="grid", n_regions=4)(np.zeros((4, 4)))


def test_scikit_image_is_asked_for_by_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "skimage.segmentation", None)
    for method in ("slic", "felzenszwalb"):
        with pytest.raises(InputError, match=r"scikit-image is not installed.*pip install scikit"):
            ImageExplainer(model_of_grey, regions=method)(np.zeros((4, 4)))


def test_grids_need_no_more_than_pillow():
    work = """
import sys
for name in ("skimage", "torch"):
    sys.modules[name] = None
import suffice
assert "suffice.image" not in sys.modules
import numpy as np
from suffice.image import ImageExplainer, overlay
explainer = ImageExplainer(lambda x: x[:, 0, 0] > 0.5, regions="grid", n_regions=4, references=["mean", "inpaint", 0])
e = explainer(np.eye(8))
assert e.complete and overlay(e).pixels.shape == (240, 240, 3)
assert "data:image/png" in e.to_html()
"""
    subprocess.run([sys.executable, "-W", "error", "-c", work], check=True)


def test_too_many_regions_are_told_of_regions():
    explainer = ImageExplainer(
        lambda b: b[:, 0, 0] > 0.5, regions="grid", n_regions=100, references=0
    )
    with pytest.raises(InputError, match=r"regions: got 100 regions, so 2\^100 sets; .*n_regions"):
        explainer(np.ones((20, 20)))


@pytest.mark.parametrize(
    "ask", [overlay, lambda e: ImageExplainer(len).refine(e, image=np.ones((4, 4)))]
)
def test_only_an_explanation_of_a_picture_is_drawn_or_refined(ask):
    with pytest.raises(InputError, match="explanation: got one of something else"):
        ask(3)


def test_a_picture_of_another_dtype_than_the_weights_gets_a_hint():
    torch = pytest.importorskip("torch")
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, 2))
    with pytest.raises(ModelError, match=r"Its weights are torch\.float32.*convert the image"):
        ImageExplainer(net, regions="grid", n_regions=4, references=0)(np.ones((4, 4)))


@pytest.mark.parametrize("method", ["slic", "felzenszwalb"])
def test_a_method_that_parts_nothing_says_so(method):
    pytest.importorskip("skimage")
    noise = np.random.default_rng(0).integers(0, 255, (32, 32, 3), dtype=np.uint8)
    image = noise if method == "slic" else np.zeros((32, 32, 3), dtype=np.uint8)
    with pytest.raises(
        InputError, match=f'regions: got .{method}., which finds one region.*"grid"'
    ):
        ImageExplainer(len, regions=method)(image)
