"""Prompts and captions: readable, and never cut off."""

from __future__ import annotations

from typing import Any

import pytest

from pasta.datasets.vocabulary import VOCABULARIES
from pasta.models.clip import ClipEncoder, caption, open_model, prompt_table, prompts
from tests.models.clip_data import TEMPLATE


@pytest.fixture(scope="module")
def encoder() -> ClipEncoder:
    model, tokenizer = open_model("pasta-tiny", None)
    return ClipEncoder(model, tokenizer, "pasta-tiny/random")


@pytest.mark.parametrize("dataset", VOCABULARIES)
def test_no_prompt_is_cut_off(encoder: ClipEncoder, dataset: str) -> None:
    words = VOCABULARIES[dataset]
    texts = prompts([*words.classes, *words.concepts], TEMPLATE)
    tokens: Any = encoder.tokenizer
    for text, row in zip(texts, tokens(texts), strict=True):
        assert encoder.fits(text)
        read = tokens.decode([int(token) for token in row if token])
        assert text.lower() == read.split("<start_of_text>")[1].split("<end_of_text>")[0].strip()


def test_names_are_written_as_in_a_sentence() -> None:
    names = ["license_plate", "pointed-arch", "Gothic", "workplace", "cat"]
    assert prompts(names, TEMPLATE) == [
        "a photo of a license plate",
        "a photo of a pointed arch",
        "a photo of a Gothic building",
        "a photo of a workplace",
        "a photo of a cat",
    ]


def test_a_caption_names_what_there_is_room_for(encoder: ClipEncoder) -> None:
    concepts = ["tail", "eye", "nose", "mouth", "leg", "foot", "torso", "ear"]
    text, number = caption("cat", concepts, TEMPLATE, encoder.length, encoder.room)
    assert text == f"a photo of a cat with {', '.join(concepts[:number])}"
    assert 0 < number < len(concepts)
    assert encoder.fits(text)
    assert not encoder.fits(f"{text}, {concepts[number]}")


def test_each_prompt_is_asked_once_and_names_lead_back_to_it() -> None:
    words = list(VOCABULARIES.values())
    table = prompt_table(words, TEMPLATE)
    assert len(set(table.texts)) == len(table.texts)
    for vocabulary, classes, concepts in zip(words, table.classes, table.concepts, strict=True):
        assert [table.texts[row] for row in classes] == prompts(vocabulary.classes, TEMPLATE)
        assert [table.texts[row] for row in concepts] == prompts(vocabulary.concepts, TEMPLATE)
        assert len(set(classes.tolist())) == len(classes)
