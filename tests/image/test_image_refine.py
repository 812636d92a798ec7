"""From coarse to fine: parts of regions, and the methods that cut a picture up."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from suffice import Explanation, InputError
from suffice.image import ImageExplainer
from suffice.image.image_model import find_references
from suffice.image.pixels import as_image_array, read_png
from suffice.image.regions import find_regions, split_regions
from tests.effort import examples
from tests.image.pixel_models import factor_sets, grid_cells, lit_pixel


def test_refining_closes_in_on_the_pixel():
    image = np.ones((16, 16))
    explainer = ImageExplainer(lit_pixel((5, 9)), regions="grid", n_regions=4, references=[0, 0.25])
    e = explainer(image)
    area = 64
    while area > 1:
        e = explainer.refine(e, image=image, tau=1.0)
        assert factor_sets(e.keep) == factor_sets(e.flip)
        (factor,) = e.keep.factors
        marked = np.isin(e.subject.labels, [_number(e, name) for name in factor.features])
        assert marked[5, 9]
        assert marked.sum() <= area / 2
        area = int(marked.sum())
    assert e.provenance.context.words.startswith("parts of row 1 column 2 part ")
    assert e.provenance.context.words.endswith("; all else in one colour (keep) or held (flip)")
    with pytest.raises(InputError, match=r"features: got 1 region that cannot be split"):
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
    assert factor_sets(both.keep) == {frozenset({"row 1 column 1 part 1", "row 2 column 2 part 2"})}
    assert factor_sets(both.flip) == {
        frozenset({"row 1 column 1 part 1"}),
        frozenset({"row 2 column 2 part 2"}),
    }
    assert both.complete
    text = " ".join(str(both).split())
    assert "Beyond its context it says nothing: parts of row 1 column 1 and" in text
    assert "Hold these parts, replace all other parts" in text
    one = explainer.refine(e, image=image, features="row 1 column 1")
    assert one.keep.factors == ()
    assert factor_sets(one.flip) == {frozenset({"row 1 column 1 part 1"})}
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
@settings(max_examples=examples(30))
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


@pytest.fixture(scope="module")
def photo():
    data = pytest.importorskip("skimage.data")
    return data.coffee()[::6, ::6]


@pytest.mark.parametrize("method", ["slic", "felzenszwalb", "grid"])
@pytest.mark.parametrize("grey", [False, True])
def test_methods_cover_the_picture_with_at_most_so_many_regions(photo, method, grey):
    image = photo[..., 0] if grey else photo
    for n in (1, 5, 12, 30):
        regions = find_regions(method, as_image_array(image, None), n)
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
    wide = find_regions("grid", as_image_array(np.zeros((10, 30)), None), 12)
    assert wide.names[-1] == "row 2 column 6"
    assert (np.diff(wide.labels, axis=1) >= 0).all()
    assert len(find_regions("grid", as_image_array(np.zeros((2, 3)), None), 100).names) == 6
    assert len(find_regions("grid", as_image_array(np.zeros((10, 10)), None), 13).names) == 12


def test_own_maps_callables_and_names():
    image = np.arange(6.0).reshape(2, 3)
    own = find_regions(
        lambda pixels: (pixels > 2).astype(int) * 40, as_image_array(image, None), 12
    )
    assert own.labels.tolist() == [[0, 0, 0], [1, 1, 1]]
    named = find_regions(own.labels, as_image_array(image, None), 12, ["sky", "ground"])
    assert named.names == ("sky", "ground")
    assert find_regions(image > 2, as_image_array(image, None), 12).names == (
        "region 1",
        "region 2",
    )


def test_references_are_what_they_say():
    rng = np.random.default_rng(0)
    image = rng.random((3, 12, 10))
    picture = as_image_array(image, None)
    labels = find_regions("grid", picture, 6).labels
    others = rng.random((2, 3, 12, 10))
    found = find_references(["blur", "mean", "inpaint", 0.5, (1, 0, 0.5), others], picture, labels)
    assert found.pictures.shape == (7, 3, 12, 10)
    assert found.text == (
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
    assert find_references(others[0], picture, labels).text == "another picture"


def test_a_flat_region_filled_in_is_the_picture():
    image = np.add.outer(np.arange(9.0), 2 * np.arange(9.0))
    picture = as_image_array(image, None)
    labels = np.zeros((9, 9), int)
    labels[3:6, 3:6] = 1
    filled = find_references("inpaint", picture, labels).pictures[0]
    assert np.allclose(filled[3:6, 3:6], image[3:6, 3:6])  # a plane is its own smoothest surface


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
    assert {len(s) for s in factor_sets(other.flip)} == {2}
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
    assert {len(s) for s in factor_sets(e.keep)} == {3}
    assert e.provenance.model == "Model"
    assert e.provenance.references.words == "one colour"


def test_searches_and_thresholds_are_those_of_any_explainer():
    image = np.ones((6, 6))
    explainer = ImageExplainer(
        lit_pixel((0, 0), (5, 5)), regions="grid", n_regions=30, references=[0, 0.1]
    )
    with pytest.raises(InputError, match="30 regions"):
        explainer(image, search="exhaustive")
    planned = explainer(image, tau=1.0, budget=4000)
    assert grid_cells((1, 1), (5, 6)) in factor_sets(planned.keep)
    greedy = explainer(image, search="greedy", tau=1.0)
    assert grid_cells((1, 1), (5, 6)) in factor_sets(greedy.keep)
    assert not greedy.complete
    assert all(factor.sufficiency == 1 for factor in greedy.keep.factors)
    pruned = ImageExplainer(
        lit_pixel((0, 0), (5, 5)), regions="grid", n_regions=9, references=[0, 0.1]
    )(image, search="pruned", tau=1.0)
    assert factor_sets(pruned.keep) == {grid_cells((1, 1), (3, 3))}
    with pytest.raises(TypeError, match="unexpected keyword argument 'speed'"):
        explainer(image, search="greedy", speed=3)
