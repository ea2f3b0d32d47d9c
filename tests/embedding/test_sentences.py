"""Concepts in words: the strongest first, and none lost where there is little room."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pasta.embedding.encoders import sentence_vectors
from pasta.embedding.sentences import Piece, pieces, sentence, top_concepts
from pasta.errors import PastaError
from pasta.seeds import generator
from tests.embedding.small import Counting

TEMPLATE = "The model saw:"
WORDS = st.lists(st.text("abcdef", min_size=1, max_size=8), max_size=12)


def test_the_sentence_is_equation_2() -> None:
    names = ["wheel", "license_plate", "door", "eye", "tail"]
    values = np.array([0.1, -0.9, 0.5, 0.0, 0.3])
    ranked = sorted(range(5), key=lambda k: -abs(float(values[k])))
    expected = ", ".join(names[k].replace("_", " ") for k in ranked[:3])
    assert sentence(top_concepts(names, values, 3)) == expected == "license plate, door, tail"
    assert sentence(["door"], TEMPLATE) == "The model saw: door"


def test_concepts_without_attribution_are_not_named() -> None:
    assert top_concepts(["a", "b", "c"], np.array([0.0, 2.0, 0.0]), 3) == ["b"]


def test_equal_strengths_keep_the_order_of_the_vocabulary() -> None:
    assert top_concepts(["a", "b", "c"], np.array([1.0, -1.0, 1.0]), 2) == ["a", "b"]


def test_names_and_values_must_be_equally_many() -> None:
    with pytest.raises(PastaError, match="2 concept names but 1 values"):
        top_concepts(["a", "b"], np.array([1.0]), 1)


def test_what_fits_is_one_sentence() -> None:
    assert pieces(["door", "eye"], TEMPLATE, lambda _: True) == [
        Piece("The model saw: door, eye", 2)
    ]


@given(WORDS, st.sampled_from(["", "x:", TEMPLATE]), st.integers(14, 40))
def test_every_concept_is_told_once_in_order_and_fits(
    concepts: list[str], template: str, room: int
) -> None:
    found = pieces(concepts, template, lambda text: len(text) <= room)
    assert all(len(piece.text) <= room for piece in found)
    bare = [piece.text.removeprefix(template).strip() for piece in found]
    told = [word for text in bare if text for word in text.split(", ")]
    assert told == concepts
    if template:
        assert any(piece.text.startswith(template) for piece in found)


def test_a_template_that_leaves_no_room_is_a_sentence_of_its_own() -> None:
    found = pieces(["wheel", "door"], TEMPLATE, lambda text: len(text) <= len(TEMPLATE))
    assert found == [Piece(TEMPLATE, 1), Piece("wheel, door", 2)]


def test_a_word_that_never_fits_is_an_error() -> None:
    with pytest.raises(PastaError, match="'wheel' is longer"):
        pieces(["eye", "wheel"], "", lambda text: len(text) <= 4)


def test_pieces_are_averaged_by_their_numbers_of_concepts() -> None:
    encoder = Counting()
    found = sentence_vectors(encoder, [[Piece("a, b", 2), Piece("c", 1)], [Piece("c", 1)]])
    assert encoder.read == ["a, b", "c"]  # each once
    first, second = (generator(0, encoder.md5, text).normal(size=8) for text in ("a, b", "c"))
    np.testing.assert_allclose(found[0], (2 * first + second) / 3, atol=1e-6)
    np.testing.assert_allclose(found[1], second, atol=1e-6)
