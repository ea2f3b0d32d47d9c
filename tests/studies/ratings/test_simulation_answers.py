"""Texts, boxes and rankings of simulated raters."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from pasta import tables
from pasta.contracts import check
from pasta.datasets.vocabulary import VOCABULARIES
from pasta.studies.ratings import tables as rating_tables
from pasta.studies.ratings.protocol import load_protocol
from pasta.studies.ratings.simulation.descriptions import (
    FORMS,
    MOST,
    OTHER_WORDS,
    WHOLE,
    choose,
    draw_boxes,
    sentence,
    write_texts,
)
from pasta.studies.ratings.simulation.raters import POSITIONS, draw_rankings, utilities
from pasta.tables import BOX
from tests.studies.ratings.simulation_study import annotator_names, parameters

IMAGES = ["0001", "0002", "0003", "0004"]  # the last has no parts
NAMES = annotator_names(6)
ITEMS = {question.id: question.item_ids for question in load_protocol("p2").rankings}


def tasks() -> pd.DataFrame:
    rows = [
        {
            "sample_id": f"catsdogscars/{image}/{method}/resnet50",
            "annotator_id": name,
            "dataset": "catsdogscars",
            "image_id": image,
            "predicted": "cat",
        }
        for image, method, name in itertools.product(IMAGES, ("gradcam", "lime", "rise"), NAMES)
    ]
    return pd.DataFrame(rows)


def regions() -> pd.DataFrame:
    parts = [
        ("head", 0.1, 0.1, 0.6, 0.5),
        ("tail", 0.9, 0.9, 1.0, 1.0),
        ("eye", 0.2, 0.2, 0.21, 0.21),
    ]
    return tables.REGIONS.frame(
        {
            "dataset": "catsdogscars",
            "image_id": image,
            "concept": concept,
            "instance": instance,
            **dict(zip(BOX, box, strict=True)),
        }
        for image in IMAGES[:3]
        for concept, *box in parts
        for instance in range(2)
    )


def test_every_task_gets_some_of_the_parts_of_its_image() -> None:
    found = choose(tasks(), regions(), seed=0)
    number = found.groupby(["sample_id", "annotator_id"]).size()
    assert len(number) == 3 * 3 * len(NAMES)
    assert number.min() == 1 and number.max() == MOST
    assert not found["sample_id"].str.contains("0004").any()
    assert not found.duplicated(["sample_id", "annotator_id", "order"]).any()


def test_large_parts_are_mentioned_before_small_ones() -> None:
    found = choose(tasks(), regions(), seed=0)
    first = found.loc[found["order"] == 0, "concept"].value_counts()
    assert first["head"] > first["tail"] > first.get("eye", 0)


def test_answers_do_not_depend_on_the_order_of_tasks_but_on_the_seed() -> None:
    mixed = tasks().sample(frac=1, random_state=1)
    said, mixed_said = (
        write_texts(plan, choose(plan, regions(), 0), 0) for plan in (tasks(), mixed)
    )
    pd.testing.assert_frame_equal(said, mixed_said)
    drawn, mixed_drawn = (
        draw_boxes(choose(plan, regions(), 0), 0.1, 0) for plan in (tasks(), mixed)
    )
    pd.testing.assert_frame_equal(drawn, mixed_drawn)
    assert not write_texts(tasks(), choose(tasks(), regions(), 1), 1).equals(said)


def test_texts_name_what_was_mentioned_and_nothing_else() -> None:
    found = choose(tasks(), regions(), seed=0)
    texts = write_texts(tasks(), found, seed=0)
    check(texts, rating_tables.DESCRIPTIONS)
    assert len(texts) == len(tasks()) and texts["simulated"].all()
    named = found.groupby(["sample_id", "annotator_id"])["concept"].agg(set)
    for row in texts.itertuples(index=False):
        text = str(row.text).lower()
        expected = named.get((row.sample_id, row.annotator_id), set())
        assert ("eye" in text, "tail" in text, "head" in text) == tuple(
            concept in expected for concept in ("eye", "tail", "head")
        )
    assert texts["text"].nunique() > len(texts) / 4


@pytest.mark.parametrize("dataset", list(VOCABULARIES))
def test_a_sentence_can_be_made_of_every_form_class_and_concept(dataset: str) -> None:
    words = VOCABULARIES[dataset]
    draws = [0.99] * 8
    for label, form in itertools.product(words.classes, range(len(FORMS))):
        for concept in words.concepts:
            text = sentence([concept], label, form, draws)
            assert text.strip() and not set(text) & set("{}_")
    whole = {
        sentence([], words.classes[0], 0, [part / len(WHOLE)] * 8) for part in range(len(WHOLE))
    }
    assert len(whole) == len(WHOLE)


def test_other_words_are_for_concepts_that_exist() -> None:
    known = {concept for words in VOCABULARIES.values() for concept in words.concepts}
    assert set(OTHER_WORDS) <= known


@pytest.mark.parametrize("jitter", [0.0, 0.08, 5.0])
def test_boxes_fulfil_their_contract_however_unsteady_the_hand(jitter: float) -> None:
    found = choose(tasks(), regions(), seed=0)
    boxes = draw_boxes(found, jitter, seed=0)
    check(boxes, rating_tables.BOXES)
    assert len(boxes) == len(found)


def test_a_steady_hand_draws_the_parts_themselves() -> None:
    found = choose(tasks(), regions(), seed=0).sort_values(["sample_id", "annotator_id", "order"])
    boxes = draw_boxes(found, 0.0, seed=0)
    np.testing.assert_allclose(boxes[list(BOX)], found[list(BOX)], atol=1e-4)


def test_a_study_without_parts_has_no_boxes() -> None:
    none = choose(tasks(), regions().iloc[:0], seed=0)
    boxes = draw_boxes(none, 0.1, seed=0)
    assert boxes.empty
    check(boxes, rating_tables.BOXES)
    assert (write_texts(tasks(), none, seed=0)["text"].str.len() > 0).all()


def test_rankings_are_permutations() -> None:
    rankings = draw_rankings(NAMES, ITEMS, parameters(), seed=0)
    check(rankings, rating_tables.RANKED)
    for (_, question), mine in rankings.groupby(["annotator_id", "question"]):
        assert set(mine["item"]) == set(ITEMS[str(question)])
        assert sorted(mine["position"]) == list(range(1, len(mine) + 1))
    assert len(rankings) == len(NAMES) * sum(map(len, ITEMS.values()))
    assert not draw_rankings(NAMES, ITEMS, parameters(), seed=1).equals(rankings)


def test_the_items_of_the_protocol_are_those_whose_positions_are_known() -> None:
    assert {question: set(items) for question, items in ITEMS.items()} == {
        question: set(items) for question, items in POSITIONS.items()
    }


@pytest.mark.parametrize(("strength", "expected"), [(1.0, POSITIONS), (0.0, None)])
def test_many_annotators_have_the_mean_positions_of_p1_or_none(
    strength: float, expected: dict[str, dict[str, float]] | None
) -> None:
    params = parameters(ranking_strength=strength, ranking_sd=0.0)
    rankings = draw_rankings(annotator_names(600), ITEMS, params, seed=0)
    means = rankings.groupby(["question", "item"])["position"].mean()
    for question, items in ITEMS.items():
        for item in items:
            place = expected[question][item] if expected else (len(items) + 1) / 2
            assert abs(means[question, item] - place) < 0.35


def test_the_first_of_a_ranking_has_plackett_luces_probability() -> None:
    params = parameters(ranking_strength=1.0, ranking_sd=0.0)
    rankings = draw_rankings(annotator_names(2000), {"Q7": ITEMS["Q7"]}, params, seed=0)
    first = rankings.loc[rankings["position"] == 1, "item"].value_counts(normalize=True)
    weights = np.exp(utilities("Q7", ITEMS["Q7"]))
    for item, share in zip(ITEMS["Q7"], weights / weights.sum(), strict=True):
        assert abs(first[item] - share) < 4 * np.sqrt(share * (1 - share) / 2000)
