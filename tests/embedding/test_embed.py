"""Only what is new is encoded, nothing is mixed, and a killed run costs one technique."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pasta import store
from pasta.datasets.stored import open_dataset
from pasta.embedding.embed import embed_dataset
from pasta.embedding.inputs import overlay, weighted_sum
from pasta.embedding.sentences import pieces, sentence_vectors, top_concepts
from pasta.embedding.stored import FOLDER, load_embeddings, variant
from pasta.errors import InputError, PastaError
from pasta.explanations.stored import StoredExplanations
from pasta.explanations.techniques import Technique
from pasta.params.embedding import EmbeddingParams
from tests.embedding.small import (
    CONCEPT,
    NUMBER,
    SALIENCY,
    Counting,
    change_map,
    contents,
    settings,
    silent,
    write_dataset,
    write_tables,
)

MAPS = len(SALIENCY) * NUMBER


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    return write_dataset(tmp_path / "catsdogscars")


def embed(dataset: Path, encoder: Counting, chosen: EmbeddingParams | None = None) -> None:
    embed_dataset(dataset, encoder, chosen or settings(), dataset / FOLDER, silent)


def test_rows_follow_the_explanations_table(dataset: Path) -> None:
    encoder = Counting()
    table = embed_dataset(dataset, encoder, settings(), dataset / FOLDER, silent)
    found = load_embeddings(dataset, settings())
    stored = StoredExplanations(dataset)
    assert list(table["sample_id"]) == list(stored.table["sample_id"])
    assert found.vectors.shape == (len(table), encoder.width)
    assert found.vectors.dtype == np.float32
    for file, place, vector in zip(table["file"], table["place"], found.vectors, strict=True):
        assert np.array_equal(store.read_array(dataset / FOLDER / file)[place], vector)
    assert set(table["file"]) == {
        "counting.overlay/gradcam.resnet50.npy",
        "counting.overlay/lime.vit_b_16.npy",
        "counting.top5/clip_qda.clip_qda.npy",
    }


def test_a_saliency_row_is_the_vector_of_its_overlay(dataset: Path) -> None:
    encoder, technique, row = Counting(), Technique(*SALIENCY[1]), 4
    embed(dataset, encoder)
    pixels = open_dataset(dataset).pixels[[row]].transpose(0, 3, 1, 2) / np.float32(255)
    shown = StoredExplanations(dataset).shown(technique, [row])
    picture = np.floor(overlay(pixels, shown, signed=True) + 0.5)[0] / 255
    expected = picture.astype(np.float32).ravel().astype(np.float64) @ encoder.matrix.numpy()
    found = load_embeddings(dataset, settings()).vectors[NUMBER + row]
    np.testing.assert_allclose(found, expected / np.linalg.norm(expected), atol=1e-6)


def test_concept_rows_are_sentences_or_weighted_sums(dataset: Path) -> None:
    encoder, technique = Counting(), Technique(*CONCEPT[0])
    names, values = StoredExplanations(dataset).concepts(technique)
    chosen = settings(n_top=3, template="Saw:")
    embed(dataset, encoder, chosen)
    told = [pieces(top_concepts(names, row, 3), "Saw:", encoder.fits) for row in values[:NUMBER]]
    expected = sentence_vectors(encoder, told)
    found = load_embeddings(dataset, chosen).vectors[-NUMBER:]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    chosen = settings(text="weighted")
    embed(dataset, encoder, chosen)
    spoken = np.asarray(encoder.texts([name.replace("_", " ") for name in names]))
    expected = weighted_sum(values[:NUMBER], spoken)
    found = load_embeddings(dataset, chosen).vectors[-NUMBER:]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_nothing_is_encoded_twice(dataset: Path) -> None:
    embed(dataset, Counting())
    before, again = contents(dataset / FOLDER), Counting()
    embed(dataset, again)
    assert (again.pictures, again.read) == (0, [])
    assert contents(dataset / FOLDER) == before


def test_only_a_changed_map_is_encoded_and_the_others_stay(dataset: Path) -> None:
    embed(dataset, Counting())
    before = load_embeddings(dataset, settings()).vectors
    change_map(dataset, 2)
    again = Counting()
    embed(dataset, again)
    after = load_embeddings(dataset, settings()).vectors
    assert (again.pictures, again.read) == (1, [])
    assert np.flatnonzero((before != after).any(1)).tolist() == [2]


def test_reordered_rows_keep_their_own_vectors(dataset: Path) -> None:
    embed(dataset, Counting())
    before = load_embeddings(dataset, settings()).vectors
    file = dataset / "explanations.parquet"
    table = StoredExplanations(dataset).table
    table.iloc[::-1].to_parquet(file, index=False)
    again = Counting()
    embed(dataset, again)
    assert (again.pictures, again.read) == (0, [])
    assert np.array_equal(load_embeddings(dataset, settings()).vectors, before[::-1])


def test_another_sentence_leaves_the_pictures_alone(dataset: Path) -> None:
    embed(dataset, Counting())
    again = Counting()
    embed(dataset, again, settings(n_top=2))
    assert again.pictures == 0
    assert again.read
    again = Counting()
    embed(dataset, again, settings(image="masked"))
    assert (again.pictures, again.read) == (MAPS, [])


def test_variants_have_names_that_tell_them_apart() -> None:
    assert variant(settings(image="blur", blur=0.05), "saliency") == "blur0.05"
    assert variant(settings(text="weighted"), "concept") == "weighted"
    names = [variant(settings(template=words), "concept") for words in ("", "a b", "a c", "?")]
    assert names[0] == "top5"
    assert len(set(names)) == 4


def test_a_killed_run_goes_on_where_it_was(dataset: Path) -> None:
    first = Counting()
    first.break_after = NUMBER + 1  # in the second technique
    with pytest.raises(KeyboardInterrupt):
        embed(dataset, first)
    second, fresh = Counting(), Counting()
    embed(dataset, second)
    assert second.pictures == NUMBER
    resumed = load_embeddings(dataset, settings())
    embed_dataset(dataset, fresh, settings(), dataset / "fresh", silent)
    assert fresh.pictures == MAPS
    assert np.array_equal(
        load_embeddings(dataset, settings(), dataset / "fresh").vectors, resumed.vectors
    )


def test_an_array_that_was_written_without_its_card_is_not_believed(dataset: Path) -> None:
    embed(dataset, Counting())
    before = load_embeddings(dataset, settings()).vectors
    file = dataset / FOLDER / "counting.overlay" / "gradcam.resnet50.npy"
    store.write_array(np.array(store.read_array(file))[::-1], file)  # as a killed run leaves it
    with pytest.raises(InputError, match="does not fit its card"):
        load_embeddings(dataset, settings())
    again = Counting()
    embed(dataset, again)
    assert again.pictures == NUMBER
    assert np.array_equal(load_embeddings(dataset, settings()).vectors, before)


def test_other_weights_mean_other_vectors_for_all(dataset: Path) -> None:
    embed(dataset, Counting())
    other = Counting(md5="1" * 32)
    embed(dataset, other)
    assert other.pictures == MAPS
    assert load_embeddings(dataset, settings()).encoder["md5"] == "1" * 32


def test_vectors_of_two_encoders_are_not_mixed(dataset: Path) -> None:
    embed(dataset, Counting())
    write_tables(dataset, SALIENCY[:1])
    other = Counting(md5="1" * 32)
    embed_dataset(dataset, other, settings(), dataset / "other", silent)
    name = "counting.overlay/gradcam.resnet50"
    for suffix in ("npy", "json"):
        (dataset / "other" / f"{name}.{suffix}").replace(dataset / FOLDER / f"{name}.{suffix}")
    write_tables(dataset, SALIENCY)
    with pytest.raises(InputError, match="was made by the encoder counting"):
        load_embeddings(dataset, settings())


def test_the_settings_must_name_the_encoder(dataset: Path) -> None:
    with pytest.raises(PastaError, match="name the encoder counting, not other"):
        embed(dataset, Counting(name="other"))


def test_explanations_that_show_nothing_have_no_vector(tmp_path: Path) -> None:
    sample = "catsdogscars/0003/gradcam/resnet50"
    dataset, encoder = write_dataset(tmp_path / "catsdogscars", not_ok=sample), Counting()
    embed(dataset, encoder)
    found = load_embeddings(dataset, settings())
    assert encoder.pictures == MAPS - 1
    assert found.table.loc[~found.usable, "sample_id"].tolist() == [sample]
    assert np.isnan(found.vectors[3]).all()


@pytest.mark.parametrize("image", ["overlay", "masked", "blur"])
def test_the_batch_size_changes_nothing_but_rounding(dataset: Path, image: str) -> None:
    found = []
    for size in (1, 4, 64):
        chosen = settings(image=image, batch_size=size)
        embed_dataset(dataset, Counting(), chosen, dataset / str(size), silent)
        found.append(load_embeddings(dataset, chosen, dataset / str(size)).vectors)
    np.testing.assert_allclose(found[1], found[0], atol=1e-6)
    np.testing.assert_allclose(found[2], found[0], atol=1e-6)


def test_two_runs_leave_the_same_bytes(dataset: Path) -> None:
    for name in ("first", "second"):
        embed_dataset(dataset, Counting(), settings(), dataset / name, silent)
    assert contents(dataset / "first") == contents(dataset / "second")


def test_a_technique_that_is_gone_leaves_no_vectors(dataset: Path) -> None:
    embed(dataset, Counting())
    write_tables(dataset, (*SALIENCY[1:], *CONCEPT))
    embed(dataset, Counting())
    names = [file.name for file in (dataset / FOLDER / "counting.overlay").iterdir()]
    assert sorted(names) == ["lime.vit_b_16.json", "lime.vit_b_16.npy"]


def test_maps_of_another_size_than_the_images_are_refused(dataset: Path) -> None:
    file = dataset / "explanations" / "gradcam.resnet50.npy"
    store.write_array(np.array(store.read_array(file))[:, 1:], file)
    with pytest.raises(InputError, match="maps of gradcam/resnet50 are 15 x 16"):
        embed(dataset, Counting())


def test_missing_vectors_are_an_error_with_the_file(dataset: Path) -> None:
    with pytest.raises(InputError, match=r"gradcam\.resnet50\.json"):
        load_embeddings(dataset, settings())
