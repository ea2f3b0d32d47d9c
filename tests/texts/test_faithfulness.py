"""Comprehensiveness and sufficiency against a literal loop, and at their extremes."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
import pytest

from pasta.errors import PastaError
from pasta.texts.classifier import FunctionModel
from pasta.texts.documents import Document
from pasta.texts.faithfulness import SHARES, evaluate_texts, measure_faithfulness, top_words
from tests.texts.small import ADDING, reviews, trained


def literal(
    model: Any, document: Document, weights: list[float], target: int
) -> tuple[float, float]:
    """ERASER's definitions, text by text: words are cut out of the text and it is classified."""
    ranked = sorted(range(len(weights)), key=lambda place: (-weights[place], place))
    whole = float(model.probabilities([document])[0, target])
    without, alone = [], []
    for share in SHARES:
        chosen = set(ranked[: max(1, ceil(share * len(weights) - 1e-9))])
        words = [word.text for word in document.words]
        rest = " ".join(word for place, word in enumerate(words) if place not in chosen)
        only = " ".join(word for place, word in enumerate(words) if place in chosen)
        without.append(whole - float(model.probabilities([Document(rest)])[0, target]))
        alone.append(whole - float(model.probabilities([Document(only)])[0, target]))
    return sum(without) / len(without), sum(alone) / len(alone)


@pytest.mark.parametrize("number", range(4))
def test_both_equal_a_literal_loop_over_shares(number: int) -> None:
    network, document = trained(), reviews()[number]
    random = np.random.default_rng(number)
    for target in (0, 1):
        weights = random.normal(size=len(document)).round(1)  # some are equal
        found = measure_faithfulness(network, document, weights, target)
        wanted = literal(network, document, weights.tolist(), target)
        assert (found.comprehensiveness, found.sufficiency) == pytest.approx(wanted, abs=1e-6)
        assert len(found.without) == len(found.alone) == len(SHARES)


def test_a_perfect_explanation_loses_all_without_and_nothing_alone() -> None:
    def judge(texts: list[str]) -> np.ndarray:
        good = np.array([float("good" in text.split()) for text in texts])
        return np.stack([1 - good, good], 1)

    model, document = FunctionModel(judge, ["bad", "good"]), Document("a b good c d e f g h i")
    right = np.eye(10)[2]
    best = measure_faithfulness(model, document, right, 1)
    worst = measure_faithfulness(model, document, -right, 1)
    assert (best.comprehensiveness, best.sufficiency) == (1.0, 0.0)
    assert (worst.comprehensiveness, worst.sufficiency) == (0.0, 1.0)


def test_all_words_taken_away_and_all_words_left_are_the_ends() -> None:
    document = Document("so good and not bad")
    found = measure_faithfulness(ADDING, document, [1, 2, 3, 4, 5], 1, shares=[1.0])
    whole, nothing = ADDING.probabilities([document, Document("")])[:, 1].tolist()
    assert found.sufficiency == pytest.approx(0)
    assert found.comprehensiveness == pytest.approx(whole - nothing)


def test_only_the_order_of_weights_counts() -> None:
    network, document = trained(), reviews()[0]
    weights = np.random.default_rng(0).normal(size=len(document))
    first = measure_faithfulness(network, document, weights, 1)
    second = measure_faithfulness(network, document, np.exp(3 * weights) - 7, 1)
    assert np.array_equal(first.without, second.without)
    assert np.array_equal(first.alone, second.alone)


@pytest.mark.parametrize(
    ("weights", "status"),
    [
        ([0, 0, 0], "zero"),
        ([2, 2, 2], "constant"),
        ([1, np.nan, 0], "nan"),
        ([1, np.inf, 0], "nan"),
    ],
)
def test_weights_that_order_nothing_have_a_status_and_no_number(weights: Any, status: str) -> None:
    found = measure_faithfulness(ADDING, Document("so very good"), weights, 1)
    assert found.status == status
    assert np.isnan([found.comprehensiveness, found.sufficiency]).all()
    assert np.isnan(found.without).all() and np.isnan(found.alone).all()


def test_an_empty_text_and_a_single_word_are_no_errors() -> None:
    assert measure_faithfulness(ADDING, Document(""), [], 1).status == "no words"
    assert measure_faithfulness(ADDING, Document("good"), [0.7], 1).status == "constant"


def test_shares_are_rounded_up_to_whole_words() -> None:
    weights = np.arange(30.0)
    counts = top_words(weights, [0.01, 0.05, 0.1, 0.2, 0.5, 1]).sum(1)
    assert counts.tolist() == [1, 2, 3, 6, 15, 30]
    assert top_words(np.zeros(3), [0.4]).tolist() == [[True, True, False]]


@pytest.mark.parametrize("shares", [[], [0.0], [0.5, 1.5], [-0.1]])
def test_impossible_shares_are_named(shares: list[float]) -> None:
    with pytest.raises(PastaError, match="expected shares above 0 and up to 1"):
        measure_faithfulness(ADDING, Document("so good"), [1, 2], 1, shares)


def test_weights_of_another_text_are_named() -> None:
    with pytest.raises(PastaError, match="3 weights for 2 words"):
        measure_faithfulness(ADDING, Document("so good"), [1, 2, 3], 1)


def test_texts_are_measured_together_by_name_and_equal_weights_have_no_value() -> None:
    network, texts = trained(), reviews()[:3]
    weights = [np.arange(len(one), dtype=float) for one in texts]
    weights[1] = np.zeros(len(texts[1]))
    predicted = network.probabilities(texts).argmax(1).tolist()
    for name, place in (("comprehensiveness", 0), ("sufficiency", 1)):
        values = evaluate_texts(name, network, texts, weights)
        assert np.isnan(values[1])
        for number in (0, 2):
            wanted = literal(network, texts[number], weights[number].tolist(), predicted[number])
            assert values[number] == pytest.approx(wanted[place], abs=1e-6)
    with pytest.raises(PastaError, match="Did you mean 'sufficiency'"):
        evaluate_texts("suficiency", network, texts, weights)
    with pytest.raises(PastaError, match="3 texts, weights of 2"):
        evaluate_texts("sufficiency", network, texts, weights[:2])
