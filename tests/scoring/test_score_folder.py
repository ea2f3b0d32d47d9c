"""A scorer on disk comes back as it was, and whatever is wrong with its files is said."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pasta.embedding.encoders import OpenClip
from pasta.errors import InputError, PastaError
from pasta.scoring.base import Fitted
from pasta.scoring.ood import FamiliarRegion, fit_region
from pasta.scoring.score import PastaScore, Score
from pasta.scoring.stored import CARD, WEIGHTS, load_scorer, technique_means
from tests.conftest import ROOT, names
from tests.scoring.small_scorer import (
    NUMBER_OF_CLASSES,
    heat,
    make_root,
    make_scorer,
    pictures,
    tiny,
)


@pytest.fixture(scope="module")
def encoder() -> OpenClip:
    return tiny()


@pytest.fixture
def folder(encoder: OpenClip, tmp_path: Path) -> Path:
    return make_scorer(make_root(tmp_path / "project", encoder), encoder)


def change(folder: Path, edit: Callable[[dict[str, Any]], Any], sign: bool = True) -> None:
    """Edit the card; ``sign`` makes its checksum right again."""
    card = json.loads((folder / CARD).read_text())
    edit(card)
    if sign:
        card.pop("card_sha256", None)
        plain = json.dumps(card, sort_keys=True).encode()
        card["card_sha256"] = hashlib.sha256(plain).hexdigest()
    (folder / CARD).write_text(json.dumps(card))


@pytest.mark.parametrize("scorer", ["ordinal", "ridge"])
@pytest.mark.parametrize("with_labels", [True, False])
def test_a_scorer_predicts_the_same_after_it_was_stored(
    encoder: OpenClip, tmp_path: Path, scorer: str, with_labels: bool
) -> None:
    kept: list[Fitted] = []
    folder = make_scorer(tmp_path, encoder, scorer, with_labels, keep=kept)
    width = 128 + (NUMBER_OF_CLASSES if with_labels else 0)
    features = np.random.default_rng(0).normal(size=(7, width)).astype(np.float32)
    before, after = kept[0].predict(features), load_scorer(folder).fitted.predict(features)
    for name in ("stars", "distribution", "low", "high"):
        assert np.array_equal(getattr(before, name), getattr(after, name)), name
    assert names(folder) == [CARD, WEIGHTS]
    assert names(folder.parent) == ["public"]


def test_the_card_says_everything_a_score_depends_on(folder: Path, encoder: OpenClip) -> None:
    card = load_scorer(folder).card
    assert card.encoder.md5 == encoder.md5
    assert card.features == {"embedding": 128, "label": NUMBER_OF_CLASSES}
    assert card.labels is not None
    assert card.labels.datasets["monumai"][1] == "Gothic"
    assert set(card.techniques["Q2"]) == {"gradcam/resnet50", "lime/resnet50", "rise/vit_b_16"}
    assert card.preprocessing.n_top == 3


def test_changed_weights_are_found(folder: Path) -> None:
    content = bytearray((folder / WEIGHTS).read_bytes())
    content[-3] ^= 1
    (folder / WEIGHTS).write_bytes(bytes(content))
    with pytest.raises(InputError, match=r"weights.safetensors: was changed after it was written"):
        load_scorer(folder)


def test_a_changed_card_is_found(folder: Path) -> None:
    change(folder, lambda card: card["metrics"].update(Q1={"qwk": 0.99}), sign=False)
    with pytest.raises(InputError, match=r"scorer.json: was changed after it was written"):
        load_scorer(folder)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda card: card.update(version=2), "has the version 2 .*train the scorer again"),
        (lambda card: card.pop("version"), "has the version None"),
        (lambda card: card.pop("encoder"), "'encoder' is missing"),
        (lambda card: card["encoder"].pop("md5"), "'encoder.md5' is missing"),
        (lambda card: card.update(questions="Q1"), "'questions' is wrong"),
        (lambda card: card.update(scorer="ordinl"), "Did you mean 'ordinal'"),
        (lambda card: card.update(questions=["Q1"]), "answers 3 questions"),
        (lambda card: card["directions"].pop("Q3"), "has directions of Q1, Q2"),
        (lambda card: card["features"].update(label=3), "does not fit its card"),
        (lambda card: card["settings"].pop("coverage"), "'coverage' of the ordinal scorer"),
        (lambda card: card["preprocessing"]["overlay"].update(dim=0.1), "other colours"),
        (lambda card: card["familiar"].update(sound=1.0), "does not fit its card"),
    ],
)
def test_a_card_that_is_wrong_says_what_is_wrong(
    folder: Path, edit: Callable[[dict[str, Any]], Any], message: str
) -> None:
    change(folder, edit)
    with pytest.raises(PastaError, match=message):
        load_scorer(folder)


def test_missing_files_say_what_to_do(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(PastaError, match="there is no scorer here; `dvc repro score` trains it"):
        load_scorer(tmp_path / "nothing")
    (folder / WEIGHTS).unlink()
    with pytest.raises(InputError, match=r"weights.safetensors: there is no such file"):
        load_scorer(folder)
    (folder / CARD).write_text("{")
    with pytest.raises(InputError, match=r"scorer.json: cannot be read"):
        load_scorer(folder)


ELSEWHERE = """
import sys
from pathlib import Path
import numpy as np
from pasta import PastaScore
from pasta.paths import project_root
from pasta.errors import PastaError

try:
    inside = project_root()
except PastaError:
    inside = None
assert inside is None, inside
found = PastaScore.load("Q1", sys.argv[1])(
    image=np.load("image.npy"), saliency=np.load("map.npy"), label="cat"
)
print(found.score)
"""


def test_a_folder_is_enough_to_score_anywhere(folder: Path, tmp_path: Path) -> None:
    """A copy of the package alone, no checkout around it, no encoder but the one in the folder."""
    image, saliency = pictures(1)[0], heat(1)[0]
    expected = PastaScore.load("Q1", folder)(image=image, saliency=saliency, label="cat")
    place = tmp_path / "elsewhere"
    shutil.copytree(folder, place / "scorer")
    shutil.rmtree(tmp_path / "project")
    shutil.copytree(ROOT / "pasta", place / "pasta", ignore=shutil.ignore_patterns("__pycache__"))
    np.save(place / "image.npy", image)
    np.save(place / "map.npy", saliency)
    run = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, "scorer"],
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert isinstance(expected, Score)
    assert float(run.stdout) == pytest.approx(expected.score, abs=1e-4)


def test_a_scorer_of_another_encoder_is_refused(folder: Path) -> None:
    other = tiny(seed=2)
    with pytest.raises(PastaError, match=rf"another encoder.*but tiny-clip here has {other.md5}"):
        PastaScore.load("Q1", folder, encoder=other)


def test_a_scorer_that_cannot_be_loaded_does_not_replace_one_that_can(
    folder: Path, encoder: OpenClip
) -> None:
    before = (folder / CARD).read_bytes()
    with pytest.raises(PastaError, match="answers 3 questions"):
        make_scorer(folder.parents[3], encoder, directions={"Q1": 1})
    assert (folder / CARD).read_bytes() == before
    assert names(folder.parent) == ["public"]


def test_means_of_techniques_are_means_of_their_samples() -> None:
    stars = np.array([[1.0, 5.0], [2.0, 4.0], [4.0, 1.0]])
    found = technique_means(stars, ("Q1", "Q2"), ("a", "b", "a"))
    assert found == {"Q1": {"a": 2.5, "b": 2.0}, "Q2": {"a": 3.0, "b": 4.0}}


def test_distances_are_mahalanobis_distances() -> None:
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(4, 4))
    vectors = (rng.normal(size=(20_000, 4)) @ mixing + 3).astype(np.float32)
    region = fit_region(vectors, range(len(vectors)), alarms=0.01)
    inverse = np.linalg.inv(mixing.T @ mixing)
    away = vectors[:50] - 3
    expected = np.sqrt(np.einsum("ni,ij,nj->n", away, inverse, away))
    assert np.allclose(region.distances(vectors[:50]), expected, rtol=0.05, atol=0.05)
    assert region.threshold == pytest.approx(np.sqrt(13.277), rel=0.05)  # chi2, 4 df, 99 %


def test_new_images_are_familiar_and_other_vectors_are_not() -> None:
    rng = np.random.default_rng(1)
    images = np.repeat(np.arange(100), 4)
    centre = rng.normal(size=(140, 30))
    vectors = (centre[np.repeat(np.arange(140), 4)] + 0.1 * rng.normal(size=(560, 30))).astype("f4")
    region = fit_region(vectors[:400], images.tolist())
    assert region(vectors[400:]).mean() > 0.9
    assert not region(vectors[400:] + 3).any()


def test_what_is_familiar_needs_two_images() -> None:
    with pytest.raises(PastaError, match="at least 2 images"):
        fit_region(np.ones((3, 2), np.float32), ["a", "a", "a"])
    same = fit_region(np.ones((4, 2), np.float32), ["a", "a", "b", "b"])
    assert isinstance(same, FamiliarRegion)
    assert same(np.ones((1, 2), np.float32)).all()
