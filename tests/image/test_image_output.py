"""Factors in their picture: stored, drawn, in a page and in words."""

import json
import sys
from io import BytesIO

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from suffice import Explanation, InputError, result_schema
from suffice.errors import MissingPackageError
from suffice.explanation.schema import ImageSubject
from suffice.image import ImageExplainer, overlay
from suffice.image.overlays import draw_marked_regions, draw_region_map
from suffice.image.pixels import read_png, write_png
from suffice.summary import summarise
from tests.effort import examples
from tests.image.pixel_models import EXPLANATION, IMAGE, PictureTags, lit_pixel


def test_stored_with_picture_and_regions():
    text = EXPLANATION.to_json()
    jsonschema.validate(json.loads(text), result_schema(Explanation))
    again = Explanation.from_json(text)
    assert again == EXPLANATION
    assert isinstance(again.subject, ImageSubject)
    assert np.array_equal(again.subject.labels, EXPLANATION.subject.labels)
    assert np.array_equal(read_png(again.subject.picture), np.rint(255 * IMAGE))
    assert overlay(again).png == overlay(EXPLANATION).png


@pytest.mark.parametrize("view", ["keep", "flip"])
def test_marked_regions_stay_as_they_are_and_others_are_dimmed(view):
    drawn = overlay(EXPLANATION, view=view).pixels
    assert drawn.shape == (240, 240, 3)
    marked = np.zeros((6, 6), bool)
    names = [player.name for player in EXPLANATION.keep.players]
    for name in getattr(EXPLANATION, view).factors[0].features:
        marked |= EXPLANATION.subject.labels == names.index(name)
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
    small = draw_marked_regions(subject, [1], "keep", 100).pixels
    assert small.shape == (100, 71, 3)
    assert draw_marked_regions(subject, [1], "flip").pixels.shape == (700, 500, 3)
    plain = draw_marked_regions(subject, [0, 1], "keep").pixels
    opacity = pixels[..., 3:] / 255
    white = np.rint(pixels[..., :3] * opacity + 255 * (1 - opacity))
    assert np.array_equal(plain, white)
    assert draw_region_map(subject, 50).pixels.shape == (50, 35, 3)
    whole = overlay(
        EXPLANATION, view="keep", factor=[player.name for player in EXPLANATION.keep.players]
    )
    assert np.array_equal(whole.pixels[::40, ::40, 0], np.rint(255 * IMAGE))
    with pytest.raises(InputError, match=r"factor: got unknown feature 'row 9'"):
        overlay(EXPLANATION, view="keep", factor=["row 9"])
    with pytest.raises(InputError, match="factor: got 7; allowed: one of the 1 factors of keep"):
        overlay(EXPLANATION, factor=7)
    with pytest.raises(InputError, match="view: got 'kept'"):
        overlay(EXPLANATION, view="kept")
    with pytest.raises(InputError, match="size: got 0"):
        overlay(EXPLANATION, size=0)


def test_overlay_of_a_table_is_refused():
    from suffice import Explainer

    e = Explainer(lambda rows: rows[:, 0] > 0, np.array([[0, 0], [1, 1]])).explain([1, 1])
    with pytest.raises(InputError, match="explanation: got an explanation of other data"):
        overlay(e)


@given(st.integers(0, 10**6), st.sampled_from([(), (3,), (4,)]))
@settings(max_examples=examples(20))
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
    with pytest.raises(InputError, match="9000 × 9000 pixels; allowed: at most 67,108,864"):
        read_png(bomb)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingPackageError, match=r"needs Pillow.*pip install .suffice\[image\]"):
        ImageExplainer(len)


def test_overlay_saves_and_shows_itself(tmp_path):
    drawn = overlay(EXPLANATION)
    drawn.save(tmp_path / "why.png")
    assert (tmp_path / "why.png").read_bytes() == drawn.png == drawn._repr_png_()


@pytest.mark.parametrize(
    "html", [EXPLANATION.to_html(), Explanation.from_json(EXPLANATION.to_json())._repr_html_()]
)
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
    text = str(EXPLANATION)
    assert "lit_pixel" not in text
    assert "model, against 1 reference (one colour)" in text
    assert "100%  row 1 column 1, row 2 column 2" in text
    assert "cheapest" not in text
    named = ImageExplainer(
        lit_pixel((0, 0)), regions="grid", n_regions=2, references=0, names=["left", "right"]
    )(IMAGE)
    assert summarise(named).image.marks == ("left", "right")
    assert ">left</text>" in named.to_html()
