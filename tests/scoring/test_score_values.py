"""``PastaScore``: any form of input gives the same score, and bad input is named."""

from __future__ import annotations

import copy
import json
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import pasta
from pasta.embedding.inputs import overlay, with_label
from pasta.embedding.stage import embed_unit, units_of
from pasta.embedding.stored import load_embeddings, write_vectors
from pasta.errors import PastaError
from pasta.explanations.stored import StoredExplanations
from pasta.scoring.encoding import ExplanationEncoder
from pasta.scoring.given import concepts_given, images_given, maps_given
from pasta.scoring.ood import FamiliarRegion
from pasta.scoring.score import PastaScore, Score, Scores
from pasta.scoring.stored import PreprocessingCard, load_scorer
from tests.embedding import small
from tests.scoring.small_scorer import (
    CLASSES,
    heat,
    labels,
    make_root,
    make_scorer,
    pictures,
    silent,
    tiny,
)

CONCEPTS = {"wheel": 0.9, "license_plate": -0.4, "door": 0.2, "muzzle": 0.1, "eye": 0.0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    encoder = tiny()
    return make_scorer(make_root(tmp_path_factory.mktemp("project"), encoder), encoder)


@pytest.fixture(scope="module")
def score(folder: Path) -> PastaScore:
    return PastaScore.load("Q2", folder, encoder=tiny(), batch_size=4)


def many(score: PastaScore, **given: Any) -> Scores:
    found = score(**given)
    assert isinstance(found, Scores)
    return found


def one(score: PastaScore, **given: Any) -> Score:
    found = score(**given)
    assert isinstance(found, Score)
    return found


def test_the_score_is_the_scorers_prediction_for_the_rendered_overlay(
    score: PastaScore, folder: Path
) -> None:
    images, maps = pictures(3), heat(3)
    floats = images.transpose(0, 3, 1, 2).astype(np.float32) / 255
    drawn = torch.from_numpy(np.floor(overlay(floats, maps, signed=False) + 0.5) / 255)
    vectors = score.encoder.images(drawn).numpy()
    expected = load_scorer(folder).fitted.predict(with_label(vectors, labels(3), CLASSES))
    found = many(score, image=images, saliency=maps, label=labels(3))
    assert np.allclose(found.score, expected.stars[:, 1], atol=1e-4)
    for name in ("distribution", "low", "high"):
        assert np.allclose(getattr(found, name), getattr(expected, name)[:, 1], atol=1e-4)
    assert found.distribution is not None
    assert np.allclose(found.distribution.sum(axis=1), 1, atol=1e-5)


@pytest.mark.parametrize(
    "convert",
    [
        lambda image: image,
        lambda image: image.astype(np.float32) / 255,
        lambda image: image.astype(np.float64) / 255,
        lambda image: image.transpose(2, 0, 1),
        torch.from_numpy,
        lambda image: torch.from_numpy(image.transpose(2, 0, 1).copy()),
        lambda image: torch.from_numpy(image.transpose(2, 0, 1).copy()).float() / 255,
        Image.fromarray,
        lambda image: Image.fromarray(image).convert("RGBA"),
    ],
)
def test_every_form_of_an_image_gives_the_same_score(
    score: PastaScore, convert: Callable[[Any], Any]
) -> None:
    image, saliency = pictures(1)[0], heat(1)[0]
    plain = one(score, image=image, saliency=saliency, label="cat")
    for map_form in (saliency, torch.from_numpy(saliency), saliency[None].astype(np.float64)):
        other = one(score, image=convert(image), saliency=map_form, label="cat")
        assert other.score == pytest.approx(plain.score, abs=1e-4)
        assert other.status == "ok"


def test_batches_lists_and_single_calls_agree(score: PastaScore) -> None:
    images, maps = pictures(9), heat(9)
    together = many(score, image=images, saliency=maps, label=labels(9))
    listed = many(score, image=list(images), saliency=list(maps), label=labels(9))
    tensors = many(
        score,
        image=torch.from_numpy(images.transpose(0, 3, 1, 2).copy()),
        saliency=torch.from_numpy(maps[:, None]),
        label=labels(9),
    )
    each = zip(images, maps, labels(9), strict=True)
    alone = [one(score, image=i, saliency=m, label=n) for i, m, n in each]
    for other in (listed.score, tensors.score, [part.score for part in alone]):
        assert np.allclose(together.score, other, atol=1e-4)
    order = np.arange(9)[::-1]
    turned = many(
        score, image=images[order], saliency=maps[order], label=[labels(9)[row] for row in order]
    )
    assert np.allclose(turned.score[::-1], together.score, atol=1e-4)
    assert [float(part) for part in together] == pytest.approx([float(p) for p in alone], abs=1e-4)


def test_images_of_different_sizes_are_scored_in_one_call(score: PastaScore) -> None:
    images: list[Any] = [pictures(1)[0], pictures(2)[1].repeat(2, axis=1), pictures(1)[0]]
    maps: list[Any] = [heat(1)[0], heat(2)[1].repeat(2, axis=1), heat(1)[0]]
    found = many(score, image=images, saliency=maps, label="cat")
    assert found.score[0] == pytest.approx(found.score[2], abs=1e-4)
    wide = one(score, image=images[1], saliency=maps[1], label="cat")
    assert found.score[1] == pytest.approx(wide.score, abs=1e-4)


def test_an_image_three_pixels_high_is_read_by_what_it_is(score: PastaScore) -> None:
    array = np.zeros((3, 8, 3), np.uint8)
    array[..., 0] = 255
    saliency = np.linspace(0, 1, 24, dtype=np.float32).reshape(3, 8)
    assert one(score, image=array, saliency=saliency, label="cat").status == "ok"


def test_concepts_are_scored_as_the_sentence_of_the_strongest(score: PastaScore) -> None:
    found = one(score, concepts=CONCEPTS, label="car")
    weaker = {name: value / 2 for name, value in CONCEPTS.items()}
    assert one(score, concepts=weaker, label="car").score == pytest.approx(found.score, abs=1e-5)
    turned = dict(reversed(CONCEPTS.items()))  # n_top is 3: the fourth is not named
    turned.pop("muzzle")
    assert one(score, concepts=turned, label="car").score == pytest.approx(found.score, abs=1e-5)
    other = many(score, concepts=[CONCEPTS, {"beak": 1.0}], label=["car", "bird"])
    assert other.score[0] == pytest.approx(found.score, abs=1e-4)
    assert other.score[1] != pytest.approx(found.score, abs=1e-4)


def test_concepts_may_be_summed_with_their_values_as_weights(folder: Path) -> None:
    stored = load_scorer(folder)
    card = stored.card.model_copy(
        update={"preprocessing": stored.card.preprocessing.model_copy(update={"text": "weighted"})}
    )
    changed = PastaScore("Q1", type(stored)(card, stored.fitted, stored.familiar), tiny())
    found = one(changed, concepts={"wheel": 3.0, "eye": -4.0}, label="car")
    vectors = changed.encoder.texts(["wheel", "eye"]).numpy()
    row = (0.6 * vectors[0] - 0.8 * vectors[1])[None]
    expected = stored.fitted.predict(with_label(row, ["car"], CLASSES)).stars[0, 0]
    assert found.score == pytest.approx(float(expected), abs=1e-4)


def test_a_constant_map_has_a_status_and_no_score(score: PastaScore) -> None:
    maps = heat(3)
    maps[1] = 0.25
    with pytest.warns(UserWarning, match="1 of 3 explanations show nothing.*number 1, constant"):
        found = many(score, image=pictures(3), saliency=maps, label="cat")
    assert found.status == ("ok", "constant", "ok")
    assert np.isnan(found.score[1])
    assert np.isfinite(found.score[[0, 2]]).all()
    with pytest.warns(UserWarning, match="show nothing"):
        nothing = one(score, concepts={"wheel": 0.0}, label="car")
    assert (nothing.status, math.isnan(nothing.score)) == ("zero", True)
    assert not nothing.familiar


def test_the_rest_of_a_batch_scores_as_without_the_constant_map(score: PastaScore) -> None:
    maps = heat(3)
    plain = many(score, image=pictures(3), saliency=maps, label="cat")
    maps[0] = 0
    with pytest.warns(UserWarning):
        found = many(score, image=pictures(3), saliency=maps, label="cat")
    assert np.allclose(found.score[1:], plain.score[1:], atol=1e-4)


def test_each_kind_has_its_own_region_of_what_is_familiar(folder: Path) -> None:
    stored, encoder = load_scorer(folder), tiny()
    far = FamiliarRegion(np.full(128, 9, np.float32), np.eye(128, dtype=np.float32), 1.0)
    usual = PastaScore("Q1", stored, encoder)
    known = many(usual, image=pictures(20), saliency=heat(60)[::3], label="cat")
    assert known.familiar.mean() > 0.8
    assert one(usual, concepts=CONCEPTS, label="car").familiar
    for kind in ("saliency", "concept"):
        regions = {**stored.familiar, kind: far}
        changed = PastaScore("Q1", type(stored)(stored.card, stored.fitted, regions), encoder)
        saliency = many(changed, image=pictures(20), saliency=heat(60)[::3], label="cat")
        concepts = one(changed, concepts=CONCEPTS, label="car")
        assert saliency.familiar.any() == (kind != "saliency")
        assert concepts.familiar == (kind != "concept")


def test_a_signed_map_is_drawn_in_two_colours(score: PastaScore) -> None:
    signed = 2 * heat(1)[0] - 1
    found = one(score, image=pictures(1)[0], saliency=signed, label="cat", signed=True)
    plain = one(score, image=pictures(1)[0], saliency=heat(1)[0], label="cat")
    assert found.score != pytest.approx(plain.score, abs=1e-5)


IMAGE, MAP = pictures(1)[0], heat(1)[0]
NAN = np.where(MAP > 0.9, np.nan, MAP)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"saliency": MAP[0]}, r"the map: it is 32 \(expected height x width\)"),
        ({"saliency": MAP[:0]}, r"the map: it is 0 x 32 \(expected height x width\)"),
        ({"saliency": NAN}, r"values are NaN or infinite"),
        ({"saliency": NAN[:16]}, r"values are NaN or infinite"),
        ({"saliency": np.where(MAP > 0.9, np.inf, MAP)}, r"values are NaN or infinite"),
        ({"saliency": "map.npy"}, r"the map is str \(expected an array of numbers\)"),
        ({"dataset": "cocoa"}, r"no dataset called 'cocoa'. Did you mean 'coco'"),
        ({"label": ["cat", "dog"]}, r"there are 1 explanations but 2 labels"),
        ({"image": None}, r"there is no image"),
        ({"image": 255.0 * IMAGE}, r"expected bytes, or floats from 0 to 1"),
        ({"image": IMAGE / 255 * np.nan}, r"image 0 has values that are NaN"),
        ({"image": IMAGE[..., 0]}, r"the image has the shape 32 x 32 "),
        ({"image": IMAGE[..., :2]}, r"image 0 has the shape 32 x 32 x 2"),
        ({"saliency": None}, r"exactly one of saliency="),
        ({"concepts": CONCEPTS}, r"exactly one of saliency="),
        ({"saliency": None, "concepts": {}}, r"with at least one concept"),
        ({"saliency": None, "concepts": {"wheel": math.nan}}, r"the value of 'wheel' is NaN"),
        ({"saliency": None, "concepts": {"wheel": "much"}}, r"a value is no number"),
        ({"saliency": None, "concepts": "wheel"}, r"the concepts are str"),
        ({"saliency": None, "concepts": ["wheel"]}, r"concepts 0: 'wheel'"),
    ],
)
def test_bad_input_is_named(score: PastaScore, given: dict[str, Any], message: str) -> None:
    good = {"image": IMAGE, "saliency": MAP, "label": "cat"}
    with warnings.catch_warnings(), pytest.raises(PastaError, match=message):
        warnings.simplefilter("ignore")
        score(**{**good, **given})
    with warnings.catch_warnings(), pytest.raises(PastaError, match=message):
        warnings.simplefilter("ignore")
        score.check(**{**good, **given})


@pytest.mark.parametrize(
    ("given", "note"),
    [
        ({"label": None}, "scored without a label: none was given"),
        ({"label": "ct"}, "scored without a label: the scorer knows no class called 'ct'. Did you"),
        ({"label": "zzz"}, "scored without a label: the scorer knows no class called 'zzz'"),
        ({"label": "cat", "dataset": "coco"}, "the scorer knows no class of coco called 'cat'"),
    ],
)
def test_a_missing_or_unknown_label_is_a_note(
    score: PastaScore, folder: Path, given: dict[str, Any], note: str
) -> None:
    found = one(score, **{"image": IMAGE, "saliency": MAP, **given})
    assert any(line.startswith("scored without") and note in line for line in found.notes)
    drawn = np.floor(overlay(IMAGE.transpose(2, 0, 1)[None], MAP[None], signed=False) + 0.5)
    vectors = score.encoder.images(torch.from_numpy(drawn / 255)).numpy()
    expected = load_scorer(folder).fitted.predict(with_label(vectors, [None], CLASSES))
    assert found.score == pytest.approx(float(expected.stars[0, 1]), abs=1e-4)
    known = one(score, image=IMAGE, saliency=MAP, label="cat")
    assert not any(line.startswith("scored without") for line in known.notes)


def test_a_scorer_that_was_never_without_labels_wants_one(tmp_path: Path) -> None:
    encoder = tiny()
    score = PastaScore.load(
        "Q1", make_scorer(tmp_path, encoder, label_dropout=0.0), encoder=encoder
    )
    for label in (None, "zebra"):
        with pytest.raises(PastaError, match="has never been without: give label="):
            score(image=IMAGE, saliency=MAP, label=label)


def test_maps_of_another_range_are_scaled_with_a_note(score: PastaScore) -> None:
    given = {"image": IMAGE, "label": "cat"}
    plain = one(score, saliency=MAP, **given)
    assert not any(line.startswith("the map") for line in plain.notes)
    for other, note in (
        (3 * MAP, "the map was divided by 3"),
        ((255 * MAP).astype(np.uint8), "the map was divided by 255"),
        (MAP - 0.5, "the map was lifted by 0.5 (negative values count against a class with"),
    ):
        found = one(score, saliency=other, **given)
        assert found.score == pytest.approx(plain.score, abs=0.02), note
        assert found.notes[0].startswith(note)
    signed = one(score, saliency=MAP - 0.5, signed=True, **given)
    doubled = one(score, saliency=4 * MAP - 2, signed=True, **given)
    assert doubled.notes[0] == "the map was divided by 2"
    assert doubled.score != pytest.approx(signed.score, abs=1e-6)
    halved = one(score, saliency=2 * MAP - 1, signed=True, **given)
    assert doubled.score == pytest.approx(halved.score, abs=1e-4)


def test_maps_of_another_size_are_stretched_to_the_image_with_a_note(score: PastaScore) -> None:
    coarse = np.array([[0, 1], [0, 0]], np.float32)
    found = maps_given(coarse, images_given(pictures(1)[0]), signed=False)
    assert found.items[0].shape == (32, 32)
    assert found.items[0][:8, -8:].min() == pytest.approx(1)
    assert found.items[0][16:, :16].max() < 0.5
    assert found.notes == [["the map was resized from 2 x 2 to 32 x 32"]]
    told = one(score, image=IMAGE, saliency=5 * coarse, label="cat").notes
    assert told[:2] == (
        "the map was resized from 2 x 2 to 32 x 32",
        "the map was divided by 5",
    )
    ready = one(score, image=IMAGE, saliency=found.items[0], label="cat")
    raw = one(score, image=IMAGE, saliency=coarse, label="cat")
    assert raw.score == pytest.approx(ready.score, abs=1e-5)


def test_a_bad_map_of_a_batch_is_named_by_its_number(score: PastaScore) -> None:
    maps = heat(3)
    maps[2, 0, 0] = np.nan
    with pytest.raises(PastaError, match="map 2: 1 of 1024 values are NaN"):
        score(image=pictures(3), saliency=maps, label="cat")
    with pytest.raises(PastaError, match="there are 3 images but 2 maps"):
        score(image=pictures(3), saliency=maps[:2], label="cat")


def test_an_unknown_question_is_named_before_the_encoder_is_opened(folder: Path) -> None:
    with pytest.raises(PastaError, match=r"has not learned 'Q9'. Known: Q1, Q2, Q3"):
        PastaScore.load("Q9", folder)


def test_it_is_public_and_finds_the_projects_scorer(
    folder: Path, score: PastaScore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parents[3])
    loaded = pasta.PastaScore.load("Q2")
    given = {"image": IMAGE, "saliency": MAP, "label": "cat"}
    assert one(loaded, **given).score == pytest.approx(one(score, **given).score, abs=1e-6)


def test_a_scorer_without_labels_asks_for_none(tmp_path: Path) -> None:
    encoder = tiny()
    place = make_scorer(tmp_path, encoder, "ridge", with_labels=False)
    score = PastaScore.load("Q1", place, encoder=encoder)
    found = one(score, image=IMAGE, saliency=MAP)
    assert 1 <= found.score <= 5
    assert found.distribution is None
    assert found.low is None
    assert found.high is None


def test_an_empty_batch_has_no_scores(score: PastaScore) -> None:
    assert len(many(score, image=[], saliency=[], label=[])) == 0


def test_a_copy_shares_the_encoder(score: PastaScore) -> None:
    assert copy.deepcopy({"score": score})["score"] is score


def test_scores_see_what_the_embed_stage_has_embedded(tmp_path: Path) -> None:
    """Else a scorer would be asked about other vectors than it has learned from."""
    group = small.write_group(tmp_path)
    settings = small.settings(n_top=3)
    for unit in units_of([group], [settings], tmp_path):
        arrays = embed_unit(unit)
        known = json.loads(str(arrays.pop("known")))
        write_vectors(arrays, known["encoder"], group.embeddings / unit.name)
    stored, vectors = StoredExplanations(group.explanations), load_embeddings(group, settings)
    pixels = np.load(group.images / "images.npy")
    shown = PreprocessingCard(
        image="overlay", blur=0.1, text="sentence", n_top=3, template="", overlay={}
    )
    ours = ExplanationEncoder(small.Counting(), shown, batch_size=4)
    every = np.arange(small.NUMBER)
    for technique in stored.techniques:
        rows = (vectors.table["method"] == technique.method).to_numpy()
        if technique.kind == "concept":
            names, values = stored.concepts(technique)
            given = [dict(zip(names, line, strict=True)) for line in values[every]]
            found = ours.concepts(concepts_given(given)[0], silent)
        else:
            images = images_given(pixels)
            maps = maps_given(stored.shown(technique, every.tolist()), images, technique.signed)
            found = ours.pictures(images, maps.items, every, technique.signed, silent)
        assert np.allclose(found, vectors.vectors[rows], atol=1e-6), technique.key
