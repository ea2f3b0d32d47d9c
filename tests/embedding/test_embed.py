"""Every explanation has its own vector, however the work was cut; encoders are not mixed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pasta import store
from pasta.datasets.stored import open_dataset
from pasta.embedding import stage
from pasta.embedding.encoders import sentence_vectors
from pasta.embedding.handcrafted import NAMES
from pasta.embedding.inputs import overlay, weighted_sum
from pasta.embedding.sentences import pieces, top_concepts
from pasta.embedding.stage import embed_group, embed_groups, kind_vectors, units_of
from pasta.embedding.stored import ENCODER, load_embeddings, variant
from pasta.errors import InputError, PastaError
from pasta.explanations.catalog import technique as named
from pasta.explanations.stored import StoredExplanations
from pasta.layout import Group
from tests.conftest import contents, names
from tests.embedding.small import (
    CONCEPT,
    NUMBER,
    SALIENCY,
    Counting,
    change_map,
    settings,
    write_group,
    write_tables,
)

MAPS = len(SALIENCY) * NUMBER
HANDCRAFTED = settings(encoder="handcrafted")


@pytest.fixture
def group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Group]:
    """In a project of its own."""
    for name in ("dvc.yaml", "params.yaml"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PASTA_WORKERS", "1")
    stage._opened.cache_clear()
    yield write_group(tmp_path)
    stage._opened.cache_clear()


def test_rows_follow_the_explanations_table(group: Group) -> None:
    encoder = Counting()
    embed_group(group, encoder, settings())
    found = load_embeddings(group, settings())
    stored = StoredExplanations(group.explanations)
    assert list(found.table["sample_id"]) == list(stored.table["sample_id"])
    assert found.vectors.shape == (len(stored.table), encoder.width)
    assert found.vectors.dtype == np.float32
    assert found.encoder["encoder"] == "counting"
    assert names(group.embeddings) == ["counting.overlay", "counting.top5"]
    assert names(group.embeddings / "counting.top5") == ["clip_qda.clip_qda.npy", ENCODER]


def test_a_saliency_row_is_the_vector_of_its_overlay(group: Group) -> None:
    encoder, technique, row = Counting(), named("/".join(SALIENCY[1])), 4
    embed_group(group, encoder, settings())
    pixels = open_dataset(group.images).pixels[[row]].transpose(0, 3, 1, 2) / np.float32(255)
    shown = StoredExplanations(group.explanations).shown(technique, [row])
    picture = np.floor(overlay(pixels, shown, signed=True) + 0.5)[0] / 255
    expected = picture.astype(np.float32).ravel().astype(np.float64) @ encoder.matrix.numpy()
    found = load_embeddings(group, settings()).vectors[NUMBER + row]
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_concept_rows_are_sentences_or_weighted_sums(group: Group) -> None:
    encoder, technique = Counting(), named("/".join(CONCEPT[0]))
    words, values = StoredExplanations(group.explanations).concepts(technique)
    chosen = settings(n_top=3, template="Saw:")
    embed_group(group, encoder, chosen)
    told = [pieces(top_concepts(words, row, 3), "Saw:", encoder.fits) for row in values[:NUMBER]]
    expected = sentence_vectors(encoder, told)
    found = load_embeddings(group, chosen).vectors[-NUMBER:]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    chosen = settings(text="weighted")
    embed_group(group, encoder, chosen)
    spoken = np.asarray(encoder.texts([name.replace("_", " ") for name in words]))
    expected = weighted_sum(values[:NUMBER], spoken)
    found = load_embeddings(group, chosen).vectors[-NUMBER:]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_variants_have_names_that_tell_them_apart() -> None:
    assert variant(settings(image="blur", blur=0.05), "saliency") == "blur0.05"
    assert variant(settings(text="weighted"), "concept") == "weighted"
    found = [variant(settings(template=words), "concept") for words in ("", "a b", "a c", "?")]
    assert found[0] == "top5"
    assert len(set(found)) == 4


def test_what_variants_have_in_common_is_computed_once(group: Group, tmp_path: Path) -> None:
    many = [settings(), settings(n_top=2), settings(image="masked"), HANDCRAFTED, HANDCRAFTED]
    units = units_of([group], many, tmp_path)
    assert [(unit.kind, unit.name) for unit in units] == [
        ("saliency", "counting.overlay"),
        ("saliency", "counting.masked"),
        ("handcrafted", "handcrafted"),
        ("concept", "counting.top5"),
        ("concept", "counting.top2"),
    ]


def test_the_stage_leaves_every_variant_of_every_group(group: Group, tmp_path: Path) -> None:
    other = write_group(tmp_path, key="second")
    many = [settings(), settings(text="weighted"), HANDCRAFTED]
    seconds = embed_groups([group, other], many, tmp_path)
    assert len(seconds) == 8
    for one in (group, other):
        expected = Counting()
        assert names(one.embeddings) == [
            "counting.overlay",
            "counting.top5",
            "counting.weighted",
            "handcrafted",
        ]
        found = load_embeddings(one, settings()).vectors[:NUMBER]
        alone = kind_vectors(one, "saliency", expected, settings())
        assert np.array_equal(found, alone["gradcam.resnet50"])
        assert load_embeddings(one, HANDCRAFTED).vectors.shape == (3 * NUMBER, len(NAMES))


def test_no_file_says_when_or_how_it_was_made(group: Group, tmp_path: Path) -> None:
    embed_groups([group], [settings(), HANDCRAFTED], tmp_path)
    before = contents(group.embeddings)
    embed_groups([group], [settings(), HANDCRAFTED], tmp_path)
    assert contents(group.embeddings) == before


@pytest.mark.slow
def test_two_workers_leave_the_same_bytes_as_one(
    group: Group, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers open the register's encoders, so only what needs none is asked here."""
    other = write_group(tmp_path, key="second")
    embed_groups([group, other], [HANDCRAFTED], tmp_path)
    before = [contents(one.embeddings) for one in (group, other)]
    monkeypatch.setenv("PASTA_WORKERS", "2")
    embed_groups([group, other], [HANDCRAFTED], tmp_path)
    assert [contents(one.embeddings) for one in (group, other)] == before


def test_a_changed_map_changes_its_vector_alone(group: Group, tmp_path: Path) -> None:
    embed_groups([group], [settings()], tmp_path)
    before = load_embeddings(group, settings()).vectors
    change_map(group, 2)
    embed_groups([group], [settings()], tmp_path)
    after = load_embeddings(group, settings()).vectors
    assert np.flatnonzero((before != after).any(1)).tolist() == [2]


def test_a_killed_run_goes_on_where_it_was(
    group: Group, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, done = stage.embed_unit, list[str]()

    def killed(unit: stage.EmbedUnit) -> Any:
        if unit.kind == "concept" and len(done) == 1:
            done.append("killed")
            raise KeyboardInterrupt
        done.append(unit.kind)
        return real(unit)

    monkeypatch.setattr(stage, "embed_unit", killed)
    with pytest.raises(KeyboardInterrupt):
        embed_groups([group], [settings()], tmp_path)
    embed_groups([group], [settings()], tmp_path)
    assert done == ["saliency", "killed", "concept"]
    assert load_embeddings(group, settings()).usable.all()


def test_vectors_of_two_encoders_are_not_mixed(group: Group) -> None:
    embed_group(group, Counting(), settings())
    store.write_json(
        {**store.read_json(group.embeddings / "counting.top5" / ENCODER), "md5": "1" * 32},
        group.embeddings / "counting.top5" / ENCODER,
    )
    with pytest.raises(InputError, match="was made by the encoder counting"):
        load_embeddings(group, settings())


def test_vectors_of_other_explanations_are_refused(group: Group) -> None:
    embed_group(group, Counting(), settings())
    file = group.embeddings / "counting.overlay" / "gradcam.resnet50.npy"
    store.write_array(np.array(store.read_array(file))[1:], file)
    with pytest.raises(InputError, match=r"gradcam\.resnet50\.npy"):
        load_embeddings(group, settings())


def test_the_settings_must_name_the_encoder(group: Group) -> None:
    with pytest.raises(PastaError, match="name the encoder counting, not other"):
        embed_group(group, Counting(name="other"), settings())


def test_explanations_that_show_nothing_have_no_vector(tmp_path: Path) -> None:
    sample = "catsdogscars/0003/gradcam/resnet50"
    group, encoder = write_group(tmp_path, not_ok=sample), Counting()
    embed_group(group, encoder, settings())
    found = load_embeddings(group, settings())
    assert encoder.pictures == MAPS - 1
    assert found.table.loc[~found.usable, "sample_id"].tolist() == [sample]
    assert np.isnan(found.vectors[3]).all()


@pytest.mark.parametrize("image", ["overlay", "masked", "blur"])
def test_the_batch_size_changes_nothing_but_rounding(group: Group, image: str) -> None:
    found = []
    for size in (1, 4, 64):
        chosen = settings(image=image, batch_size=size)
        embed_group(group, Counting(), chosen)
        found.append(load_embeddings(group, chosen).vectors)
    np.testing.assert_allclose(found[1], found[0], atol=1e-6)
    np.testing.assert_allclose(found[2], found[0], atol=1e-6)


def test_maps_of_another_size_than_the_images_are_refused(group: Group) -> None:
    file = group.explanations / "gradcam.resnet50.npy"
    store.write_array(np.array(store.read_array(file))[:, 1:], file)
    with pytest.raises(InputError, match="maps of gradcam/resnet50 are 15 x 16"):
        embed_group(group, Counting(), settings())


def test_an_image_that_is_not_there_is_named(group: Group) -> None:
    table = StoredExplanations(group.explanations).table
    table.assign(image_id="other").to_parquet(group.explanations / "explanations.parquet")
    with pytest.raises(InputError, match=r"images\.parquet: there is no image 'other'"):
        embed_group(group, Counting(), settings())


def test_missing_vectors_are_an_error_with_the_file(group: Group) -> None:
    with pytest.raises(InputError, match=r"encoder\.json"):
        load_embeddings(group, settings())


def test_a_technique_without_a_usable_map_has_rows_without_vectors(group: Group) -> None:
    write_tables(group.explanations, SALIENCY[:1], "catsdogscars/0000/gradcam/resnet50")
    embed_group(group, Counting(), settings())
    assert load_embeddings(group, settings()).usable.tolist() == [False] + [True] * (NUMBER - 1)
