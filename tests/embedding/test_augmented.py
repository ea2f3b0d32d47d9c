"""Explanations of augmented images: the right copies, explained by the right classifier."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from pasta.config import Params
from pasta.datasets.stored import open_dataset
from pasta.embedding.augmented import SETS, augment, augmented_variances, variance
from pasta.embedding.handcrafted import NAMES, handcrafted_features
from pasta.embedding.settings import HandcraftedParams
from pasta.errors import PastaError
from pasta.explanations.attribution import shown_maps
from pasta.explanations.catalog import technique
from pasta.explanations.engine import Work, attributions
from pasta.explanations.stored import StoredExplanations
from pasta.explanations.suite import Backbone, explain_group
from pasta.layout import Group
from pasta.seeds import entropy
from tests.explanations.small_group import small_group, small_params

SALIENCY, CONCEPT = technique("gradcam/resnet50"), technique("shap_cbm/concept_bottleneck")
CHOSEN = HandcraftedParams(
    ranks=(1, 1, 1), components=1, folds=2, augmentations="explained", magnitudes=(0.3, 0.6)
)


@pytest.fixture(scope="module")
def explained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Group, Params, Path]:
    root = tmp_path_factory.mktemp("augmented")
    params = small_params(root, "small", ("resnet50", "concept_bottleneck"))
    group = small_group(root, params)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PASTA_WORKERS", "1")
        explain_group(group, params, [SALIENCY, CONCEPT], root, lambda *_: None)
    return group, params, root


def test_there_is_a_copy_for_each_set_and_magnitude_and_the_original_is_first() -> None:
    images = torch.rand(2, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    found = augment(images, (0.3, 0.6), [1, 2])
    assert found.shape == (1 + len(SETS) * 2, 2, 3, 8, 8)
    assert torch.equal(found[0], images)
    assert float(found.min()) >= 0 and float(found.max()) <= 1
    apart = (found[1:] - images).abs().mean((1, 2, 3, 4))
    assert (apart > 0).all()
    assert (apart[1::2] > apart[::2]).all()  # the larger magnitude changes more
    assert float(found[5].mean()) < float(images.mean())  # brightness is lowered
    assert torch.equal(augment(images[1:], (0.3, 0.6), [2])[:, 0], found[:, 1])


def test_the_variance_is_that_of_copies_explained_one_by_one(
    explained: tuple[Group, Params, Path],
) -> None:
    group, params, root = explained
    found = augmented_variances(group, CHOSEN, params, root)
    assert set(found) == {SALIENCY, CONCEPT}
    rows = StoredExplanations(group.explanations).rows(SALIENCY)
    one = rows.iloc[1]
    dataset, view = open_dataset(group.images), Backbone(group, "resnet50", params, root).view()
    place = int(dataset.images.set_index("image_id")["row"][one["image_id"]])
    image = torch.from_numpy(np.array(dataset.pixels[[place]])).permute(0, 3, 1, 2) / 255
    seed = entropy(params.seeds.explaining, "augmented", one["image_id"]) % 2**63
    target = torch.tensor([dataset.vocabulary.classes.index(one["predicted"])])
    shown = []
    for copy in augment(image, CHOSEN.magnitudes, [seed]):
        work = Work(view, copy.__getitem__, target, params.explanations.methods)
        [part] = attributions(work, ["gradcam"])
        shown.append(shown_maps(part.raw, SALIENCY.sign).reshape(1, -1))
    for column, members in enumerate(([0, 1, 2], [0, 3, 4], [0, 5, 6])):
        expected = variance(np.stack([shown[member] for member in members]).astype(np.float64))
        np.testing.assert_allclose(found[SALIENCY][1, column], expected[0], rtol=1e-2)
    assert np.isfinite(found[CONCEPT]).all() and found[CONCEPT].shape == (len(rows), len(SETS))


def test_features_have_these_variances_in_front(explained: tuple[Group, Params, Path]) -> None:
    group, params, root = explained
    again = augmented_variances(group, CHOSEN, params, root)
    plain = handcrafted_features(group, CHOSEN.model_copy(update={"augmentations": "copies"}))
    found = handcrafted_features(group, CHOSEN, params, root)
    assert set(found) == {"gradcam.resnet50", "shap_cbm.concept_bottleneck"}
    name = "gradcam.resnet50"
    ok = (StoredExplanations(group.explanations).rows(SALIENCY)["status"] == "ok").to_numpy()
    assert ok.any() and found[name].shape == (len(ok), len(NAMES))
    np.testing.assert_allclose(found[name][ok, :3], again[SALIENCY][ok], rtol=1e-5)
    assert not np.allclose(found[name][ok, :3], plain[name][ok, :3])
    np.testing.assert_array_equal(found[name][ok, 3:], plain[name][ok, 3:])


def test_where_there_is_no_classifier_the_error_says_what_to_do(
    explained: tuple[Group, Params, Path], tmp_path: Path
) -> None:
    group, params, root = explained
    for folder in ("images", "explain"):
        (tmp_path / folder).symlink_to(group.data / folder)
    bare = Group(group.key, group.dataset, tmp_path)
    with pytest.raises(PastaError, match=r"no classifier resnet50.*`copies` takes the stored"):
        augmented_variances(bare, CHOSEN, params, root)
