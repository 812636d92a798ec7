"""Images, regions, references and models that cannot be meant."""

import subprocess
import sys

import numpy as np
import pytest

from suffice import InputError, ModelError, adapt
from suffice.errors import MissingPackageError
from suffice.image import ImageExplainer, overlay
from tests.image.pixel_models import model_of_grey


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (np.zeros(4), r"image: got an array of 1 dimension; allowed: an image: \(H, W\)"),
        (np.zeros((1, 4, 4, 3)), r"4 dimensions.*Pass one image, without an axis for the b"),
        (np.zeros((0, 4)), r"image: got no pixels, shape \(0, 4\)"),
        (np.zeros((4, 4), object), "image: got dtype object; allowed: an array of integers"),
        (np.zeros((4, 4), complex), "image: got dtype complex128"),
        ("cat.png", "A path has to be opened first"),
        ([[1, 2], [3]], "image: got dtype object"),
        (np.full((4, 4), np.nan), r"image: got 16 pixel values NaN or infinite; .*nan_to_num"),
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


def test_scikit_image_is_required_by_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "skimage.segmentation", None)
    for method in ("slic", "felzenszwalb"):
        needs = rf"regions='{method}' needs scikit-image\. Install it with: pip install .suffice\[i"
        with pytest.raises(MissingPackageError, match=needs):
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


def test_an_error_on_too_many_regions_speaks_of_regions():
    explainer = ImageExplainer(
        lambda b: b[:, 0, 0] > 0.5, regions="grid", n_regions=100, references=0
    )
    with pytest.raises(InputError, match=r"regions: got 100 regions, so 2\^100 sets; .*n_regions"):
        explainer(np.ones((20, 20)), search="exhaustive")


@pytest.mark.parametrize(
    "ask", [overlay, lambda e: ImageExplainer(len).refine(e, image=np.ones((4, 4)))]
)
def test_only_an_explanation_of_a_picture_is_drawn_or_refined(ask):
    with pytest.raises(InputError, match="explanation: got an explanation of other data"):
        ask(3)


def test_a_picture_of_another_dtype_than_the_weights_gets_a_hint():
    torch = pytest.importorskip("torch")
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, 2))
    with pytest.raises(ModelError, match=r"Its weights are torch\.float32.*convert the image"):
        ImageExplainer(net, regions="grid", n_regions=4, references=0)(np.ones((4, 4)))


def test_an_error_of_an_adapter_is_raised_as_it_is():
    """`adapt` raises InputError for scores without a threshold; no ModelError wraps it."""
    model = adapt(lambda images: images.mean(axis=(1, 2)) + 0.1, classes=("dark", "light"))
    with pytest.raises(InputError, match="threshold: got None; allowed: a number"):
        ImageExplainer(model, regions="grid", n_regions=4, references=0)(np.ones((4, 4)))


def test_a_module_that_draws_at_random_leaves_torchs_random_state():
    torch = pytest.importorskip("torch")

    class Noisy(torch.nn.Module):
        def forward(self, images):
            return torch.stack([images.mean(dim=(1, 2)), torch.rand(1).expand(len(images))], dim=1)

    state = torch.random.get_rng_state().clone()
    image = np.ones((4, 4), dtype=np.float32)
    ImageExplainer(Noisy(), regions="grid", n_regions=4, references=0)(image)
    assert torch.equal(torch.random.get_rng_state(), state)


@pytest.mark.parametrize("method", ["slic", "felzenszwalb"])
def test_a_method_that_parts_nothing_says_so(method):
    pytest.importorskip("skimage")
    noise = np.random.default_rng(0).integers(0, 255, (32, 32, 3), dtype=np.uint8)
    image = noise if method == "slic" else np.zeros((32, 32, 3), dtype=np.uint8)
    with pytest.raises(
        InputError, match=f'regions: got .{method}., which finds one region.*"grid"'
    ):
        ImageExplainer(len, regions=method)(image)


def test_an_image_that_could_not_be_stored_is_refused_at_once(monkeypatch):
    monkeypatch.setattr("suffice.image.pixels.MOST_PIXELS", 100)
    explainer = ImageExplainer(lambda images: images[:, 0, 0] > 0.5, regions="grid")
    with pytest.raises(InputError, match="image: got 11 × 10 pixels; allowed: at most 100 pixels"):
        explainer.explain(np.ones((11, 10)))
    assert len(explainer.explain(np.ones((10, 10)), max_size=1).players) > 1
