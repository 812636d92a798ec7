"""Words, sentences, passages and spans, and texts joined again."""

from dataclasses import replace

import pytest
from hypothesis import assume, given, strategies as st

from suffice.text import TextExplainer
from suffice.text.segmentation import (
    passages,
    sentences,
    span_names,
    split_text,
    words,
    words_in_span,
)
from suffice.text.text_model import CellJoiner
from tests.text.word_models import LONG, OR, factor_sets, word_sets


@given(st.text(max_size=60))
def test_any_text_is_joined_again_exactly(text):
    for spans in (words(text), sentences(text)):
        cells = [text[a:b] for a, b in spans]
        assert not spans or CellJoiner(text, spans)([cells]) == [text]
        assert spans == sorted(spans)
        assert len(set(span_names(text, spans))) == len(spans)
    assert sum(len(words_in_span(words(text), s)) for s in sentences(text)) == len(words(text))


@given(st.text(alphabet="ab .,%\n-'。好😀", max_size=80), st.integers(1, 5))
def test_passages_hold_every_word_once(text, most):
    found = words(text)
    assume(found)
    parts = passages(text, found, most)
    assert len(parts) <= most
    assert [found[i] for part in parts for i in words_in_span(found, part)] == found


class CountedList(list):
    """A list that counts how many of its items are read."""

    reads = 0

    def __getitem__(self, index):
        found = super().__getitem__(index)
        self.reads += len(found) if isinstance(index, slice) else 1
        return found

    def __iter__(self):
        for item in super().__iter__():
            self.reads += 1
            yield item


def test_cutting_a_long_text_reads_each_word_a_few_times():
    text = "It rained all day, as it does. " * 600
    found = CountedList(words(text))
    assert len(passages(text, found)) == 12
    assert found.reads <= 40 * len(found)
    parts = split_text(text, "sentence", None)
    counted = replace(parts, atoms=CountedList(parts.atoms))
    assert sum(map(len, counted.groups.values())) == len(found)
    assert counted.atoms.reads <= 40 * len(found)


@given(st.lists(st.sampled_from(["", "so", "it", "%s"]), min_size=1, max_size=5), st.data())
def test_the_quick_ways_to_join_agree_with_the_slow_one(cells, data):
    inner = (
        [" "] * 4
        if data.draw(st.booleans())
        else data.draw(st.lists(st.sampled_from([" ", ", ", "% "]), min_size=4, max_size=4))
    )
    text, spans = "", []
    for i in range(len(cells)):
        spans.append((len(text), len(text) + 1))
        text += "w" + (inner[i] if i < len(cells) - 1 else "")
    join = CellJoiner(text, spans)
    filled = [cell or "x" for cell in cells]
    assert join([filled]) == [join._shorter(filled)]
    assert len(join([cells])[0]) <= len(join([filled])[0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don’t re-read o'clock!", ["Don’t", "re-read", "o'clock"]),
        ("naïve café 北京 3rd", ["naïve", "café", "北", "京", "3rd"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("great 👍🏽 ❤️!", ["great", "👍🏽", "❤️"]),
        ("- 'quoted' --", ["quoted"]),
        ("e\u0301te\u0301", ["e\u0301te\u0301"]),
    ],
)
def test_split_words(text, expected):
    assert [text[a:b] for a, b in words(text)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mr. X left. Why? Nobody knows!", ["Mr. X left.", "Why?", "Nobody knows!"]),
        ("It cost 3.50 dollars. ok", ["It cost 3.50 dollars. ok"]),
        ("“Stop.” He did", ["“Stop.”", "He did"]),
        ("One line\n\nanother line", ["One line", "another line"]),
        ("好。不好！", ["好。", "不好！"]),
        ("no end", ["no end"]),
        ("all small. like this", ["all small.", "like this"]),
    ],
)
def test_split_sentences(text, expected):
    assert [text[a:b] for a, b in sentences(text)] == expected


def test_names_are_unique_and_values_are_the_words():
    e = TextExplainer(OR)("so good so so")
    assert [p.name for p in e.keep.players] == ["so", "good", "so (2)", "so (3)"]
    assert e.keep.factors[0].values == {"good": "good"}
    assert span_names("a (2) a a", [(0, 1), (2, 5), (6, 7), (8, 9)]) == [
        "a",
        "(2)",
        "a (2)",
        "a (3)",
    ]
    odd = "a|a (2)|a"
    assert span_names(odd, [(0, 1), (2, 7), (8, 9)]) == ["a", "a (2)", "a (3)"]


def test_own_units_and_spans():
    phrase = [(0, 6), (7, 11)]
    e = TextExplainer(OR)("a good film", spans=phrase)
    assert [p.name for p in e.keep.players] == ["a good", "film"]
    assert "each span replaced by" in e.provenance.context.words
    by_unit = TextExplainer(OR, unit=lambda text: phrase[::-1])("a good film")
    assert by_unit == e
    one = TextExplainer(OR)("good")
    assert factor_sets(one.keep) == factor_sets(one.flip) == word_sets("good")
    assert one.complete
    assert split_text(LONG, "sentence", None).unit == "sentence"
