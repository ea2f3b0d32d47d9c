"""Vectors that the user brings stand where an encoder's would, or the file is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pasta.embedding.given import read_given
from pasta.embedding.stage import embed_groups
from pasta.embedding.stored import load_embeddings, variants
from pasta.errors import InputError
from pasta.explanations.stored import StoredExplanations
from pasta.layout import Group
from pasta.paths import VECTORS
from pasta.scoring.settings import ScoringParams
from pasta.scoring.studies import setups
from tests.embedding.small import SIZE, settings, write_group

WIDTH = 5
GIVEN = settings(encoder="given", weights="mine")


def ids_of(group: Group) -> list[str]:
    return StoredExplanations(group.explanations).table["sample_id"].tolist()


def write_vectors(root: Path, ids: Any, vectors: Any) -> None:
    (root / VECTORS).mkdir(parents=True, exist_ok=True)
    np.savez(root / VECTORS / "mine.npz", ids=ids, vectors=vectors)


def test_vectors_are_found_by_their_ids(tmp_path: Path) -> None:
    group = write_group(tmp_path, not_ok="catsdogscars/0002/gradcam/resnet50")
    ids = [*ids_of(group), "coco/1/gradcam/resnet50"]
    vectors = np.random.default_rng(0).normal(size=(len(ids), WIDTH)).astype(np.float32)
    order = np.random.default_rng(1).permutation(len(ids))
    write_vectors(tmp_path, np.array(ids)[order], vectors[order])
    embed_groups([group], [GIVEN], tmp_path)
    found = load_embeddings(group, GIVEN)
    assert found.encoder["width"] == WIDTH and found.encoder["size"] == SIZE
    dull = (found.table["sample_id"] == "catsdogscars/0002/gradcam/resnet50").to_numpy()
    assert np.isnan(found.vectors[dull]).all() and dull.sum() == 1
    np.testing.assert_array_equal(found.vectors[~dull], vectors[:-1][~dull])


def test_an_array_beside_a_table_is_the_same(tmp_path: Path) -> None:
    group = write_group(tmp_path)
    ids = ids_of(group)
    vectors = np.random.default_rng(0).normal(size=(len(ids), WIDTH)).astype(np.float32)
    write_vectors(tmp_path, ids, vectors)
    first = read_given("mine", tmp_path)
    (tmp_path / VECTORS / "mine.npz").unlink()
    np.save(tmp_path / VECTORS / "mine.npy", vectors)
    pd.DataFrame({"sample_id": ids}).to_csv(tmp_path / VECTORS / "mine.csv", index=False)
    second = read_given("mine", tmp_path)
    assert first.md5 == second.md5
    np.testing.assert_array_equal(first.vectors, second.vectors)


def test_other_vectors_have_another_identity(tmp_path: Path) -> None:
    write_vectors(tmp_path, ["a", "b"], np.eye(2))
    first = read_given("mine", tmp_path)
    write_vectors(tmp_path, ["b", "a"], np.eye(2))
    assert read_given("mine", tmp_path).md5 != first.md5


@pytest.mark.parametrize(
    ("ids", "vectors", "problem"),
    [
        (["a", "a"], np.eye(2), "a stands there twice"),
        (["a"], np.eye(2), "2 vectors but 1 ids"),
        (["a", "b"], np.array([[1, 0], [0, np.nan]]), "row 2: the vector of b has values"),
        (["a", "b"], np.ones(2), "the vectors are 2 of the type"),
        (["a", "b"], np.array([["x"], ["y"]]), "of the type <U1"),
        (np.array(["a", "b"], object), np.eye(2), "cannot be read"),
    ],
)
def test_a_bad_file_is_refused(tmp_path: Path, ids: Any, vectors: Any, problem: str) -> None:
    write_vectors(tmp_path, ids, vectors)
    with pytest.raises(InputError, match=problem):
        read_given("mine", tmp_path)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"mine\.npz: there are no such vectors"):
        read_given("mine", tmp_path)
    group = write_group(tmp_path)
    ids = ids_of(group)
    lost = next(one for one in ids if "gradcam" in one)
    kept = [one for one in ids if one != lost]
    write_vectors(tmp_path, kept, np.ones((len(kept), WIDTH)))
    with pytest.raises(InputError, match=f"1 of 6 explanations .* the first is {lost}"):
        embed_groups([group], [GIVEN], tmp_path)
    (tmp_path / VECTORS / "mine.npz").write_bytes(b"PK no archive")
    with pytest.raises(InputError, match="cannot be read"):
        read_given("mine", tmp_path)


def test_studies_of_what_is_shown_are_left_out() -> None:
    assert [one.encoder for one in variants(GIVEN)] == ["given", "handcrafted"]
    studied = {setup.study for setup in setups(GIVEN, ScoringParams())}
    assert studied == {"main", "split", "label type", "label input", "scoring function"}
